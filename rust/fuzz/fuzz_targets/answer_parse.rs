//! Any text has a key or none, the same one each time, and never differs from itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{compare, key, Tolerance, Verdict};

fuzz_target!(|text: &str| {
    assert_eq!(key(text), key(text));
    // Doubled backslashes are read as single ones only where all of them are doubled.
    let slash = if text.contains("\\\\") { "\\\\" } else { "\\" };
    let displayed = format!("{slash}displaystyle {text}");
    for other in [text, &displayed] {
        assert_ne!(compare(text, other, Tolerance::None).verdict(), Verdict::Incorrect, "{text:?}");
    }
});
