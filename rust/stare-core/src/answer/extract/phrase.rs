//! The answer in the words behind an announcement.

use super::super::limits::ANSWER_CHARS;
use super::maths::{Span, Spans};

/// Words before an answer that say nothing, the longest first.
const FILLERS: &[&str] = &[
    "therefore",
    "the integer",
    "the fraction",
    "the number",
    "the value",
    "equal to",
    "given by",
    "exactly",
    "clearly",
    "indeed",
    "simply",
    "option",
    "choice",
    "thus",
    "hence",
    "then",
    "just",
    "also",
    "now",
];

/// Where a clause about the answer starts.
const CLAUSES: &[&str] = &[
    " because ",
    ", since ",
    " since ",
    ", which ",
    ", as ",
    ", so ",
    ", and we ",
];

/// Words that do not occur in an answer but in a sentence about one.
const PROSE: &str =
    "is are was were be been has have had the this that these those there it its we you they \
    he she which not an if when where with to as by from because since so but can will would \
    must each let in of respectively only about approximately roughly both all total";

/// Marks around words that mean nothing.
pub(super) const DECORATION: &[char] = &['*', '_', '`', ' ', '\t'];

/// The answer at the front of what follows an announcement, and whether it reads like a sentence:
/// then what it seems to say is no proof of a wrong answer.
pub(super) fn answer(rest: &str) -> (&str, bool) {
    let rest = start_of_answer(rest);
    let mut spans = Spans::new(rest);
    // Displayed maths may run over lines, so it is looked for before the line ends.
    let first = match rest.as_bytes().first() {
        Some(b'$' | b'\\') => spans.next().filter(|span| span.outer.start == 0),
        _ => None,
    };
    let from = first.as_ref().map_or(0, |span| span.outer.end);
    let end = from + sentence(rest.get(from..).unwrap_or_default());
    let phrase = rest.get(..end).unwrap_or_default();
    let only = first.or_else(|| Spans::new(phrase).next());
    if let Some(text) = only.and_then(|span| all_but_fillers(phrase, &span)) {
        return (text, false);
    }
    let text = plain(phrase);
    (text, is_prose(text))
}

/// Without marks and words that say nothing.
fn start_of_answer(rest: &str) -> &str {
    let mut rest = rest;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || DECORATION.contains(&c) || matches!(c, ':' | '\u{ff1a}' | '}')
        });
        let filler = FILLERS.iter().find(|filler| {
            starts_with(rest, filler)
                && rest
                    .get(filler.len()..)
                    .is_some_and(|t| t.starts_with([' ', ',', ':', '\n']))
        });
        let Some(filler) = filler else { return rest };
        rest = rest
            .get(filler.len()..)
            .unwrap_or_default()
            .trim_start_matches(',');
    }
}

/// The inside of `span`, if the rest of `phrase` is punctuation.
fn all_but_fillers<'a>(phrase: &'a str, span: &Span) -> Option<&'a str> {
    let means_nothing = |text: &str| {
        !text.contains(|c: char| {
            !(c.is_whitespace() || DECORATION.contains(&c) || matches!(c, '.' | ',' | '!' | ';'))
        })
    };
    let around = [
        phrase.get(..span.outer.start)?,
        phrase.get(span.outer.end..)?,
    ];
    let inner = phrase.get(span.inner.clone())?;
    around
        .iter()
        .all(|text| means_nothing(text))
        .then_some(inner.trim())
}

/// Length of the first sentence, or of its main clause, on the first line.
fn sentence(text: &str) -> usize {
    let line = text
        .find('\n')
        .and_then(|end| text.get(..end))
        .unwrap_or(text);
    let stop = line
        .match_indices(". ")
        .chain(line.match_indices(".* "))
        .chain(line.match_indices(".** "))
        .filter(|(at, stop)| {
            line.get(at + stop.len()..).is_some_and(|next| {
                next.trim_start()
                    .starts_with(|c: char| c.is_uppercase() || c == '$' || c == '\\')
            })
        })
        .map(|(at, _)| at)
        .min()
        .unwrap_or(line.len());
    CLAUSES
        .iter()
        .filter_map(|clause| line.find(clause))
        .fold(stop, usize::min)
}

/// Whether a phrase holds words of [`PROSE`], commands aside.
fn is_prose(text: &str) -> bool {
    if text.len() > ANSWER_CHARS {
        // Near or over the limit: no answer is.
        return true;
    }
    let letters = |c: char| c.is_ascii_alphabetic();
    let mut prose = false;
    for (at, part) in text.split('\\').enumerate() {
        let words = if at == 0 {
            part
        } else {
            part.trim_start_matches(letters)
        };
        prose |= words.split(|c: char| !letters(c)).any(|word| {
            PROSE
                .split(' ')
                .any(|known| word.eq_ignore_ascii_case(known))
        });
    }
    prose
}

/// Without surrounding space and Markdown emphasis.
pub(super) fn plain(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || DECORATION.contains(&c))
}

/// Whatever the case of ASCII letters.
pub(super) fn starts_with(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    // The first letter alone settles nearly every case.
    matches!((text.first(), word.first()), (Some(a), Some(b)) if a.eq_ignore_ascii_case(b))
        && text
            .get(..word.len())
            .is_some_and(|front| front.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_about_an_answer() {
        for (text, prose) in [
            (": let us see that it is 5", true),
            ("not 42", true),
            ("42 square units", false),
            ("1 and 2", false),
        ] {
            assert_eq!(answer(text).1, prose, "{text}");
        }
    }
}
