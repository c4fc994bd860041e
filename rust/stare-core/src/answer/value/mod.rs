//! Deciding numbers and expressions: exact rationals, balls of rising precision, residues.
//!
//! - [`exact`](mod@exact), [`integers`]: rationals of bounded size.
//! - [`ball`], [`complex`], [`elementary`]: numbers known to lie within a radius.
//! - [`evaluate`], [`power`], [`functions`], [`inverse`], [`factorial`]: from trees to such numbers.
//! - [`field`], [`primes`], [`modular`], [`combinatorics`], [`identity`]: from trees to residues
//!   modulo primes.
//! - [`points`], [`numeric`]: constants, and expressions at points; [`pieces`]: those of which that
//!   proves nothing.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::limits::Budget;
use super::tree::Expr;
use super::verdict::Reason;

mod ball;
mod combinatorics;
mod compare;
mod complex;
mod decimal;
mod elementary;
mod evaluate;
mod exact;
mod factorial;
mod field;
mod functions;
mod identity;
mod integers;
mod inverse;
mod key;
mod mag;
mod modular;
mod numeric;
mod pieces;
mod points;
mod power;
mod primes;
mod proportion;
mod symbols;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trees;

/// Sums and products of more terms are not written out.
const TERMS: i64 = 1000;

/// Whether two expressions are equal, for every value of their variables.
///
/// Symmetric. Without variables: [`Reason::EqualNumbers`], [`Reason::EqualConstants`],
/// [`Reason::RoundedDecimal`] (a literal decimal of six significant digits or more that is the
/// correct rounding of an exact value not written as a decimal), [`Reason::DifferentNumbers`],
/// [`Reason::DifferentConstants`]. With variables: [`Reason::EqualExpressions`],
/// [`Reason::NumericIdentity`], [`Reason::SameTree`], [`Reason::DifferentExpressions`]. Else
/// [`Reason::Unproved`], [`Reason::Ambiguous`] or [`Reason::Limit`].
pub fn compare(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    compare::compare(left, right, budget)
}

/// Whether two expressions are nonzero constant multiples of each other, and the sign of the factor
/// if it is real: the relation `left = 0` says the same as `right = 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proportion {
    /// `left = c * right` with real `c > 0`.
    Positive,
    /// `left = c * right` with real `c < 0`.
    Negative,
    /// Proved not to be proportional.
    Not,
    /// Not proved.
    Unproved,
}

/// See [`Proportion`].
pub fn proportion(left: &Expr, right: &Expr, budget: &mut Budget) -> Proportion {
    let names = compare::names(left, right);
    match proportion::sign(left, right, &names, budget) {
        Ok(Ordering::Greater) => Proportion::Positive,
        Ok(Ordering::Less) => Proportion::Negative,
        Err(true) => Proportion::Not,
        Ok(Ordering::Equal) | Err(false) => Proportion::Unproved,
    }
}

/// The exact value, if it is a rational number that is cheap to compute.
pub fn exact(expr: &Expr, budget: &mut Budget) -> Option<RBig> {
    let value = evaluate::exact(expr, budget).ok()?;
    value.as_real().cloned()
}

/// The order of two real constants (infinities included); `None` if not proved.
pub fn order(left: &Expr, right: &Expr, budget: &mut Budget) -> Option<Ordering> {
    match (compare::infinite(left), compare::infinite(right)) {
        (Some(left), Some(right)) => return Some(left.cmp(&right)),
        (Some(left), None) => return compare::finite(right, budget).then_some(left),
        (None, Some(right)) => return compare::finite(left, budget).then_some(right.reverse()),
        (None, None) => {}
    }
    numeric::difference(left, right, budget).sign
}

/// Whether `answer` lies within `tolerance` of `gold`; `None` if not proved, or if the tolerance
/// does not apply: only to numbers, and to a gold written as a decimal; every other is exact.
pub fn within(
    answer: &Expr,
    gold: &Expr,
    tolerance: Tolerance,
    budget: &mut Budget,
) -> Option<bool> {
    match tolerance {
        Tolerance::None => None,
        Tolerance::GoldDigits => {
            let gold = decimal::Literal::read(gold)?;
            // No number is close to zero, relative to it.
            let zero = gold.value.is_zero();
            (!zero).then(|| gold.rounds(answer, budget))?
        }
        Tolerance::Relative(tolerance) => {
            // Counts and closed forms are exact.
            decimal::Literal::read(gold)?;
            decimal::relative(answer, gold, tolerance, budget)
        }
    }
}

/// What else counts as equal to a number, on request of the caller. Never absolute.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Tolerance {
    /// Nothing.
    #[default]
    None,
    /// An answer that rounds to the gold's own digits, if the gold is a decimal.
    GoldDigits,
    /// `|answer - gold| <= tolerance * |gold|`, if the gold is a decimal.
    Relative(f64),
}

/// A text that is the same for equal expressions and, where decidable, only for them; `None` where
/// no such text is known.
pub fn key(expr: &Expr, budget: &mut Budget) -> Option<String> {
    key::key(expr, &variables(expr), budget)
}

/// The names of the variables, sorted, each once. Bound variables are not among them.
#[must_use]
pub fn variables(expr: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    symbols::free(expr, &mut names);
    names
}
