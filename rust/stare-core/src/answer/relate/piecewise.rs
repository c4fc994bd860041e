//! Functions given piece by piece.

use super::super::tree::Answer;
use super::super::verdict::{Reason, Verdict};
use super::matching::{matching, Matching};
use super::Context;

/// Equal if the pieces are, in any order; never proved different.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    let (Answer::Piecewise(left), Answer::Piecewise(right)) = (answer, gold) else {
        return None;
    };
    if left.len() != right.len() {
        return Some(Reason::Unproved);
    }
    let found = matching(left.len(), &mut |i, j| {
        let (Some((value, condition)), Some((other, other_condition))) =
            (left.get(i), right.get(j))
        else {
            return Verdict::Incorrect;
        };
        let conditions = match (condition, other_condition) {
            (Some(left), Some(right)) => context.answers(left, right).verdict(),
            (None, None) => Verdict::Correct,
            _ => Verdict::Undecided,
        };
        match conditions {
            Verdict::Correct => context.answers(value, other).verdict(),
            other => other,
        }
    });
    Some(match found {
        Matching::Perfect => Reason::EqualExpressions,
        _ => Reason::Unproved,
    })
}
