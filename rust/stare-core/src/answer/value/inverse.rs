//! Inverse trigonometric and hyperbolic functions of real numbers.
//!
//! Outside the real domain, and where books disagree about the branch (arccotangent, arcsecant and
//! arccosecant of negative numbers), there is no value.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::ball::Ball;
use super::complex::Complex;
use super::elementary::{arctan, pi_ball};
use super::evaluate::{Evaluated, Evaluator, Trouble, Value};
use super::functions::{absolute, ln};
use super::power::root;
use crate::answer::tree::Function;

type Run<'r, 'a, 'b> = &'r mut Evaluator<'a, 'b>;

/// The value of an inverse function.
pub(super) fn call(run: Run<'_, '_, '_>, function: Function, x: &Value) -> Evaluated {
    match function {
        Function::Arctan => arctangent(run, x),
        Function::Arcsin => arcsine(run, x),
        Function::Arccos => arccosine(run, x),
        Function::Arccot => {
            if matches!(x, Value::Exact(x) if x.is_zero()) {
                return Ok(half_pi(run.bits()?));
            }
            let inverse = positive_inverse(run, x)?;
            arctangent(run, &inverse)
        }
        Function::Arcsec => {
            let inverse = positive_inverse(run, x)?;
            arccosine(run, &inverse)
        }
        Function::Arccsc => {
            let inverse = positive_inverse(run, x)?;
            arcsine(run, &inverse)
        }
        Function::Arsinh => arsinh(run, x),
        Function::Arcosh => {
            let one = Value::integer(1);
            if sign(run, x, Some(&one))? == Ordering::Less {
                return Err(off_domain(run));
            }
            let square = run.times(x, x)?;
            let inner = run.minus(&square, &one)?;
            let inner = root(run, &inner, &Value::integer(2))?;
            let sum = run.plus(x, &inner)?;
            ln(run, &sum)
        }
        Function::Artanh => {
            let one = Value::integer(1);
            let over = run.plus(&one, x)?;
            let under = run.minus(&one, x)?;
            if sign(run, &over, None)? != Ordering::Greater
                || sign(run, &under, None)? != Ordering::Greater
            {
                return Err(off_domain(run));
            }
            let ratio = run.over(&over, &under)?;
            let log = ln(run, &ratio)?;
            run.over(&log, &Value::integer(2))
        }
        _ => Err(Trouble::Unknown),
    }
}

fn off_domain(run: Run<'_, '_, '_>) -> Trouble {
    run.off_domain = true;
    Trouble::Unknown
}

/// The sign of a real number less another.
fn sign(run: Run<'_, '_, '_>, x: &Value, less: Option<&Value>) -> Result<Ordering, Trouble> {
    let difference = match less {
        Some(less) => run.minus(x, less)?,
        None => x.clone(),
    };
    if let Some(real) = difference.as_rational() {
        return Ok(real.cmp(&RBig::ZERO));
    }
    let ball = run.ball(&difference)?;
    ball.as_real().and_then(Ball::sign).ok_or(Trouble::Unknown)
}

/// `1 / x` of a positive number.
fn positive_inverse(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if sign(run, x, None)? != Ordering::Greater {
        return Err(Trouble::Unknown);
    }
    run.over(&Value::integer(1), x)
}

fn half_pi(bits: usize) -> Value {
    Value::Approx(Complex::real(pi_ball(bits).shifted(-1)))
}

fn arctangent(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if matches!(x, Value::Exact(x) if x.is_zero()) {
        return Ok(Value::integer(0));
    }
    let bits = run.bits()?;
    run.charge_series(bits, 1)?;
    let ball = run.ball(x)?;
    let real = ball.as_real().ok_or(Trouble::Unknown)?;
    let value = arctan(real, bits).ok_or(Trouble::Unknown)?;
    Ok(Value::Approx(Complex::real(value)))
}

/// `2 arctan(x / (1 + sqrt(1 - x^2)))`.
fn arcsine(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    let one = Value::integer(1);
    let square = run.times(x, x)?;
    let rest = run.minus(&one, &square)?;
    if sign(run, &rest, None)? == Ordering::Less {
        return Err(off_domain(run));
    }
    let inner = root(run, &rest, &Value::integer(2))?;
    let under = run.plus(&one, &inner)?;
    let tangent = run.over(x, &under)?;
    let half = arctangent(run, &tangent)?;
    run.times(&half, &Value::integer(2))
}

fn arccosine(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if x.as_rational().is_some_and(RBig::is_one) {
        return Ok(Value::integer(0));
    }
    let angle = arcsine(run, x)?;
    let quarter = half_pi(run.bits()?);
    run.minus(&quarter, &angle)
}

/// `ln(|x| + sqrt(x^2 + 1))`, with the sign of x.
fn arsinh(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    let side = sign(run, x, None)?;
    if side == Ordering::Equal {
        return Ok(Value::integer(0));
    }
    let positive = match x.as_rational() {
        Some(real) => Value::rational(absolute(real)),
        None if side == Ordering::Less => run.minus(&Value::integer(0), x)?,
        None => x.clone(),
    };
    let square = run.times(&positive, &positive)?;
    let inner = run.plus(&square, &Value::integer(1))?;
    let inner = root(run, &inner, &Value::integer(2))?;
    let sum = run.plus(&positive, &inner)?;
    let log = ln(run, &sum)?;
    if side == Ordering::Less {
        return run.minus(&Value::integer(0), &log);
    }
    Ok(log)
}
