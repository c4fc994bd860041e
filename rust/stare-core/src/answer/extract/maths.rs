//! Maths between delimiters, in one linear pass.

use std::ops::Range;

/// Environments that hold displayed maths.
const ENVIRONMENTS: &[&str] = &[
    "equation*}",
    "equation}",
    "align*}",
    "align}",
    "gather*}",
    "gather}",
    "displaymath}",
    "math}",
];

/// One piece of maths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// With its delimiters.
    pub outer: Range<usize>,
    /// Without them.
    pub inner: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    Dollar,
    DoubleDollar,
    /// `\(` with one backslash, or two where backslashes were doubled.
    Round(usize),
    /// `\[`.
    Square(usize),
    /// `\begin{..}`, by place in [`ENVIRONMENTS`].
    Environment(usize),
}

#[derive(Clone, Copy)]
struct Open {
    delimiter: Delimiter,
    start: usize,
    inner: usize,
}

/// The maths of a text that is not blank, in order.
///
/// An opening delimiter that meets another before its own end is forgotten, so that every byte is
/// looked at once. Dollars follow the rule of Markdown readers, so that prices are no maths: a
/// closing dollar has no space before it (unless the opening one has a space behind it) and no
/// digit behind it, and a blank line ends the search.
pub(super) struct Spans<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Spans<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn dollar(&mut self, open: Option<Open>) -> Step {
        let at = self.at;
        let double = self.byte(at + 1) == Some(b'$');
        let before_is_space = at == 0 || self.byte(at - 1).is_some_and(|b| b.is_ascii_whitespace());
        match open.map(|open| (open.delimiter, open.inner)) {
            Some((Delimiter::DoubleDollar, _)) if double => {
                self.at += 2;
                return Step::Close;
            }
            // A single dollar inside `$$ .. $$`: maths inside text.
            Some((
                Delimiter::DoubleDollar
                | Delimiter::Square(_)
                | Delimiter::Round(_)
                | Delimiter::Environment(_),
                _,
            )) if !double => {
                self.at += 1;
                return Step::Nothing;
            }
            Some((Delimiter::Dollar, inner)) => {
                let opened_with_space = self.byte(inner).is_some_and(|b| b.is_ascii_whitespace());
                let digit_follows = self.byte(at + 1).is_some_and(|b| b.is_ascii_digit());
                let blank = self.text.get(inner..at).is_none_or(|t| t.trim().is_empty());
                if before_is_space == opened_with_space && !digit_follows && !blank {
                    self.at += 1;
                    return Step::Close;
                }
            }
            _ => {}
        }
        self.at += 1 + usize::from(double);
        Step::Open(Open {
            delimiter: if double {
                Delimiter::DoubleDollar
            } else {
                Delimiter::Dollar
            },
            start: at,
            inner: self.at,
        })
    }

    fn backslash(&mut self, open: Option<Open>) -> Step {
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        let slashes = bytes.iter().take_while(|&&b| b == b'\\').count();
        self.at += slashes;
        let inside = open.map(|open| open.delimiter);
        match self.byte(self.at) {
            // Inside maths `\\[2pt]` is a line break.
            Some(kind @ (b'(' | b'[')) if slashes == 1 || (slashes == 2 && inside.is_none()) => {
                self.at += 1;
                Step::Open(Open {
                    delimiter: if kind == b'(' {
                        Delimiter::Round(slashes)
                    } else {
                        Delimiter::Square(slashes)
                    },
                    start,
                    inner: self.at,
                })
            }
            Some(b')') if inside == Some(Delimiter::Round(slashes)) => {
                self.at += 1;
                Step::Close
            }
            Some(b']') if inside == Some(Delimiter::Square(slashes)) => {
                self.at += 1;
                Step::Close
            }
            Some(b'$') if slashes % 2 == 1 => {
                self.at += 1;
                Step::Nothing
            }
            Some(b'b') if inside.is_none() => {
                self.environment("begin{")
                    .map_or(Step::Nothing, |environment| {
                        Step::Open(Open {
                            delimiter: Delimiter::Environment(environment),
                            start,
                            inner: self.at,
                        })
                    })
            }
            Some(b'e') => match self.environment("end{") {
                Some(environment) if inside == Some(Delimiter::Environment(environment)) => {
                    Step::Close
                }
                _ => Step::Nothing,
            },
            _ => Step::Nothing,
        }
    }

    /// Step over `begin{name}` or `end{name}` of a maths environment.
    fn environment(&mut self, command: &str) -> Option<usize> {
        let rest = self.text.get(self.at..)?.strip_prefix(command)?;
        let found = ENVIRONMENTS
            .iter()
            .position(|name| rest.starts_with(name))?;
        self.at += command.len() + ENVIRONMENTS.get(found)?.len();
        Some(found)
    }

    /// Whether a blank line starts at the line feed at hand.
    fn blank_line(&self) -> bool {
        self.text
            .as_bytes()
            .get(self.at + 1..)
            .unwrap_or_default()
            .iter()
            .take(8)
            .find(|b| !matches!(b, b' ' | b'\t' | b'\r'))
            == Some(&b'\n')
    }
}

enum Step {
    Nothing,
    Open(Open),
    Close,
}

impl Iterator for Spans<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let mut open: Option<Open> = None;
        while let Some(byte) = self.byte(self.at) {
            let at = self.at;
            let step = match byte {
                b'$' => self.dollar(open),
                b'\\' => self.backslash(open),
                _ => {
                    let inline = open.is_some_and(|open| {
                        matches!(open.delimiter, Delimiter::Dollar | Delimiter::Round(_))
                    });
                    if byte == b'\n' && inline && self.blank_line() {
                        open = None;
                    }
                    self.at += 1;
                    Step::Nothing
                }
            };
            match step {
                Step::Nothing => {}
                Step::Open(new) => open = Some(new),
                Step::Close => {
                    let Some(Open { start, inner, .. }) = open.take() else {
                        continue;
                    };
                    let blank = self.text.get(inner..at).is_none_or(|t| t.trim().is_empty());
                    if !blank {
                        return Some(Span {
                            outer: start..self.at,
                            inner: inner..at,
                        });
                    }
                }
            }
        }
        None
    }
}

/// The last maths of a text, trimmed.
pub(super) fn last(text: &str) -> Option<&str> {
    let span = Spans::new(text).last()?;
    text.get(span.inner).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, found) in [
            ("$x$ and $y$", vec!["x", "y"]),
            (r"\(x\) and \[y\]", vec!["x", "y"]),
            (r"\\(x\\) and \\[y\\]", vec!["x", "y"]),
            ("$$x\n\n+ 1$$", vec!["x\n\n+ 1"]),
            ("$x$$y$", vec!["x", "y"]),
            ("$ x $ then", vec![" x "]),
            ("costs $5 and $10", vec![]),
            ("costs $5 and $x$", vec!["x"]),
            ("between $5-$10 or $7$.", vec!["7"]),
            (r"\$5 and $6\$ + 1$", vec![r"6\$ + 1"]),
            ("open $x\n\nclose$ $y$", vec!["y"]),
            (r"\(a \(b\)", vec!["b"]),
            (r"\[a \\[2pt] b\]", vec![r"a \\[2pt] b"]),
            (
                r"\begin{align*}a&=b\\&=c\end{align*} so",
                vec![r"a&=b\\&=c"],
            ),
            (r"\begin{pmatrix}1\end{pmatrix}", vec![]),
            ("$$$$ $ $ \\(\\)", vec![]),
            (r"$$a \text{ if $b$}$$", vec![r"a \text{ if $b$}"]),
            ("$", vec![]),
            ("\\", vec![]),
        ] {
            let inner: Vec<_> = Spans::new(text).map(|s| &text[s.inner]).collect();
            assert_eq!(inner, found, "{text}");
        }
    }
}
