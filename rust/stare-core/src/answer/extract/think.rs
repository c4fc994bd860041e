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

/// Bytes of attributes in a tag at most.
const ATTRIBUTES: usize = 64;

/// Spaces in front of the name of a tag at most.
const SPACES: usize = 4;

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
            || !matches!(
                next,
                Some(b't' | b'T' | b'r' | b'R' | b's' | b'S' | b'/' | b'|' | b' ' | 0x97)
            )
        {
            continue;
        }
        let Some(rest) = text.get(at..) else { continue };
        for (open, close) in FENCES {
            if let Some(answer) = strip_tag(rest, close) {
                return Ok(answer);
            }
            if strip_tag(rest, open).is_some() {
                return Err(Unclosed);
            }
        }
    }
    Ok(text)
}

/// `text` behind `tag` at its start, in any case. A tag in angle brackets may hold spaces, and
/// attributes behind its name: `< THINK >`, `<think lang="en">`.
fn strip_tag<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let prefix = |text: &'a str, name: &str| {
        let (head, rest) = text.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(name).then_some(rest)
    };
    let named = tag
        .strip_prefix('<')
        .and_then(|tag| tag.strip_suffix('>'))
        .filter(|name| !name.contains('|'));
    let Some(name) = named else {
        return prefix(text, tag);
    };
    let mut rest = short_spaces(text.strip_prefix('<')?);
    let mut name = name;
    if let Some(bare) = name.strip_prefix('/') {
        name = bare;
        rest = short_spaces(rest.strip_prefix('/')?);
    }
    let rest = prefix(rest, name)?;
    if let Some(rest) = rest.strip_prefix('>') {
        return Some(rest);
    }
    rest.starts_with([' ', '\t', '\n', '/']).then_some(())?;
    let window = rest.len().min(ATTRIBUTES);
    let end = rest
        .bytes()
        .take(window)
        .position(|b| matches!(b, b'<' | b'>'))?;
    rest.get(end..)?.strip_prefix('>')
}

/// Without the few spaces that a tag may start with.
fn short_spaces(text: &str) -> &str {
    let spaces = text.bytes().take(SPACES).take_while(|&b| b == b' ').count();
    text.get(spaces..).unwrap_or(text)
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
            ("<THINK>a", Err(Unclosed)),
            ("<think >a", Err(Unclosed)),
            ("< Think>a</ think >b", Ok("b")),
            ("<think effort=\"high\">a", Err(Unclosed)),
            ("<Thinking>a</THINKING>b", Ok("b")),
            ("<thinker>a", Ok("<thinker>a")),
            ("a < thin", Ok("a < thin")),
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
