//! Dropping the thinking part, and the end-of-text tokens of chat formats.

/// How chat formats fence thinking in: opening and closing mark.
const FENCES: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
    (
        "<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
    ),
];

/// Tokens that end a text when a decoder leaves them in.
const ENDS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|return|>",
    "<|end|>",
    "<|end_of_solution|>",
    "<end_of_turn>",
    "</s>",
];

/// Thinking that never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// The text behind the last closing mark.
///
/// The last mark of any kind decides, so one backward pass is enough.
pub(super) fn after_thinking(text: &str) -> Result<&str, Unclosed> {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate().rev() {
        // Two bytes settle nearly every position.
        let next = bytes.get(at + 1);
        if !matches!(byte, b'<' | b'[' | 0xe2)
            || !matches!(next, Some(b't' | b'T' | b'r' | b's' | b'/' | b'|' | 0x97))
        {
            continue;
        }
        let Some(rest) = text.get(at..) else { continue };
        for (open, close) in FENCES {
            if let Some(answer) = rest.strip_prefix(close) {
                return Ok(answer);
            }
            if rest.starts_with(open) {
                return Err(Unclosed);
            }
        }
    }
    Ok(text)
}

/// `text` without white space and end-of-text tokens at its end.
pub(super) fn without_end_tokens(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(shorter) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = shorter.trim_end();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mark_decides() {
        for (text, rest) in [
            ("no marks", Ok("no marks")),
            ("<think>a</think>b", Ok("b")),
            ("a</think>b", Ok("b")),
            ("<think>a</think>b<think>c</think>d", Ok("d")),
            ("<think>a", Err(Unclosed)),
            ("<think>a</think>b<think>c", Err(Unclosed)),
            ("<thinking>a</thinking>b", Ok("b")),
            ("<|begin_of_thought|>a<|end_of_thought|>b", Ok("b")),
            ("\u{25c1}think\u{25b7}a\u{25c1}/think\u{25b7}b", Ok("b")),
            ("a < b [c] \u{2264} d", Ok("a < b [c] \u{2264} d")),
        ] {
            assert_eq!(after_thinking(text), rest, "{text}");
        }
    }

    #[test]
    fn end_tokens() {
        assert_eq!(without_end_tokens("#### 18<|im_end|>\n</s> "), "#### 18");
        assert_eq!(without_end_tokens(" </s>"), "");
        assert_eq!(without_end_tokens("x"), "x");
    }
}
