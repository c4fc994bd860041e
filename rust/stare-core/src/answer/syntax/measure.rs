//! Size and depth of a tree.

use super::super::limits;
use super::super::tree::{Answer, Expr};
use super::SyntaxError;

/// An error if the tree is over a limit.
pub(super) fn check(answer: &Answer) -> Result<(), SyntaxError> {
    let mut left = limits::NODES;
    answer_size(answer, limits::DEPTH, &mut left).ok_or(SyntaxError::Limit)
}

fn count(depth: usize, left: &mut usize) -> Option<usize> {
    *left = left.checked_sub(1)?;
    depth.checked_sub(1)
}

fn all<'a, T: 'a>(
    items: impl IntoIterator<Item = &'a T>,
    size: impl FnMut(&'a T) -> Option<()>,
) -> Option<()> {
    items.into_iter().try_for_each(size)
}

fn answer_size(answer: &Answer, depth: usize, left: &mut usize) -> Option<()> {
    let depth = count(depth, left)?;
    match answer {
        Answer::Expr(expr) => expr_size(expr, depth, left),
        Answer::Quantity(value, _) => answer_size(value, depth, left),
        Answer::Base { .. }
        | Answer::Time(_)
        | Answer::Words(_)
        | Answer::Choice(_)
        | Answer::NamedSet(_) => Some(()),
        Answer::Ratio(parts) => all(parts, |part| expr_size(part, depth, left)),
        Answer::Matrix { cells, .. } => all(cells, |cell| expr_size(cell, depth, left)),
        // Numbers of a list are few steps each, and as few as tokens.
        Answer::List { items, .. } => all(items.iter().filter(|item| !is_number(item)), |item| {
            answer_size(item, depth, left)
        }),
        Answer::Tuple { items, .. }
        | Answer::SetOperation(_, items)
        | Answer::Relation { sides: items, .. } => {
            all(items, |item| answer_size(item, depth, left))
        }
        Answer::Interval(interval) => all([&interval.lower, &interval.upper], |end| {
            expr_size(end, depth, left)
        }),
        Answer::IndexedUnion {
            lower, upper, body, ..
        } => {
            all(lower.iter().chain(upper), |end| expr_size(end, depth, left))?;
            answer_size(body, depth, left)
        }
        Answer::SetBuilder { element, condition } => {
            answer_size(element, depth, left)?;
            answer_size(condition, depth, left)
        }
        Answer::Where { body, conditions } => {
            answer_size(body, depth, left)?;
            all(conditions, |condition| answer_size(condition, depth, left))
        }
        Answer::Piecewise(pieces) => all(pieces, |(value, condition)| {
            answer_size(value, depth, left)?;
            all(condition, |condition| answer_size(condition, depth, left))
        }),
    }
}

fn is_number(item: &Answer) -> bool {
    match item {
        Answer::Expr(Expr::Negate(inner)) => matches!(**inner, Expr::Number(_)),
        Answer::Expr(expr) => matches!(expr, Expr::Number(_)),
        _ => false,
    }
}

fn expr_size(expr: &Expr, depth: usize, left: &mut usize) -> Option<()> {
    let depth = count(depth, left)?;
    match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => Some(()),
        Expr::Sum(items) | Expr::Product(items) | Expr::Call(_, items) | Expr::Apply(_, items) => {
            all(items, |item| expr_size(item, depth, left))
        }
        Expr::Negate(inner) | Expr::PlusMinus { term: inner, .. } => expr_size(inner, depth, left),
        Expr::Quotient(left_side, right_side) | Expr::Power(left_side, right_side) => {
            expr_size(left_side, depth, left)?;
            expr_size(right_side, depth, left)
        }
        Expr::Bound(bound) => {
            all(bound.lower.iter().chain(&bound.upper), |end| {
                expr_size(end, depth, left)
            })?;
            expr_size(&bound.body, depth, left)
        }
    }
}
