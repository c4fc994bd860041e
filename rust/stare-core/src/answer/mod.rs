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
mod number;

use std::num::NonZeroUsize;

use crate::parallel;

pub use compare::compare;
pub use extract::extract;

/// Completions longer than this (1 MiB) are not scanned: undecided, reason `limit`.
pub const MAX_COMPLETION_BYTES: usize = 1 << 20;

/// Answers and golds longer than this are not compared: undecided, reason `limit`.
pub const MAX_ANSWER_BYTES: usize = 4096;

/// Below this many pairs a thread costs more than the work it takes over.
const MIN_PAIRS_PER_THREAD: usize = 64;

/// Outcome of comparing an answer with a gold answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Proved equal.
    Correct,
    /// Proved different, or no answer was given.
    Incorrect,
    /// Neither was proved.
    Undecided,
}

impl Verdict {
    /// The name that users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect => "incorrect",
            Self::Undecided => "undecided",
        }
    }
}

/// Why a verdict came out as it did. Each reason belongs to exactly one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Both sides are written the same, wrappers and surrounding space aside.
    Identical,
    /// Equal as exact rationals.
    EqualNumbers,
    /// One side is the other's correct rounding to at least six significant digits.
    RoundedDecimal,
    /// Different as exact rationals.
    DifferentNumbers,
    /// The completion declares no answer, or its last box is empty or unterminated.
    NoAnswer,
    /// A `<think>` block never closes.
    UnclosedThink,
    /// The gold is empty or not a number this module reads.
    GoldUnparsed,
    /// The answer is not a number this module reads.
    AnswerUnparsed,
    /// The completion, the answer or the gold is longer than the limit.
    Limit,
}

impl Reason {
    /// The name that users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::EqualNumbers => "equal-numbers",
            Self::RoundedDecimal => "rounded-decimal",
            Self::DifferentNumbers => "different-numbers",
            Self::NoAnswer => "no-answer",
            Self::UnclosedThink => "unclosed-think",
            Self::GoldUnparsed => "gold-unparsed",
            Self::AnswerUnparsed => "answer-unparsed",
            Self::Limit => "limit",
        }
    }

    /// The verdict that this reason stands for.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Identical | Self::EqualNumbers | Self::RoundedDecimal => Verdict::Correct,
            Self::DifferentNumbers | Self::NoAnswer | Self::UnclosedThink => Verdict::Incorrect,
            Self::GoldUnparsed | Self::AnswerUnparsed | Self::Limit => Verdict::Undecided,
        }
    }
}

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
