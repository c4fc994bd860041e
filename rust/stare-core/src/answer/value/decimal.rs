//! Literal decimals, what they round, and tolerances.

use std::cmp::Ordering;

use dashu_base::{Abs, Signed};
use dashu_int::IBig;
use dashu_ratio::RBig;

use super::evaluate::Value;
use super::exact::Gaussian;
use super::numeric::{subtract, Outcome};
use crate::answer::limits::Budget;
use crate::answer::tree::{Decimal, Expr, Function, Number};

/// A decimal of this many significant digits may stand for the exact value that it rounds.
const ROUNDED_DIGITS: u32 = 6;

/// A number written as a decimal: `-1.50`, `1.4e3`, `1.4 \times 10^3`, `1.5 \%`.
pub(super) struct Literal {
    /// Its value.
    pub(super) value: RBig,
    /// Significant digits.
    significant: u32,
    /// One unit of its last digit.
    unit: RBig,
}

impl Literal {
    /// Read an expression as a decimal.
    pub(super) fn read(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Number(Number { value, decimal }) => {
                let Decimal {
                    significant,
                    places,
                } = (*decimal)?;
                Some(Self {
                    value: value.clone(),
                    significant,
                    unit: power_of_ten(&IBig::from(-i64::from(places)))?,
                })
            }
            Expr::Negate(inner) => {
                let inner = Self::read(inner)?;
                Some(Self {
                    value: -inner.value,
                    ..inner
                })
            }
            Expr::Call(Function::Percent, arguments) => {
                let [inner] = arguments.as_slice() else {
                    return None;
                };
                Self::read(inner)?.scaled(&power_of_ten(&IBig::from(-2))?)
            }
            Expr::Product(factors) => {
                let [mantissa, power] = factors.as_slice() else {
                    return None;
                };
                Self::read(mantissa)?.scaled(&written_power_of_ten(power)?)
            }
            _ => None,
        }
    }

    fn scaled(self, factor: &RBig) -> Option<Self> {
        Some(Self {
            value: super::exact::multiply(&self.value, factor)?,
            unit: super::exact::multiply(&self.unit, factor)?,
            ..self
        })
    }

    /// Whether long enough to stand for an exact value.
    pub(super) const fn is_long(&self) -> bool {
        self.significant >= ROUNDED_DIGITS
    }

    /// Whether its last digit stands for ones or more.
    pub(super) fn is_whole(&self) -> bool {
        self.unit >= RBig::ONE
    }

    /// Whether `expr` lies within half a unit of the last digit; `None` if not proved.
    pub(super) fn rounds(&self, expr: &Expr, budget: &mut Budget) -> Option<bool> {
        let half = &self.unit / IBig::from(2);
        near(expr, &self.value, &half, budget)
    }
}

fn power_of_ten(exponent: &IBig) -> Option<RBig> {
    Gaussian::real(RBig::from(10_u8))
        .power(exponent)
        .map(|power| power.re)
}

/// `10^n` with a literal integer n.
fn written_power_of_ten(expr: &Expr) -> Option<RBig> {
    let Expr::Power(base, exponent) = expr else {
        return None;
    };
    let integer = |expr: &Expr| match expr {
        Expr::Number(number) if number.value.is_int() => Some(number.value.numerator().clone()),
        _ => None,
    };
    if integer(base)? != IBig::from(10) {
        return None;
    }
    let exponent = match &**exponent {
        Expr::Negate(inner) => -integer(inner)?,
        exponent => integer(exponent)?,
    };
    power_of_ten(&exponent)
}

/// Whether `|expr - center| <= distance`; `None` if not proved or not real.
fn near(expr: &Expr, center: &RBig, distance: &RBig, budget: &mut Budget) -> Option<bool> {
    let ends = [
        (center + distance, Ordering::Greater),
        (center - distance, Ordering::Less),
    ];
    for (end, outside) in ends {
        let outcome = subtract(budget, |run| {
            Ok((run.value(expr)?, Value::rational(end.clone())))
        });
        match (outcome.outcome, outcome.sign) {
            (Outcome::Equal | Outcome::Different, Some(sign)) => {
                if sign == outside {
                    return Some(false);
                }
            }
            // Not real.
            (Outcome::Different, None) => return Some(false),
            _ => return None,
        }
    }
    Some(true)
}

/// Whether `|answer - gold| <= tolerance * |gold|`.
pub(super) fn relative(
    answer: &Expr,
    gold: &Expr,
    tolerance: f64,
    budget: &mut Budget,
) -> Option<bool> {
    let tolerance = RBig::try_from(tolerance).ok()?;
    if tolerance.is_negative() {
        return None;
    }
    if let Ok(exact) = super::evaluate::exact(gold, budget) {
        let exact = exact.as_real()?;
        let distance = super::exact::multiply(exact, &tolerance)?.abs();
        return near(answer, exact, &distance, budget);
    }
    // |answer - gold| - tolerance * |gold| <= 0
    let difference = subtract(budget, |run| {
        let (answer, gold) = (run.value(answer)?, run.value(gold)?);
        let distance = run.minus(&answer, &gold)?;
        let distance = super::functions::modulus(run, &distance)?;
        let size = super::functions::modulus(run, &gold)?;
        let allowed = run.times(&size, &Value::rational(tolerance.clone()))?;
        Ok((distance, allowed))
    });
    match (difference.outcome, difference.sign) {
        (Outcome::Equal | Outcome::Different, Some(sign)) => Some(sign != Ordering::Greater),
        _ => None,
    }
}
