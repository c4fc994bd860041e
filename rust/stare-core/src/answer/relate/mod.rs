//! Deciding whole answers: lists, sets, intervals, relations, quantities, words.

use super::limits::Budget;
use super::tree::Answer;
use super::value::Tolerance;
use super::verdict::Reason;

/// Whether an answer says the same as a gold answer.
pub fn compare(
    answer: &Answer,
    gold: &Answer,
    tolerance: Tolerance,
    budget: &mut Budget,
) -> Reason {
    let _ = (answer, gold, tolerance, budget);
    Reason::Unproved
}

/// A text that is the same for equal answers and, where decidable, only for them. Always there: an
/// answer without a canonical form gets its normalised tree.
#[must_use]
pub fn key(answer: &Answer) -> String {
    let _ = answer;
    String::new()
}
