//! Any text has a key or none, the same one each time, and never differs from itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stare_core::answer::{compare, key, Tolerance, Verdict};

fuzz_target!(|text: &str| {
    assert_eq!(key(text), key(text));
    let displayed = format!("\\displaystyle {text}");
    for other in [text, &displayed] {
        assert_ne!(compare(text, other, Tolerance::None).verdict(), Verdict::Incorrect, "{text:?}");
    }
});
