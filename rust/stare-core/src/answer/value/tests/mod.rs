//! Tests of the engine on trees made by hand, and on random ones.

use super::trees::E;
use super::{compare, key};
use crate::answer::limits::Budget;
use crate::answer::verdict::{Reason, Verdict};

mod crafted;
mod expressions;
mod numbers;
mod properties;
mod relations;
mod strategies;

pub(super) fn decide(left: &E, right: &E) -> Reason {
    let reason = compare(left, right, &mut Budget::new());
    let back = compare(right, left, &mut Budget::new());
    assert_eq!(reason, back, "not symmetric: {left:?} {right:?}");
    if reason.verdict() == Verdict::Correct && reason != Reason::RoundedDecimal {
        let keys = [left, right].map(|side| key(side, &mut Budget::new()));
        if keys.iter().all(Option::is_some) {
            assert_eq!(keys[0], keys[1], "{left:?} {right:?}");
        }
    }
    reason
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
pub(super) fn equal(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Correct,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
pub(super) fn different(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Incorrect,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
pub(super) fn undecided(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Undecided,
        "{reason:?}: {left:?} {right:?}"
    );
}
