//! The order in which the methods are tried.

use std::cmp::Ordering;

use super::decimal::Literal;
use super::evaluate::{exact, Evaluator};
use super::identity::{self, Identity};
use super::numeric::{self, Outcome};
use super::symbols::{self, DecimalLog, LowerCase, NaturalLog};
use crate::answer::limits::Budget;
use crate::answer::tree::{Constant, Expr};
use crate::answer::verdict::{Reason, Verdict};

/// See [`super::compare()`].
pub(super) fn compare(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    if let Some(reason) = numbers(left, right, budget) {
        return reason;
    }
    if symbols::has_any_log(left) || symbols::has_any_log(right) {
        return any_log(left, right, budget);
    }
    let reason = decide(left, right, budget);
    if reason == Reason::DifferentExpressions && differ_in_case(left, right, budget) {
        return Reason::Ambiguous;
    }
    reason
}

/// Exact numbers.
fn numbers(left: &Expr, right: &Expr, budget: &mut Budget) -> Option<Reason> {
    let one = exact(left, budget).ok()?;
    let other = exact(right, budget).ok()?;
    if one == other {
        return Some(Reason::EqualNumbers);
    }
    if let (Some(one), Some(other)) = (one.as_real(), other.as_real()) {
        if one.sign() != other.sign() {
            return Some(Reason::DifferentNumbers);
        }
    }
    if rounded(left, right, budget) {
        return Some(Reason::RoundedDecimal);
    }
    Some(Reason::DifferentNumbers)
}

/// Whether one side is a long decimal that is the other's correct rounding.
fn rounded(left: &Expr, right: &Expr, budget: &mut Budget) -> bool {
    let (decimal, other) = match (Literal::read(left), Literal::read(right)) {
        (Some(decimal), None) => (decimal, right),
        (None, Some(decimal)) => (decimal, left),
        _ => return false,
    };
    decimal.is_long()
        // A count has all of its digits.
        && !(decimal.is_whole() && is_integer(other, budget))
        && decimal.rounds(other, budget) == Some(true)
}

/// Whether an expression is an integer: by its value, or by how it is written.
fn is_integer(expr: &Expr, budget: &mut Budget) -> bool {
    match exact(expr, budget) {
        Ok(value) => value.as_integer().is_some(),
        Err(_) => symbols::is_integer(expr),
    }
}

/// The names of the variables of two expressions, sorted, each once.
pub(super) fn names<'a>(left: &'a Expr, right: &'a Expr) -> Vec<&'a str> {
    let mut names = Vec::new();
    symbols::free(left, &mut names);
    symbols::free(right, &mut names);
    names
}

fn decide(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    let names = names(left, right);
    match (infinite(left), infinite(right)) {
        (Some(left), Some(right)) if left == right => return Reason::EqualConstants,
        (Some(_), Some(_)) => return Reason::DifferentConstants,
        (Some(_), None) => return infinite_and(right, budget),
        (None, Some(_)) => return infinite_and(left, budget),
        (None, None) => {}
    }
    let applied = symbols::has_application(left) || symbols::has_application(right);
    if names.is_empty() && !applied {
        return constants(left, right, budget);
    }
    let reason = expressions(left, right, &names, budget);
    let different = reason == Reason::DifferentExpressions;
    if different && applied && !numeric::differ_by_a_constant(left, right, &names, budget) {
        return Reason::Unproved;
    }
    reason
}

fn constants(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    match identity::compare(left, right, &[], budget) {
        Identity::Equal | Identity::EqualOpaque => return Reason::EqualConstants,
        Identity::Limit => return Reason::Limit,
        Identity::Different if rounded(left, right, budget) => return Reason::RoundedDecimal,
        Identity::Different => return Reason::DifferentConstants,
        Identity::Unknown => {}
    }
    match numeric::difference(left, right, budget).outcome {
        Outcome::Equal => Reason::EqualConstants,
        Outcome::Different if rounded(left, right, budget) => Reason::RoundedDecimal,
        Outcome::Different => Reason::DifferentConstants,
        Outcome::Unknown => Reason::Unproved,
        Outcome::Limit => Reason::Limit,
    }
}

fn expressions(left: &Expr, right: &Expr, names: &[&str], budget: &mut Budget) -> Reason {
    match identity::compare(left, right, names, budget) {
        Identity::Equal => return Reason::EqualExpressions,
        Identity::EqualOpaque => return Reason::SameTree,
        Identity::Different => return Reason::DifferentExpressions,
        Identity::Limit => return Reason::Limit,
        Identity::Unknown => {}
    }
    match numeric::at_points(left, right, names, budget) {
        Outcome::Equal => Reason::NumericIdentity,
        Outcome::Different => Reason::DifferentExpressions,
        Outcome::Unknown => Reason::Unproved,
        Outcome::Limit => Reason::Limit,
    }
}

/// The sign of an infinity.
pub(super) fn infinite(expr: &Expr) -> Option<Ordering> {
    match expr {
        Expr::Constant(Constant::Infinity) => Some(Ordering::Greater),
        Expr::Negate(inner) => infinite(inner).map(Ordering::reverse),
        _ => None,
    }
}

/// Bits to prove that a constant is finite.
const FINITE_BITS: usize = 64;

/// Whether an expression is proved to be a finite real number.
pub(super) fn finite(expr: &Expr, budget: &mut Budget) -> bool {
    let value = Evaluator::new(FINITE_BITS, budget).value(expr);
    value.is_ok_and(|value| value.to_ball(FINITE_BITS).as_real().is_some())
}

/// An infinity compared with something else: a finite number, or an expression that is finite
/// wherever it is defined.
fn infinite_and(other: &Expr, budget: &mut Budget) -> Reason {
    if super::variables(other).is_empty() {
        return if finite(other, budget) {
            Reason::DifferentConstants
        } else {
            Reason::Unproved
        };
    }
    let strange = |node: &Expr| {
        matches!(
            node,
            Expr::Bound(_) | Expr::Apply(..) | Expr::Constant(Constant::Infinity)
        )
    };
    if symbols::contains(other, strange) {
        Reason::Unproved
    } else {
        Reason::DifferentExpressions
    }
}

/// Logarithms of an unknown base: both readings.
fn any_log(left: &Expr, right: &Expr, budget: &mut Budget) -> Reason {
    let readings = |expr: &Expr| {
        let natural = symbols::rewrite(expr, &NaturalLog);
        if symbols::has_any_log(expr) {
            vec![natural, symbols::rewrite(expr, &DecimalLog)]
        } else {
            vec![natural]
        }
    };
    let (lefts, rights) = (readings(left), readings(right));
    // The same reading on both sides.
    let same: Vec<Reason> = (0..lefts.len().max(rights.len()))
        .filter_map(|at| {
            let left = lefts.get(at).or(lefts.first())?;
            let right = rights.get(at).or(rights.first())?;
            Some(compare(left, right, budget))
        })
        .collect();
    let verdict = |reasons: &[Reason], verdict| {
        let all = reasons.iter().all(|reason| reason.verdict() == verdict);
        reasons.first().copied().filter(|_| all)
    };
    if let Some(reason) = verdict(&same, Verdict::Correct) {
        return reason;
    }
    let Some(reason) = verdict(&same, Verdict::Incorrect) else {
        return Reason::Ambiguous;
    };
    if let ([natural_left, decimal_left], [natural_right, decimal_right]) =
        (lefts.as_slice(), rights.as_slice())
    {
        let mixed = [
            compare(natural_left, decimal_right, budget),
            compare(decimal_left, natural_right, budget),
        ];
        if verdict(&mixed, Verdict::Incorrect).is_none() {
            return Reason::Ambiguous;
        }
    }
    reason
}

/// Whether two different expressions would be equal if the case of their variables did not count.
fn differ_in_case(left: &Expr, right: &Expr, budget: &mut Budget) -> bool {
    if super::variables(left) == super::variables(right) {
        return false;
    }
    let upper = |name: &&str| name.chars().any(char::is_uppercase);
    if !names(left, right).iter().any(upper) {
        return false;
    }
    let left = symbols::rewrite(left, &LowerCase);
    let right = symbols::rewrite(right, &LowerCase);
    decide(&left, &right, budget).verdict() == Verdict::Correct
}
