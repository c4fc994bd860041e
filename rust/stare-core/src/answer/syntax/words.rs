//! Words and choice letters.

use super::super::tree::Answer;
use super::atom::integer;
use super::wrap::Bare;
use super::{lex, tables};

/// More words than this are prose, not an answer.
const WORDS: usize = 12;

/// Numbers in words, from zero.
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// Case-folded, single spaces, no punctuation at the ends.
pub(super) fn normal(text: &str) -> Box<str> {
    let mut words = String::with_capacity(text.len());
    for word in text
        .split(|c: char| c.is_whitespace() || c == '~')
        .filter(|word| !word.is_empty())
    {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().flat_map(char::to_lowercase));
    }
    words
        .trim_matches(|c: char| c.is_ascii_punctuation())
        .into()
}

/// The answer, if it is plainly words or a choice.
pub(super) fn read(bare: Bare<'_>) -> Option<Answer> {
    let text = bare.text;
    if let Some(letter) = choice(text, bare.worded) {
        return Some(Answer::Choice(letter));
    }
    let letters = text
        .chars()
        .all(|c| c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '\'' | '.'));
    let first = text.chars().next().is_some_and(char::is_alphabetic);
    let last = text.chars().next_back().is_some_and(char::is_alphabetic);
    if !(letters && first && last) || text.split_whitespace().count() > WORDS {
        return None;
    }
    let runs = || {
        text.split(|c: char| !c.is_alphabetic())
            .filter(|run| !run.is_empty())
    };
    if runs().any(|run| matches!(run, "and" | "or")) {
        return None;
    }
    let maths = |run: &str| {
        tables::hides_function(run)
            || run.chars().count() == 1
            || (run.is_ascii() && (lex::is_named(run) || tables::is_algebra(run)))
    };
    let certain = if bare.worded {
        text.chars().count() > 1 && !runs().all(|run| run.is_ascii() && lex::is_named(run))
    } else {
        runs().any(|run| !maths(run)) && !(text.contains('-') && runs().any(|run| run.len() == 1))
    };
    if !certain {
        return None;
    }
    let words = normal(text);
    let value = NUMBERS
        .iter()
        .position(|name| *name == &*words)
        .and_then(|value| u8::try_from(value).ok());
    Some(match value {
        Some(value) => Answer::Expr(integer(value)),
        None => Answer::Words(words),
    })
}

/// How a value behind a choice letter may start.
const VALUES: &[&str] = &[
    "\\frac", "\\dfrac", "\\tfrac", "\\sqrt", "\\text", "\\pi", "\\$",
];

/// Without the space and the closing brace at the start.
fn spaceless(mut text: &str) -> &str {
    const SPACE: [&str; 9] = [" ", "~", "}", "\\ ", "\\,", "\\;", "\\:", "\\!", "\\quad"];
    while let Some(rest) = SPACE.iter().find_map(|space| text.strip_prefix(space)) {
        text = rest;
    }
    text
}

/// Words behind a choice letter that take it back or add to it.
const HEDGES: &[&str] = &[
    "or",
    "and",
    "not",
    "nor",
    "neither",
    "either",
    "both",
    "but",
    "except",
    "wrong",
    "false",
    "incorrect",
    "untrue",
    "never",
    "none",
    "maybe",
];

/// Whether another choice letter or a word that takes the first one back is in `rest`.
fn names_another(rest: &str) -> bool {
    rest.split(|c: char| !c.is_alphanumeric()).any(|word| {
        let letter = matches!(word.as_bytes(), [b'A'..=b'H']);
        letter || takes_back(word)
    })
}

/// Whether a word takes back or adds to what it stands beside.
pub(super) fn takes_back(word: &str) -> bool {
    HEDGES.iter().any(|hedge| word.eq_ignore_ascii_case(hedge))
}

/// The letter of `(C)`, `\text{C}`, `C: 12`, `(C) 12`, `\text{(C) } 12`.
fn choice(text: &str, worded: bool) -> Option<char> {
    let unwrapped = text
        .strip_prefix("\\text{")
        .or_else(|| text.strip_prefix("\\textbf{"))
        .or_else(|| text.strip_prefix("\\mathrm{"));
    let inner = unwrapped.unwrap_or(text).trim_start();
    let (bracketed, inner) = match inner.strip_prefix('(') {
        Some(rest) => (true, rest),
        None => (false, inner),
    };
    let letter = inner.chars().next().filter(char::is_ascii_uppercase)?;
    let rest = inner.get(1..)?;
    if names_another(rest) {
        return None;
    }
    if rest == ")" && letter <= 'H' && !bracketed {
        return Some(letter);
    }
    if bracketed {
        let rest = rest.strip_prefix(')')?;
        let behind = spaceless(rest);
        let apart = unwrapped.is_some() || behind.len() < rest.len();
        let value = behind.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '$' | '-'))
            || VALUES.iter().any(|start| behind.starts_with(start))
            || (unwrapped.is_some() && behind.starts_with('\\'));
        return (behind.is_empty() || (letter <= 'H' && apart && value)).then_some(letter);
    }
    if rest.is_empty() {
        return (worded || unwrapped.is_some()).then_some(letter);
    }
    let marked = rest.starts_with(": ") || rest.starts_with(". ") || rest.starts_with(") ");
    (letter <= 'H' && marked).then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::syntax::wrap;

    fn words(text: &str) -> Option<Answer> {
        read(wrap::strip(text).ok()?)
    }

    #[test]
    fn words_and_choices() {
        for (text, expected) in [
            ("No", "no"),
            ("ABC", "abc"),
            (r"\text{Evelyn}", "evelyn"),
            ("no  solution", "no solution"),
            (r"\text{True}.", "true"),
            ("Quadrant I", "quadrant i"),
            ("bank", "bank"),
            ("cat", "cat"),
            ("sky", "sky"),
        ] {
            assert_eq!(words(text), Some(Answer::Words(expected.into())), "{text}");
        }
        for text in [
            "(C)",
            r"\text{(C)}",
            r"\text{C}",
            "C. 5",
            r"\text{(C) } 12",
            r"\textbf{(C)}\ 12",
            r"(C)\ 12",
            r"(C) \frac{1}{2}",
            "C: 12",
        ] {
            assert_eq!(words(text), Some(Answer::Choice('C')), "{text}");
        }
        for text in [
            "x", "xy", "abc", "mn", "qR", "C", "pi", "sin x", "2x", "a and b", "(x)",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
