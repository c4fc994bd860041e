//! Constants compared by balls, and expressions by balls at points.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::complex::Complex;
use super::evaluate::{Evaluated, Evaluator, Trouble, Value};
use super::field::mix;
use super::symbols;
use crate::answer::limits::{Budget, BALL_BITS};
use crate::answer::tree::Expr;

/// Bits to which two constants must agree to count as equal, beyond what sizes on the way may hide.
const EQUAL_BITS: i64 = 200;

/// Precisions tried in turn.
const LADDER: [usize; 4] = [64, 320, 768, BALL_BITS];

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
    subtract(budget, |run| Ok((run.value(left)?, run.value(right)?)))
}

/// Compare two numbers that a closure computes to a given precision.
pub(super) fn subtract<'a>(
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
        spread = run.spread;
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

/// Points at which expressions are compared, at most.
pub(super) const POINTS: u64 = 18;

/// So many points hold one of every kind.
const KINDS: u64 = 10;

/// Points that must agree.
const AGREEING: u32 = 6;

/// Bits to which expressions must agree at a point.
const POINT_BITS: i64 = 100;

/// Precisions tried at a point.
const POINT_LADDER: [usize; 2] = [192, 512];

/// What kind of number a variable is at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Natural,
    SmallNatural,
    Negative,
    /// Between 0 and 1, or between 0 and -1.
    Small(Sign),
    /// Between 1 and 5, or between -1 and -5.
    Large(Sign),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
    Any,
}

/// The first two make up keys: integers, where factorials have values too, and too large to be
/// roots of many denominators, which need not be there in another form of the same function.
const fn kind(point: u64) -> Kind {
    match point {
        0 | 1 => Kind::Natural,
        2 | 4 => Kind::SmallNatural,
        3 => Kind::Negative,
        _ => match point % 5 {
            0 => Kind::Small(Sign::Plus),
            2 => Kind::Small(Sign::Any),
            3 => Kind::Small(Sign::Minus),
            4 => Kind::Large(Sign::Any),
            _ => Kind::Large(Sign::Plus),
        },
    }
}

/// Whether variables are integers at a point.
const fn whole(point: u64) -> bool {
    matches!(
        kind(point),
        Kind::Natural | Kind::SmallNatural | Kind::Negative
    )
}

/// The value of a variable at a point, from the hash of its name.
pub(super) fn coordinate(name: u64, point: u64) -> Value {
    let word = mix(name, point);
    let fraction = RBig::from_parts((((word >> 8) % (1 << 16)) | 1).into(), (1_u64 << 16).into());
    let signed = |size: RBig, sign| match sign {
        Sign::Plus => size,
        Sign::Minus => -size,
        Sign::Any => size * RBig::from(if word & 1 == 1 { 1 } else { -1 }),
    };
    let value = match kind(point) {
        Kind::Natural => RBig::from(40 + word % 200),
        Kind::SmallNatural => RBig::from(2 + word % 11),
        Kind::Negative => -RBig::from(2 + word % 1000),
        Kind::Small(sign) => signed(fraction, sign),
        Kind::Large(sign) => signed(fraction * RBig::from(4) + RBig::ONE, sign),
    };
    Value::rational(value)
}

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
    sample(budget, |run, side, number| {
        run.go_to(variables, number);
        run.value(if side == Side::Left { left } else { right })
    })
}

/// Points at which [`overlap`] looks, one of every kind.
const LOOKED_AT: [u64; 7] = [6, 0, 2, 4, 3, 8, 9];

/// Bits for a look.
const LOOK_BITS: usize = 64;

/// Whether two expressions may have the same value at the first point where both have one; `None`
/// if that is nowhere.
pub(super) fn overlap(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    budget: &mut Budget,
) -> Option<bool> {
    let closed = variables.is_empty();
    let looks = if closed { 1 } else { LOOKED_AT.len() };
    LOOKED_AT.iter().take(looks).find_map(|number| {
        let mut run = Evaluator::new(LOOK_BITS, budget);
        run.go_to(variables, *number);
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
    let mut difference = |number, applications| {
        let mut run = Evaluator::new(BITS, budget);
        run.go_to(variables, number);
        run.apply_at(applications);
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

/// Compare two numbers that a closure computes at points of a number.
///
/// Where they agree at integers and not between them, the variables may be meant to be integers:
/// `\sin n\pi` is no proof of anything.
pub(super) fn sample<'a>(
    budget: &mut Budget,
    mut value: impl FnMut(&mut Evaluator<'a, '_>, Side, u64) -> Evaluated,
) -> Outcome {
    let (mut agreeing, mut at_integers) = (0, 0);
    let (mut mismatch, mut different) = (false, false);
    for number in 0..POINTS {
        match at_point(budget, number, &mut value) {
            AtPoint::Agree => {
                agreeing += 1;
                at_integers += u32::from(whole(number));
            }
            AtPoint::Differ if whole(number) || at_integers == 0 => return Outcome::Different,
            AtPoint::Differ => different = true,
            AtPoint::Neither => {}
            AtPoint::Mismatch => mismatch = true,
            AtPoint::Limit => return Outcome::Limit,
        }
        let seen = number + 1 >= KINDS;
        if seen && (mismatch || different || agreeing == 0) {
            return Outcome::Unknown;
        }
        if seen && agreeing >= AGREEING {
            return Outcome::Equal;
        }
    }
    Outcome::Unknown
}

/// One side at one point.
enum Sample {
    Defined(Complex),
    OffDomain,
    Unknown,
}

fn at_point<'a>(
    budget: &mut Budget,
    number: u64,
    value: &mut impl FnMut(&mut Evaluator<'a, '_>, Side, u64) -> Evaluated,
) -> AtPoint {
    for bits in POINT_LADDER {
        let mut spread = 0;
        let mut sample = |side| {
            let mut run = Evaluator::new(bits, budget);
            let value = value(&mut run, side, number);
            spread = spread.max(run.spread);
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
