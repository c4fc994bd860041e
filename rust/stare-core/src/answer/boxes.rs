//! The last `\boxed` of a text, in one linear pass.

/// Result of looking for boxes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Boxed<'a> {
    /// No box command at all.
    Absent,
    /// The last box never closes.
    Unterminated,
    /// The last box.
    Found {
        /// What it holds, trimmed; boxes around boxes taken off.
        content: &'a str,
        /// The box with its command, from the backslash to the closing brace.
        span: &'a str,
    },
}

/// An opened brace inside a box: `None` for a plain group, else where the box command starts and
/// where its content does.
type Group = Option<(u32, u32)>;

/// The last box of `text` (at most [`super::MAX_COMPLETION_BYTES`] long), in one pass.
pub(super) fn last_box(text: &str) -> Boxed<'_> {
    let bytes = text.as_bytes();
    let mut open: Vec<Group> = Vec::new();
    let mut last = Boxed::Absent;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                let start = at;
                let slashes = bytes[at..].iter().take_while(|&&b| b == b'\\').count();
                at += slashes;
                match box_command(&bytes[at..]) {
                    Some(length) => {
                        at += length + blank(&bytes[at + length..]);
                        last = Boxed::Unterminated;
                        if bytes.get(at) == Some(&b'{') {
                            at += 1;
                            open.push(Some((narrow(start), narrow(at))));
                        } else {
                            let end = at + unbraced(&bytes[at..]);
                            let content = text[at..end].trim_end_matches(['.', ',', ';', ':']);
                            last = Boxed::Found {
                                content,
                                span: &text[start..end],
                            };
                            at = end;
                        }
                    }
                    // An odd number of backslashes escapes the brace behind them.
                    None if slashes % 2 == 1 && matches!(bytes.get(at), Some(b'{' | b'}')) => {
                        at += 1;
                    }
                    None => {}
                }
                continue;
            }
            // Braces outside any box cannot matter.
            b'{' if !open.is_empty() => open.push(None),
            b'}' => {
                if let Some(Some((start, content_start))) = open.pop() {
                    let span = &text[start as usize..=at];
                    let mut content = text[content_start as usize..at].trim();
                    if let Boxed::Found {
                        content: inner,
                        span: inner_span,
                    } = last
                    {
                        if std::ptr::eq(content, inner_span) {
                            content = inner;
                        }
                    }
                    last = Boxed::Found { content, span };
                }
            }
            _ => {}
        }
        at += 1;
    }
    last
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "texts are at most 1 MiB long"
)]
const fn narrow(at: usize) -> u32 {
    at as u32
}

/// Length of `boxed` or `fbox` at the front of `rest`, if it is the whole name of a command.
fn box_command(rest: &[u8]) -> Option<usize> {
    ["boxed", "fbox"]
        .iter()
        .map(|name| name.len())
        .find(|&length| {
            matches!(rest.get(..length), Some(b"boxed" | b"fbox"))
                && !rest.get(length).is_some_and(u8::is_ascii_alphabetic)
        })
}

fn blank(rest: &[u8]) -> usize {
    rest.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// Length of the argument of a box without braces: up to white space or a dollar sign.
fn unbraced(rest: &[u8]) -> usize {
    rest.iter()
        .position(|&b| b.is_ascii_whitespace() || b == b'$' || b == b'}')
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::super::{extract, Reason};

    #[test]
    fn boxes() {
        for (text, content) in [
            (r"\boxed{42}", "42"),
            (r"\boxed {42} and so on", "42"),
            (r"so \fbox{42}", "42"),
            (r"\\boxed{\\frac{1}{2}}", r"\\frac{1}{2}"),
            (r"\boxed{\boxed{ 42 }}", "42"),
            (r"\boxed{1+\boxed{2}}", r"1+\boxed{2}"),
            (r"\boxed{\{1,2\}}", r"\{1,2\}"),
            (r"\boxed{\left\{1\right.}", r"\left\{1\right."),
            (r"$\boxed 5$", "5"),
            (r"\boxed5.", "5"),
            (r"\boxed{1} then {\boxed{2}}", "2"),
            (r"\boxed{ oops \boxed{42}", "42"),
            (r"} \boxed{7} }", "7"),
        ] {
            assert_eq!(extract(text), Ok(content), "{text}");
        }
        for text in [
            r"\boxed{42} or \boxed{",
            r"\boxed{42} or \boxed{}",
            r"\boxed",
            r"\boxed{{4}",
        ] {
            assert_eq!(extract(text), Err(Reason::NoAnswer), "{text}");
        }
        assert_eq!(extract(r"\boxedness{3}"), Err(Reason::NoAnswer));
    }
}
