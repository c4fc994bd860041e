//! Canonical texts: equal expressions have equal keys.

use dashu_base::BitTest;
use dashu_int::IBig;
use dashu_ratio::RBig;

use super::ball::{shift_by, signed, Ball};
use super::evaluate::{exact, Evaluator, Value};
use super::exact::Gaussian;
use super::points::{Point, POINTS};
use super::symbols::{self, DecimalLog, NaturalLog};
use crate::answer::limits::Budget;
use crate::answer::tree::Expr;

/// Precisions tried in turn.
const LADDER: [usize; 3] = [320, 768, 1536];

/// Bits of a midpoint that go into a key.
const KEY_BITS: i64 = 140;

/// A ball this much narrower than 1, and than what sizes on the way may hide, that holds a rational with a short denominator is that.
const RATIONAL_BITS: i64 = 200;

/// Larger numbers are not told to be rational.
const RATIONAL_TOP: i64 = 256;

/// Bits of a short denominator.
const DENOMINATOR_BITS: usize = 64;

/// Operations that it takes to tell a rational, and to write it out.
const WRITING: u64 = 40;

/// Points whose values make up the key of an expression.
const KEY_POINTS: usize = 2;

/// Small points: a fraction, and a whole number for functions of those.
const SMALL: [u64; 2] = [6, 2];

/// The key of an expression with these variables.
///
/// Logarithms of an unknown base are read both ways.
pub(super) fn key(expr: &Expr, variables: &[&str], budget: &mut Budget) -> Option<String> {
    let one = |expr: &Expr, budget: &mut Budget| {
        if variables.is_empty() {
            constant(expr, budget)
        } else {
            expression(expr, variables, budget)
        }
    };
    if !symbols::has_any_log(expr) {
        return one(expr, budget);
    }
    let natural = one(&symbols::rewrite(expr, &NaturalLog), budget)?;
    let decimal = one(&symbols::rewrite(expr, &DecimalLog), budget)?;
    if natural == decimal {
        return Some(natural);
    }
    Some(format!("log({natural},{decimal})"))
}

/// The key of a constant.
fn constant(expr: &Expr, budget: &mut Budget) -> Option<String> {
    if let Ok(value) = exact(expr, budget) {
        return Some(gaussian(&value));
    }
    at(expr, &[], Point::near(), budget)
}

/// The key of an expression with variables: its values at the first points where it has one, and at
/// one near by, for far away one term hides the others. Where that is hidden too, at a small point.
/// One that has the same value at all of them is a constant.
fn expression(expr: &Expr, variables: &[&str], budget: &mut Budget) -> Option<String> {
    let mut keys: Vec<String> = Vec::new();
    for number in 0..POINTS {
        let Some(key) = at(expr, variables, Point::new(number, 0), budget) else {
            continue;
        };
        keys.push(key);
        if keys.len() == KEY_POINTS {
            break;
        }
    }
    if keys.len() < KEY_POINTS {
        return None;
    }
    let near = at(expr, variables, Point::near(), budget);
    if near.as_deref().is_some_and(is_cut) {
        let small = SMALL.into_iter();
        keys.extend(
            small
                .map(|number| Point::new(number, 0))
                .find_map(|point| at(expr, variables, point, budget)),
        );
    }
    keys.extend(near);
    let first = keys.first()?;
    if keys.iter().all(|key| key == first) {
        return keys.pop();
    }
    Some(format!("f({})", keys.join(",")))
}

/// Whether a key lacks the last digits of a whole number.
fn is_cut(key: &str) -> bool {
    key.contains('p') && !key.contains("p-")
}

fn at<'a>(
    expr: &'a Expr,
    variables: &[&'a str],
    point: Point,
    budget: &mut Budget,
) -> Option<String> {
    for bits in LADDER {
        let mut run = Evaluator::new(bits, budget);
        run.go_to(variables, point);
        let value = run.value(expr);
        if run.off_domain && run.has_variables() {
            return None;
        }
        run.charge(bits, WRITING).ok()?;
        match value {
            Ok(Value::Exact(value)) => return Some(gaussian(&value)),
            Ok(Value::Approx(value)) => {
                let spread = run.spread;
                if let (Some(re), Some(im)) = (text(&value.re, spread), text(&value.im, spread)) {
                    return Some(join(&re, &im));
                }
            }
            Err(super::evaluate::Trouble::Limit) => return None,
            Err(super::evaluate::Trouble::Unknown) => {}
        }
    }
    None
}

fn gaussian(value: &Gaussian) -> String {
    join(&rational(&value.re), &rational(&value.im))
}

fn join(re: &str, im: &str) -> String {
    if im == "0" {
        re.to_owned()
    } else {
        format!("{re}+i*{im}")
    }
}

/// `p/q`, or the leading bits of one that no ball could be told to be.
fn rational(value: &RBig) -> String {
    if value.denominator().bit_len() > DENOMINATOR_BITS || value.numerator().bit_len() > 192 {
        let bits = 520 + super::exact::size(value);
        if let Some(digits) = text(&Ball::rational(value, bits), 0) {
            return digits;
        }
    }
    value.to_string()
}

/// A rational, or the leading bits; `None` if the ball is too wide.
fn text(ball: &Ball, spread: i64) -> Option<String> {
    if ball.is_zero() {
        return Some("0".to_owned());
    }
    if ball.top().unwrap_or(0) <= RATIONAL_TOP {
        // Whether it is rational must be known, or two forms of one number get two keys.
        let narrow = -RATIONAL_BITS - spread;
        if ball.radius().top().is_some_and(|radius| radius > narrow) {
            return None;
        }
        if let Some(value) = short_rational(ball, spread) {
            return Some(value.to_string());
        }
    }
    let low = ball.low()?.top()?;
    let unit = low - KEY_BITS;
    // Rounded to nearest, which the whole ball must agree on.
    let (mid, exponent) = ball.middle();
    let radius = ball.radius();
    if radius.top().is_some_and(|top| top > unit - 8) {
        return None;
    }
    let round = |ball: &Ball| {
        let (mid, exponent) = ball.middle();
        (shift_by(mid, exponent - unit + 1) + IBig::ONE) >> 1_usize
    };
    let bits = mid.bit_len() + 512;
    let edge = Ball::integer(IBig::ONE, 64).shifted(radius.top().unwrap_or(exponent.min(unit) - 8));
    let center = ball.center();
    let (above, below) = (center.plus(&edge, bits), center.minus(&edge, bits));
    let digits = round(&above);
    if digits != round(&below) {
        return None;
    }
    // The same number whatever the exponent of the lower bound.
    let zeros = digits.trailing_zeros().unwrap_or(0);
    let digits = digits >> zeros;
    Some(format!("{digits}p{}", unit + signed(zeros)))
}

/// The rational with a short denominator in a ball, if it is narrow enough to hold only one.
fn short_rational(ball: &Ball, spread: i64) -> Option<RBig> {
    let (mid, exponent) = ball.middle();
    if exponent < -4096 {
        return None;
    }
    // Continued fraction of the midpoint, until it is within the radius.
    let (mut over, mut under) = if exponent >= 0 {
        (shift_by(mid, exponent), IBig::ONE)
    } else {
        (mid.clone(), shift_by(&IBig::ONE, -exponent))
    };
    let bits = RATIONAL_BITS + spread - 10;
    let tolerance = shift_by(&IBig::ONE, bits);
    let (value, scale) = (over.clone(), under.clone());
    let (mut p, mut q) = ((IBig::ZERO, IBig::ONE), (IBig::ONE, IBig::ZERO));
    // p = (p_-2, p_-1), q likewise
    while !under.is_zero() {
        let whole = floor_division(&over, &under);
        let rest = &over - &whole * &under;
        (over, under) = (under, rest);
        p = (p.1.clone(), whole.clone() * &p.1 + p.0);
        q = (q.1.clone(), whole * &q.1 + q.0);
        if q.1.bit_len() > DENOMINATOR_BITS {
            return None;
        }
        // |value/scale - p/q| < 2^-bits
        let error = (&value * &q.1 - &p.1 * &scale) * &tolerance;
        let error = if error < IBig::ZERO { -error } else { error };
        if error < &scale * &q.1 {
            let denominator = dashu_base::UnsignedAbs::unsigned_abs(&q.1);
            return Some(RBig::from_parts(p.1, denominator));
        }
    }
    None
}

fn floor_division(over: &IBig, under: &IBig) -> IBig {
    dashu_base::DivEuclid::div_euclid(over, under)
}
