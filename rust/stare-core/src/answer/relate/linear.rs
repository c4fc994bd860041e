//! Expressions that are linear in one variable, read off their trees.

use super::super::tree::Expr;
use super::edit::{integer, mentions, negate};

/// `slope * name + offset`, both free of the variable.
pub(super) struct Linear {
    /// Never absent where the variable occurs, but it may still come to zero.
    pub(super) slope: Expr,
    /// What is left where the variable is 0.
    pub(super) offset: Expr,
}

/// Read an expression as linear in `name`; `None` if it does not look so, or is free of it.
pub(super) fn linear(expr: &Expr, name: &str) -> Option<Linear> {
    let parts = split(expr, name)?;
    Some(Linear {
        slope: parts.slope?,
        offset: parts.offset.unwrap_or_else(|| integer(0)),
    })
}

/// As [`Linear`], nothing for zero.
struct Split {
    slope: Option<Expr>,
    offset: Option<Expr>,
}

fn split(expr: &Expr, name: &str) -> Option<Split> {
    if !mentions(expr, name) {
        return Some(Split {
            slope: None,
            offset: Some(expr.clone()),
        });
    }
    match expr {
        Expr::Symbol(_) => Some(Split {
            slope: Some(integer(1)),
            offset: None,
        }),
        Expr::Negate(inner) => split(inner, name).map(|parts| parts.map(negate)),
        Expr::Sum(terms) => {
            let (mut slopes, mut offsets) = (Vec::new(), Vec::new());
            for term in terms {
                let parts = split(term, name)?;
                slopes.extend(parts.slope);
                offsets.extend(parts.offset);
            }
            Some(Split {
                slope: total(slopes),
                offset: total(offsets),
            })
        }
        Expr::Product(factors) => {
            let (with, without): (Vec<_>, Vec<_>) =
                factors.iter().partition(|factor| mentions(factor, name));
            let [factor] = *with.as_slice() else {
                return None;
            };
            let rest: Vec<_> = without.into_iter().cloned().collect();
            Some(split(factor, name)?.map(|part| {
                let mut factors = rest.clone();
                factors.push(part);
                Expr::Product(factors)
            }))
        }
        Expr::Power(base, exponent) if **exponent == integer(1) => split(base, name),
        Expr::Quotient(over, under) if !mentions(under, name) => {
            Some(split(over, name)?.map(|part| Expr::Quotient(Box::new(part), under.clone())))
        }
        _ => None,
    }
}

impl Split {
    fn map(self, change: impl Fn(Expr) -> Expr) -> Self {
        Self {
            slope: self.slope.map(&change),
            offset: self.offset.map(&change),
        }
    }
}

fn total(mut terms: Vec<Expr>) -> Option<Expr> {
    if terms.len() > 1 {
        return Some(Expr::Sum(terms));
    }
    terms.pop()
}
