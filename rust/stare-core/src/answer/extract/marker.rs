//! Answers that a text declares in words: `#### 18`, `The answer is 42.`, `**Answer:** 4`.

use super::number;
use super::phrase::{self, plain, starts_with, DECORATION};

/// Words that announce an answer.
const WORDS: &[&str] = &["answers", "answer", "\u{7b54}\u{6848}"];

/// What may follow a word of [`WORDS`] as part of the name.
const NOUNS: &[&str] = &["choice", "option"];

/// What declares the answer, behind a word of [`WORDS`]. Those that end in a letter end there.
const VERBS: &[&str] = &[
    "is",
    "are",
    "equals",
    "should be",
    "must be",
    "would be",
    "will be",
    ":",
    "\u{ff1a}",
    "=",
    "\u{662f}",
    "\u{4e3a}",
];

/// Words that lead from `answer` to its verb: `the answer to the question is`.
const PREPOSITIONS: &[&str] = &["to", "for", "of", "in"];

/// How far away such a verb may be, in bytes.
const MAX_DETOUR: usize = 80;

/// Mentions of an answer that are looked at, from the end: a text with more of them that declare
/// nothing declares nothing.
const MAX_MENTIONS: usize = 4096;

/// What a heading may hold besides `answer`.
const HEADING: &[&str] = &["final", "the", "answer"];

/// An answer declared in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Declared<'a> {
    /// It.
    pub text: &'a str,
    /// Whether by `####`.
    pub hashes: bool,
    /// Whether the text reads like a sentence: what it seems to say is no proof of a wrong answer.
    pub prose: bool,
}

/// The last declared answer; one that is declared and then not given is an empty text.
pub(super) fn last(text: &str) -> Option<Declared<'_>> {
    let bytes = text.as_bytes();
    let last_line = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let mut end = bytes.len();
    let mut mentions = 0;
    while let Some(at) = end.checked_sub(1) {
        end = at;
        match bytes.get(at) {
            Some(b'#') => {
                let run = bytes.get(..=at).unwrap_or_default();
                let run = run.iter().rev().take_while(|&&b| b == b'#').count();
                end = at + 1 - run;
                let rest = text.get(at + 1..).unwrap_or_default();
                if run == 4 {
                    if let Some(text) = behind_hashes(rest, end >= last_line) {
                        return Some(Declared {
                            text,
                            hashes: true,
                            prose: false,
                        });
                    }
                }
            }
            Some(b'a' | b'A' | 0xe7) if is_mention(text, at) => {
                mentions += 1;
                if mentions > MAX_MENTIONS {
                    return None;
                }
                if let Some(start) = behind_word(text, at) {
                    let (text, prose) = phrase::answer(start);
                    return Some(Declared {
                        text,
                        hashes: false,
                        prose,
                    });
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a word of [`WORDS`] starts at `at`.
fn is_mention(text: &str, at: usize) -> bool {
    text.get(at..)
        .is_some_and(|rest| WORDS.iter().any(|word| starts_with(rest, word)))
}

/// `#### x` declares x on the last line, or if x is a number; else it is a heading.
fn behind_hashes(rest: &str, is_last_line: bool) -> Option<&str> {
    /// No number that is looked for is longer.
    const WINDOW: usize = 64;
    if is_last_line {
        return Some(plain(rest));
    }
    let end = rest.bytes().take(WINDOW).position(|b| b == b'\n')?;
    let line = plain(rest.get(..end)?);
    number::is_number(line).then_some(line)
}

/// The text behind the announcement whose word starts at `at`.
fn behind_word(text: &str, at: usize) -> Option<&str> {
    let (before, rest) = (text.get(..at)?, text.get(at..)?);
    let word = WORDS.iter().find(|word| starts_with(rest, word))?;
    let behind = rest.get(word.len()..)?;
    if let Some(inside) = behind.strip_prefix('>').filter(|_| before.ends_with('<')) {
        return Some(
            inside
                .find("</")
                .and_then(|e| inside.get(..e))
                .unwrap_or(inside),
        );
    }
    if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '\\' || c == '<' || c == '/') {
        return None;
    }
    let mut name = skip(behind, DECORATION);
    if let Some(noun) = NOUNS.iter().find(|noun| starts_with(name, noun)) {
        name = skip(name.get(noun.len()..)?, DECORATION);
    }
    verb(name)
        .or_else(|| detour(name))
        .or_else(|| heading(before, behind))
}

/// The text behind a verb at the front of `text`.
fn verb(text: &str) -> Option<&str> {
    VERBS.iter().find_map(|verb| {
        let behind = starts_with(text, verb).then(|| text.get(verb.len()..))??;
        let is_word = verb.ends_with(|c: char| c.is_ascii_alphabetic());
        (!is_word || !behind.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(behind)
    })
}

/// The text behind a verb further on in the same sentence: ` to the first part is 4`.
fn detour(text: &str) -> Option<&str> {
    let preposition = PREPOSITIONS.iter().find(|word| {
        starts_with(text, word) && text.get(word.len()..).is_some_and(|t| t.starts_with(' '))
    })?;
    let mut rest = text.get(preposition.len()..)?;
    while text.len() - rest.len() < MAX_DETOUR {
        rest = rest.get(rest.find([' ', ':', '\n', '.', '?', '$'])?..)?;
        if rest.starts_with(['\n', '.', '?', '$']) {
            return None;
        }
        let next = rest.strip_prefix(' ').unwrap_or(rest);
        // Its own verb, had it one, would have been found first.
        if WORDS.iter().any(|word| starts_with(next, word)) {
            return None;
        }
        if let Some(behind) = verb(next) {
            return Some(behind);
        }
        rest = next;
    }
    None
}

/// The text behind a line that holds nothing but `Final answer`.
fn heading<'a>(before: &str, behind: &'a str) -> Option<&'a str> {
    /// No heading is longer.
    const WINDOW: usize = 24;
    let ends = |c: &char| DECORATION.contains(c) || *c == '#';
    let line_end = behind.find(|c| !DECORATION.contains(&c))?;
    let next = behind.get(line_end..)?;
    if !next.starts_with(['\n', '\r']) || next.trim().is_empty() {
        return None;
    }
    let tail = before.get(floor(before, before.len().saturating_sub(WINDOW))..)?;
    let line = match tail.rfind('\n') {
        Some(at) => tail.get(at + 1..)?,
        None if tail.len() == before.len() => tail,
        None => return None,
    };
    line.split(|c| ends(&c))
        .all(|word| word.is_empty() || HEADING.iter().any(|known| word.eq_ignore_ascii_case(known)))
        .then_some(next)
}

fn skip<'a>(text: &'a str, marks: &[char]) -> &'a str {
    text.trim_start_matches(marks)
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_that_declare_nothing_are_looked_at_so_often() {
        let declared = "Answer: 42\n";
        let few = declared.to_owned() + &"answers ".repeat(MAX_MENTIONS - 1);
        assert_eq!(last(&few).map(|found| found.text), Some("42"));
        let many = declared.to_owned() + &"answers ".repeat(MAX_MENTIONS);
        assert_eq!(last(&many), None);
    }

    #[test]
    fn declared_answers() {
        for (text, answer) in [
            ("9*2 = 18 dollars.\n#### 18", "18"),
            ("#### 18\n\nQuestion: more?", "18"),
            ("The answer is 42.\n#### Check\nIt fits.", "42."),
            ("#### Step 1: add\nThe answer is 42", "42"),
            ("#### Yes", "Yes"),
            ("Step\nAnswer: 42", "42"),
            ("**Answer:** 4.", "4."),
            ("**Final Answer**: **73**", "73"),
            ("Final Answer: **73**", "73"),
            ("**Final Answer:**\n\n73", "73"),
            ("## Final Answer\n\n73\n", "73"),
            ("final_answer = 5", "5"),
            ("answer = 5", "5"),
            ("\\textbf{Answer:} 5", "5"),
            ("<answer>\n5\n</answer>", "5"),
            ("The answer is 42. I am sure of that.", "42"),
            ("The answer is **42.** I am sure.", "42"),
            ("The answer is 42, since 6*7 = 42.", "42"),
            ("The final answer is: $\\frac{1}{2}$", "\\frac{1}{2}"),
            ("The answer is: $x$.", "x"),
            ("The answer is therefore $x$ !", "x"),
            ("The answer is the number $x$", "x"),
            ("The answer is:\n\\[\nx = 5\n\\]\nDone.", "x = 5"),
            ("The answer is\n$$\n5\n$$", "5"),
            ("The answer is $5$ and $10$.", "$5$ and $10$."),
            ("The answer is $5$ cm", "$5$ cm"),
            ("the answer is 3.5 m", "3.5 m"),
            ("the correct answer choice is (C).", "(C)."),
            ("The answer is option B", "B"),
            ("The answer to the first part is 4", "4"),
            ("The answers are 1 and 2", "1 and 2"),
            ("answer: 1\nanswer: 2", "2"),
            ("\u{7b54}\u{6848}\u{662f}42", "42"),
            ("\u{7b54}\u{6848}\u{ff1a}42", "42"),
            ("Answer:", ""),
        ] {
            assert_eq!(last(text).map(|found| found.text), Some(answer), "{text}");
        }
        for text in [
            "",
            "I guess 42.",
            "answer issued 4",
            "##### 4 x",
            "cancer answers isolate",
            "42\n\nAnswer",
            "my answer to it",
            "#### Check\nIt fits.",
        ] {
            assert_eq!(last(text), None, "{text}");
        }
    }
}
