//! Exponential, logarithm, sine, cosine and arctangent of balls.
//!
//! Each is computed on integers scaled by a power of two (fixed point), from a Taylor series after
//! argument reduction. Every truncation costs at most one unit of the last place; the comments
//! count them, and the count becomes part of the radius.

use std::sync::OnceLock;

use dashu_int::IBig;

use super::ball::{shift_by, signed, Ball};
use super::mag::Mag;
use crate::answer::limits::BALL_BITS;

/// Bits to which the constants are kept: the largest precision and a large argument.
const CONSTANT_BITS: usize = BALL_BITS + 1024;

/// Guard bits of all series.
const GUARD: usize = 40;

/// Arguments of the exponential and of sine and cosine are below `2^` this.
const ARGUMENT_TOP: i64 = 512;

/// e to the power of `x`; `None` if `x` is too large or not known well enough.
pub(super) fn exp(x: &Ball, bits: usize) -> Option<Ball> {
    let radius_top = x.radius().top().unwrap_or(-64);
    // The exponent of the result must fit.
    if x.top().unwrap_or(0) > 60 || radius_top > 0 {
        return None;
    }
    let scale = signed(bits + GUARD);
    let argument = x.fixed(scale, bits + GUARD + 64)?;
    let wide = shift_by(ln2(), scale - signed(CONSTANT_BITS) + 64);
    let turns = i64::try_from((&argument << 64) / &wide).ok()?;
    // `turns` times a constant that is off by 2^-64 units, a truncation, and the argument's own:
    // below 3 units as |turns| < 2^61.
    let mut rest = argument - shift_by(&(wide * turns), -64);
    let mut turns = turns;
    let one = IBig::ONE << (bits + GUARD);
    if rest < IBig::ZERO {
        rest += shift_by(ln2(), scale - signed(CONSTANT_BITS));
        turns -= 1;
    }
    let (value, units) = exp_series(&rest, &one, bits + GUARD);
    let radius = Mag::new(units + 16, turns - scale);
    let ball = Ball::new(value, turns - scale, radius, bits);
    // e^(x + r) - e^x <= 2 r e^x for r <= 1
    let extra = ball.high().times(x.radius()).shifted(1);
    Some(ball.widened(extra))
}

/// e^rest for `0 <= rest < 1`, and a bound on its error in units of the last place, for an argument
/// that is itself up to 4 units off.
fn exp_series(rest: &IBig, one: &IBig, scale: usize) -> (IBig, u64) {
    let halvings = halvings(scale);
    let small = rest >> halvings;
    let mut term = one.clone();
    let mut sum = one.clone();
    let mut count = 0_u64;
    while !term.is_zero() && count < 1 << 12 {
        count += 1;
        term = ((term * &small) >> scale) / count;
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> scale;
    }
    // Terms are off by 3 units at most each, the argument by 5, the omitted tail by 2; each
    // squaring doubles the relative error and adds one unit; the result is below 3.
    (sum, (3 * count + 8 + halvings as u64) << (halvings + 2))
}

/// How often an argument is halved before a series of `scale` bits.
fn halvings(scale: usize) -> usize {
    match scale {
        0..=160 => 5,
        161..=400 => 7,
        401..=900 => 11,
        _ => 20,
    }
}

/// The natural logarithm of a ball of positive numbers; `None` if some may not be positive.
pub(super) fn ln(x: &Ball, bits: usize) -> Option<Ball> {
    let (mid, exponent) = x.middle();
    if *mid <= IBig::ZERO {
        return None;
    }
    let low = x.low()?;
    let scale = signed(bits + GUARD);
    let one = IBig::ONE << (bits + GUARD);
    // x = mantissa * 2^turns with the mantissa in [1/2, 1)
    let length = signed(dashu_base::BitTest::bit_len(mid));
    let turns = exponent + length;
    let mantissa = shift_by(mid, scale - length);
    let lead = Ball::new(mid.clone(), -length, Mag::ZERO, 60).to_f64();
    let guess = fixed_from_f64(-lead.ln(), scale)?;
    let (inverse, units) = exp_series(&guess, &one, bits + GUARD);
    // mantissa * e^guess = 1 + delta with delta tiny, whatever the last bits of the float guess.
    let delta = ((&mantissa * inverse) >> (bits + GUARD)) - &one;
    let denominator = (&one << 1) + &delta;
    let u = (&delta << (bits + GUARD)) / denominator;
    let (series, terms) = odd_series(&u, bits + GUARD, false)?;
    let fraction = (series << 1) - guess;
    let whole = shift_by(ln2(), scale - signed(CONSTANT_BITS) + 64) * turns;
    let value = fraction + shift_by(&whole, -64);
    // The mantissa is off by one unit, which counts twice as it may be 1/2.
    let error = Mag::new(4 * (units + 4 * terms + 8), -scale);
    let ball = Ball::new(value, -scale, error, bits);
    // ln(x) - ln(x - r) <= r / (x - r)
    Some(ball.widened(x.radius().over(low)))
}

/// Sine and cosine; `None` if the argument is too large.
pub(super) fn sin_cos(x: &Ball, bits: usize) -> Option<(Ball, Ball)> {
    if x.top().unwrap_or(0) > ARGUMENT_TOP {
        return None;
    }
    let scale = bits + GUARD;
    let argument = x.fixed(signed(scale), scale + 1024)?;
    let large = usize::try_from(x.top().unwrap_or(0).max(0)).unwrap_or(0) + 8;
    let half_pi = shift_by(pi(), signed(scale + large) - signed(CONSTANT_BITS) - 1);
    let turns = shift_by(&argument, signed(large)) / &half_pi;
    let mut rest = argument - shift_by(&(&half_pi * &turns), -signed(large));
    let mut quarter =
        u8::try_from(dashu_base::RemEuclid::rem_euclid(&turns, &IBig::from(4))).unwrap_or(0);
    if rest < IBig::ZERO {
        rest += shift_by(&half_pi, -signed(large));
        quarter = (quarter + 3) % 4;
    }
    let (sine, cosine, units) = sin_cos_series(&rest, scale);
    let (sine, cosine) = match quarter {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    };
    let radius = Mag::new(units + 16, -signed(scale)).plus(x.radius());
    let ball = |value| Ball::new(value, -signed(scale), radius, bits);
    Some((ball(sine), ball(cosine)))
}

/// Sine and cosine of `rest` in [0, 2), and a bound on their errors in units of the last place.
fn sin_cos_series(rest: &IBig, scale: usize) -> (IBig, IBig, u64) {
    let halvings = halvings(scale);
    let small = rest >> halvings;
    let square = (&small * &small) >> scale;
    let mut cosine = IBig::ONE << scale;
    let mut sine = small.clone();
    let (mut even, mut odd) = (cosine.clone(), small);
    let mut count = 0_u64;
    while !(even.is_zero() && odd.is_zero()) && count < 1 << 12 {
        count += 2;
        even = -(((even * &square) >> scale) / (count * (count - 1)));
        odd = -(((odd * &square) >> scale) / (count * (count + 1)));
        cosine += &even;
        sine += &odd;
    }
    for _ in 0..halvings {
        // (c + i s)^2, whose error doubles and grows by two units.
        let next = (&cosine * &cosine - &sine * &sine) >> scale;
        sine = (&cosine * &sine) >> (scale - 1);
        cosine = next;
    }
    let units = (3 * count + 16 + 2 * halvings as u64) << (halvings + 2);
    (sine, cosine, units)
}

/// The arctangent.
pub(super) fn arctan(x: &Ball, bits: usize) -> Option<Ball> {
    if x.is_zero() {
        return Some(Ball::zero());
    }
    let center = x.center();
    if center.top().unwrap_or(0) > 1 {
        // pi/2 - arctan(1/x)
        let inverse = Ball::integer(IBig::ONE, bits).over(&center, bits + 8)?;
        let quarter = pi_ball(bits + 8).shifted(-1);
        let quarter = if *x.middle().0 < IBig::ZERO {
            quarter.negated()
        } else {
            quarter
        };
        let ball = quarter.minus(&arctan(&inverse, bits)?, bits);
        return Some(ball.widened(x.radius()));
    }
    let scale = bits + GUARD;
    let tangent = center.fixed(signed(scale), scale + 8)?;
    let guess = fixed_from_f64(center.to_f64().atan().abs(), signed(scale))?;
    let (sine, cosine, units) = sin_cos_series(&guess, scale);
    let negative = tangent < IBig::ZERO;
    let (sine, guess) = if negative {
        (-sine, -guess)
    } else {
        (sine, guess)
    };
    // tan(a - guess) = (x c - s) / (c + x s), where the divisor is 0.7 and more.
    let over = ((&tangent * &cosine) >> scale) - &sine;
    let under = cosine + ((&tangent * sine) >> scale);
    if under <= IBig::ZERO {
        return None;
    }
    let rest = (over << scale) / under;
    let (series, terms) = odd_series(&rest, scale, true)?;
    let error = Mag::new(8 * (units + terms + 8), -signed(scale));
    let ball = Ball::new(guess + series, -signed(scale), error, bits);
    Some(ball.widened(x.radius()))
}

/// `u + u^3/3 + u^5/5 + ..`, or with alternating signs, for a `u` close to zero, and the number of
/// terms, each of which is off by three units at most.
fn odd_series(u: &IBig, scale: usize, alternating: bool) -> Option<(IBig, u64)> {
    let square = (u * u) >> scale;
    // The float guess is good to far more than 20 bits.
    if shift_by(&square, 40 - signed(scale)) > IBig::ONE {
        return None;
    }
    let mut power = u.clone();
    let mut sum = u.clone();
    let mut count = 1_u64;
    while !power.is_zero() && count < 1 << 12 {
        count += 2;
        power = (power * &square) >> scale;
        if power == IBig::NEG_ONE {
            break;
        }
        if alternating {
            power = -power;
        }
        sum += &power / count;
    }
    Some((sum, 2 * count))
}

/// A finite float as fixed point; `None` if not finite or absurdly large.
fn fixed_from_f64(value: f64, scale: i64) -> Option<IBig> {
    let scaled = value * 2_f64.powi(52);
    #[allow(clippy::cast_possible_truncation, reason = "checked to be in range")]
    let integer = (scaled.abs() < 2_f64.powi(60)).then_some(scaled as i64)?;
    Some(shift_by(&IBig::from(integer), scale - 52))
}

/// Pi as a ball.
pub(super) fn pi_ball(bits: usize) -> Ball {
    let exponent = -signed(CONSTANT_BITS);
    Ball::new(pi().clone(), exponent, Mag::new(1 << 12, exponent), bits)
}

/// Pi in fixed point, by Machin's formula `16 arctan(1/5) - 4 arctan(1/239)`.
fn pi() -> &'static IBig {
    static PI: OnceLock<IBig> = OnceLock::new();
    PI.get_or_init(|| {
        let scale = CONSTANT_BITS + 16;
        (inverse_series(5, scale, true) * 16 - inverse_series(239, scale, true) * 4) >> 16_usize
    })
}

/// ln 2 in fixed point, `2 artanh(1/3)`.
fn ln2() -> &'static IBig {
    static LN2: OnceLock<IBig> = OnceLock::new();
    LN2.get_or_init(|| (inverse_series(3, CONSTANT_BITS + 16, false) * 2) >> 16_usize)
}

/// `1/n + 1/(3 n^3) + ..`, or with alternating signs, below one unit off for each term.
fn inverse_series(n: u64, scale: usize, alternating: bool) -> IBig {
    let mut power = (IBig::ONE << scale) / n;
    let mut sum = power.clone();
    let mut count = 1_u64;
    while !power.is_zero() {
        count += 2;
        power /= n * n;
        if alternating {
            power = -power;
        }
        sum += &power / count;
    }
    sum
}
