//! Answer verification: find the answer in a completion, compare it with the gold answer.
//!
//! Three verdicts: [`Verdict::Correct`] and [`Verdict::Incorrect`] are only given when proved,
//! everything else is [`Verdict::Undecided`]. Decided are integers, decimals and fractions
//! (exactly, as rationals) and answers written identically.
//!
//! ```
//! use stare_core::answer::{grade, Reason, Verdict};
//!
//! let grade = grade(r"Half of it: \boxed{\frac{1}{2}}", &["0.5"]);
//! assert_eq!(grade.verdict(), Verdict::Correct);
//! assert_eq!(grade.extracted, Some(r"\frac{1}{2}"));
//! assert_eq!(grade.reason, Reason::EqualNumbers);
//! ```
//!
//! Work is bounded by the input: one linear scan of at most [`MAX_COMPLETION_BYTES`], then numbers
//! of at most [`MAX_ANSWER_BYTES`] characters.

mod boxes;
mod compare;
mod extract;
pub mod limits;
mod number;
mod relate;
mod show;
mod syntax;
pub mod tree;
mod units;
mod value;
mod verdict;

use std::num::NonZeroUsize;

use crate::parallel;

pub use compare::compare;
pub use extract::extract;
pub use verdict::{Reason, Verdict};

/// Completions longer than this (1 MiB) are not scanned: undecided, reason `limit`.
pub const MAX_COMPLETION_BYTES: usize = 1 << 20;

/// Answers and golds longer than this are not compared: undecided, reason `limit`.
pub const MAX_ANSWER_BYTES: usize = 4096;

/// Below this many pairs a thread costs more than the work it takes over.
const MIN_PAIRS_PER_THREAD: usize = 64;

/// What became of one completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grade<'a> {
    /// The answer found in the completion; `None` if there is none.
    pub extracted: Option<&'a str>,
    /// Why the verdict is what it is.
    pub reason: Reason,
}

impl Grade<'_> {
    /// The verdict.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.reason.verdict()
    }
}

/// Grade a completion against golds, any of which counts as right.
///
/// Correct if the answer equals one of them, incorrect if it differs from all of them, else
/// undecided. Golds are answers: they are never searched for one. Without a usable gold (none, or
/// all of them blank) nothing is decided.
#[must_use]
pub fn grade<'a, S: AsRef<str>>(completion: &'a str, golds: &[S]) -> Grade<'a> {
    if golds.iter().all(|gold| gold.as_ref().trim().is_empty()) {
        return Grade {
            extracted: extract(completion).ok(),
            reason: Reason::GoldUnparsed,
        };
    }
    match extract(completion) {
        Ok(answer) => Grade {
            extracted: Some(answer),
            reason: compare_any(answer, golds),
        },
        Err(reason) => Grade {
            extracted: None,
            reason,
        },
    }
}

fn compare_any<S: AsRef<str>>(answer: &str, golds: &[S]) -> Reason {
    let mut best = Reason::DifferentNumbers;
    for gold in golds {
        let reason = compare(answer, gold.as_ref());
        match reason.verdict() {
            Verdict::Correct => return reason,
            Verdict::Undecided => best = reason,
            Verdict::Incorrect => {}
        }
    }
    best
}

/// Grade pairs on up to `threads` threads; the result is in order and does not depend on `threads`.
///
/// `pairs` holds a completion and its golds each.
#[must_use]
pub fn grade_batch<C, S>(pairs: &[(C, Vec<S>)], threads: NonZeroUsize) -> Vec<Grade<'_>>
where
    C: AsRef<str> + Sync,
    S: AsRef<str> + Sync,
{
    let threads = threads.get().min(pairs.len() / MIN_PAIRS_PER_THREAD).max(1);
    parallel::map(parallel::split(pairs.len(), threads), |range| {
        grade_all(&pairs[range])
    })
    .concat()
}

fn grade_all<C: AsRef<str>, S: AsRef<str>>(pairs: &[(C, Vec<S>)]) -> Vec<Grade<'_>> {
    pairs
        .iter()
        .map(|(completion, golds)| grade(completion.as_ref(), golds))
        .collect()
}
