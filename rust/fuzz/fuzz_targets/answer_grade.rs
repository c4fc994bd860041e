//! A completion and its gold on the last line: no panic, several golds like one, no false reward.

#![no_main]

mod rational;

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{grade, Options, Verdict};

fuzz_target!(|text: &str| {
    let Some((completion, gold)) = text.rsplit_once('\n') else { return };
    let graded = grade(completion, &[gold], &Options::default());
    assert_eq!(graded, grade(completion, &[gold], &Options::default()), "not the same twice");
    assert_eq!(graded.verdict(), grade(completion, &[gold, gold], &Options::default()).verdict());
    if gold.trim().is_empty() {
        assert_ne!(graded.verdict(), Verdict::Correct, "an empty gold rewards nothing");
    }
    let answer = graded.extracted.as_deref().and_then(rational::parse);
    if let (Some(a), Some(b)) = (answer, rational::parse(gold)) {
        if a != b && !text.contains('.') {
            assert_ne!(graded.verdict(), Verdict::Correct, "{text:?}");
        }
        if a == b {
            assert_ne!(graded.verdict(), Verdict::Incorrect, "{text:?}");
        }
    }
});
