//! Telling statements apart by trying numbers: a point where one holds and the other does not is a
//! proof. That they agree at all points tried proves nothing.

use std::cmp::Ordering;

use super::super::tree::{Expr, Operator};
use super::super::value;
use super::edit::{integer, is_constant, quotient, substitute};
use super::linear::linear;
use super::Context;

/// Statements about more variables than this are not tried.
const MAX_VARIABLES: usize = 4;

/// The values that variables take in turn, as fractions: small, both signs, whole and not.
const VALUES: &[(i64, i64)] = &[
    (0, 1),
    (1, 1),
    (-1, 1),
    (2, 1),
    (-2, 1),
    (1, 2),
    (-1, 2),
    (3, 1),
    (-3, 1),
    (5, 2),
    (-7, 2),
    (10, 1),
    (-10, 1),
    (100, 1),
    (-100, 1),
];

/// How far apart in [`VALUES`] the values of neighbouring variables are, one pass per stride.
const STRIDES: &[usize] = &[0, 1, 4];

/// Points to try for these variables. One variable needs one pass only.
pub(super) fn points<'n>(names: &[&'n str]) -> Vec<Vec<(&'n str, Expr)>> {
    if names.is_empty() || names.len() > MAX_VARIABLES {
        return Vec::new();
    }
    let strides = if names.len() == 1 { &[0] } else { STRIDES };
    let point = |start: usize, stride: usize| {
        let value = |at: usize| {
            VALUES
                .get((start + at * stride) % VALUES.len())
                .map_or_else(|| integer(0), |&(n, d)| fraction(n, d))
        };
        let values = names.iter().enumerate();
        values.map(|(at, name)| (*name, value(at))).collect()
    };
    strides
        .iter()
        .flat_map(|&stride| (0..VALUES.len()).map(move |start| (start, stride)))
        .map(|(start, stride)| point(start, stride))
        .collect()
}

fn fraction(numerator: i64, denominator: i64) -> Expr {
    if denominator == 1 {
        integer(numerator)
    } else {
        quotient(&integer(numerator), &integer(denominator))
    }
}

/// Whether a chain of equalities and inequalities holds at a point; `None` if that is not known.
pub(super) fn holds(
    context: &mut Context<'_>,
    sides: &[&Expr],
    operators: &[Operator],
    point: &[(&str, Expr)],
) -> Option<bool> {
    context.budget.charge(32).ok()?;
    let values: Vec<_> = sides.iter().map(|side| substitute(side, point)).collect();
    let mut known = Some(true);
    for (pair, operator) in values.windows(2).zip(operators) {
        let [left, right] = pair else { return None };
        if !is_constant(left) || !is_constant(right) {
            return None;
        }
        match value::order(left, right, context.budget) {
            Some(order) if !satisfies(order, *operator)? => return Some(false),
            Some(_) => {}
            None => known = None,
        }
    }
    known
}

fn satisfies(order: Ordering, operator: Operator) -> Option<bool> {
    Some(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
        _ => return None,
    })
}

/// Whether some point satisfies `left = 0` and certainly not `right = 0`. `left` must be linear in
/// one of the variables.
pub(super) fn leaves(context: &mut Context<'_>, left: &Expr, right: &Expr, names: &[&str]) -> bool {
    let Some((solved, parts)) = names
        .iter()
        .find_map(|name| Some((*name, linear(left, name)?)))
    else {
        return false;
    };
    let others: Vec<_> = names
        .iter()
        .copied()
        .filter(|name| *name != solved)
        .collect();
    let mut tried = points(&others);
    if others.is_empty() {
        tried.push(Vec::new());
    }
    tried.into_iter().any(|mut point| {
        if context.budget.charge(32).is_err() {
            return false;
        }
        let slope = substitute(&parts.slope, &point);
        let offset = substitute(&parts.offset, &point);
        let Some(slope) = value::exact(&slope, context.budget).filter(|s| !s.is_zero()) else {
            return false;
        };
        let Some(offset) = value::exact(&offset, context.budget) else {
            return false;
        };
        point.push((solved, rational(-offset / slope)));
        let there = substitute(right, &point);
        is_constant(&there)
            && value::exact(&there, context.budget).is_some_and(|value| !value.is_zero())
    })
}

/// An exact number as an expression.
pub(super) fn rational(value: dashu_ratio::RBig) -> Expr {
    let negative = value < dashu_ratio::RBig::ZERO;
    let literal = Expr::Number(super::super::tree::Number {
        value: if negative { -value } else { value },
        decimal: None,
    });
    if negative {
        super::edit::negate(literal)
    } else {
        literal
    }
}
