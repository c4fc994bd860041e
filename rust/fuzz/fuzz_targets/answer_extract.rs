//! The answer of any completion is a piece of it, free of think blocks; appending a box decides.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{extract, grade, Reason, Verdict};

fuzz_target!(|text: &str| {
    if let Ok(answer) = extract(text) {
        assert!(!answer.trim().is_empty());
        assert_eq!(extract(text).as_deref(), Ok(&*answer), "not the same twice");
    }
    // Whatever stands before, the last box decides, unless a think block is open.
    let boxed = format!("{text}\n\n</think>\\boxed{{41}}");
    let graded = grade(&boxed, &["41"]);
    assert_eq!(graded.verdict(), Verdict::Correct, "{boxed:?}");
    let open = format!("{boxed} and \\boxed{{");
    assert_eq!(grade(&open, &["41"]).reason, Reason::NoAnswer, "{open:?}");
});
