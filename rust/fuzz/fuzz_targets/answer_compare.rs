//! Two answers on two lines: no panic; what both sides of a scalar say is the same.

#![no_main]

mod rational;

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{compare, Tolerance, Verdict};

fuzz_target!(|text: &str| {
    let Some((left, right)) = text.split_once('\n') else { return };
    let verdicts = (compare(left, right, Tolerance::None).verdict(), compare(right, left, Tolerance::None).verdict());
    // Opposite verdicts are wrong for whatever kind of answer.
    assert!(
        verdicts != (Verdict::Correct, Verdict::Incorrect)
            && verdicts != (Verdict::Incorrect, Verdict::Correct),
        "{left:?} | {right:?}"
    );
    if rational::plain(left) && rational::plain(right) {
        assert_eq!(verdicts.0, verdicts.1, "{left:?} | {right:?}");
    }
    if let (Some(a), Some(b)) = (rational::parse(left), rational::parse(right)) {
        let wrong = if a == b { Verdict::Incorrect } else { Verdict::Correct };
        // A long decimal may stand for the value that it rounds.
        if a == b || !text.contains('.') {
            assert_ne!(verdicts.0, wrong, "{left:?} = {a:?} | {right:?} = {b:?}");
        }
    }
});
