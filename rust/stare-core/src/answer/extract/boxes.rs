//! The boxes of a text, in one linear pass.

use super::super::limits::ANSWER_CHARS;
use super::Joining;

/// Commands that draw a box.
const COMMANDS: &[&str] = &["boxed", "fbox"];

/// What may stand between boxes of one list, besides at least one of [`CONNECTIVES`].
const BETWEEN: &[&str] = &[
    "\\text", "\\textrm", "\\mathrm", "\\quad", "\\qquad", "\\,", "\\;", "\\:", "\\ ", "\\(",
    "\\)", "\\[", "\\]", "$", "{", "}", "~", "*", " ", "\t",
];

/// What joins boxes to a list.
const CONNECTIVES: &[&str] = &["and", "or", ",", ";", "\\&", "&"];

/// Longest text between boxes of one list, in bytes.
const MAX_BETWEEN: usize = 64;

/// A box with its command, from the backslash to the closing brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Boxed<'a> {
    start: usize,
    end: usize,
    /// What it holds, trimmed; boxes around boxes taken off.
    pub(in super::super) content: &'a str,
}

impl Boxed<'_> {
    /// Whether the box is all of `text`, in which it was found.
    pub(in super::super) const fn is_all_of(&self, text: &str) -> bool {
        self.start == 0 && self.end == text.len()
    }
}

/// Boxes that make a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List<'a> {
    pub(super) contents: Vec<&'a str>,
    /// Whether an `or` stands between them.
    pub(super) alternatives: bool,
}

/// The boxes of a text.
#[derive(Debug, Default)]
pub(in super::super) struct Boxes<'a> {
    /// Those that close, outermost only, in order of their ends.
    pub(in super::super) closed: Vec<Boxed<'a>>,
    /// Whether the last box never closes.
    pub(in super::super) last_is_open: bool,
}

/// An opened brace inside a box: `None` for a plain group, else where the box command starts and
/// where its content does.
type Group = Option<(u32, u32)>;

/// All boxes of `text`.
pub(in super::super) fn scan(text: &str) -> Boxes<'_> {
    let bytes = text.as_bytes();
    let mut open: Vec<Group> = Vec::new();
    let mut found = Boxes::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => {
                let start = at;
                let rest = bytes.get(at..).unwrap_or_default();
                let slashes = rest.iter().take_while(|&&b| b == b'\\').count();
                at += slashes;
                match argument(text.get(at..).unwrap_or_default()) {
                    Argument::None => {
                        // An odd number of backslashes escapes the brace behind them.
                        let brace = matches!(bytes.get(at), Some(b'{' | b'}'));
                        at += usize::from(brace && slashes % 2 == 1);
                    }
                    Argument::Braced(length) => {
                        at += length;
                        found.last_is_open = true;
                        open.push(Some((narrow(start), narrow(at))));
                    }
                    Argument::Bare { skipped, length } => {
                        let content = at + skipped;
                        at = content + length;
                        let content = text.get(content..at).unwrap_or_default();
                        found.close(Boxed {
                            start,
                            end: at,
                            content: content.trim_end_matches(['.', ',', ';', ':']),
                        });
                    }
                }
                continue;
            }
            // Braces outside any box cannot matter.
            b'{' if !open.is_empty() => open.push(None),
            b'}' => {
                if let Some(Some((start, content))) = open.pop() {
                    found.close(Boxed {
                        start: start as usize,
                        end: at + 1,
                        content: text.get(content as usize..at).unwrap_or_default().trim(),
                    });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

impl<'a> Boxes<'a> {
    fn close(&mut self, mut outer: Boxed<'a>) {
        let mut last = true;
        while let Some(inner) = self.closed.last().filter(|b| b.start >= outer.start) {
            // The inner box is all of the outer one's content.
            if last && inner.end - inner.start == outer.content.len() {
                outer.content = inner.content;
            }
            last = false;
            self.closed.pop();
        }
        self.closed.push(outer);
        self.last_is_open = false;
    }

    /// The contents of the last box and those that make a list with it, in order; `None` if it is
    /// alone, or the list would be too long for an answer.
    pub(super) fn joined(&self, text: &str, joining: Joining) -> Option<List<'a>> {
        let mut contents = Vec::new();
        let mut alternatives = false;
        let mut length = 0;
        let mut next: Option<&Boxed> = None;
        for boxed in self.closed.iter().rev() {
            if let Some(next) = next {
                let between = text.get(boxed.end..next.start).unwrap_or_default();
                let joins = match joining {
                    Joining::Connectives => {
                        alternatives |= between.contains("or");
                        connects(between)
                    }
                    Joining::Nearby(bytes) => between.len() <= bytes,
                };
                if !joins {
                    break;
                }
            }
            length += boxed.content.len() + 2;
            if boxed.content.is_empty() || length > ANSWER_CHARS {
                return None;
            }
            contents.push(boxed.content);
            next = Some(boxed);
        }
        contents.reverse();
        (contents.len() > 1).then_some(List {
            contents,
            alternatives,
        })
    }
}

/// Whether `between` holds connectives and what may go with them, on one line or over the end of
/// one.
fn connects(between: &str) -> bool {
    if between.len() > MAX_BETWEEN {
        return false;
    }
    let mut rest = between;
    let (mut connectives, mut lines) = (0, 0);
    while !rest.is_empty() {
        let part = |parts: &[&str]| parts.iter().find_map(|part| rest.strip_prefix(part));
        if let Some(after) = part(CONNECTIVES) {
            connectives += 1;
            rest = after;
        } else if let Some(after) = part(BETWEEN) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\n') {
            lines += 1;
            rest = after;
        } else {
            return false;
        }
    }
    connectives > 0 && lines <= 1
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "texts are at most 1 MiB long"
)]
const fn narrow(at: usize) -> u32 {
    at as u32
}

/// What follows the backslashes of a command.
#[derive(Debug, PartialEq, Eq)]
enum Argument {
    /// Not a box.
    None,
    /// A box whose content starts this far on.
    Braced(usize),
    /// A box without braces: what lies before its content, and how long that is.
    Bare { skipped: usize, length: usize },
}

fn argument(rest: &str) -> Argument {
    let Some(name) = COMMANDS.iter().find(|name| rest.starts_with(**name)) else {
        return Argument::None;
    };
    let behind = rest.get(name.len()..).unwrap_or_default();
    if behind.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Argument::None;
    }
    let content = behind.trim_start_matches([' ', '\t', '\n', '\r']);
    let skipped = rest.len() - content.len();
    if content.starts_with('{') {
        return Argument::Braced(skipped + 1);
    }
    let letters = content.bytes().take_while(u8::is_ascii_alphabetic).count();
    if letters > 1 && content.len() < behind.len() {
        // The command is only mentioned, in prose.
        return Argument::None;
    }
    Argument::Bare {
        skipped,
        length: unbraced(content.as_bytes()),
    }
}

/// Length of the argument of a box without braces: up to white space or the end of the maths or
/// of the group around it.
fn unbraced(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            _ if escaped => {
                escaped = false;
                if depth == 0 && matches!(byte, b')' | b']') {
                    return at - 1;
                }
            }
            b'\\' => escaped = true,
            b'{' => depth += 1,
            b'}' if depth == 0 => return at,
            b'}' => depth -= 1,
            b'$' => return at,
            _ if byte.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slow twin: braces counted anew from every command on.
    fn slow_last(text: &str) -> Option<String> {
        let bytes = text.as_bytes();
        let escaped = |at: usize| {
            let slashes = bytes[..at].iter().rev().take_while(|&&b| b == b'\\');
            slashes.count() % 2 == 1
        };
        let commands = text.match_indices("boxed{").filter(|(at, _)| *at > 0);
        let opened: Vec<(usize, usize)> = commands
            .filter(|(at, _)| bytes[at - 1] == b'\\')
            .map(|(at, _)| (at - 1, at + "boxed{".len()))
            .collect();
        let closed: Vec<(usize, usize, usize)> = opened
            .iter()
            .filter_map(|&(start, content)| {
                let mut depth = 1;
                for (at, &byte) in bytes.iter().enumerate().skip(content) {
                    // The brace of a command is none, however many backslashes it has.
                    let of_command = opened.iter().any(|(_, content)| at + 1 == *content);
                    match byte {
                        b'{' if of_command || !escaped(at) => depth += 1,
                        b'}' if !escaped(at) => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        return Some((start, content, at));
                    }
                }
                None
            })
            .collect();
        let (mut from, mut to) = closed
            .iter()
            .map(|&(_, content, end)| (content, end))
            .max_by_key(|(_, end)| *end)?;
        if opened.iter().any(|(_, content)| *content > to) {
            return None;
        }
        loop {
            let content = text[from..to].trim();
            let whole = closed.iter().find(|(start, _, end)| {
                *start >= from && *end < to && text[*start..=*end] == *content
            });
            match whole {
                Some(&(_, content, end)) => (from, to) = (content, end),
                None => return Some(content.to_owned()),
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_slow_twin(pieces in prop::collection::vec(
            prop::sample::select(vec!["\\boxed{", "{", "}", "\\{", "\\}", " ", "a", "\\b"]), 0..24)
        ) {
            let text = pieces.concat();
            prop_assert_eq!(last(&text).map(str::to_owned), slow_last(&text), "{}", text);
        }
    }

    fn last(text: &str) -> Option<&str> {
        let boxes = scan(text);
        if boxes.last_is_open {
            return None;
        }
        boxes.closed.last().map(|boxed| boxed.content)
    }

    #[test]
    fn the_last_box() {
        for (text, content) in [
            (r"\boxed{42}", Some("42")),
            (r"\boxed {42} and so on", Some("42")),
            (r"so \fbox{42}", Some("42")),
            (r"\\boxed{\\frac{1}{2}}", Some(r"\\frac{1}{2}")),
            (r"\boxed{\boxed{ 42 }}", Some("42")),
            (r"\boxed{ \boxed{\boxed{ 42 }} }", Some("42")),
            (r"\boxed{1+\boxed{2}}", Some(r"1+\boxed{2}")),
            (r"\boxed{\boxed{1}\boxed{2}}", Some(r"\boxed{1}\boxed{2}")),
            (r"\boxed{\{1,2\}}", Some(r"\{1,2\}")),
            (r"\boxed{\left\{1\right.}", Some(r"\left\{1\right.")),
            (r"$\boxed 5$", Some("5")),
            (r"\boxed5.", Some("5")),
            (r"$\boxed\frac{1}{2}$", Some(r"\frac{1}{2}")),
            (r"\(\boxed 5\)", Some("5")),
            (r"\boxed{1} then {\boxed{2}}", Some("2")),
            (r"\boxed{ oops \boxed{42}", Some("42")),
            (r"} \boxed{7} }", Some("7")),
            (r"\boxed{42}, as \boxed asks for", Some("42")),
            (r"\boxed{42} or \boxed{", None),
            (r"\boxed{42} or \boxed{}", Some("")),
            (r"\boxed", Some("")),
            (r"\boxed{{4}", None),
            (r"\boxedness{3}", None),
        ] {
            assert_eq!(last(text), content, "{text}");
        }
    }

    #[test]
    fn boxes_of_one_list() {
        for (text, joined) in [
            (r"\boxed{1}, \boxed{2}", Some(vec!["1", "2"])),
            (r"$\boxed{1}$ and $\boxed{2}$", Some(vec!["1", "2"])),
            (
                r"\boxed{1}, \boxed{2}, and \boxed{3}",
                Some(vec!["1", "2", "3"]),
            ),
            (r"\boxed{1} \text{ or } \boxed{2}", Some(vec!["1", "2"])),
            (
                r"\boxed{0} is wrong. \boxed{1} or \boxed{2}",
                Some(vec!["1", "2"]),
            ),
            (r"\boxed{1} \boxed{2}", None),
            (r"papers \boxed{1} and bins \boxed{2}", None),
            (r"\boxed{1} and", None),
            ("\\boxed{1},\n\n\\boxed{2}", None),
            (r"\boxed{}, \boxed{2}", None),
        ] {
            assert_eq!(
                scan(text)
                    .joined(text, Joining::Connectives)
                    .map(|list| list.contents),
                joined,
                "{text}"
            );
        }
        let near = r"papers \boxed{1} and bins \boxed{2}";
        assert_eq!(
            scan(near)
                .joined(near, Joining::Nearby(70))
                .map(|list| list.contents),
            Some(vec!["1", "2"])
        );
    }
}
