//! Unordered collections: every member needs its own partner, there is no credit for a part.

use dashu_ratio::RBig;

use super::super::tree::{Answer, Expr};
use super::super::value::Tolerance;
use super::super::verdict::{Reason, Verdict};
use super::matching::{matching, Matching};
use super::{samples, text, Context};

/// Longer collections are matched only if all members are literal numbers or written alike.
const MAX_MATCHED: usize = 64;

/// A decimal of this many digits may stand for the number that it rounds.
const ROUNDED_DIGITS: u32 = 6;

/// An answer of more than this many members per member of the gold, and [`SPARE_MEMBERS`] on top,
/// is a guess at everything.
const MAX_RATIO: usize = 4;

/// See [`MAX_RATIO`].
const SPARE_MEMBERS: usize = 8;

/// Decide the members of an answer against those of the gold, in any order.
pub(super) fn unordered(context: &mut Context<'_>, answer: &[Answer], gold: &[Answer]) -> Reason {
    if answer.len() > MAX_RATIO * gold.len() + SPARE_MEMBERS {
        return Reason::DifferentSizes;
    }
    if let Some(reason) = literals(context, answer, gold) {
        return reason;
    }
    if answer.len().max(gold.len()) > MAX_MATCHED {
        return written_alike(answer, gold);
    }
    if answer.len() != gold.len() {
        return sizes(context, answer, gold);
    }
    let mut limit = false;
    let found = matching(gold.len(), &mut |i, j| {
        let reason = pair(context, answer, gold, i, j);
        limit |= reason == Reason::Limit;
        reason.verdict()
    });
    match found {
        Matching::Perfect => Reason::EqualElements,
        Matching::Impossible => Reason::DifferentElements,
        Matching::Possible if limit => Reason::Limit,
        Matching::Possible => Reason::Unproved,
    }
}

fn pair(
    context: &mut Context<'_>,
    answer: &[Answer],
    gold: &[Answer],
    i: usize,
    j: usize,
) -> Reason {
    match (answer.get(i), gold.get(j)) {
        (Some(left), Some(right)) => context.answers(left, right),
        _ => Reason::DifferentSizes,
    }
}

/// Collections of different sizes are different, unless one may only repeat itself.
fn sizes(context: &mut Context<'_>, answer: &[Answer], gold: &[Answer]) -> Reason {
    let mut possible = |i, j| pair(context, answer, gold, i, j).verdict() != Verdict::Incorrect;
    let covered = (0..answer.len()).all(|i| (0..gold.len()).any(|j| possible(i, j)))
        && (0..gold.len()).all(|j| (0..answer.len()).any(|i| possible(i, j)));
    if covered || grouped_alike(context, answer, gold) {
        Reason::Ambiguous
    } else {
        Reason::DifferentSizes
    }
}

/// Whether the longer collection may have numbers in it that were split at the commas between
/// their groups of digits.
fn grouped_alike(context: &mut Context<'_>, answer: &[Answer], gold: &[Answer]) -> bool {
    let (long, short) = if answer.len() > gold.len() {
        (answer, gold)
    } else {
        (gold, answer)
    };
    let grouped = grouped(long);
    grouped.len() == short.len()
        && unordered(context, &grouped, short).verdict() != Verdict::Incorrect
}

/// Put numbers of three digits behind the whole numbers before them.
fn grouped(items: &[Answer]) -> Vec<Answer> {
    let mut grouped: Vec<Answer> = Vec::with_capacity(items.len());
    for item in items {
        let before = grouped.last().and_then(whole).filter(|n| !n.is_zero());
        let whole_now = match item {
            Answer::Quantity(value, _) => whole(value),
            other => whole(other),
        };
        let group = whole_now.filter(|n| *n >= RBig::from(100) && *n < RBig::from(1000));
        let (Some(before), Some(group)) = (before, group) else {
            grouped.push(item.clone());
            continue;
        };
        let number = Answer::Expr(samples::rational(before * RBig::from(1000) + group));
        grouped.pop();
        grouped.push(match item {
            Answer::Quantity(_, unit) => Answer::Quantity(Box::new(number), unit.clone()),
            _ => number,
        });
    }
    grouped
}

fn whole(answer: &Answer) -> Option<RBig> {
    match answer {
        Answer::Expr(Expr::Number(number)) if number.value.is_int() => Some(number.value.clone()),
        _ => None,
    }
}

/// A literal number, and whether it may stand for a number that it rounds.
fn literal(answer: &Answer) -> Option<(RBig, bool)> {
    let Answer::Expr(expr) = answer else {
        return None;
    };
    let unsigned = |expr: &Expr| match expr {
        Expr::Number(number) => {
            let rounded = number
                .decimal
                .is_some_and(|decimal| decimal.significant >= ROUNDED_DIGITS);
            Some((number.value.clone(), rounded))
        }
        _ => None,
    };
    let ratio = |expr: &Expr| match expr {
        Expr::Quotient(over, under) => {
            let ((over, _), (under, _)) = (unsigned(over)?, unsigned(under)?);
            (!under.is_zero()).then(|| (over / under, false))
        }
        other => unsigned(other),
    };
    match expr {
        Expr::Negate(inner) => ratio(inner).map(|(value, rounded)| (-value, rounded)),
        other => ratio(other),
    }
}

/// Literal numbers are sorted, not matched.
fn literals(context: &mut Context<'_>, answer: &[Answer], gold: &[Answer]) -> Option<Reason> {
    let mut rounded = context.tolerance != Tolerance::None;
    let mut sorted = |items: &[Answer]| -> Option<Vec<RBig>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let (value, rounds) = literal(item)?;
            rounded |= rounds;
            values.push(value);
        }
        values.sort_unstable();
        Some(values)
    };
    let (mut left, mut right) = (sorted(answer)?, sorted(gold)?);
    if left == right {
        return Some(Reason::EqualElements);
    }
    if rounded {
        return None;
    }
    if left.len() == right.len() {
        return Some(Reason::DifferentElements);
    }
    left.dedup();
    right.dedup();
    Some(if left == right || grouped_alike(context, answer, gold) {
        Reason::Ambiguous
    } else {
        Reason::DifferentSizes
    })
}

/// Large collections.
fn written_alike(answer: &[Answer], gold: &[Answer]) -> Reason {
    let texts = |items: &[Answer]| {
        let mut texts: Vec<_> = items.iter().map(text::answer).collect();
        texts.sort_unstable();
        texts
    };
    let alike = answer.len() == gold.len()
        && !answer.iter().any(super::edit::is_vague)
        && texts(answer) == texts(gold);
    if alike {
        Reason::EqualElements
    } else {
        Reason::Limit
    }
}
