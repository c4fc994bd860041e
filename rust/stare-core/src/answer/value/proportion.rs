//! Whether two expressions are constant multiples of each other.

use std::cmp::Ordering;

use super::evaluate::{Evaluator, Value};
use super::field::{multiply, Prime, PRIMES};
use super::modular::{NoResidue, Residues};
use super::numeric::{sample, Outcome, Samples, Side};
use super::points::{Point, Points, POINTS};
use super::primes::Primes;
use super::symbols;
use crate::answer::limits::Budget;
use crate::answer::tree::Expr;

/// What is known about the factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    /// There is one.
    Constant,
    /// There is none.
    None,
    /// Nothing is known.
    Unknown,
}

/// The sign of the real factor `left / right`; `Err(true)` if proved that there is no factor, and
/// `Err(false)` if nothing was proved.
pub(super) fn sign(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    budget: &mut Budget,
) -> Result<Ordering, bool> {
    // No function known by its name only is known not to be zero.
    let unsure = symbols::has_application(left) || symbols::has_application(right);
    let mut factor = modulo(PRIMES[0], left, right, budget);
    if factor == Factor::Constant {
        let mut primes = Primes::of(left, right);
        for _ in 0..CONFIRMING {
            let prime = primes.next(budget).map_err(|_| false)?;
            factor = modulo(prime, left, right, budget);
            if factor != Factor::Constant {
                break;
            }
        }
    }
    let points = Points::of(left, right);
    let Some(reference) = reference(left, right, variables, &points, budget) else {
        return Err(factor == Factor::None && !unsure);
    };
    if factor == Factor::Unknown {
        factor = numeric(left, right, variables, &points, reference.point, budget);
    }
    match factor {
        Factor::Constant => reference.sign.ok_or(false),
        Factor::None => Err(!unsure),
        Factor::Unknown => Err(false),
    }
}

/// Primes drawn from the two sides to confirm a factor; there are [`AGREEING`] points modulo each.
const CONFIRMING: usize = 3;

/// Points needed, and more of them where variables are exponents.
const AGREEING: usize = 3;
const EXPONENT_POINTS: usize = 24;

fn modulo(prime: Prime, left: &Expr, right: &Expr, budget: &mut Budget) -> Factor {
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    let mut wanted = AGREEING;
    let mut opaque = false;
    for point in 0.. {
        if pairs.len() >= wanted {
            break;
        }
        if point > 8 + wanted as u64 {
            return Factor::Unknown;
        }
        let mut run = Residues::new(prime, point, budget);
        let pair = run
            .value(left)
            .and_then(|left| Ok((left, run.value(right)?)));
        opaque |= run.is_opaque();
        if run.has_root_of_unity() {
            wanted = EXPONENT_POINTS;
        }
        match pair {
            Ok(pair) => pairs.push(pair),
            Err(NoResidue::Point) => {}
            Err(_) => return Factor::Unknown,
        }
    }
    let vanishes = |side: fn(&(u64, u64)) -> u64| pairs.iter().all(|pair| side(pair) == 0);
    let (left, right) = (vanishes(|pair| pair.0), vanishes(|pair| pair.1));
    if left || right {
        // Zero on one side only.
        return if (left && right) || opaque {
            Factor::Unknown
        } else {
            Factor::None
        };
    }
    let Some((first, rest)) = pairs.split_first() else {
        return Factor::Unknown;
    };
    let m = prime.modulus;
    let constant = rest
        .iter()
        .all(|pair| multiply(pair.0, first.1, m) == multiply(first.0, pair.1, m));
    if constant {
        Factor::Constant
    } else if opaque {
        Factor::Unknown
    } else {
        Factor::None
    }
}

/// A point where both sides have a value and neither is zero.
struct Reference {
    point: Point,
    /// Of the ratio, if that is real.
    sign: Option<Ordering>,
}

/// Bits for the ratio.
const BITS: usize = 192;

fn reference(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    points: &Points,
    budget: &mut Budget,
) -> Option<Reference> {
    (0..POINTS)
        .map(|number| points.at(number))
        .find_map(|point| {
            let mut run = Evaluator::new(BITS, budget);
            run.go_to(variables, point);
            let left = run.value(left).ok()?;
            let right = run.value(right).ok()?;
            let ratio = run.over(&left, &right).ok()?.to_ball(BITS);
            if run.off_domain || ratio.contains_zero() {
                return None;
            }
            let real = ratio.as_real().or_else(|| {
                // An imaginary part that is zero but not certainly so.
                let small = ratio.im.top().is_none_or(|top| top < -100);
                (small && ratio.im.contains_zero()).then_some(&ratio.re)
            });
            Some(Reference {
                point,
                sign: real.and_then(super::ball::Ball::sign),
            })
        })
}

fn numeric(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    points: &Points,
    reference: Point,
    budget: &mut Budget,
) -> Factor {
    let product = |run: &mut Evaluator<'_, '_>, here: &Value, there: &Value| run.times(here, there);
    let outcome = sample(budget, points, |run, side, point| {
        let (here, there) = match side {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        run.go_to(variables, point);
        let here = run.value(here)?;
        run.go_to(variables, reference);
        let there = run.value(there)?;
        product(run, &here, &there)
    });
    match outcome {
        Samples::Agree { are_pieces: false } => Factor::Constant,
        Samples::Other(Outcome::Different) => Factor::None,
        _ => Factor::Unknown,
    }
}
