//! Whether two answers are the same.

use super::boxes::{last_box, Boxed};
use super::number::Number;
use super::{Reason, MAX_ANSWER_BYTES};

/// A decimal of this many significant digits may stand for the exact value it rounds.
const ROUNDED_DIGITS: usize = 6;

/// Wrappers taken off an answer at most; more of them than this is not an answer.
const MAX_WRAPPERS: usize = 16;

/// Compare an answer with a gold answer.
///
/// Numbers are compared as exact rationals. A decimal with at least six significant digits also
/// equals the exact value that it rounds correctly (`0.333333` and `1/3`, but not `0.333`). The
/// relation is symmetric but for the name of the reason.
///
/// ```
/// use stare_core::answer::{compare, Reason};
///
/// assert_eq!(compare("0.50", r"\frac12"), Reason::EqualNumbers);
/// assert_eq!(compare("0.333", "1/3"), Reason::DifferentNumbers);
/// assert_eq!(compare("x + 1", "1 + x"), Reason::GoldUnparsed);
/// ```
#[must_use]
pub fn compare(answer: &str, gold: &str) -> Reason {
    if answer.len() > MAX_ANSWER_BYTES || gold.len() > MAX_ANSWER_BYTES {
        return Reason::Limit;
    }
    let (answer, gold) = (bare(answer), bare(gold));
    if answer == gold && !gold.is_empty() {
        return Reason::Identical;
    }
    let Some(right) = Number::parse(gold) else {
        return Reason::GoldUnparsed;
    };
    let Some(given) = Number::parse(answer) else {
        return Reason::AnswerUnparsed;
    };
    if given == right {
        Reason::EqualNumbers
    } else if given.rounds(&right, ROUNDED_DIGITS) || right.rounds(&given, ROUNDED_DIGITS) {
        Reason::RoundedDecimal
    } else {
        Reason::DifferentNumbers
    }
}

/// An answer without what does not change it: surrounding space, maths delimiters, a box around
/// all of it, Markdown emphasis, final punctuation.
pub(super) fn bare(text: &str) -> &str {
    let mut text = text;
    for _ in 0..MAX_WRAPPERS {
        let before = text.len();
        text = text.trim().trim_matches('*').trim();
        for space in ["\\,", "\\!", "\\;", "\\:", "\\ ", "~"] {
            text = text.strip_prefix(space).unwrap_or(text);
            text = text.strip_suffix(space).unwrap_or(text);
        }
        text = text.strip_suffix(['.', ',', ';', ':']).unwrap_or(text);
        for (open, close) in [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")] {
            text = text
                .strip_prefix(open)
                .and_then(|t| t.strip_suffix(close))
                .unwrap_or(text);
        }
        if let Boxed::Found { content, span } = last_box(text) {
            if span == text {
                text = content;
            }
        }
        if text.len() == before {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        for (answer, gold, reason) in [
            ("204", "204.", Reason::Identical),
            ("x+1", "$x+1$", Reason::Identical),
            ("42", r"\boxed{42}", Reason::Identical),
            ("42", "42.0", Reason::EqualNumbers),
            ("025", "25", Reason::EqualNumbers),
            ("0.333333", "1/3", Reason::RoundedDecimal),
            ("1/3", "0.3333333", Reason::RoundedDecimal),
            ("0.333334", "1/3", Reason::DifferentNumbers),
            ("0.33333", "1/3", Reason::DifferentNumbers),
            ("-0.666667", "-2/3", Reason::RoundedDecimal),
            ("0.666667", "-2/3", Reason::DifferentNumbers),
            ("3.141593", "3.14159265", Reason::DifferentNumbers),
            ("0.0000001", "0.0000004", Reason::DifferentNumbers),
            ("5", r"5\%", Reason::GoldUnparsed),
            ("5 cm", "5", Reason::AnswerUnparsed),
            ("", "", Reason::GoldUnparsed),
            ("42", "", Reason::GoldUnparsed),
            (r"1\frac12", "3/2", Reason::AnswerUnparsed),
        ] {
            assert_eq!(compare(answer, gold), reason, "{answer} against {gold}");
        }
    }

    #[test]
    fn long_answers_are_over_the_limit() {
        let digits = "7".repeat(MAX_ANSWER_BYTES);
        assert_eq!(compare(&digits, &digits), Reason::Identical);
        assert_eq!(compare(&digits, "7"), Reason::DifferentNumbers);
        assert_eq!(compare(&(digits + "7"), "7"), Reason::Limit);
    }
}
