//! Deciding whole answers: lists, sets, intervals, relations, quantities, words.
//!
//! Both trees are first brought into one shape ([`normal`]). Then the rules of [`RULES`] are asked
//! in turn; the first that knows the pair of kinds decides. A pair that no rule knows is looked up
//! in the table of [`kinds`]. Numbers and expressions inside are decided by [`super::value`].

mod boolean;
mod chains;
mod dictionary;
mod edit;
mod elements;
mod equations;
mod families;
mod inequalities;
mod intervals;
mod key;
mod kinds;
mod lattices;
mod lettered;
mod linear;
mod lists;
mod matching;
mod matrices;
mod names;
mod normal;
mod numerals;
mod piecewise;
mod polynomial;
mod quantities;
mod regions;
mod relations;
mod samples;
mod scalars;
mod signs;
mod text;
mod vocabulary;
mod words;

#[cfg(test)]
mod tests;

use super::limits::Budget;
use super::tree::{Answer, Expr};
use super::value::Tolerance;
use super::verdict::{Reason, Verdict};

pub use key::key;

/// Whether an answer says the same as a gold answer.
pub fn compare(
    answer: &Answer,
    gold: &Answer,
    tolerance: Tolerance,
    budget: &mut Budget,
) -> Reason {
    let mut context = Context { tolerance, budget };
    if let (Answer::Expr(left), Answer::Expr(right)) = (answer, gold) {
        if !edit::has_plus_minus(left) && !edit::has_plus_minus(right) {
            return scalars::compare(&mut context, left, right);
        }
    }
    context.answers(&normal::answer(answer), &normal::answer(gold))
}

/// Whether any expression of an answer has a part that is what is asked for.
pub fn contains(answer: &Answer, wanted: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    edit::visit(answer, &mut |expr| found |= edit::any(expr, wanted));
    found
}

pub use lettered::is_measured;
pub use quantities::without_percent;

/// What one comparison shares.
struct Context<'b> {
    tolerance: Tolerance,
    budget: &'b mut Budget,
}

/// Decides a pair (answer, gold), or does not know pairs of their kinds.
type Rule = fn(&mut Context<'_>, &Answer, &Answer) -> Option<Reason>;

/// In the order in which they are asked.
const RULES: &[Rule] = &[
    words::rule,
    chains::rule,
    families::rule,
    intervals::rule,
    names::rule,
    relations::rule,
    quantities::rule,
    numerals::rule,
    lists::rule,
    matrices::rule,
    piecewise::rule,
];

impl Context<'_> {
    /// Decide two answers in normal form.
    fn answers(&mut self, answer: &Answer, gold: &Answer) -> Reason {
        if let (Answer::Expr(left), Answer::Expr(right)) = (answer, gold) {
            return scalars::compare(self, left, right);
        }
        if self.budget.charge(8).is_err() {
            return Reason::Limit;
        }
        if answer == gold && !edit::is_vague(answer) {
            return kinds::same(gold);
        }
        RULES
            .iter()
            .find_map(|rule| rule(self, answer, gold))
            .unwrap_or_else(|| kinds::unlike(answer, gold))
    }

    /// Whether two expressions are proved equal.
    fn equal(&mut self, left: &Expr, right: &Expr) -> Option<bool> {
        match scalars::exactly(self, left, right).verdict() {
            Verdict::Correct => Some(true),
            Verdict::Incorrect => Some(false),
            Verdict::Undecided => None,
        }
    }
}

/// The reason for a pair all of whose parts must be equal: any part that differs settles it, then
/// any that is undecided.
fn all(parts: impl IntoIterator<Item = Reason>, equal: Reason, different: Reason) -> Reason {
    let mut undecided = None;
    for part in parts {
        match part.verdict() {
            Verdict::Correct => {}
            Verdict::Incorrect => return different,
            Verdict::Undecided => undecided = undecided.or(Some(part)),
        }
    }
    undecided.unwrap_or(equal)
}

/// The reason for a pair that may be meant as different as any of several readings: different only
/// if no reading can be equal.
fn doubtful(
    readings: impl IntoIterator<Item = Reason>,
    doubt: Reason,
    different: Reason,
) -> Reason {
    let all_differ = readings
        .into_iter()
        .all(|reading| reading.verdict() == Verdict::Incorrect);
    if all_differ {
        different
    } else {
        doubt
    }
}
