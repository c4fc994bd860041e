//! Statements about numbers: `2 + 3 = 5` says 5 if it is true, `43 = 42` and `0 = 0` say nothing.

use super::super::tree::{Answer, Expr, Operator};
use super::super::value::{self, Tolerance};
use super::super::verdict::{Reason, Verdict};
use super::edit::is_constant;
use super::names::named;
use super::{text, Context};

/// A chain of numbers joined by `=` and `\approx`.
struct Chain<'a> {
    sides: Vec<&'a Expr>,
    truth: Truth,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    /// Not proved false.
    Exact,
    /// As [`Truth::Exact`] but for rounding: every side may be meant.
    Rounded,
    /// Rounded, but not shown to be rounded correctly.
    Loose,
    /// Proved false, or one side says the same as the other by its looks.
    Void,
}

/// A statement about numbers against anything else.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    let (left, right) = (chain(context, answer), chain(context, gold));
    match (left, right) {
        (_, Some(right)) if right.truth == Truth::Void => Some(Reason::Unproved),
        (Some(left), _) if left.truth == Truth::Void => Some(Reason::FalseStatement),
        (Some(left), Some(right)) => Some(both(context, &left, &right)),
        (Some(left), None) => Some(against(context, &left, gold, |context, side| {
            context.answers(&Answer::Expr(side.clone()), gold)
        })),
        (None, Some(right)) => Some(against(context, &right, answer, |context, side| {
            context.answers(answer, &Answer::Expr(side.clone()))
        })),
        (None, None) => None,
    }
}

/// Two chains: different if what they say is, equal if they are also written alike before that.
/// `i^8 = (i^4)^2 = 1` and `i^4 = 1` are both true and say 1, but about different things.
fn both(context: &mut Context<'_>, left: &Chain<'_>, right: &Chain<'_>) -> Reason {
    let mut reasons = Vec::new();
    for side in left.values() {
        for other in right.values() {
            reasons.push(super::scalars::compare(context, side, other));
        }
    }
    let said = best(reasons);
    let sizes = (left.sides.len(), right.sides.len());
    let alike = sizes.0 == sizes.1
        && left
            .sides
            .iter()
            .zip(&right.sides)
            .enumerate()
            .all(|(at, (a, b))| {
                let last = at + 1 == sizes.0;
                text::same(a, b)
                    || last && super::scalars::compare(context, a, b).verdict() == Verdict::Correct
            });
    match said.verdict() {
        Verdict::Correct if !alike => Reason::Unproved,
        _ => said,
    }
}

/// Whether an answer is a statement about numbers that is false or says nothing.
pub(super) fn is_void(context: &mut Context<'_>, answer: &Answer) -> bool {
    chain(context, answer).is_some_and(|chain| chain.truth == Truth::Void)
}

fn against(
    context: &mut Context<'_>,
    chain: &Chain<'_>,
    other: &Answer,
    compare: impl Fn(&mut Context<'_>, &Expr) -> Reason,
) -> Reason {
    if matches!(other, Answer::Relation { .. }) && named(other).is_none() {
        // True, but not about what is asked.
        return Reason::Unproved;
    }
    let reasons = chain
        .values()
        .iter()
        .map(|side| compare(context, side))
        .collect();
    let said = best(reasons);
    match said.verdict() {
        Verdict::Correct if chain.truth == Truth::Loose => Reason::Unproved,
        _ => said,
    }
}

/// The first that is proved equal; different only if all are.
fn best(reasons: Vec<Reason>) -> Reason {
    let mut result = Reason::DifferentNumbers;
    for reason in reasons {
        match reason.verdict() {
            Verdict::Correct => return reason,
            Verdict::Undecided => result = reason,
            Verdict::Incorrect if result.verdict() == Verdict::Incorrect => result = reason,
            Verdict::Incorrect => {}
        }
    }
    result
}

impl<'a> Chain<'a> {
    /// What the chain may be meant to say: its last side, or any if sides are rounded.
    fn values(&self) -> &[&'a Expr] {
        match self.truth {
            Truth::Rounded | Truth::Loose => &self.sides,
            Truth::Exact | Truth::Void => {
                let last = self.sides.len().saturating_sub(1);
                self.sides.get(last..).unwrap_or_default()
            }
        }
    }
}

fn chain<'a>(context: &mut Context<'_>, answer: &'a Answer) -> Option<Chain<'a>> {
    let Answer::Relation { sides, operators } = answer else {
        return None;
    };
    let sides: Vec<_> = sides
        .iter()
        .map(|side| match side {
            Answer::Expr(expr) if is_constant(expr) => Some(expr),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let mut truth = Truth::Exact;
    for (pair, operator) in sides.windows(2).zip(operators) {
        let [left, right] = *pair else { continue };
        match operator {
            Operator::Approximately if truth == Truth::Loose => {}
            Operator::Approximately if rounds(context, left, right) => truth = Truth::Rounded,
            Operator::Approximately => truth = Truth::Loose,
            Operator::Equal if text::same(left, right) => {
                truth = Truth::Void;
                break;
            }
            Operator::Equal if context.equal(left, right) == Some(false) => {
                if !rounds(context, left, right) {
                    truth = Truth::Void;
                    break;
                }
                if truth == Truth::Exact {
                    truth = Truth::Rounded;
                }
            }
            Operator::Equal => {}
            _ => return None,
        }
    }
    Some(Chain { sides, truth })
}

/// Whether one is a decimal that the other rounds to.
fn rounds(context: &mut Context<'_>, left: &Expr, right: &Expr) -> bool {
    [(left, right), (right, left)]
        .into_iter()
        .any(|(exact, decimal)| {
            value::within(exact, decimal, Tolerance::GoldDigits, context.budget) == Some(true)
        })
}
