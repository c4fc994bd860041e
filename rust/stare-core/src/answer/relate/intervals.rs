//! Sets of reals, however written, and intervals whose ends are expressions.

use std::cmp::Ordering;

use super::super::tree::{
    Answer, Brackets, Expr, Interval, NamedSet, Operator, SetOperator, Symbol,
};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::boolean::{Cut, Reals};
use super::edit::infinity;
use super::names::symbol_of;
use super::regions::{is_set, region};
use super::{all, scalars, Context};

/// A set of reals against another. One side must be a set for certain; a pair in brackets and a
/// list go with the other side.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    if !is_set(answer) && !is_set(gold) {
        return None;
    }
    if let (Answer::NamedSet(left), Answer::NamedSet(right)) = (answer, gold) {
        return Some(named_sets(*left, *right));
    }
    match (region(context, answer), region(context, gold)) {
        (Some(left), Some(right)) => Some(match (left.variable, right.variable) {
            (Some(mine), Some(theirs)) if mine != theirs => Reason::DifferentNames,
            (variable, other) => {
                let reason = regions(context, &left.reals, &right.reals);
                let counts = [variable, other].into_iter().flatten().any(is_count);
                let doubt = counts && reason.verdict() == Verdict::Incorrect;
                if doubt && same_integers(context, &left.reals, &right.reals) {
                    Reason::Ambiguous
                } else {
                    reason
                }
            }
        }),
        (Some(region), None) if !region.reals.is_empty() && is_reversed(context, gold) => {
            Some(Reason::DifferentSets)
        }
        (None, Some(region)) if !region.reals.is_empty() && is_reversed(context, answer) => {
            Some(Reason::DifferentSets)
        }
        _ => by_structure(context, answer, gold),
    }
}

/// Whether a variable usually counts: `n > 3` is `n \ge 4` then.
fn is_count(name: &str) -> bool {
    matches!(name, "n" | "m" | "k" | "N")
}

/// Whether two sets hold the same integers, for all that is known.
fn same_integers(context: &mut Context<'_>, left: &Reals, right: &Reals) -> bool {
    let mut first = |cut: &Cut| {
        if infinity(&cut.place).is_some() {
            return Some(None);
        }
        let place = value::exact(&cut.place, context.budget)?;
        Some(Some(if cut.after {
            place.floor() + 1
        } else {
            place.ceil()
        }))
    };
    left.cuts.len() == right.cuts.len()
        && left.cuts.iter().zip(&right.cuts).all(|(a, b)| {
            let (a, b) = (first(a), first(b));
            a.is_none() || b.is_none() || a == b
        })
}

/// Whether an interval in a union has its ends in the wrong order.
fn is_reversed(context: &mut Context<'_>, answer: &Answer) -> bool {
    match answer {
        Answer::SetOperation(_, items) => items.iter().any(|item| is_reversed(context, item)),
        _ => as_interval(answer).is_some_and(|interval| backwards(context, &interval)),
    }
}

fn backwards(context: &mut Context<'_>, interval: &Interval) -> bool {
    value::order(&interval.lower, &interval.upper, context.budget) == Some(Ordering::Greater)
}

/// Whether no number lies between its ends.
fn is_empty(context: &mut Context<'_>, interval: &Interval) -> bool {
    let order = value::order(&interval.lower, &interval.upper, context.budget);
    let both = interval.lower_closed && interval.upper_closed;
    match order {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => !both,
        _ => false,
    }
}

fn regions(context: &mut Context<'_>, left: &Reals, right: &Reals) -> Reason {
    let differ = left.cuts.len() != right.cuts.len()
        || left
            .cuts
            .iter()
            .zip(&right.cuts)
            .any(|(a, b)| a.after != b.after);
    if differ {
        return Reason::DifferentSets;
    }
    let places = left.cuts.iter().zip(&right.cuts);
    let reasons: Vec<_> = places
        .map(|(a, b)| scalars::compare(context, &a.place, &b.place))
        .collect();
    all(reasons, Reason::EqualSets, Reason::DifferentSets)
}

/// Different names, different sets, but for the naturals with or without 0.
fn named_sets(left: NamedSet, right: NamedSet) -> Reason {
    use NamedSet::{Naturals, PositiveIntegers};
    match (left, right) {
        _ if left == right => Reason::EqualSets,
        (Naturals, PositiveIntegers) | (PositiveIntegers, Naturals) => Reason::Ambiguous,
        _ => Reason::DifferentSets,
    }
}

/// Read one interval whose ends may be any expressions: also a pair in brackets, and `a < x < b`
/// for a variable that is in neither end.
pub(super) fn as_interval(answer: &Answer) -> Option<Interval> {
    match answer {
        Answer::Interval(interval) => Some(interval.clone()),
        Answer::Tuple { items, brackets } => {
            let [Answer::Expr(lower), Answer::Expr(upper)] = items.as_slice() else {
                return None;
            };
            let closed = match brackets {
                Brackets::Round => false,
                Brackets::Square => true,
                Brackets::Angle => return None,
            };
            Some(Interval {
                lower: lower.clone(),
                upper: upper.clone(),
                lower_closed: closed,
                upper_closed: closed,
            })
        }
        Answer::Relation { sides, operators } => {
            let [Answer::Expr(lower), middle, Answer::Expr(upper)] = sides.as_slice() else {
                return None;
            };
            let &[below, above] = operators.as_slice() else {
                return None;
            };
            let name = symbol_of(middle)?;
            let strict = |operator| match operator {
                Operator::Less => Some(false),
                Operator::LessEqual => Some(true),
                _ => None,
            };
            let free = ![lower, upper].into_iter().any(|end| mentions(end, name));
            free.then_some(())?;
            Some(Interval {
                lower: lower.clone(),
                upper: upper.clone(),
                lower_closed: strict(below)?,
                upper_closed: strict(above)?,
            })
        }
        _ => None,
    }
}

fn mentions(expr: &Expr, name: &Symbol) -> bool {
    super::edit::mentions(expr, name)
}

/// Sets whose ends are not numbers.
fn by_structure(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::SetOperation(mine, left), Answer::SetOperation(theirs, right)) => {
            if mine != theirs || left.len() != right.len() {
                return Some(Reason::Unproved);
            }
            let reason = if *mine == SetOperator::Difference {
                let pairs = left.iter().zip(right);
                let reasons: Vec<_> = pairs.map(|(a, b)| context.answers(a, b)).collect();
                all(reasons, Reason::EqualSets, Reason::Unproved)
            } else {
                super::elements::unordered(context, left, right)
            };
            Some(match reason.verdict() {
                Verdict::Correct => Reason::EqualSets,
                _ => Reason::Unproved,
            })
        }
        (
            Answer::SetBuilder {
                element: mine,
                condition: left,
            },
            Answer::SetBuilder {
                element: theirs,
                condition: right,
            },
        ) => Some(set_builders(context, (mine, left), (theirs, right))),
        (Answer::Relation { .. }, Answer::Relation { .. }) => None,
        _ => {
            let (left, right) = (as_interval(answer)?, as_interval(gold)?);
            if left.lower_closed != right.lower_closed || left.upper_closed != right.upper_closed {
                return Some(Reason::DifferentSets);
            }
            if is_empty(context, &left) || is_empty(context, &right) {
                // A pair with its ends in the wrong order is a point, an inequality says nothing.
                return Some(Reason::Unproved);
            }
            let lower = scalars::compare(context, &left.lower, &right.lower);
            let upper = scalars::compare(context, &left.upper, &right.upper);
            Some(all(
                [lower, upper],
                Reason::EqualSets,
                Reason::DifferentSets,
            ))
        }
    }
}

/// The same once the variable is renamed; never proved different.
fn set_builders(
    context: &mut Context<'_>,
    (mine, left): (&Answer, &Answer),
    (theirs, right): (&Answer, &Answer),
) -> Reason {
    let (theirs, right) = match (symbol_of(mine), symbol_of(theirs)) {
        (Some(name), Some(other)) if !super::edit::names(right).contains(&&**name) => {
            let renamed = [(&**other, Expr::Symbol(name.clone()))];
            (
                super::edit::substitute_answer(theirs, &renamed),
                super::edit::substitute_answer(right, &renamed),
            )
        }
        _ => (theirs.clone(), right.clone()),
    };
    let reasons = [
        context.answers(mine, &theirs),
        context.answers(left, &right),
    ];
    all(reasons, Reason::EqualSets, Reason::Unproved)
}
