//! Factorials too long to write out: their size, by Stirling's series.

use dashu_int::IBig;
use dashu_ratio::RBig;

use super::ball::Ball;
use super::complex::Complex;
use super::elementary::{exp, ln, pi_ball};
use super::evaluate::{Evaluated, Evaluator, Trouble, Value};
use super::integers;
use super::mag::Mag;

/// Numerators and denominators of `B_2k / (2k (2k - 1))`, the coefficients of `1 / n^(2k - 1)`.
const STIRLING: [(i64, u64); 5] = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188)];

/// The first omitted coefficient is 691 / 360360, below 2^-9: it bounds the error.
const OMITTED_TOP: i64 = -9;

/// Below this the series is of little use, and factorials are short.
const LEAST: u64 = 64;

/// `ln n!`; `None` for a negative or gigantic n.
fn log_factorial(n: &IBig, bits: usize) -> Option<Ball> {
    let small = u64::try_from(n).ok()?;
    if small < LEAST {
        return ln(&Ball::integer(integers::factorial(n)?, bits), bits);
    }
    if small >> 50 != 0 {
        return None;
    }
    let n = Ball::integer(n.clone(), bits);
    let half = RBig::from_parts(IBig::ONE, 2_u8.into());
    // (n + 1/2) ln n - n + ln(2 pi) / 2 + 1/(12 n) - ..
    let mut sum = n
        .plus(&Ball::rational(&half, bits), bits)
        .times(&ln(&n, bits)?, bits)?
        .minus(&n, bits);
    let circle = ln(&pi_ball(bits).shifted(1), bits)?.shifted(-1);
    sum = sum.plus(&circle, bits);
    let square = n.times(&n, bits)?;
    let mut power = n;
    for (over, under) in STIRLING {
        let coefficient = RBig::from_parts(over.into(), under.into());
        let term = Ball::rational(&coefficient, bits).over(&power, bits)?;
        sum = sum.plus(&term, bits);
        power = power.times(&square, bits)?;
    }
    let error = Mag::new(1, OMITTED_TOP).over(power.low()?);
    Some(sum.widened(error))
}

fn from_log(run: &Evaluator<'_, '_>, log: Option<Ball>) -> Evaluated {
    let bits = run.bits()?;
    let ball = exp(&log.ok_or(Trouble::Limit)?, bits).ok_or(Trouble::Limit)?;
    Ok(Value::Approx(Complex::real(ball)))
}

/// `n!`.
pub(super) fn factorial(run: &mut Evaluator<'_, '_>, n: &IBig) -> Evaluated {
    let bits = run.bits()?;
    run.charge_series(bits, 4)?;
    if *n < IBig::ZERO {
        return Err(Trouble::Unknown);
    }
    from_log(run, log_factorial(n, bits))
}

/// `n! / (n - k)!` for `0 <= k <= n`.
pub(super) fn permutations(run: &mut Evaluator<'_, '_>, n: &IBig, k: &IBig) -> Evaluated {
    let bits = run.bits()?;
    run.charge_series(bits, 8)?;
    if *k < IBig::ZERO || k > n {
        return Err(Trouble::Unknown);
    }
    let over = log_factorial(n, bits);
    let under = log_factorial(&(n - k), bits);
    let log = over
        .zip(under)
        .map(|(over, under)| over.minus(&under, bits));
    from_log(run, log)
}

/// `n! / (k! (n - k)!)` for `0 <= k <= n`.
pub(super) fn binomial(run: &mut Evaluator<'_, '_>, n: &IBig, k: &IBig) -> Evaluated {
    let bits = run.bits()?;
    run.charge_series(bits, 12)?;
    if *k < IBig::ZERO || k > n {
        return Err(Trouble::Unknown);
    }
    let over = log_factorial(n, bits);
    let under = log_factorial(k, bits).zip(log_factorial(&(n - k), bits));
    let log = over
        .zip(under)
        .map(|(over, (left, right))| over.minus(&left, bits).minus(&right, bits));
    from_log(run, log)
}
