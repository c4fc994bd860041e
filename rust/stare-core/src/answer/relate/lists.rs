//! Lists and tuples, and what else they may be meant as.

use std::cmp::Ordering;

use super::super::tree::{Answer, Brackets, Expr, Unit};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::edit::{has_plus_minus, integer, is_numeric, names, quotient};
use super::elements::unordered;
use super::names::{named, symbol_of};
use super::{all, chains, doubtful, lattices, Context};

/// A list or tuple against another, or against a single value.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::List { items: left, .. }, Answer::List { items: right, .. }) => {
            let reason = lists(context, left, right);
            if reason.verdict() == Verdict::Correct {
                return Some(measured(context, reason, left, right, lists));
            }
            Some(families(context, reason, left, right))
        }
        (
            Answer::Tuple {
                items: left,
                brackets: mine,
            },
            Answer::Tuple {
                items: right,
                brackets: theirs,
            },
        ) => {
            let reason = tuples(context, left, right);
            let reason = measured(context, reason, left, right, tuples);
            let free = *mine == *theirs || !interval_like(context, left, *mine, *theirs);
            Some(if free || reason.verdict() != Verdict::Correct {
                reason
            } else {
                Reason::UnlikeKinds
            })
        }
        (Answer::List { items, .. }, Answer::Tuple { items: places, .. })
        | (Answer::Tuple { items: places, .. }, Answer::List { items, .. }) => {
            Some(list_against_tuple(context, items, answer, gold, places))
        }
        (Answer::List { items, .. }, single) | (single, Answer::List { items, .. })
            if is_single(single) =>
        {
            if grouped_digits(context, items, single) {
                return Some(Reason::Ambiguous);
            }
            let reason = unordered(context, members(answer), members(gold));
            Some(match reason.verdict() {
                // The set of a set, which a list of one is only inside another set.
                Verdict::Correct => Reason::UnlikeKinds,
                _ => families(context, reason, members(answer), members(gold)),
            })
        }
        (
            Answer::Tuple {
                items,
                brackets: Brackets::Square,
            },
            Answer::Expr(point),
        )
        | (
            Answer::Expr(point),
            Answer::Tuple {
                items,
                brackets: Brackets::Square,
            },
        ) => {
            // `[3, 3]` may be meant as the interval that holds 3 only.
            let [Answer::Expr(lower), Answer::Expr(upper)] = items.as_slice() else {
                return None;
            };
            let is_point = [lower, upper]
                .into_iter()
                .all(|end| context.equal(end, point) != Some(false));
            is_point.then_some(Reason::UnlikeKinds)
        }
        _ => None,
    }
}

/// Equal members of which one side has units and the other none: percentages must all be read in
/// one way, and numbers of several units must come in their order.
fn measured(
    context: &mut Context<'_>,
    reason: Reason,
    left: &[Answer],
    right: &[Answer],
    compare: fn(&mut Context<'_>, &[Answer], &[Answer]) -> Reason,
) -> Reason {
    let (mine, theirs) = (units(left), units(right));
    if reason.verdict() != Verdict::Correct || mine.is_empty() == theirs.is_empty() {
        return reason;
    }
    let units = if mine.is_empty() { &theirs } else { &mine };
    if units.iter().filter(|unit| ***unit == Unit::Percent).count() > 1 {
        let read = |as_fraction: bool| {
            let each = |items: &[Answer]| -> Vec<_> {
                items
                    .iter()
                    .map(|item| percent(item, as_fraction))
                    .collect()
            };
            (each(left), each(right))
        };
        let one_way = [false, true].into_iter().any(|as_fraction| {
            let (left, right) = read(as_fraction);
            compare(context, &left, &right).verdict() == Verdict::Correct
        });
        if !one_way {
            return Reason::Ambiguous;
        }
    }
    let first = units.first();
    if units.iter().any(|unit| Some(unit) != first) {
        let pairs = left.iter().zip(right);
        let reasons: Vec<_> = pairs.map(|(a, b)| context.answers(a, b)).collect();
        return all(reasons, reason, Reason::Ambiguous);
    }
    reason
}

/// The units of members that have one.
fn units(items: &[Answer]) -> Vec<&Unit> {
    let each = items.iter().filter_map(|item| match item {
        Answer::Quantity(_, unit) => Some(unit),
        _ => None,
    });
    each.collect()
}

/// A percentage read as its number or as a fraction of 100.
fn percent(item: &Answer, as_fraction: bool) -> Answer {
    match item {
        Answer::Quantity(value, Unit::Percent) => match &**value {
            Answer::Expr(expr) if as_fraction => Answer::Expr(quotient(expr, &integer(100))),
            other => other.clone(),
        },
        other => other.clone(),
    }
}

/// The members of a list; any other answer is one.
pub(super) fn members(answer: &Answer) -> &[Answer] {
    match answer {
        Answer::List { items, .. } => items,
        other => std::slice::from_ref(other),
    }
}

/// `k\pi` and `2k\pi, (2k + 1)\pi` are the same numbers if `k` runs over the integers.
fn families(
    context: &mut Context<'_>,
    reason: Reason,
    answer: &[Answer],
    gold: &[Answer],
) -> Reason {
    if reason.verdict() != Verdict::Incorrect {
        return reason;
    }
    match (expressions(answer), expressions(gold)) {
        (Some(left), Some(right)) if lattices::may_agree(context, &left, &right) => {
            Reason::Ambiguous
        }
        _ => reason,
    }
}

/// The members, if all are expressions.
pub(super) fn expressions(items: &[Answer]) -> Option<Vec<&Expr>> {
    let each = items.iter().map(|item| match item {
        Answer::Expr(expr) => Some(expr),
        _ => None,
    });
    each.collect()
}

fn lists(context: &mut Context<'_>, left: &[Answer], right: &[Answer]) -> Reason {
    let reason = unordered(context, left, right);
    let statements = |items: &[Answer]| {
        items
            .iter()
            .all(|item| matches!(item, Answer::Relation { .. }))
    };
    let values = |items: &[Answer]| {
        items
            .iter()
            .all(|item| named(item).is_some_and(|named| is_numeric(&named.value)))
    };
    // A system can be written in many ways.
    let system = statements(left) && statements(right) && !(values(left) && values(right));
    if system && reason.verdict() == Verdict::Incorrect {
        return systems(context, left, right);
    }
    if let (Some(names), None) | (None, Some(names)) = (assignments(left), assignments(right)) {
        let bare = if assignments(left).is_some() {
            right
        } else {
            left
        };
        if reason.verdict() == Verdict::Correct {
            return in_order(context, &names, bare);
        }
    }
    reason
}

/// Systems that do not match statement by statement: different if the answer states something
/// false, or if the only two statements left over are different and about variables of their own.
fn systems(context: &mut Context<'_>, answer: &[Answer], gold: &[Answer]) -> Reason {
    let mut void = |items: &[Answer]| items.iter().any(|item| chains::is_void(context, item));
    if void(answer) && !void(gold) {
        return Reason::FalseStatement;
    }
    let mut unmatched: Vec<_> = gold.iter().collect();
    let mut matched = Vec::new();
    let mut left_over = Vec::new();
    for item in answer {
        let partner = unmatched
            .iter()
            .position(|other| context.answers(item, other).verdict() == Verdict::Correct);
        match partner {
            Some(at) => matched.push(unmatched.swap_remove(at)),
            None => left_over.push(item),
        }
    }
    let (&[item], &[other]) = (left_over.as_slice(), unmatched.as_slice()) else {
        return Reason::Unproved;
    };
    let mut own = names(item);
    own.extend(names(other));
    let apart = matched
        .iter()
        .all(|known| names(known).iter().all(|name| !own.contains(name)));
    match context.answers(item, other) {
        reason if apart && reason.verdict() == Verdict::Incorrect => reason,
        _ => Reason::Unproved,
    }
}

/// Values without names say which is which by their order only; and they may be the roots of one
/// equation, where the names are those of a point.
fn in_order(context: &mut Context<'_>, names: &[(&str, Answer)], bare: &[Answer]) -> Reason {
    let mut bases = names.iter().map(|(name, _)| super::names::base(name));
    let first = bases.next();
    if !bases.all(|base| Some(base) == first) {
        return Reason::Ambiguous;
    }
    let pairs = names.iter().zip(bare);
    let reasons: Vec<_> = pairs
        .map(|((_, value), other)| context.answers(value, other))
        .collect();
    all(reasons, Reason::EqualElements, Reason::Ambiguous)
}

/// The values of `x = 1, y = 2`, in order; each name must occur once.
pub(super) fn assignments(items: &[Answer]) -> Option<Vec<(&str, Answer)>> {
    let mut values: Vec<(&str, Answer)> = Vec::with_capacity(items.len());
    for item in items {
        let named = named(item)?;
        let name = symbol_of(named.name)?;
        if values.iter().any(|(known, _)| **known == **name) {
            return None;
        }
        values.push((name, named.value.into_owned()));
    }
    (values.len() > 1).then_some(values)
}

/// In order.
pub(super) fn tuples(context: &mut Context<'_>, left: &[Answer], right: &[Answer]) -> Reason {
    if left.len() != right.len() {
        return Reason::DifferentSizes;
    }
    let reasons: Vec<_> = left
        .iter()
        .zip(right)
        .map(|(a, b)| context.answers(a, b))
        .collect();
    all(reasons, Reason::EqualElements, Reason::DifferentElements)
}

/// Whether the brackets of a pair may make it an interval on one side at least: not if its ends
/// would be in the wrong order, nor if neither is in square brackets.
fn interval_like(
    context: &mut Context<'_>,
    items: &[Answer],
    mine: Brackets,
    theirs: Brackets,
) -> bool {
    let [Answer::Expr(lower), Answer::Expr(upper)] = items else {
        return false;
    };
    (mine == Brackets::Square || theirs == Brackets::Square)
        && value::order(lower, upper, context.budget) != Some(Ordering::Greater)
}

fn list_against_tuple(
    context: &mut Context<'_>,
    items: &[Answer],
    answer: &Answer,
    gold: &Answer,
    places: &[Answer],
) -> Reason {
    if let Some(names) = assignments(items) {
        return by_position(context, &names, places);
    }
    // Either the tuple is one of the members, or its places are the members.
    let as_member = match (answer, gold) {
        (Answer::List { items, .. }, tuple) => {
            unordered(context, items, std::slice::from_ref(tuple))
        }
        (tuple, _) => unordered(context, std::slice::from_ref(tuple), items),
    };
    let as_members = match answer {
        Answer::List { .. } => unordered(context, items, places),
        _ => unordered(context, places, items),
    };
    let different = if items.len() == places.len() {
        Reason::DifferentElements
    } else {
        Reason::DifferentSizes
    };
    doubtful([as_member, as_members], Reason::UnlikeKinds, different)
}

/// `x = 1, y = 2` against `(1, 2)`: as written if that is the order of the names too.
fn by_position(context: &mut Context<'_>, names: &[(&str, Answer)], places: &[Answer]) -> Reason {
    let written: Vec<_> = names.iter().map(|(_, value)| value.clone()).collect();
    let as_written = tuples(context, &written, places);
    let mut sorted = names.to_vec();
    sorted.sort_by_key(|(name, _)| *name);
    if sorted == names {
        return as_written;
    }
    let values: Vec<_> = sorted.into_iter().map(|(_, value)| value).collect();
    let by_name = tuples(context, &values, places);
    let different = as_written;
    doubtful([as_written, by_name], Reason::Ambiguous, different)
}

/// What a list of one member may be compared with.
fn is_single(answer: &Answer) -> bool {
    match answer {
        Answer::Expr(expr) => !has_plus_minus(expr),
        Answer::Quantity(..)
        | Answer::Base { .. }
        | Answer::Time(_)
        | Answer::Ratio(_)
        | Answer::Choice(_) => true,
        _ => false,
    }
}

/// Whether a list may be a number that was written in groups of digits, or with a decimal comma:
/// `1,234` or `0,5`.
fn grouped_digits(context: &mut Context<'_>, items: &[Answer], single: &Answer) -> bool {
    let Answer::Expr(number) = single else {
        return false;
    };
    let Some(number) = value::exact(number, context.budget) else {
        return false;
    };
    let digits: Option<Vec<String>> = items
        .iter()
        .map(|item| match item {
            Answer::Expr(Expr::Number(n)) if n.value.is_int() && n.decimal.is_none() => {
                Some(n.value.to_string())
            }
            _ => None,
        })
        .collect();
    let Some(digits) = digits.filter(|digits| digits.iter().all(|d| d.len() <= 6)) else {
        return false;
    };
    let (Some((first, groups)), true) = (digits.split_first(), digits.len() <= 6) else {
        return false;
    };
    let grouped: String = std::iter::once(first.clone())
        .chain(groups.iter().map(|group| format!("{group:0>3}")))
        .collect();
    let mut readings = vec![grouped];
    if let [fraction] = groups {
        // Zeros behind the comma are lost in the list.
        for zeros in 0..4 {
            let places = zeros + fraction.len();
            readings.push(format!("{first}{fraction:0>places$}/1{:0>places$}", ""));
        }
    }
    readings.iter().any(|reading| {
        reading
            .parse::<dashu_ratio::RBig>()
            .is_ok_and(|r| r == number)
    })
}
