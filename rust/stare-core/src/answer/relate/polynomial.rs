//! Polynomials with rational coefficients, multiplied out: the quick way to see that two equations
//! say the same, and the canonical form of an equation.

use std::collections::BTreeMap;

use dashu_base::BitTest;
use dashu_ratio::RBig;

use super::super::limits::{Budget, INTEGER_BITS};
use super::super::tree::{Expr, Symbol};

/// A polynomial that needs more terms is not multiplied out.
const MAX_TERMS: usize = 64;

/// Nor is one of a higher degree.
const MAX_DEGREE: u32 = 32;

/// Variables and their exponents, sorted by name.
type Monomial = Vec<(Symbol, u32)>;

/// A polynomial. No coefficient is zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Polynomial {
    terms: BTreeMap<Monomial, RBig>,
}

impl Polynomial {
    /// Multiply out; `None` if it is no polynomial with rational coefficients, or a large one.
    pub(super) fn of(expr: &Expr, budget: &mut Budget) -> Option<Self> {
        budget.charge(2).ok()?;
        match expr {
            Expr::Number(number) => Some(Self::constant(number.value.clone())),
            Expr::Symbol(name) => Some(Self {
                terms: BTreeMap::from([(vec![(name.clone(), 1)], RBig::ONE)]),
            }),
            Expr::Negate(inner) => Self::of(inner, budget)?.scaled(&RBig::NEG_ONE),
            Expr::Sum(items) => items
                .iter()
                .try_fold(Self::constant(RBig::ZERO), |sum, item| {
                    sum.plus(&Self::of(item, budget)?)
                }),
            Expr::Product(items) => {
                items
                    .iter()
                    .try_fold(Self::constant(RBig::ONE), |product, item| {
                        let factor = Self::of(item, budget)?;
                        product.times(&factor, budget)
                    })
            }
            Expr::Quotient(over, under) => {
                let divisor = Self::of(under, budget)?.as_constant()?;
                if divisor.is_zero() {
                    return None;
                }
                Self::of(over, budget)?.scaled(&(RBig::ONE / divisor))
            }
            Expr::Power(base, exponent) => {
                let exponent = Self::of(exponent, budget)?.as_constant()?;
                let exponent = u32::try_from(exponent).ok().filter(|&n| n <= MAX_DEGREE)?;
                let base = Self::of(base, budget)?;
                (0..exponent).try_fold(Self::constant(RBig::ONE), |product, _| {
                    product.times(&base, budget)
                })
            }
            _ => None,
        }
    }

    fn constant(value: RBig) -> Self {
        let mut terms = BTreeMap::new();
        if !value.is_zero() {
            terms.insert(Vec::new(), value);
        }
        Self { terms }
    }

    fn as_constant(&self) -> Option<RBig> {
        match self.terms.first_key_value() {
            None => Some(RBig::ZERO),
            Some((monomial, value)) if self.terms.len() == 1 && monomial.is_empty() => {
                Some(value.clone())
            }
            Some(_) => None,
        }
    }

    /// Whether it is zero everywhere.
    #[cfg(test)]
    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The total degree, 0 for constants.
    pub(super) fn degree(&self) -> u32 {
        let degree = |monomial: &Monomial| monomial.iter().map(|(_, power)| power).sum();
        self.terms.keys().map(degree).max().unwrap_or(0)
    }

    fn scaled(self, factor: &RBig) -> Option<Self> {
        let mut terms = BTreeMap::new();
        for (monomial, value) in self.terms {
            terms.insert(monomial, bounded(value * factor)?);
        }
        Some(Self { terms })
    }

    fn plus(mut self, other: &Self) -> Option<Self> {
        for (monomial, value) in &other.terms {
            self.add(monomial.clone(), value.clone())?;
        }
        Some(self)
    }

    fn times(&self, other: &Self, budget: &mut Budget) -> Option<Self> {
        let mut product = Self::constant(RBig::ZERO);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                budget.charge(4 + (bits(a) + bits(b)) as u64 / 16).ok()?;
                product.add(multiply(left, right)?, bounded(a * b)?)?;
            }
        }
        Some(product)
    }

    fn add(&mut self, monomial: Monomial, value: RBig) -> Option<()> {
        let sum = match self.terms.remove(&monomial) {
            Some(known) => bounded(known + value)?,
            None => value,
        };
        if !sum.is_zero() {
            self.terms.insert(monomial, sum);
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// Divided by its first coefficient: the same for all nonzero multiples. The sign is that of
    /// the coefficient.
    pub(super) fn monic(&self) -> Option<(Self, bool)> {
        let (_, first) = self.terms.last_key_value()?;
        let negative = *first < RBig::ZERO;
        let monic = self.clone().scaled(&(RBig::ONE / first))?;
        Some((monic, negative))
    }

    /// A text that tells polynomials apart.
    pub(super) fn text(&self) -> String {
        let terms: Vec<_> = self
            .terms
            .iter()
            .rev()
            .map(|(monomial, value)| {
                let powers: Vec<_> = monomial
                    .iter()
                    .map(|(name, power)| format!("{name}^{power}"))
                    .collect();
                format!("{value}*{}", powers.join("*"))
            })
            .collect();
        terms.join("+")
    }
}

fn multiply(left: &Monomial, right: &Monomial) -> Option<Monomial> {
    let mut powers: BTreeMap<Symbol, u32> = left.iter().cloned().collect();
    for (name, power) in right {
        *powers.entry(name.clone()).or_insert(0) += power;
    }
    (powers.values().sum::<u32>() <= MAX_DEGREE).then(|| powers.into_iter().collect())
}

/// The value unless it is over the limit on exact numbers.
fn bounded(value: RBig) -> Option<RBig> {
    (bits(&value) <= INTEGER_BITS).then_some(value)
}

fn bits(value: &RBig) -> usize {
    value
        .numerator()
        .bit_len()
        .max(value.denominator().bit_len())
}

#[cfg(test)]
mod tests {
    use super::super::edit::{difference, integer, product, quotient};
    use super::*;

    fn of(expr: &Expr) -> Option<Polynomial> {
        Polynomial::of(expr, &mut Budget::new())
    }

    fn power(base: &Expr, exponent: i64) -> Expr {
        Expr::Power(Box::new(base.clone()), Box::new(integer(exponent)))
    }

    #[test]
    fn multiplied_out() {
        let (x, y) = (Expr::Symbol("x".into()), Expr::Symbol("y".into()));
        // (x - y)^2 = x (x - 2y) + y^2
        let left = power(&difference(&x, &y), 2);
        let right = Expr::Sum(vec![
            product(&x, &difference(&x, &product(&integer(2), &y))),
            power(&y, 2),
        ]);
        assert_eq!(of(&left), of(&right));
        assert_eq!(of(&left).map(|p| p.degree()), Some(2));
        let third = quotient(&left, &integer(-3));
        let (monic, negative) = of(&third).unwrap().monic().unwrap();
        assert!(negative);
        assert_eq!(Some((monic, false)), of(&left).unwrap().monic());
        assert!(of(&difference(&left, &right)).unwrap().is_zero());
    }

    #[test]
    fn what_is_not_multiplied_out() {
        let x = Expr::Symbol("x".into());
        let many = (0..12)
            .map(|n| Expr::Symbol(format!("x_{n}").into()))
            .collect();
        for expr in [
            quotient(&integer(1), &x),
            quotient(&x, &integer(0)),
            power(&x, 1000),
            power(&integer(9), 100_000),
            power(&Expr::Sum(many), 6),
            Expr::Power(Box::new(integer(2)), Box::new(x)),
        ] {
            assert_eq!(of(&expr), None);
        }
    }
}
