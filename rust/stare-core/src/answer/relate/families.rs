//! Families over integers and other parameters: `x = k\pi, k \in \mathbb{Z}`, and unions over an
//! index.

use std::cmp::Ordering;

use super::super::tree::{Answer, Expr, NamedSet, Operator, Symbol};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::edit::{difference, integer, is_numeric, negate, product, substitute_answer};
use super::lattices::Lattices;
use super::linear::{linear, Linear};
use super::lists::{expressions, members};
use super::matching::{matching, Matching};
use super::names::{named, symbol_of};
use super::scalars::{self, permutations};
use super::{text, Context};

/// How many periods apart two families may start.
const MAX_SHIFT: i64 = 24;

/// An answer with the parameters it runs over.
struct Family<'a> {
    body: &'a Answer,
    parameters: Vec<(&'a Symbol, NamedSet)>,
    conditions: Vec<&'a Answer>,
}

/// An answer with conditions or an index, against another or against anything.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::IndexedUnion { .. }, Answer::IndexedUnion { .. }) => {
            Some(unions(context, answer, gold))
        }
        (Answer::Where { .. }, Answer::Where { .. }) => {
            let (left, right) = (family(answer)?, family(gold)?);
            Some(families(context, &left, &right))
        }
        (Answer::Where { .. }, other) => Some(against(context, &family(answer)?, other, false)),
        (other, Answer::Where { .. }) => Some(against(context, &family(gold)?, other, true)),
        _ => None,
    }
}

/// Read the parameters off the conditions.
fn family(answer: &Answer) -> Option<Family<'_>> {
    let Answer::Where { body, conditions } = answer else {
        return None;
    };
    let mut family = Family {
        body,
        parameters: Vec::new(),
        conditions: Vec::new(),
    };
    for condition in conditions {
        match parameters(condition) {
            Some((names, set)) => family.parameters.extend(names.map(|name| (name, set))),
            None => family.conditions.push(condition),
        }
    }
    Some(family)
}

/// `k \in \mathbb{Z}`, `m, n \in \mathbb{Z}`.
fn parameters(condition: &Answer) -> Option<(impl Iterator<Item = &Symbol>, NamedSet)> {
    let Answer::Relation { sides, operators } = condition else {
        return None;
    };
    let ([names, Answer::NamedSet(set)], [Operator::In]) = (sides.as_slice(), operators.as_slice())
    else {
        return None;
    };
    let names = match names {
        Answer::List { items, .. } => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    names
        .iter()
        .all(|name| symbol_of(name).is_some())
        .then(|| (names.iter().filter_map(symbol_of), *set))
}

/// Two families: the same under some renaming of the parameters, or different lattices.
fn families(context: &mut Context<'_>, left: &Family<'_>, right: &Family<'_>) -> Reason {
    let size = left.parameters.len();
    if size != right.parameters.len() || left.conditions.len() != right.conditions.len() {
        return Reason::Unproved;
    }
    let orders = permutations(size);
    if orders.iter().any(|order| order.len() != size) {
        return Reason::Limit;
    }
    let mut result = Reason::Unproved;
    for order in orders {
        let pairs: Vec<_> = order
            .iter()
            .zip(&left.parameters)
            .filter_map(|(&at, mine)| Some((mine, right.parameters.get(at)?)))
            .collect();
        let taken = super::edit::names(right.body);
        let captured = |name: &str| {
            taken.contains(&name) && right.parameters.iter().all(|(own, _)| &***own != name)
        };
        if pairs
            .iter()
            .any(|(mine, theirs)| mine.1 != theirs.1 || captured(mine.0))
        {
            continue;
        }
        let renamed: Vec<_> = pairs
            .iter()
            .map(|(mine, theirs)| (&**theirs.0, Expr::Symbol(mine.0.clone())))
            .collect();
        let body = substitute_answer(right.body, &renamed);
        let mine: Vec<_> = left.conditions.iter().map(|c| (*c).clone()).collect();
        let theirs: Vec<_> = right
            .conditions
            .iter()
            .map(|condition| substitute_answer(condition, &renamed))
            .collect();
        if !mine.is_empty()
            && super::elements::unordered(context, &mine, &theirs).verdict() != Verdict::Correct
        {
            continue;
        }
        let integers = match left.parameters.as_slice() {
            [(name, NamedSet::Integers)] if mine.is_empty() => Some(&***name),
            _ => None,
        };
        let reason = bodies(context, left.body, &body, integers);
        match reason.verdict() {
            Verdict::Correct => return reason,
            Verdict::Incorrect if integers.is_some() => return reason,
            _ => result = Reason::Unproved,
        }
    }
    result
}

/// The values of one family, or of several, as a periodic set of numbers.
fn union(context: &mut Context<'_>, body: &Answer, name: &str) -> Option<Lattices> {
    Lattices::union(context, &expressions(members(body))?, name)
}

/// The numbers that an answer with one integer parameter and no other condition is.
pub(super) fn numbers(context: &mut Context<'_>, answer: &Answer) -> Option<Lattices> {
    let family = family(answer)?;
    let ([(name, NamedSet::Integers)], []) =
        (family.parameters.as_slice(), family.conditions.as_slice())
    else {
        return None;
    };
    match named(family.body) {
        Some(named) => union(context, &named.value, name),
        None => union(context, family.body, name),
    }
}

/// The values of two families with the same parameters. Different only for one integer parameter.
fn bodies(
    context: &mut Context<'_>,
    left: &Answer,
    right: &Answer,
    parameter: Option<&str>,
) -> Reason {
    if let (Some(mine), Some(theirs)) = (named(left), named(right)) {
        if text::same_answer(mine.name, theirs.name) {
            return bodies(context, &mine.value, &theirs.value, parameter);
        }
        return Reason::Unproved;
    }
    // A name on one side only.
    if let Some(mine) = named(left) {
        return bodies(context, &mine.value, right, parameter);
    }
    if let Some(theirs) = named(right) {
        return bodies(context, left, &theirs.value, parameter);
    }
    if let Some(name) = parameter {
        if let (Some(mine), Some(theirs)) =
            (union(context, left, name), union(context, right, name))
        {
            return if mine == theirs {
                Reason::EqualSets
            } else {
                Reason::DifferentSets
            };
        }
    }
    match (left, right) {
        (Answer::List { items: mine, .. }, Answer::List { items: theirs, .. })
            if mine.len() == theirs.len() =>
        {
            let found = matching(mine.len(), &mut |i, j| match (mine.get(i), theirs.get(j)) {
                (Some(a), Some(b)) => bodies(context, a, b, parameter).verdict(),
                _ => Verdict::Incorrect,
            });
            if found == Matching::Perfect {
                return Reason::EqualElements;
            }
            // Other families may have the same union.
            Reason::Unproved
        }
        (Answer::Expr(mine), Answer::Expr(theirs)) => {
            let reason = scalars::exactly(context, mine, theirs);
            match (reason.verdict(), parameter) {
                (Verdict::Correct, _) => reason,
                (_, Some(name)) => lattices(context, mine, theirs, name),
                _ => Reason::Unproved,
            }
        }
        (Answer::Quantity(mine, unit), Answer::Quantity(theirs, other)) if unit == other => {
            bodies(context, mine, theirs, parameter)
        }
        _ => match context.answers(left, right) {
            reason if reason.verdict() == Verdict::Correct => reason,
            _ => Reason::Unproved,
        },
    }
}

/// `{a k + b}` for all integers `k` against `{c k + d}`: the same exactly if `c = a` or `c = -a`,
/// and `d - b` is a multiple of `a`.
fn lattices(context: &mut Context<'_>, left: &Expr, right: &Expr, name: &str) -> Reason {
    let (Some(left), Some(right)) = (linear(left, name), linear(right, name)) else {
        return Reason::Unproved;
    };
    let numbers = [&left.slope, &left.offset, &right.slope, &right.offset];
    if !numbers.into_iter().all(super::edit::is_constant) {
        return Reason::Unproved;
    }
    if context.equal(&left.slope, &integer(0)) != Some(false)
        || context.equal(&right.slope, &integer(0)) != Some(false)
    {
        return Reason::Unproved;
    }
    let same = context.equal(&left.slope, &right.slope);
    let opposite = context.equal(&left.slope, &negate(right.slope.clone()));
    match (same, opposite) {
        (Some(true), _) | (_, Some(true)) => shift(context, &left, &right),
        (Some(false), Some(false)) => Reason::DifferentSets,
        _ => Reason::Unproved,
    }
}

/// Whether the offsets are a whole number of periods apart.
fn shift(context: &mut Context<'_>, left: &Linear, right: &Linear) -> Reason {
    let apart = difference(&right.offset, &left.offset);
    let mut below = None;
    for periods in -MAX_SHIFT..=MAX_SHIFT {
        let whole = product(&integer(periods), &left.slope);
        if context.equal(&apart, &whole) == Some(true) {
            return Reason::EqualSets;
        }
        let order = value::order(&apart, &whole, context.budget);
        match (below, order) {
            (Some(before), Some(now)) if before != now && now != Ordering::Equal => {
                return Reason::DifferentSets;
            }
            _ => below = order,
        }
    }
    Reason::Unproved
}

/// A family against something without conditions. A family that really runs is infinite.
fn against(
    context: &mut Context<'_>,
    family: &Family<'_>,
    other: &Answer,
    family_is_gold: bool,
) -> Reason {
    let body = match named(family.body) {
        Some(named) => named.value.into_owned(),
        None => family.body.clone(),
    };
    let value = named(other).map_or_else(|| other.clone(), |named| named.value.into_owned());
    if let [(name, set)] = family.parameters.as_slice() {
        let infinite = *set != NamedSet::Empty
            && match &body {
                Answer::Expr(expr) => linear(expr, name).is_some_and(|parts| {
                    super::edit::is_constant(&parts.slope)
                        && context.equal(&parts.slope, &integer(0)) == Some(false)
                }),
                _ => false,
            };
        let finite = matches!(
            value,
            Answer::Expr(_) | Answer::List { .. } | Answer::Quantity(..)
        ) && is_numeric(&value);
        return if infinite && finite && family.conditions.is_empty() {
            Reason::DifferentSizes
        } else {
            Reason::Unproved
        };
    }
    if is_numeric(&body) && is_numeric(&value) {
        let reason = if family_is_gold {
            context.answers(&value, &body)
        } else {
            context.answers(&body, &value)
        };
        if reason.verdict() == Verdict::Incorrect {
            return reason;
        }
    }
    Reason::UnlikeKinds
}

/// Unions over an index: the same under renaming, shifting or turning round the index.
fn unions(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Reason {
    let (
        Answer::IndexedUnion {
            index: mine,
            lower: from,
            upper: to,
            body: left,
        },
        Answer::IndexedUnion {
            index: theirs,
            lower: other_from,
            upper: other_to,
            body: right,
        },
    ) = (answer, gold)
    else {
        return Reason::Unproved;
    };
    let mut ends = |left: &Option<Expr>, right: &Option<Expr>| match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => context.equal(left, right) == Some(true),
        _ => false,
    };
    let captured = mine != theirs && super::edit::names(right).contains(&&**mine);
    if captured || !ends(from, other_from) || !ends(to, other_to) {
        return Reason::Unproved;
    }
    let index = Expr::Symbol(mine.clone());
    let mut indices = vec![index.clone()];
    if from.is_none() && to.is_none() {
        for shift in [1, -1, 2, -2] {
            indices.push(Expr::Sum(vec![index.clone(), integer(shift)]));
        }
        indices.push(negate(index));
    }
    let same = indices.into_iter().any(|index| {
        let body = substitute_answer(right, &[(&**theirs, index)]);
        context.answers(left, &body).verdict() == Verdict::Correct
    });
    if same {
        Reason::EqualSets
    } else {
        Reason::Unproved
    }
}
