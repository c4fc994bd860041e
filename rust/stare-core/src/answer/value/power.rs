//! Powers and roots.

use std::cmp::Ordering;

use dashu_base::{Signed, UnsignedAbs};
use dashu_int::IBig;
use dashu_ratio::RBig;

use super::ball::Ball;
use super::complex::Complex;
use super::evaluate::{Evaluated, Evaluator, Trouble, Value};
use super::exact::{self, Gaussian};
use super::functions::ln;
use crate::answer::limits::INTEGER_BITS;

/// `base ^ exponent`. Where the base is negative and the exponent has an odd denominator, some take
/// the real and others the principal value: unknown.
pub(super) fn power(run: &mut Evaluator<'_, '_>, base: &Value, exponent: &Value) -> Evaluated {
    if let Some(exponent) = exponent.as_integer() {
        return integer_power(run, base, exponent);
    }
    if let Some(exponent) = exponent.as_rational() {
        return rational_power(run, base, exponent);
    }
    if let Value::Exact(base) = base {
        if base.is_zero() {
            let bits = run.bits()?;
            let positive = exponent.to_ball(bits).re.sign() == Some(Ordering::Greater);
            return if positive {
                Ok(Value::integer(0))
            } else {
                Err(Trouble::Unknown)
            };
        }
        if base.as_real().is_some_and(RBig::is_one) {
            return Ok(Value::integer(1));
        }
    }
    general_power(run, base, exponent)
}

/// `e^(exponent ln base)`.
fn general_power(run: &mut Evaluator<'_, '_>, base: &Value, exponent: &Value) -> Evaluated {
    let log = ln(run, base)?;
    let product = run.times(&log, exponent)?;
    super::functions::exp(run, &product)
}

fn integer_power(run: &mut Evaluator<'_, '_>, base: &Value, exponent: &IBig) -> Evaluated {
    if let Value::Exact(exact) = base {
        if exponent.is_zero() && exact.is_zero() {
            return Err(Trouble::Unknown);
        }
        let count = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
        let size = exact.size().saturating_mul(count);
        if size <= 2 * INTEGER_BITS {
            // Longer ones are not multiplied out.
            let times = if exact.im.is_zero() { 2 } else { 24 };
            run.charge(size, times)?;
        }
        if let Some(power) = exact.power(exponent) {
            return Ok(Value::Exact(power));
        }
        if exact.is_zero() {
            return Err(Trouble::Unknown);
        }
    }
    let bits = run.bits()?;
    let count = u64::try_from(exponent.unsigned_abs()).map_err(|_| Trouble::Limit)?;
    run.charge(bits, 4 * u64::from(64 - count.leading_zeros()))?;
    let ball = run.ball(base)?;
    let power = ball.power(count, bits).ok_or(Trouble::Limit)?;
    if *exponent < IBig::ZERO {
        return run.over(&Value::integer(1), &Value::Approx(power));
    }
    Ok(Value::Approx(power))
}

fn rational_power(run: &mut Evaluator<'_, '_>, base: &Value, exponent: &RBig) -> Evaluated {
    let degree = usize::try_from(exponent.denominator()).map_err(|_| Trouble::Limit)?;
    let negative = match base {
        Value::Exact(value) => match value.as_real() {
            Some(real) if real.is_zero() => {
                return if exponent.is_positive() {
                    Ok(Value::integer(0))
                } else {
                    Err(Trouble::Unknown)
                };
            }
            real => real.is_some_and(Signed::is_negative),
        },
        Value::Approx(value) => value
            .as_real()
            .is_some_and(|real| real.sign() == Some(Ordering::Less)),
    };
    if negative && degree % 2 == 1 {
        run.off_domain = true;
        return Err(Trouble::Unknown);
    }
    if degree <= MAX_ROOT || base.as_rational().is_some() {
        let root = if degree == 2 {
            square_root(run, base)?
        } else {
            match root_of_positive(run, base, degree)? {
                Some(root) => root,
                None => return general_power(run, base, &Value::rational(exponent.clone())),
            }
        };
        return integer_power(run, &root, exponent.numerator());
    }
    general_power(run, base, &Value::rational(exponent.clone()))
}

/// Roots of a higher degree are taken as powers.
const MAX_ROOT: usize = 64;

/// The principal root; of a negative number the real root, if the degree is odd.
pub(super) fn root(run: &mut Evaluator<'_, '_>, base: &Value, degree: &Value) -> Evaluated {
    let degree = degree.as_integer().ok_or(Trouble::Unknown)?;
    let degree = usize::try_from(degree).map_err(|_| Trouble::Unknown)?;
    match degree {
        0 => return Err(Trouble::Unknown),
        1 => return Ok(base.clone()),
        2 => return square_root(run, base),
        _ => {}
    }
    if let Some(root) = root_of_positive(run, base, degree)? {
        return Ok(root);
    }
    let zero = Value::integer(0);
    let flipped = run.minus(&zero, base)?;
    if degree % 2 == 1 {
        if let Some(root) = root_of_positive(run, &flipped, degree)? {
            return run.minus(&zero, &root);
        }
    }
    let exponent = RBig::from_parts(IBig::ONE, degree.into());
    general_power(run, base, &Value::rational(exponent))
}

fn square_root(run: &mut Evaluator<'_, '_>, base: &Value) -> Evaluated {
    if let Value::Exact(value) = base {
        if let Some(real) = value.as_real() {
            run.charge(exact::size(real), 1)?;
            let negative = real.is_negative();
            run.off_domain |= negative;
            let size = if negative {
                -real.clone()
            } else {
                real.clone()
            };
            if let Some(root) = exact::root(&size, 2) {
                return Ok(Value::Exact(if negative {
                    Gaussian {
                        re: RBig::ZERO,
                        im: root,
                    }
                } else {
                    Gaussian::real(root)
                }));
            }
        }
    }
    let bits = run.bits()?;
    run.charge(bits, 6)?;
    let ball = run.ball(base)?;
    let positive = ball.as_real().and_then(Ball::sign) == Some(Ordering::Greater);
    run.off_domain |= !positive;
    ball.root(bits).map(Value::Approx).ok_or(Trouble::Unknown)
}

/// The root of a positive number; `None` if it is not known to be one.
fn root_of_positive(
    run: &mut Evaluator<'_, '_>,
    base: &Value,
    degree: usize,
) -> Result<Option<Value>, Trouble> {
    if let Some(real) = base.as_rational() {
        if real.is_negative() {
            return Ok(None);
        }
        run.charge(exact::size(real), 8)?;
        if let Some(root) = exact::root(real, degree) {
            return Ok(Some(Value::rational(root)));
        }
    }
    let bits = run.bits()?;
    let ball = run.ball(base)?;
    let Some(real) = ball.as_real() else {
        return Ok(None);
    };
    if real.sign() != Some(Ordering::Greater) {
        return Ok(None);
    }
    run.charge_series(bits, 2)?;
    let degree = Ball::integer(degree.into(), 64);
    let root = super::elementary::ln(real, bits)
        .and_then(|log| log.over(&degree, bits))
        .and_then(|log| super::elementary::exp(&log, bits));
    Ok(root.map(|root| Value::Approx(Complex::real(root))))
}
