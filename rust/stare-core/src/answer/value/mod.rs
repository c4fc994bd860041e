//! Deciding numbers and expressions: exact rationals, balls of rising precision, residues.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::limits::Budget;
use super::tree::Expr;
use super::verdict::Reason;

/// Whether two expressions are equal, for every value of their variables.
///
/// Symmetric. Without variables: [`Reason::EqualNumbers`], [`Reason::EqualConstants`],
/// [`Reason::RoundedDecimal`] (a literal decimal of six significant digits or more that is the
/// correct rounding of an exact value not written as a decimal), [`Reason::DifferentNumbers`],
/// [`Reason::DifferentConstants`]. With variables: [`Reason::EqualExpressions`],
/// [`Reason::NumericIdentity`], [`Reason::SameTree`], [`Reason::DifferentExpressions`]. Else
/// [`Reason::Unproved`], [`Reason::Ambiguous`] or [`Reason::Limit`].
pub fn compare(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    let _ = (left, right, budget);
    Reason::Unproved
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
    let _ = (left, right, budget);
    Proportion::Unproved
}

/// The exact value, if it is a rational number that is cheap to compute.
pub fn exact(expr: &Expr, budget: &mut Budget) -> Option<RBig> {
    let _ = (expr, budget);
    None
}

/// The order of two real constants (infinities included); `None` if not proved.
pub fn order(left: &Expr, right: &Expr, budget: &mut Budget) -> Option<Ordering> {
    let _ = (left, right, budget);
    None
}

/// Whether `decimal` is a literal decimal and `exact` lies within half a unit of its last place, or
/// within `relative` of it.
pub fn within(
    answer: &Expr,
    gold: &Expr,
    tolerance: Tolerance,
    budget: &mut Budget,
) -> Option<bool> {
    let _ = (answer, gold, tolerance, budget);
    None
}

/// What else counts as equal to a number, on request of the caller. Never absolute.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Tolerance {
    /// Nothing.
    #[default]
    None,
    /// An answer that rounds to the gold's own digits, if the gold is a decimal.
    GoldDigits,
    /// `|answer - gold| <= tolerance * |gold|`, for numbers without variables.
    Relative(f64),
}

/// A text that is the same for equal expressions and, where decidable, only for them; `None` where
/// no such text is known.
pub fn key(expr: &Expr, budget: &mut Budget) -> Option<String> {
    let _ = (expr, budget);
    None
}

/// The names of the variables, sorted, each once. Bound variables are not among them.
#[must_use]
pub fn variables(expr: &Expr) -> Vec<&str> {
    let _ = expr;
    Vec::new()
}
