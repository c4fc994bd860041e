//! The rules, from text to verdict, in both directions.

use std::fmt::Write;

mod collections;
mod properties;
mod statements;

use super::super::limits::Budget;
use super::super::syntax;
use super::super::tree::Answer;
use super::super::value::Tolerance;
use super::super::verdict::{Reason, Verdict};
use super::{compare, key};

fn parse(text: &str) -> Answer {
    syntax::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn reason(answer: &str, gold: &str) -> Reason {
    let (answer, gold) = (parse(answer), parse(gold));
    compare(&answer, &gold, Tolerance::None, &mut Budget::new())
}

fn verdict(answer: &str, gold: &str) -> Verdict {
    reason(answer, gold).verdict()
}

/// Every pair of a group, in both directions and by key.
fn equal(groups: &[&[&str]]) {
    let mut failures = String::new();
    for group in groups {
        for left in *group {
            for right in *group {
                let reason = reason(left, right);
                let keys = (key(&parse(left)), key(&parse(right)));
                if reason.verdict() != Verdict::Correct || keys.0 != keys.1 {
                    writeln!(failures, "{left} | {right}: {reason:?}, {keys:?}").unwrap();
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

fn both(expected: Verdict, pairs: &[(&str, &str)]) {
    let mut failures = String::new();
    for (left, right) in pairs {
        for (answer, gold) in [(left, right), (right, left)] {
            let reason = reason(answer, gold);
            if reason.verdict() != expected {
                writeln!(failures, "{answer} | {gold}: {reason:?}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// In both directions and by key.
fn different(pairs: &[(&str, &str)]) {
    both(Verdict::Incorrect, pairs);
    for (left, right) in pairs {
        assert_ne!(key(&parse(left)), key(&parse(right)), "{left} | {right}");
    }
}

fn undecided(pairs: &[(&str, &str)]) {
    both(Verdict::Undecided, pairs);
}
