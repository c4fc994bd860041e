//! The answer of any completion is a piece of it; whatever stands before, the last box decides.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{extract, grade, Options, Profile, Reason, Verdict};

fuzz_target!(|text: &str| {
    for profile in [Profile::Reward, Profile::Eval, Profile::MathVerify] {
        let found = extract(text, profile);
        assert_eq!(found, extract(text, profile), "not the same twice");
        if let Ok(found) = found {
            assert!(!found.text.trim().is_empty(), "{text:?}");
            assert!(text.contains(found.text));
        }
    }
    let boxed = format!("{text}\n\n</think>\\boxed{{41}}");
    let graded = grade(&boxed, &["41"], &Options::default());
    assert_eq!(graded.verdict(), Verdict::Correct, "{boxed:?}");
    let open = format!("{boxed} and \\boxed{{");
    assert_eq!(grade(&open, &["41"], &Options::default()).reason, Reason::NoAnswer, "{open:?}");
});
