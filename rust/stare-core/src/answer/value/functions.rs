//! Functions with a known meaning, of exact and approximate numbers.

use std::cmp::Ordering;

use dashu_base::{Abs, BitTest, Signed};
use dashu_int::IBig;
use dashu_ratio::RBig;

use super::ball::Ball;
use super::complex::Complex;
use super::evaluate::{small, Evaluated, Evaluator, Trouble, Value};
use super::exact::{self, Gaussian};
use super::{elementary, factorial, integers, power};
use crate::answer::tree::Function;

/// Determinants of more rows are not expanded.
const MAX_ROWS: usize = 5;

type Run<'r, 'a, 'b> = &'r mut Evaluator<'a, 'b>;

/// The value of a function.
pub(super) fn call(run: Run<'_, '_, '_>, function: Function, arguments: &[Value]) -> Evaluated {
    match (function, arguments) {
        (Function::Determinant, cells) => determinant(run, cells),
        (Function::Gcd | Function::Lcm, values) => {
            let values = values.iter().map(|value| value.as_integer().cloned());
            let values: Vec<IBig> = values.collect::<Option<_>>().ok_or(Trouble::Unknown)?;
            let size: usize = values.iter().map(BitTest::bit_len).sum();
            run.charge(size, 4)?;
            let result = integers::common(&values, function == Function::Lcm);
            result.map(Value::integer).ok_or(Trouble::Limit)
        }
        (Function::Max, values) => extreme(run, values, Ordering::Greater),
        (Function::Min, values) => extreme(run, values, Ordering::Less),
        (_, [x]) => unary(run, function, x),
        (_, [x, y]) => binary(run, function, x, y),
        _ => Err(Trouble::Unknown),
    }
}

fn binary(run: Run<'_, '_, '_>, function: Function, x: &Value, y: &Value) -> Evaluated {
    match function {
        Function::Root => power::root(run, x, y),
        Function::Log => log(run, x, y),
        Function::Binomial | Function::Permutations => {
            let (Some(n), Some(k)) = (x.as_integer(), y.as_integer()) else {
                return Err(Trouble::Unknown);
            };
            // Zero by custom, but not in formulas with factorials.
            run.off_domain |= (k > n || *k < IBig::ZERO) && run.has_variables();
            if function == Function::Binomial {
                run.spend(integers::binomial_cost(n, k))?;
                match integers::binomial(n, k) {
                    Some(value) => Ok(Value::integer(value)),
                    None => factorial::binomial(run, n, k),
                }
            } else {
                run.spend(integers::product_cost(k))?;
                match integers::permutations(n, k) {
                    Some(value) => Ok(Value::integer(value)),
                    None => factorial::permutations(run, n, k),
                }
            }
        }
        Function::Mod => {
            let (Some(a), Some(m)) = (x.as_integer(), y.as_integer()) else {
                return Err(Trouble::Unknown);
            };
            let result = integers::modulo(a, m).ok_or(Trouble::Unknown)?;
            Ok(Value::integer(result))
        }
        _ => Err(Trouble::Unknown),
    }
}

fn unary(run: Run<'_, '_, '_>, function: Function, x: &Value) -> Evaluated {
    match function {
        Function::Exp => exp(run, x),
        Function::Ln => ln(run, x),
        Function::Percent => run.over(x, &Value::integer(100)),
        Function::Degrees => {
            if matches!(x, Value::Exact(x) if x.is_zero()) {
                return Ok(Value::integer(0));
            }
            let pi = Complex::real(elementary::pi_ball(run.bits()?));
            let radians = run.times(x, &Value::Approx(pi))?;
            run.over(&radians, &Value::integer(180))
        }
        Function::Abs => modulus(run, x),
        Function::Floor | Function::Ceil => floor(run, x, function == Function::Ceil),
        Function::Sign => sign(run, x),
        Function::Factorial | Function::DoubleFactorial => {
            let n = x.as_integer().ok_or(Trouble::Unknown)?;
            run.spend(integers::product_cost(n))?;
            let double = function == Function::DoubleFactorial;
            let exact = if double {
                integers::double_factorial(n)
            } else {
                integers::factorial(n)
            };
            match exact {
                Some(value) => Ok(Value::integer(value)),
                None if double && *n > IBig::ZERO => Err(Trouble::Limit),
                None if double => Err(Trouble::Unknown),
                None => factorial::factorial(run, n),
            }
        }
        Function::Re | Function::Im | Function::Conjugate => Ok(part(function, x)),
        Function::Arg => argument(run, x),
        Function::Sin
        | Function::Cos
        | Function::Tan
        | Function::Cot
        | Function::Sec
        | Function::Csc => trigonometric(run, function, x),
        Function::Sinh
        | Function::Cosh
        | Function::Tanh
        | Function::Coth
        | Function::Sech
        | Function::Csch => hyperbolic(run, function, x),
        _ => super::inverse::call(run, function, x),
    }
}

/// e^x.
pub(super) fn exp(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if matches!(x, Value::Exact(x) if x.is_zero()) {
        return Ok(Value::integer(1));
    }
    let bits = run.bits()?;
    run.charge_series(bits, 1)?;
    let ball = run.ball(x)?;
    ball.exp(bits).map(Value::Approx).ok_or(Trouble::Limit)
}

/// The principal logarithm.
pub(super) fn ln(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if let Value::Exact(x) = x {
        if x.is_zero() {
            return Err(Trouble::Unknown);
        }
        if x.as_real().is_some_and(RBig::is_one) {
            return Ok(Value::integer(0));
        }
    }
    let bits = run.bits()?;
    run.charge_series(bits, 1)?;
    let ball = run.ball(x)?;
    run.off_domain |= ball.as_real().and_then(Ball::sign) != Some(Ordering::Greater);
    ball.ln(bits).map(Value::Approx).ok_or(Trouble::Unknown)
}

/// `log_base x`: exact for powers of the base.
fn log(run: Run<'_, '_, '_>, x: &Value, base: &Value) -> Evaluated {
    if let (Some(x), Some(base)) = (x.as_rational(), base.as_rational()) {
        if base.is_one() {
            return Err(Trouble::Unknown);
        }
        if x.is_positive() && base.is_positive() {
            let guess = (x.to_f64_fast().ln() / base.to_f64_fast().ln()).round();
            #[allow(clippy::cast_possible_truncation, reason = "checked to be in range")]
            if guess.abs() <= 4096.0 {
                let guess = guess as i64;
                run.charge(exact::size(x), 2)?;
                let power = Gaussian::real(base.clone()).power(&IBig::from(guess));
                if power.and_then(|power| power.as_real().map(|power| power == x)) == Some(true) {
                    return Ok(Value::integer(guess));
                }
            }
        }
    }
    let over = ln(run, x)?;
    let under = ln(run, base)?;
    run.over(&over, &under)
}

fn part(function: Function, x: &Value) -> Value {
    match (function, x) {
        (Function::Conjugate, Value::Exact(x)) => Value::Exact(x.clone().conjugate()),
        (Function::Conjugate, Value::Approx(x)) => Value::Approx(x.clone().conjugate()),
        (Function::Im, Value::Exact(x)) => Value::rational(x.im.clone()),
        (Function::Im, Value::Approx(x)) => Value::Approx(Complex::real(x.im.clone())),
        (_, Value::Exact(x)) => Value::rational(x.re.clone()),
        (_, Value::Approx(x)) => Value::Approx(Complex::real(x.re.clone())),
    }
}

/// The modulus.
pub(super) fn modulus(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if let Value::Exact(x) = x {
        run.charge(x.size(), 2)?;
        if let Some(value) = exact::modulus(x) {
            return Ok(Value::rational(value));
        }
    }
    let bits = run.bits()?;
    run.charge(bits, 8)?;
    let modulus = run.ball(x)?.modulus(bits).ok_or(Trouble::Limit)?;
    Ok(Value::Approx(Complex::real(modulus)))
}

fn argument(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if x.as_rational().is_some_and(Signed::is_positive) {
        return Ok(Value::integer(0));
    }
    let bits = run.bits()?;
    run.charge_series(bits, 1)?;
    let argument = run.ball(x)?.argument(bits).ok_or(Trouble::Unknown)?;
    Ok(Value::Approx(Complex::real(argument)))
}

fn floor(run: Run<'_, '_, '_>, x: &Value, up: bool) -> Evaluated {
    match x {
        Value::Exact(x) => {
            let real = x.as_real().ok_or(Trouble::Unknown)?;
            small(exact::floor(real, up)).ok_or(Trouble::Limit)
        }
        Value::Approx(x) => {
            let bits = run.bits()?;
            run.charge(bits, 4)?;
            let real = x.as_real().ok_or(Trouble::Unknown)?.clone();
            let real = if up { real.negated() } else { real };
            let floor = real.floor().ok_or(Trouble::Unknown)?;
            Ok(Value::integer(if up { -floor } else { floor }))
        }
    }
}

fn sign(run: Run<'_, '_, '_>, x: &Value) -> Evaluated {
    if let Some(real) = x.as_rational() {
        return Ok(Value::rational(exact::sign(real)));
    }
    let ball = run.ball(x)?;
    match ball.as_real().and_then(Ball::sign) {
        Some(Ordering::Less) => Ok(Value::integer(-1)),
        Some(Ordering::Greater) => Ok(Value::integer(1)),
        _ => Err(Trouble::Unknown),
    }
}

fn extreme(run: Run<'_, '_, '_>, values: &[Value], wanted: Ordering) -> Evaluated {
    let rationals: Option<Vec<RBig>> = values.iter().map(|v| v.as_rational().cloned()).collect();
    if let Some(rationals) = rationals {
        let size: usize = rationals.iter().map(exact::size).sum();
        run.charge(size, 1)?;
        let result = integers::extreme(&rationals, wanted).ok_or(Trouble::Unknown)?;
        return Ok(Value::rational(result));
    }
    let (first, rest) = values.split_first().ok_or(Trouble::Unknown)?;
    let mut result = first.clone();
    for value in rest {
        let difference = run.minus(value, &result)?;
        let ball = run.ball(&difference)?;
        let sign = ball
            .as_real()
            .and_then(Ball::sign)
            .ok_or(Trouble::Unknown)?;
        if sign == wanted {
            result = value.clone();
        }
    }
    Ok(result)
}

fn trigonometric(run: Run<'_, '_, '_>, function: Function, x: &Value) -> Evaluated {
    if matches!(x, Value::Exact(x) if x.is_zero()) {
        return match function {
            Function::Sin | Function::Tan => Ok(Value::integer(0)),
            Function::Cos | Function::Sec => Ok(Value::integer(1)),
            _ => Err(Trouble::Unknown),
        };
    }
    let bits = run.bits()?;
    run.charge_series(bits, 1)?;
    let (sine, cosine) = run.ball(x)?.sin_cos(bits).ok_or(Trouble::Limit)?;
    let (sine, cosine) = (Value::Approx(sine), Value::Approx(cosine));
    let one = Value::integer(1);
    match function {
        Function::Sin => Ok(sine),
        Function::Cos => Ok(cosine),
        Function::Tan => run.over(&sine, &cosine),
        Function::Cot => run.over(&cosine, &sine),
        Function::Sec => run.over(&one, &cosine),
        _ => run.over(&one, &sine),
    }
}

fn hyperbolic(run: Run<'_, '_, '_>, function: Function, x: &Value) -> Evaluated {
    if matches!(x, Value::Exact(x) if x.is_zero()) {
        return match function {
            Function::Sinh | Function::Tanh => Ok(Value::integer(0)),
            Function::Cosh | Function::Sech => Ok(Value::integer(1)),
            _ => Err(Trouble::Unknown),
        };
    }
    let bits = run.bits()?;
    run.charge_series(bits, 2)?;
    let (sine, cosine) = run.ball(x)?.sinh_cosh(bits).ok_or(Trouble::Limit)?;
    let (sine, cosine) = (Value::Approx(sine), Value::Approx(cosine));
    // Their quotient is that close to 1.
    let square = run.times(&cosine, &cosine)?;
    run.note(&square, false, !run.has_variables());
    let one = Value::integer(1);
    match function {
        Function::Sinh => Ok(sine),
        Function::Cosh => Ok(cosine),
        Function::Tanh => run.over(&sine, &cosine),
        Function::Coth => run.over(&cosine, &sine),
        Function::Sech => run.over(&one, &cosine),
        _ => run.over(&one, &sine),
    }
}

/// Expansion along the first row.
fn determinant(run: Run<'_, '_, '_>, cells: &[Value]) -> Evaluated {
    let rows = (1..=MAX_ROWS).find(|rows| rows * rows == cells.len());
    let rows = rows.ok_or(Trouble::Limit)?;
    let cells: Vec<&Value> = cells.iter().collect();
    expand(run, &cells, rows)
}

fn expand(run: Run<'_, '_, '_>, cells: &[&Value], rows: usize) -> Evaluated {
    let (first, rest) = cells.split_at(rows.min(cells.len()));
    if let ([cell], true) = (first, rest.is_empty()) {
        return Ok((*cell).clone());
    }
    let mut sum = Value::integer(0);
    for (column, cell) in first.iter().enumerate() {
        let minor: Vec<&Value> = rest
            .iter()
            .enumerate()
            .filter(|(at, _)| at % rows != column)
            .map(|(_, cell)| *cell)
            .collect();
        let minor = expand(run, &minor, rows - 1)?;
        let term = run.times(cell, &minor)?;
        sum = if column % 2 == 0 {
            run.plus(&sum, &term)?
        } else {
            run.minus(&sum, &term)?
        };
    }
    Ok(sum)
}

/// The magnitude of a rational.
pub(super) fn absolute(value: &RBig) -> RBig {
    value.clone().abs()
}
