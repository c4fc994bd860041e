//! Whether two answers are the same.

use std::cell::OnceCell;

use super::doubt::{self, Written};
use super::extract::boxes;
use super::limits::{self, Budget};
use super::quick::Plain;
use super::syntax::{self, SyntaxError};
use super::tree::Answer;
use super::value::Tolerance;
use super::{relate, Reason};

/// Wrappers taken off an answer at most; more of them than this is not an answer.
const MAX_WRAPPERS: usize = 16;

/// Pairs of delimiters around maths.
const DELIMITERS: &[(&str, &str)] = &[("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];

/// Spaces of LaTeX, which mean nothing around an answer.
const SPACES: &[&str] = &["\\,", "\\!", "\\;", "\\:", "\\ "];

/// Compare an answer with a gold answer. Both are answers and are never searched for one.
///
/// ```
/// use stare_core::answer::{compare, Reason, Tolerance};
///
/// assert_eq!(compare("0.50", "0.5", Tolerance::None), Reason::EqualNumbers);
/// assert_eq!(compare("$x + 1$", "x + 1.", Tolerance::None), Reason::Identical);
/// assert_eq!(compare("3", "", Tolerance::None), Reason::GoldUnparsed);
/// ```
#[must_use]
pub fn compare(answer: &str, gold: &str, tolerance: Tolerance) -> Reason {
    Side::new(answer).compare(&Side::new(gold), tolerance)
}

/// A text that is the same for equal answers and, where decidable, only for them; `None` if the
/// text is empty or too long.
///
/// An answer that cannot be read has its own text for a key.
#[must_use]
pub fn key(answer: &str) -> Option<String> {
    let side = Side::new(answer);
    if side.too_long || side.bare.is_empty() {
        return None;
    }
    Some(
        side.tree()
            .as_ref()
            .map_or_else(|_| format!("text {}", side.bare), relate::key),
    )
}

/// One side of a comparison, read when needed and at most once.
pub(super) struct Side<'a> {
    /// As written.
    text: &'a str,
    /// Without wrappers.
    bare: &'a str,
    /// More than [`limits::ANSWER_CHARS`].
    too_long: bool,
    plain: Option<Plain>,
    tree: OnceCell<Result<Answer, SyntaxError>>,
    list: OnceCell<Option<Answer>>,
}

impl<'a> Side<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let too_long =
            text.len() > limits::ANSWER_CHARS && text.chars().nth(limits::ANSWER_CHARS).is_some();
        let bare = if too_long { text } else { bare(text) };
        Self {
            text,
            bare,
            too_long,
            plain: Plain::parse(bare),
            tree: OnceCell::new(),
            list: OnceCell::new(),
        }
    }

    /// Whether nothing but wrappers and space was given.
    pub(super) const fn is_blank(&self) -> bool {
        self.bare.is_empty()
    }

    /// What the text says.
    pub(super) fn tree(&self) -> &Result<Answer, SyntaxError> {
        self.tree.get_or_init(|| {
            if self.too_long {
                Err(SyntaxError::Limit)
            } else {
                syntax::parse(self.text)
            }
        })
    }

    /// What the text says next to `other`: `1,234` is a list next to a list, else a number.
    fn tree_beside<'b>(&'b self, own: &'b Answer, other: &Answer) -> &'b Answer {
        let is_list = |answer: &Answer| matches!(answer, Answer::List { .. });
        if is_list(own) || !is_list(other) {
            return own;
        }
        self.list
            .get_or_init(|| syntax::parse_as_list(self.text))
            .as_ref()
            .unwrap_or(own)
    }

    const fn written<'b>(&'b self, tree: &'b Answer) -> Written<'b> {
        Written {
            text: self.text,
            bare: self.bare,
            tree,
        }
    }

    /// Compare `self` with a gold.
    pub(super) fn compare(&self, gold: &Self, tolerance: Tolerance) -> Reason {
        if self.too_long || gold.too_long {
            return Reason::Limit;
        }
        if self.bare == gold.bare && !gold.is_blank() {
            return Reason::Identical;
        }
        if let (Some(given), Some(right)) = (self.plain, gold.plain) {
            if given == right {
                return Reason::EqualNumbers;
            }
            if tolerance == Tolerance::None {
                return Reason::DifferentNumbers;
            }
        }
        self.compare_trees(gold, tolerance)
    }

    /// The slow twin of [`Self::compare`]'s short cuts.
    fn compare_trees(&self, gold: &Self, tolerance: Tolerance) -> Reason {
        match (self.tree(), gold.tree()) {
            (Ok(answer), Ok(right)) => {
                let reason = relate::compare(
                    self.tree_beside(answer, right),
                    gold.tree_beside(right, answer),
                    tolerance,
                    &mut Budget::new(),
                );
                let sides = [self.written(answer), gold.written(right)];
                if doubt::forbids(sides, reason.verdict(), tolerance) {
                    Reason::Ambiguous
                } else {
                    reason
                }
            }
            (_, Err(SyntaxError::Limit)) | (Err(SyntaxError::Limit), Ok(_)) => Reason::Limit,
            (_, Err(_)) => Reason::GoldUnparsed,
            // Nobody else may drop what was not read here.
            (Err(_), Ok(_)) if doubt::goes_on(self.bare) => Reason::Ambiguous,
            (Err(_), Ok(_)) => Reason::AnswerUnparsed,
        }
    }
}

/// An answer without what does not change it: surrounding space, maths delimiters, a box around
/// all of it, Markdown emphasis, final punctuation.
pub(super) fn bare(text: &str) -> &str {
    let mut text = text;
    for _ in 0..MAX_WRAPPERS {
        let before = text.len();
        text = unemphasized(text.trim());
        for space in SPACES {
            text = text.strip_prefix(space).unwrap_or(text);
            text = text.strip_suffix(space).unwrap_or(text);
        }
        text = syntax::without_final_mark(text);
        for (open, close) in DELIMITERS {
            text = text
                .strip_prefix(open)
                .and_then(|t| t.strip_suffix(close))
                .filter(|inner| !inner.contains(close))
                .unwrap_or(text);
        }
        if text.starts_with('\\') && text.ends_with('}') {
            if let [only] = boxes::scan(text).closed.as_slice() {
                if only.is_all_of(text) {
                    text = only.content;
                }
            }
        }
        if text.len() == before {
            break;
        }
    }
    text
}

/// Without the stars of Markdown around `text`. A single star behind it alone may be maths.
fn unemphasized(text: &str) -> &str {
    let inner = text.trim_start_matches('*');
    if inner.len() == text.len() {
        return text.strip_suffix("**").unwrap_or(text).trim_end();
    }
    let mut inner = inner;
    for _ in 0..text.len() - inner.len() {
        inner = inner.strip_suffix('*').unwrap_or(inner);
    }
    inner.trim()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Verdict;
    use super::*;

    #[test]
    fn without_trees() {
        for (answer, gold, reason) in [
            ("204", "204.", Reason::Identical),
            ("x+1", "$x+1$", Reason::Identical),
            ("42", r"\boxed{42}", Reason::Identical),
            ("42", r"\(\fbox{ 42 }\).", Reason::Identical),
            ("**42**", "42", Reason::Identical),
            ("$5$ or $9$", "$5$ or $9$.", Reason::Identical),
            ("42", "42.0", Reason::EqualNumbers),
            ("025", "25", Reason::EqualNumbers),
            ("0.0000001", "0.0000004", Reason::DifferentNumbers),
            ("", "", Reason::GoldUnparsed),
            ("42", "", Reason::GoldUnparsed),
        ] {
            assert_eq!(
                compare(answer, gold, Tolerance::None),
                reason,
                "{answer} against {gold}"
            );
        }
    }

    #[test]
    fn long_answers_are_over_the_limit() {
        let digits = "7".repeat(limits::ANSWER_CHARS);
        assert_eq!(
            compare(&digits, &digits, Tolerance::None),
            Reason::Identical
        );
        let longer = digits.clone() + "7";
        assert_eq!(compare(&longer, "7", Tolerance::None), Reason::Limit);
        assert_eq!(compare("7", &longer, Tolerance::None), Reason::Limit);
        let accents = "\u{e9}".repeat(limits::ANSWER_CHARS);
        assert_eq!(
            compare(&accents, &accents, Tolerance::None),
            Reason::Identical
        );
    }

    #[test]
    fn digit_groups_beside_lists() {
        for (answer, gold, verdict) in [
            ("1,234", "1234", Verdict::Correct),
            ("1,234", "1, 234", Verdict::Correct),
            ("1, 234", "1,234", Verdict::Correct),
            ("1,234", "234, 1", Verdict::Correct),
            ("1,234", "1, 235", Verdict::Incorrect),
            ("1,234", "12, 34", Verdict::Incorrect),
            ("1, 234", "1234", Verdict::Undecided),
        ] {
            let reason = compare(answer, gold, Tolerance::None);
            assert_eq!(
                reason.verdict(),
                verdict,
                "{answer} against {gold}: {reason:?}"
            );
        }
    }

    #[test]
    fn two_readings() {
        for (answer, gold, verdict) in [
            ("6e-10", "6e - 10", Verdict::Undecided),
            ("6e-10", "6e - 11", Verdict::Undecided),
            ("6e-10", "6 \\cdot 10^{-10}", Verdict::Correct),
            ("6e-10", "6e-11", Verdict::Incorrect),
            ("7e-5", "0.00007", Verdict::Correct),
            ("ab", "ba", Verdict::Undecided),
            ("ab", "cd", Verdict::Incorrect),
            ("x y", "yx", Verdict::Correct),
            ("$ab$", "ba", Verdict::Correct),
            ("$2xy$", "2yx", Verdict::Correct),
            ("309 m", "309 \\text{ m}", Verdict::Correct),
            ("0.05 m", "5 \\text{ cm}", Verdict::Correct),
            ("309 m", "310 \\text{ m}", Verdict::Incorrect),
            ("5 m", "5 \\text{ cm}", Verdict::Incorrect),
            ("309 m", "309 \\text{ kg}", Verdict::Undecided),
            ("5 m", "5 \\text{ min}", Verdict::Undecided),
            ("\\approx 3.14", "3.14", Verdict::Correct),
            ("\\approx 3.14", "\\pi", Verdict::Undecided),
            ("5 C", "5 \\text{ C}", Verdict::Correct),
            ("309 x", "309 \\text{ m}", Verdict::Incorrect),
            ("0,522,720", "0, 522720", Verdict::Undecided),
        ] {
            for reason in [
                compare(answer, gold, Tolerance::None),
                compare(gold, answer, Tolerance::None),
            ] {
                assert_eq!(
                    reason.verdict(),
                    verdict,
                    "{answer} against {gold}: {reason:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn short_cuts_agree_with_trees(
            numbers in prop::array::uniform2("-?0{0,2}[0-9]{1,3}(\\.[0-9]{1,7})?"),
            tolerance in prop::sample::select(vec![
                Tolerance::None, Tolerance::GoldDigits, Tolerance::Relative(0.01),
            ]),
        ) {
            let [answer, gold] = numbers.each_ref().map(|text| Side::new(text));
            prop_assume!(answer.bare != gold.bare);
            prop_assert_eq!(
                answer.compare(&gold, tolerance),
                answer.compare_trees(&gold, tolerance),
                "{} against {}", answer.bare, gold.bare
            );
        }
    }

    proptest! {
        /// What is bare on both sides is never the same text with another meaning.
        #[test]
        fn wrappers_change_nothing(
            inner in "(-?[0-9]{1,3}|0\\.[0-9]{1,3}|[a-z]|[0-9], [0-9])",
            before in "[*$ ]{0,2}",
            behind in "[.,;:* $]{0,4}",
        ) {
            let text = format!("{before}{inner}{behind}");
            let side = Side::new(&text);
            let plain = Side::new(&inner);
            if side.bare == plain.bare {
                let stars = side.text.trim_matches(['*', ' ']);
                if let (Ok(read), Ok(right)) = (syntax::parse(stars), plain.tree()) {
                    prop_assert_eq!(&read, right, "{}", text);
                }
            }
            prop_assert!(!text.contains("...") || side.bare != inner);
        }
    }

    #[test]
    fn keys() {
        assert_eq!(key(""), None);
        assert_eq!(key(" $$ . "), None);
        assert_eq!(key(&"7".repeat(limits::ANSWER_CHARS + 1)), None);
        assert_eq!(key("$5$."), key("5"));
    }
}
