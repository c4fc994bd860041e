//! What stands around an answer and is no part of it: delimiters, boxes, emphasis, punctuation.

use std::borrow::Cow;

use super::command::balanced;
use super::{tables, SyntaxError};

/// More wrappers around each other than this are not an answer.
const WRAPPERS: usize = 64;

/// An answer without its wrappers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bare<'a> {
    pub(super) text: &'a str,
    /// It stood in `\text{..}` or the like.
    pub(super) worded: bool,
}

/// Take off all wrappers.
pub(super) fn strip(text: &str) -> Result<Bare<'_>, SyntaxError> {
    let mut bare = Bare {
        text,
        worded: false,
    };
    for _ in 0..WRAPPERS {
        let before = bare.text.len();
        bare.text = unspaced(bare.text);
        bare.text = unpunctuated(bare.text);
        bare.text = delimited(bare.text);
        if let Some((inner, words)) = braced(bare.text) {
            bare = Bare {
                text: inner,
                worded: bare.worded || words,
            };
        }
        if bare.text.len() == before {
            return if before == 0 {
                Err(SyntaxError::Empty)
            } else {
                Ok(bare)
            };
        }
    }
    Err(SyntaxError::Limit)
}

fn unspaced(mut text: &str) -> &str {
    loop {
        let before = text.len();
        text = text.trim().trim_matches('~');
        for space in [
            "\\,",
            "\\!",
            "\\;",
            "\\:",
            "\\quad",
            "\\qquad",
            "\\displaystyle",
            "\\textstyle",
        ] {
            if let Some(rest) = text.strip_prefix(space) {
                let whole = !space.ends_with(|c: char| c.is_ascii_alphabetic())
                    || !rest.starts_with(|c: char| c.is_ascii_alphabetic());
                text = if whole { rest } else { text };
            }
            text = text.strip_suffix(space).unwrap_or(text);
        }
        text = text.strip_suffix("\\\\").unwrap_or(text);
        if text.len() == before {
            return text;
        }
    }
}

/// Without one final punctuation mark, if it is not a part of what is before it.
///
/// A point behind `\right` is a delimiter, `\,` a space; an ellipsis goes on with the answer.
pub(in super::super) fn without_final_mark(text: &str) -> &str {
    let Some(rest) = text.strip_suffix(['.', ',', ';', ':']) else {
        return text;
    };
    let ellipsis = text.ends_with('.') && rest.trim_end().ends_with('.');
    if ellipsis || rest.ends_with("\\right") || rest.ends_with('\\') {
        text
    } else {
        rest
    }
}

/// Without final punctuation, quotes and Markdown emphasis.
fn unpunctuated(text: &str) -> &str {
    let mut text = without_final_mark(text);
    for mark in ["**", "__", "\"", "`", "''", "'"] {
        let inner = text.strip_prefix(mark).and_then(|t| t.strip_suffix(mark));
        text = inner.filter(|t| !t.contains(mark)).unwrap_or(text);
    }
    text
}

fn delimited(text: &str) -> &str {
    for (open, close) in [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")] {
        let inner = text.strip_prefix(open).and_then(|t| t.strip_suffix(close));
        let Some(inner) = inner else { continue };
        let single = if open.starts_with('$') {
            !inner.contains('$')
        } else {
            !inner.contains(close)
        };
        let dollar_sign = open == "$" && inner.ends_with('\\');
        let currency =
            open.starts_with('$') && inner.replace("\\$", "").find('$').is_none() && !dollar_sign;
        if single || currency {
            return inner;
        }
    }
    text
}

/// The content of `\boxed{..}`, `\text{..}` or `{..}` around all of it; whether it is text.
fn braced(text: &str) -> Option<(&str, bool)> {
    let (name, body) = match text.strip_prefix('\\') {
        Some(rest) => {
            let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            (rest.get(..length)?, rest.get(length..)?)
        }
        None => ("", text),
    };
    let words = tables::is_text(name);
    if !(name.is_empty() || words || matches!(name, "boxed" | "fbox" | "underline" | "mathbf")) {
        return None;
    }
    let inner = body.trim_start().strip_prefix('{')?;
    let length = balanced(inner)?;
    let content = inner.get(..length)?;
    // `\mathrm{e}` is maths, `\text{C}` is not.
    let letter = matches!(name, "mathrm" | "mathbf" | "operatorname") && content.trim().len() <= 1;
    (length + 1 == inner.len() && !letter).then_some((content, words))
}

/// Commands whose backslash and first letter became one control character, as in strings where
/// `\f` and `\t` were escapes: as it is now, as it was.
const EATEN: &[(&str, &str)] = &[
    ("\u{c}", "\\f"),
    ("\u{8}", "\\b"),
    ("\text{", "\\text{"),
    ("\tfrac{", "\\tfrac{"),
    ("\times", "\\times"),
    ("\theta", "\\theta"),
    ("\right", "\\right"),
    ("\neq ", "\\neq "),
];

/// Put back the backslashes that were eaten by escapes.
pub(super) fn restore(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.bytes().any(|b| b.is_ascii_control()) {
        return text;
    }
    for (eaten, command) in EATEN {
        if text.contains(eaten) {
            text = Cow::Owned(text.replace(eaten, command));
        }
    }
    text
}

/// Undo doubled backslashes, as in JSON that was escaped twice: if all of them are doubled and some
/// stand before a letter.
pub(super) fn undouble(text: &str) -> Cow<'_, str> {
    let mut command = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        rest = rest.get(at..).unwrap_or("");
        let run = rest.bytes().take_while(|&b| b == b'\\').count();
        if run % 2 == 1 {
            return Cow::Borrowed(text);
        }
        rest = rest.get(run..).unwrap_or("");
        command |= rest.starts_with(|c: char| {
            c.is_ascii_alphabetic() || matches!(c, '(' | '[' | '{' | '%' | '$')
        });
    }
    if command {
        Cow::Owned(text.replace("\\\\", "\\"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_come_off() {
        for text in [
            "42",
            " 42. ",
            "$42$",
            "$$ 42 $$",
            r"\(42\)",
            r"\[ 42 \]",
            r"\boxed{42}",
            r"\fbox {42}",
            r"\boxed{\boxed{42}}.",
            "**42**",
            "\"42\"",
            r"$\displaystyle 42$",
            r"\text{42}",
            r"42\,.",
            "{42}",
        ] {
            assert_eq!(strip(text).map(|bare| bare.text), Ok("42"), "{text}");
        }
        for text in [
            "$5$ or $9$",
            r"\{1\}",
            r"\$5",
            r"{1}{2}",
            r"\mathrm{e}",
            "5'",
        ] {
            assert_eq!(strip(text).map(|bare| bare.text), Ok(text), "{text}");
        }
        assert_eq!(strip(" $ $. "), Err(SyntaxError::Empty));
    }

    #[test]
    fn eaten_backslashes() {
        for (text, expected) in [
            ("\u{c}rac{1}{2}", r"\frac{1}{2}"),
            ("\u{8}oxed{5}", r"\boxed{5}"),
            ("5\text{ cm}", r"5\text{ cm}"),
            ("a\tb\nc", "a\tb\nc"),
        ] {
            assert_eq!(restore(text), expected);
        }
    }

    #[test]
    fn doubled_backslashes() {
        assert_eq!(undouble(r"\\frac{1}{2}"), r"\frac{1}{2}");
        let matrix = r"\begin{pmatrix}1\\2\end{pmatrix}";
        assert_eq!(undouble(matrix), matrix);
        assert_eq!(undouble(r"1\\2"), r"1\\2");
    }
}
