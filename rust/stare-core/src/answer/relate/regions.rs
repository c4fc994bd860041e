//! Reading sets of reals: intervals, unions, inequalities in one variable, set-builders.

use std::cmp::Ordering;

use super::super::tree::{Answer, Constant, Expr, Function, NamedSet, Operator, SetOperator};
use super::super::value;
use super::boolean::{Reals, DIFFERENCE, INTERSECTION, UNION};
use super::edit::{difference, integer, is_constant, names, negate, quotient};
use super::intervals::as_interval;
use super::linear::linear;
use super::names::symbol_of;
use super::normal::flipped;
use super::Context;

/// A set and the variable it was said of, if any.
pub(super) struct Region<'a> {
    /// The variable of an inequality or membership.
    pub(super) variable: Option<&'a str>,
    /// The set.
    pub(super) reals: Reals,
}

/// Sets by their kind: intervals, unions, and statements in solved form.
pub(super) fn is_set(answer: &Answer) -> bool {
    match answer {
        Answer::Interval(_)
        | Answer::SetOperation(..)
        | Answer::SetBuilder { .. }
        | Answer::NamedSet(_) => true,
        Answer::Relation { operators, .. } => !operators.iter().all(|o| *o == Operator::Equal),
        Answer::List {
            items,
            braces: false,
        } => items.iter().all(|item| match item {
            Answer::Relation { .. } => is_set(item),
            _ => false,
        }),
        _ => false,
    }
}

/// Read a set of reals; `None` if it is no such set, or the order of its ends is not proved.
pub(super) fn region<'a>(context: &mut Context<'_>, answer: &'a Answer) -> Option<Region<'a>> {
    if let Answer::Relation { .. } = answer {
        return statement(context, answer);
    }
    if let Answer::List {
        items,
        braces: false,
    } = answer
    {
        if items.iter().all(is_set) {
            return statements(context, items);
        }
    }
    reals(context, answer).map(|reals| Region {
        variable: None,
        reals,
    })
}

/// The canonical set that an answer is, if it is a set for certain.
pub(super) fn certain(context: &mut Context<'_>, answer: &Answer) -> Option<Reals> {
    if !is_set(answer) {
        return None;
    }
    region(context, answer).map(|region| region.reals)
}

fn reals(context: &mut Context<'_>, answer: &Answer) -> Option<Reals> {
    match answer {
        Answer::Interval(_) | Answer::Tuple { .. } => {
            let interval = as_interval(answer)?;
            let set = Reals::between(
                context,
                (&interval.lower, interval.lower_closed),
                (&interval.upper, interval.upper_closed),
            )?;
            // `(1, 1)` was meant as a point.
            let pair = matches!(answer, Answer::Tuple { .. });
            (!pair || !set.is_empty()).then_some(set)
        }
        Answer::Expr(place) if is_constant(place) => Reals::point(context, place),
        Answer::NamedSet(NamedSet::Empty) => Some(Reals::empty()),
        Answer::NamedSet(NamedSet::Reals) => Some(Reals::all()),
        Answer::NamedSet(NamedSet::PositiveReals) => {
            let end = Expr::Constant(Constant::Infinity);
            Reals::between(context, (&integer(0), false), (&end, false))
        }
        Answer::List { items, .. } => {
            let point = |item: &Answer| match item {
                Answer::Expr(place) if is_constant(place) => Reals::point(context, place),
                _ => None,
            };
            let points: Option<Vec<_>> = items.iter().map(point).collect();
            Reals::union(points?, context)
        }
        Answer::SetOperation(operator, items) => {
            let sets: Option<Vec<_>> = items.iter().map(|item| operand(context, item)).collect();
            let sets = sets?;
            if *operator == SetOperator::Union {
                return Reals::union(sets, context);
            }
            let (first, rest) = sets.split_first()?;
            match operator {
                SetOperator::Difference => {
                    let taken = Reals::union(rest.to_vec(), context)?;
                    first.combine(&taken, DIFFERENCE, context)
                }
                _ => rest.iter().try_fold(first.clone(), |set, other| {
                    set.combine(other, INTERSECTION, context)
                }),
            }
        }
        Answer::SetBuilder { element, condition } => {
            let variable = symbol_of(element)?;
            let region = match &**condition {
                // All of them hold: a list would be read as either.
                Answer::List { items, .. }
                | Answer::SetOperation(SetOperator::Intersection, items) => {
                    both(context, items, INTERSECTION)?
                }
                Answer::SetOperation(SetOperator::Union, items) => both(context, items, UNION)?,
                other => statement(context, other)?,
            };
            (region.variable == Some(variable)).then_some(region.reals)
        }
        _ => None,
    }
}

/// An operand of a union may be a statement, as in `x < 1 \cup x > 2`.
fn operand(context: &mut Context<'_>, answer: &Answer) -> Option<Reals> {
    region(context, answer).map(|region| region.reals)
}

/// Several statements: joined by "or" unless that says nothing, by "and" unless nothing satisfies
/// all. If both make sense it is not read.
fn statements<'a>(context: &mut Context<'_>, items: &'a [Answer]) -> Option<Region<'a>> {
    let and = both(context, items, INTERSECTION)?;
    let or = both(context, items, UNION)?;
    match (and.reals.is_empty(), or.reals.is_all()) {
        (true, false) => Some(or),
        (false, true) => Some(and),
        _ if and.reals == or.reals => Some(and),
        _ => None,
    }
}

fn both<'a>(
    context: &mut Context<'_>,
    items: &'a [Answer],
    keep: fn(bool, bool) -> bool,
) -> Option<Region<'a>> {
    let (first, rest) = items.split_first()?;
    let mut region = statement(context, first)?;
    for item in rest {
        let other = statement(context, item)?;
        if other.variable != region.variable {
            return None;
        }
        region.reals = region.reals.combine(&other.reals, keep, context)?;
    }
    Some(region)
}

/// An inequality, chain or membership in one variable.
fn statement<'a>(context: &mut Context<'_>, answer: &'a Answer) -> Option<Region<'a>> {
    let Answer::Relation { sides, operators } = answer else {
        return None;
    };
    if let ([left, set], [operator @ (Operator::In | Operator::NotIn)]) =
        (sides.as_slice(), operators.as_slice())
    {
        let variable = symbol_of(left)?;
        let inside = reals(context, set)?;
        let reals = match operator {
            Operator::In => inside,
            _ => Reals::all().combine(&inside, DIFFERENCE, context)?,
        };
        return Some(Region {
            variable: Some(variable),
            reals,
        });
    }
    let variables = names(answer);
    let &[variable] = variables.as_slice() else {
        return None;
    };
    let mut reals = Reals::all();
    for (pair, operator) in sides.windows(2).zip(operators) {
        let [Answer::Expr(left), Answer::Expr(right)] = pair else {
            return None;
        };
        let link = solve(context, variable, left, *operator, right)?;
        reals = reals.combine(&link, INTERSECTION, context)?;
    }
    // `2 < x < 1` is a mistake, no name for the empty set.
    (!reals.is_empty()).then_some(Region {
        variable: Some(variable),
        reals,
    })
}

/// The solutions of one inequality that is linear in the variable, or in its modulus.
fn solve(
    context: &mut Context<'_>,
    variable: &str,
    left: &Expr,
    operator: Operator,
    right: &Expr,
) -> Option<Reals> {
    if let Some((inner, bound, operator)) = modulus(left, operator, right) {
        let above = solve(context, variable, inner, operator, bound)?;
        let below = solve(
            context,
            variable,
            inner,
            flipped(operator),
            &negate(bound.clone()),
        )?;
        let keep = match operator {
            Operator::Less | Operator::LessEqual | Operator::NotEqual => INTERSECTION,
            _ => UNION,
        };
        return above.combine(&below, keep, context);
    }
    let (bound, operator) = match (left, right) {
        (Expr::Symbol(_), bound) if is_constant(bound) => (bound.clone(), operator),
        (bound, Expr::Symbol(_)) if is_constant(bound) => (bound.clone(), flipped(operator)),
        _ => {
            let parts = linear(&difference(left, right), variable)?;
            let operator = match value::order(&parts.slope, &integer(0), context.budget)? {
                Ordering::Greater => operator,
                Ordering::Less => flipped(operator),
                Ordering::Equal => return None,
            };
            let bound = negate(quotient(&parts.offset, &parts.slope));
            let exact = value::exact(&bound, context.budget).map(super::samples::rational);
            (exact.unwrap_or(bound), operator)
        }
    };
    half_line(context, &bound, operator)
}

/// `|f(x)| < c` with a constant c; not with a negative one, which is no ordinary bound.
fn modulus<'e>(
    left: &'e Expr,
    operator: Operator,
    right: &'e Expr,
) -> Option<(&'e Expr, &'e Expr, Operator)> {
    let inner = |expr: &'e Expr| match expr {
        Expr::Call(Function::Abs, items) => items.first(),
        _ => None,
    };
    match (inner(left), inner(right)) {
        (Some(inner), None) if is_constant(right) => Some((inner, right, operator)),
        (None, Some(inner)) if is_constant(left) => Some((inner, left, flipped(operator))),
        _ => None,
    }
}

fn half_line(context: &mut Context<'_>, bound: &Expr, operator: Operator) -> Option<Reals> {
    let plus = Expr::Constant(Constant::Infinity);
    let minus = negate(plus.clone());
    match operator {
        Operator::Less => Reals::between(context, (&minus, false), (bound, false)),
        Operator::LessEqual => Reals::between(context, (&minus, false), (bound, true)),
        Operator::Greater => Reals::between(context, (bound, false), (&plus, false)),
        Operator::GreaterEqual => Reals::between(context, (bound, true), (&plus, false)),
        Operator::NotEqual => {
            let point = Reals::point(context, bound)?;
            Reals::all().combine(&point, DIFFERENCE, context)
        }
        _ => None,
    }
}
