//! Grading completions: extraction and comparison put together, one by one or in bulk.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compare::Side;
use super::extract::{extract, Found, How, Profile};
use super::tree::Answer;
use super::value::Tolerance;
use super::{Reason, Verdict};
use crate::parallel;

/// Below this many pairs a thread costs more than the work it takes over.
const MIN_PAIRS_PER_THREAD: usize = 64;

/// Pairs that a thread takes at a time: few enough that a dear one does not hold up the others.
const CHUNK: usize = 16;

/// How to grade.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Options {
    /// What may count as the answer of a completion.
    pub profile: Profile,
    /// What else counts as equal to a number.
    pub tolerance: Tolerance,
}

/// What became of one completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade<'a> {
    /// The answer found in the completion; `None` if there is none.
    pub extracted: Option<Cow<'a, str>>,
    /// How it was declared.
    pub how: Option<How>,
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

/// A grade and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation<'a> {
    /// The grade.
    pub grade: Grade<'a>,
    /// What the answer was read as; `None` if there is none or it was not read.
    pub tree: Option<String>,
    /// What each gold was read as, and what comparing with it alone gave.
    pub golds: Vec<(Option<String>, Reason)>,
}

/// Grade a completion against golds, any of which counts as right.
///
/// Correct if the answer equals one of them, incorrect if it differs from all of them, else
/// undecided. Golds are answers: they are never searched for one. Without a usable gold (none, or
/// all of them blank) nothing is decided.
#[must_use]
pub fn grade<'a, S: AsRef<str>>(completion: &'a str, golds: &[S], options: &Options) -> Grade<'a> {
    grade_sides(completion, &sides(golds), options)
}

/// [`grade`], and how it came about.
#[must_use]
pub fn explain<'a, S: AsRef<str>>(
    completion: &'a str,
    golds: &[S],
    options: &Options,
) -> Explanation<'a> {
    let golds = sides(golds);
    let grade = grade_sides(completion, &golds, options);
    let tree = grade
        .extracted
        .as_ref()
        .and_then(|answer| show(&Side::new(answer)));
    let alone = |gold: &Side| {
        let reason = grade_sides(completion, std::slice::from_ref(gold), options).reason;
        (show(gold), reason)
    };
    let golds = golds.iter().map(alone).collect();
    Explanation { grade, tree, golds }
}

fn show(side: &Side) -> Option<String> {
    side.tree().as_ref().ok().map(ToString::to_string)
}

/// Grade pairs on up to `threads` threads; the result is in order and does not depend on `threads`.
///
/// `pairs` holds a completion and its golds each.
#[must_use]
pub fn grade_batch<'a, C, S>(
    pairs: &'a [(C, Vec<S>)],
    options: &Options,
    threads: NonZeroUsize,
) -> Vec<Grade<'a>>
where
    C: AsRef<str> + Sync,
    S: AsRef<str> + Sync,
{
    let threads = threads.get().min(pairs.len() / MIN_PAIRS_PER_THREAD).max(1);
    if threads == 1 {
        return grade_all(pairs, options);
    }
    let chunks: Vec<_> = pairs.chunks(CHUNK).collect();
    let next = AtomicUsize::new(0);
    let mut done = parallel::map((0..threads).collect(), |_| {
        let mut mine = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(index) else {
                return mine;
            };
            mine.push((index, grade_all(chunk, options)));
        }
    })
    .concat();
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, grades)| grades).collect()
}

/// Completions of one problem come in groups: their golds are read once.
fn grade_all<'a, C, S>(pairs: &'a [(C, Vec<S>)], options: &Options) -> Vec<Grade<'a>>
where
    C: AsRef<str>,
    S: AsRef<str>,
{
    let mut last: Option<(&[S], Vec<Side>)> = None;
    let mut grades = Vec::with_capacity(pairs.len());
    for (completion, golds) in pairs {
        let same = |(texts, _): &(&[S], _)| {
            texts.len() == golds.len()
                && texts
                    .iter()
                    .zip(golds)
                    .all(|(a, b)| a.as_ref() == b.as_ref())
        };
        let (_, sides) = match last.take().filter(same) {
            Some(kept) => last.insert(kept),
            None => last.insert((golds, sides(golds))),
        };
        grades.push(grade_sides(completion.as_ref(), sides, options));
    }
    grades
}

fn sides<S: AsRef<str>>(golds: &[S]) -> Vec<Side<'_>> {
    golds.iter().map(|gold| Side::new(gold.as_ref())).collect()
}

fn grade_sides<'a>(completion: &'a str, golds: &[Side], options: &Options) -> Grade<'a> {
    let found = extract(completion, options.profile);
    let no_gold = golds.iter().all(Side::is_blank);
    match found {
        Err(reason) => Grade {
            extracted: None,
            how: None,
            reason: if no_gold {
                Reason::GoldUnparsed
            } else {
                reason
            },
        },
        Ok(found) => {
            let (reason, joined) = if no_gold {
                (Reason::GoldUnparsed, false)
            } else {
                decide(&found, golds, options.tolerance)
            };
            let list = found.list.filter(|list| joined || list.always);
            let (extracted, how) = match list {
                Some(list) => (Cow::Owned(list.text), How::Boxes),
                None => (Cow::Borrowed(found.text), found.how),
            };
            Grade {
                extracted: Some(extracted),
                how: Some(how),
                reason,
            }
        }
    }
}

/// The reason for the verdict over all golds, and whether it is about the joined boxes.
///
/// Joined boxes have one chance with each gold: they are compared as a list with a gold that is a
/// list of as many items, else the last box alone decides. Where the other reading would be
/// correct, and where the last box is but one side of an `or`, nothing is decided.
fn decide(found: &Found, golds: &[Side], tolerance: Tolerance) -> (Reason, bool) {
    let answer = Side::new(found.text);
    let list = found.list.as_ref();
    let joined = list.map(|list| (Side::new(&list.text), list));
    let mut best: Option<(Reason, bool)> = None;
    for gold in golds {
        let outcome = match &joined {
            Some((list, joined)) if joined.always || has_items(gold, joined.items) => {
                (list.compare(gold, tolerance), true)
            }
            Some((list, joined)) => {
                let alone = answer.compare(gold, tolerance);
                let all = list.compare(gold, tolerance).verdict();
                let hedged = match alone.verdict() {
                    Verdict::Correct => joined.alternatives && all != Verdict::Correct,
                    _ => all == Verdict::Correct,
                };
                (if hedged { Reason::Ambiguous } else { alone }, false)
            }
            None => (answer.compare(gold, tolerance), false),
        };
        let outcome = match outcome.0.verdict() {
            Verdict::Correct => return outcome,
            // What a sentence seems to say is no proof.
            Verdict::Incorrect if found.prose || is_phrase(found, &answer) => {
                (Reason::AnswerUnparsed, false)
            }
            _ => outcome,
        };
        let undecided = |(reason, _): (Reason, bool)| reason.verdict() == Verdict::Undecided;
        if best.is_none_or(|best| !undecided(best) && undecided(outcome)) {
            best = Some(outcome);
        }
    }
    best.unwrap_or((Reason::GoldUnparsed, false))
}

/// Whether the gold is a list of that many items.
fn has_items(gold: &Side, count: usize) -> bool {
    matches!(gold.tree(), Ok(Answer::List { items, .. }) if items.len() == count)
}

/// Whether a declaration in words was read as several words, which need not be all of an answer.
fn is_phrase(found: &Found, answer: &Side) -> bool {
    found.how == How::Marker && answer.tree().as_ref().is_ok_and(holds_phrase)
}

fn holds_phrase(answer: &Answer) -> bool {
    match answer {
        Answer::Words(words) => words.contains(' '),
        Answer::List { items, .. } | Answer::Tuple { items, .. } => items.iter().any(holds_phrase),
        Answer::Relation { sides, .. } => sides.iter().any(holds_phrase),
        Answer::Where { body, conditions } => {
            holds_phrase(body) || conditions.iter().any(holds_phrase)
        }
        _ => false,
    }
}
