//! Sets of reals, however written: intervals, unions, inequalities in one variable, set-builders.

use std::cmp::Ordering;

use super::super::tree::{
    Answer, Brackets, Constant, Expr, Function, Interval, NamedSet, Operator, SetOperator, Symbol,
};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::boolean::{Cut, Reals, DIFFERENCE, INTERSECTION, UNION};
use super::edit::{difference, infinity, integer, is_constant, names, negate, quotient};
use super::linear::linear;
use super::names::symbol_of;
use super::normal::flipped;
use super::{all, scalars, Context};

/// A set and the variable it was said of, if any.
struct Region<'a> {
    variable: Option<&'a str>,
    reals: Reals,
}

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

/// Sets by their kind: intervals, unions, and statements in solved form.
fn is_set(answer: &Answer) -> bool {
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

/// Read a set of reals; `None` if it is no such set, or the order of its ends is not proved.
fn region<'a>(context: &mut Context<'_>, answer: &'a Answer) -> Option<Region<'a>> {
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
            let keep = match operator {
                SetOperator::Union => return Reals::union(sets, context),
                SetOperator::Intersection => INTERSECTION,
                SetOperator::Difference => DIFFERENCE,
            };
            let (first, rest) = sets.split_first()?;
            rest.iter().try_fold(first.clone(), |set, other| {
                set.combine(other, keep, context)
            })
        }
        Answer::SetBuilder { element, condition } => {
            let variable = symbol_of(element)?;
            let region = match &**condition {
                // All of them hold: a list would be read as either.
                Answer::List { items, .. } => both(context, items, INTERSECTION)?,
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
            let lower = scalars::compare(context, &left.lower, &right.lower);
            let upper = scalars::compare(context, &left.upper, &right.upper);
            // Ends in the wrong order make no set.
            let different = if backwards(context, &left) || backwards(context, &right) {
                Reason::Unproved
            } else {
                Reason::DifferentSets
            };
            Some(all([lower, upper], Reason::EqualSets, different))
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
