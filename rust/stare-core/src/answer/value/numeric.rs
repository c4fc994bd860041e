//! Constants compared by balls, and expressions by balls at points.

use std::cmp::Ordering;

use super::complex::Complex;
use super::evaluate::{Evaluated, Evaluator, Trouble, Value};
use super::points::{Point, Points, KINDS, ONE_OF_EACH, POINTS};
use super::{pieces, symbols};
use crate::answer::limits::{Budget, BALL_BITS};
use crate::answer::tree::Expr;

/// Bits to which two constants must agree to count as equal, beyond what sizes on the way may hide.
const EQUAL_BITS: i64 = 200;

/// Functions may agree with the first terms of their series: where a number as small as `2^-s` is
/// put in, a difference may be as small as that to the power of this. Composed functions of a few
/// letters, `\sin \tan x` and `\tan \sin x`, agree up to the seventh power.
const ORDER: i64 = 8;

/// Precisions tried in turn.
const LADDER: [usize; 5] = [64, 320, 448, 768, BALL_BITS];

/// Bits lost to rounding, at most, before a precision is tried for equality.
const MARGIN: i64 = 64;

/// What balls say about two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Certified, or the same to [`EQUAL_BITS`] and more.
    Equal,
    /// Disjoint.
    Different,
    /// Nothing.
    Unknown,
    /// Too much work.
    Limit,
}

/// The difference of two constants, and what is known about its sign.
pub(super) struct Difference {
    /// Whether it is zero.
    pub(super) outcome: Outcome,
    /// Its sign, if it is real.
    pub(super) sign: Option<Ordering>,
}

impl Difference {
    const fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            sign: None,
        }
    }
}

/// Compare two constants.
pub(super) fn difference(left: &Expr, right: &Expr, budget: &mut Budget) -> Difference {
    let order = if symbols::is_monomial(left) && symbols::is_monomial(right) {
        1
    } else {
        ORDER
    };
    subtract_to(order, budget, |run| {
        Ok((run.value(left)?, run.value(right)?))
    })
}

/// Compare two numbers that a closure computes to a given precision.
pub(super) fn subtract<'a>(
    budget: &mut Budget,
    values: impl FnMut(&mut Evaluator<'a, '_>) -> Result<(Value, Value), Trouble>,
) -> Difference {
    subtract_to(ORDER, budget, values)
}

/// The same where numbers on the way may hide differences of an order.
fn subtract_to<'a>(
    order: i64,
    budget: &mut Budget,
    mut values: impl FnMut(&mut Evaluator<'a, '_>) -> Result<(Value, Value), Trouble>,
) -> Difference {
    let mut spread = 0;
    for bits in LADDER {
        let last = bits == BALL_BITS;
        let enough = i64::try_from(bits).is_ok_and(|bits| bits >= EQUAL_BITS + spread + MARGIN);
        if bits > 64 && !enough && !last {
            continue;
        }
        let mut run = Evaluator::new(bits, budget);
        let (left, right) = match values(&mut run) {
            Ok(values) => values,
            Err(Trouble::Limit) => return Difference::of(Outcome::Limit),
            Err(Trouble::Unknown) => continue,
        };
        spread = run.spread.saturating_mul(order);
        let (left, right) = (left.to_ball(bits), right.to_ball(bits));
        let rest = left.minus(&right, bits);
        if !rest.contains_zero() {
            let sign = rest.as_real().and_then(super::ball::Ball::sign);
            return Difference {
                outcome: Outcome::Different,
                sign,
            };
        }
        if rest.is_zero() || agree(&left, &right, &rest, EQUAL_BITS + spread) {
            return Difference {
                outcome: Outcome::Equal,
                sign: Some(Ordering::Equal),
            };
        }
    }
    Difference::of(Outcome::Unknown)
}

/// Whether the rest is below `2^-bits` of the two numbers, or of 1 if either may be zero.
fn agree(left: &Complex, right: &Complex, rest: &Complex, bits: i64) -> bool {
    let size = |ball: &Complex| {
        ball.re
            .low()
            .and(ball.re.top())
            .max(ball.im.low().and(ball.im.top()))
    };
    let scale = match (size(left), size(right)) {
        (Some(left), Some(right)) => left.max(right),
        _ => 0,
    };
    [&rest.re, &rest.im]
        .iter()
        .all(|part| part.top().is_none_or(|top| top <= scale - bits))
}

/// Points that must agree.
const AGREEING: u32 = 6;

/// Bits to which expressions must agree at a point.
const POINT_BITS: i64 = 100;

/// Precisions tried at a point.
const POINT_LADDER: [usize; 2] = [192, 512];

/// What two expressions are at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtPoint {
    Agree,
    Differ,
    /// Neither is defined.
    Neither,
    /// Only one is defined, or not enough is known.
    Mismatch,
    Limit,
}

/// One of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// Compare two expressions with variables.
pub(super) fn at_points(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    budget: &mut Budget,
) -> Outcome {
    let points = Points::of(left, right);
    let samples = sample(budget, &points, |run, side, point| {
        run.go_to(variables, point);
        run.value(if side == Side::Left { left } else { right })
    });
    match samples {
        Samples::Agree { are_pieces: true } if !pieces::equal(left, right, budget) => {
            Outcome::Unknown
        }
        Samples::Agree { .. } => Outcome::Equal,
        Samples::Other(outcome) => outcome,
    }
}

/// What points say about two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Samples {
    /// They are the same wherever they were looked at.
    Agree {
        /// That proves nothing: they may be different between the points.
        are_pieces: bool,
    },
    /// Anything but [`Outcome::Equal`].
    Other(Outcome),
}

/// Bits for a look.
const LOOK_BITS: usize = 64;

/// Whether two expressions may have the same value at the first point where both have one; `None`
/// if that is nowhere.
pub(super) fn overlap(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    seed: u64,
    budget: &mut Budget,
) -> Option<bool> {
    let closed = variables.is_empty();
    let looks = if closed { 1 } else { ONE_OF_EACH.len() };
    ONE_OF_EACH.iter().take(looks).find_map(|number| {
        let mut run = Evaluator::new(LOOK_BITS, budget);
        run.go_to(variables, Point::new(*number, seed));
        let left = run.value(left).ok()?.to_ball(LOOK_BITS);
        let right = run.value(right).ok()?.to_ball(LOOK_BITS);
        (closed || !run.off_domain).then(|| left.minus(&right, LOOK_BITS).contains_zero())
    })
}

/// Bits to which a difference must stay the same.
const SAME_BITS: i64 = 100;

/// Whether the difference of two expressions with functions known by their name only is nonzero
/// whatever these functions are: a rational function of their values that is constant.
pub(super) fn differ_by_a_constant(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    budget: &mut Budget,
) -> bool {
    const BITS: usize = POINT_LADDER[0];
    if !symbols::is_rational_in_applications(left) || !symbols::is_rational_in_applications(right) {
        return false;
    }
    let points = Points::of(left, right);
    let mut difference = |number, applications| {
        let mut run = Evaluator::new(BITS, budget);
        run.go_to(variables, points.at(number));
        run.apply_at(points.at(applications));
        let (left, right) = (run.value(left).ok()?, run.value(right).ok()?);
        let rest = run.minus(&left, &right).ok()?.to_ball(BITS);
        (!run.off_domain && !rest.contains_zero()).then_some(rest)
    };
    (0..POINTS).any(|number| {
        let Some(first) = difference(number, number) else {
            return false;
        };
        (1..=3).all(|more| {
            difference(number, number + more).is_some_and(|other| {
                let rest = first.minus(&other, BITS);
                rest.is_zero() || agree(&first, &other, &rest, SAME_BITS)
            })
        })
    })
}

/// Compare two numbers that a closure computes at points.
///
/// Where they agree at integers and not between them, the variables may be meant to be integers:
/// `\sin n\pi` is no proof of anything.
pub(super) fn sample<'a>(
    budget: &mut Budget,
    points: &Points,
    mut value: impl FnMut(&mut Evaluator<'a, '_>, Side, Point) -> Evaluated,
) -> Samples {
    let (mut agreeing, mut at_integers) = (0, 0);
    let (mut mismatch, mut different) = (false, false);
    let mut seen_on_the_way = Seen::default();
    for number in 0..POINTS {
        let point = points.at(number);
        match at_point(budget, point, &mut seen_on_the_way, &mut value) {
            AtPoint::Agree => {
                agreeing += 1;
                at_integers += u32::from(point.is_whole());
            }
            AtPoint::Differ if point.is_whole() || at_integers == 0 => {
                return Samples::Other(Outcome::Different);
            }
            AtPoint::Differ => different = true,
            AtPoint::Neither => {}
            AtPoint::Mismatch => mismatch = true,
            AtPoint::Limit => return Samples::Other(Outcome::Limit),
        }
        if number + 1 < KINDS {
            continue;
        }
        let Seen { spread, squares } = seen_on_the_way;
        if mismatch || different || agreeing == 0 {
            let far = points.are_pieces
                && !different
                && far_away(budget, points, spread, &mut value) == Outcome::Different;
            return Samples::Other(if far {
                Outcome::Different
            } else {
                Outcome::Unknown
            });
        }
        if agreeing >= AGREEING {
            return match far_away(budget, points, spread, &mut value) {
                Outcome::Equal => Samples::Agree {
                    are_pieces: points.are_pieces || squares >= SQUARES,
                },
                other => Samples::Other(other),
            };
        }
    }
    Samples::Other(Outcome::Unknown)
}

/// What occurred on the way.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// See [`Evaluator::spread`].
    spread: i64,
    /// How often roots were taken of perfect squares at points that are not whole.
    squares: u32,
}

/// A fraction is the square of another by accident at one point, on two sides and to two
/// precisions, but not more often.
const SQUARES: u32 = 5;

/// Compare two numbers that agree at the usual points where the variables are larger than anything
/// in them: `\max(x, -10^9)` is not `x`.
fn far_away<'a>(
    budget: &mut Budget,
    points: &Points,
    spread: i64,
    value: &mut impl FnMut(&mut Evaluator<'a, '_>, Side, Point) -> Evaluated,
) -> Outcome {
    let differ = points
        .far_away(spread)
        .any(|point| at_point(budget, point, &mut Seen::default(), value) == AtPoint::Differ);
    if differ {
        Outcome::Different
    } else {
        Outcome::Equal
    }
}

/// One side at one point.
enum Sample {
    Defined(Complex),
    OffDomain,
    Unknown,
}

fn at_point<'a>(
    budget: &mut Budget,
    point: Point,
    seen: &mut Seen,
    value: &mut impl FnMut(&mut Evaluator<'a, '_>, Side, Point) -> Evaluated,
) -> AtPoint {
    for bits in POINT_LADDER {
        let mut spread = 0;
        let mut sample = |side| {
            let mut run = Evaluator::new(bits, budget);
            let value = value(&mut run, side, point);
            seen.spread = run.spread.max(seen.spread);
            seen.squares += u32::from(run.squares && !point.is_whole());
            let fixed = run.fixed_spread.saturating_mul(ORDER);
            spread = spread.max(run.spread).max(fixed);
            match value {
                Err(Trouble::Limit) => Err(AtPoint::Limit),
                _ if run.off_domain => Ok(Sample::OffDomain),
                Ok(value) => Ok(Sample::Defined(value.to_ball(bits))),
                Err(Trouble::Unknown) => Ok(Sample::Unknown),
            }
        };
        match (sample(Side::Left), sample(Side::Right)) {
            (Err(stop), _) | (_, Err(stop)) => return stop,
            (Ok(Sample::Defined(left)), Ok(Sample::Defined(right))) => {
                let rest = left.minus(&right, bits);
                if !rest.contains_zero() {
                    return AtPoint::Differ;
                }
                if rest.is_zero() || agree(&left, &right, &rest, POINT_BITS + spread) {
                    return AtPoint::Agree;
                }
            }
            (Ok(Sample::OffDomain), Ok(Sample::OffDomain)) => return AtPoint::Neither,
            _ => return AtPoint::Mismatch,
        }
    }
    AtPoint::Mismatch
}
