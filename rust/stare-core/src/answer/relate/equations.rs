//! Equations say the same if their differences of sides are proportional.

use super::super::limits::Budget;
use super::super::tree::{Answer, Expr, Operator};
use super::super::value::{self, Proportion};
use super::super::verdict::{Reason, Verdict};
use super::edit::{any, difference, is_constant, names};
use super::matching::{matching, Matching};
use super::polynomial::Polynomial;
use super::{samples, text, Context};

/// The sides of an equation of expressions, or of `\ne`.
fn sides(answer: &Answer) -> Option<(Vec<&Expr>, Operator)> {
    let Answer::Relation { sides, operators } = answer else {
        return None;
    };
    let operator = *operators.first()?;
    let same = matches!(operator, Operator::Equal | Operator::NotEqual)
        && operators.iter().all(|other| *other == operator);
    let sides: Option<Vec<_>> = sides
        .iter()
        .map(|side| match side {
            Answer::Expr(expr) => Some(expr),
            _ => None,
        })
        .collect();
    sides.filter(|_| same).map(|sides| (sides, operator))
}

/// Decide two equations, or two statements with `\ne`.
pub(super) fn compare(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    let (left, operator) = sides(answer)?;
    let (right, other) = sides(gold)?;
    if operator != other {
        return Some(Reason::DifferentRelations);
    }
    match (left.as_slice(), right.as_slice()) {
        (&[a, b], &[c, d]) => Some(pair(context, (a, b), (c, d), answer, gold)),
        _ => Some(chains(context, &left, &right)),
    }
}

/// `a = b = c`: the same sides in any order.
fn chains(context: &mut Context<'_>, left: &[&Expr], right: &[&Expr]) -> Reason {
    if left.len() != right.len() {
        return Reason::Unproved;
    }
    let found = matching(left.len(), &mut |i, j| match (left.get(i), right.get(j)) {
        (Some(a), Some(b)) => super::scalars::exactly(context, a, b).verdict(),
        _ => Verdict::Incorrect,
    });
    match found {
        Matching::Perfect => Reason::EqualRelations,
        _ => Reason::Unproved,
    }
}

fn pair(
    context: &mut Context<'_>,
    (a, b): (&Expr, &Expr),
    (c, d): (&Expr, &Expr),
    answer: &Answer,
    gold: &Answer,
) -> Reason {
    let (left, right) = (difference(a, b), difference(c, d));
    let empty = (
        says_nothing(context, a, b, &left),
        says_nothing(context, c, d, &right),
    );
    match empty {
        (false, false) => {}
        (true, false) => return Reason::FalseStatement,
        (_, true) => return chains(context, &[a, b], &[c, d]),
    }
    match proportion(&left, &right, context.budget) {
        Proportion::Positive | Proportion::Negative => Reason::EqualRelations,
        _ if text::same(a, c) && text::same(b, d) || text::same(a, d) && text::same(b, c) => {
            Reason::EqualRelations
        }
        Proportion::Not if comparable(&left, &right, context.budget) => Reason::DifferentRelations,
        _ => {
            let mut variables = names(answer);
            variables.extend(names(gold));
            variables.sort_unstable();
            variables.dedup();
            if samples::leaves(context, &left, &right, &variables)
                || samples::leaves(context, &right, &left, &variables)
            {
                Reason::DifferentRelations
            } else {
                Reason::Unproved
            }
        }
    }
}

/// Whether an equation holds everywhere, or nowhere by its looks (`x = x + 1`). Capitals may be
/// matrices: `AB = BA` says something.
fn says_nothing(context: &mut Context<'_>, a: &Expr, b: &Expr, rest: &Expr) -> bool {
    if has_capital_product(rest) {
        return false;
    }
    match Polynomial::of(rest, context.budget) {
        Some(polynomial) => polynomial.degree() == 0,
        None => context.equal(a, b) == Some(true),
    }
}

fn has_capital_product(expr: &Expr) -> bool {
    any(expr, &mut |node| match node {
        Expr::Product(factors) => {
            let capital = |factor: &&Expr| matches!(factor, Expr::Symbol(name) if name.starts_with(char::is_uppercase));
            factors.iter().filter(capital).count() > 1
        }
        _ => false,
    })
}

/// [`value::proportion`], for polynomials without asking it.
pub(super) fn proportion(left: &Expr, right: &Expr, budget: &mut Budget) -> Proportion {
    let polynomials = (
        Polynomial::of(left, budget).and_then(|p| p.monic()),
        Polynomial::of(right, budget).and_then(|p| p.monic()),
    );
    match polynomials {
        (Some((left, minus)), Some((right, other))) if left == right => {
            if minus == other {
                Proportion::Positive
            } else {
                Proportion::Negative
            }
        }
        (Some(_), Some(_)) => Proportion::Not,
        _ => value::proportion(left, right, budget),
    }
}

/// Whether that two differences of sides are not proportional proves that the equations differ:
/// for polynomials of one degree. `x = 0` and `x^2 = 0` are not proportional and say the same.
pub(super) fn comparable(left: &Expr, right: &Expr, budget: &mut Budget) -> bool {
    let mut degree = |expr: &Expr| match Polynomial::of(expr, budget) {
        Some(polynomial) => Some(polynomial.degree()),
        None => looks_like_degree(expr),
    };
    match (degree(left), degree(right)) {
        (Some(left), Some(right)) => left == right && left > 0,
        _ => false,
    }
}

/// The degree of what is a polynomial with any constants for coefficients, unless terms cancel.
fn looks_like_degree(expr: &Expr) -> Option<u32> {
    if is_constant(expr) {
        return Some(0);
    }
    match expr {
        Expr::Symbol(_) => Some(1),
        Expr::Negate(inner) => looks_like_degree(inner),
        Expr::Sum(items) => {
            let degrees: Option<Vec<_>> = items.iter().map(looks_like_degree).collect();
            degrees?.into_iter().max()
        }
        Expr::Product(items) => {
            let degrees: Option<Vec<_>> = items.iter().map(looks_like_degree).collect();
            Some(degrees?.into_iter().fold(0, u32::saturating_add))
        }
        Expr::Quotient(over, under) if is_constant(under) => looks_like_degree(over),
        Expr::Power(base, exponent) => match &**exponent {
            Expr::Number(number) => {
                let exponent = u32::try_from(number.value.clone()).ok()?;
                Some(looks_like_degree(base)?.saturating_mul(exponent))
            }
            _ => None,
        },
        _ => None,
    }
}
