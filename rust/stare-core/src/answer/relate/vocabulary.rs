//! What is known of words: which say the same, which differ, which may stand for a number.

use super::dictionary::{
    ARTICLES, DENIALS, DOUBTS, JOINING, NEAR_SYNONYMS, NEGATIVE, NUMBERS, NUMBER_LIKE, ORDERED,
    PLAIN_UNITS, ROMAN, SHORTENED, YES_OR_NO,
};

/// Longer texts are prose: nothing is proved about them.
const MAX_WORDS: usize = 2;

/// Longer texts are no Roman numerals.
const MAX_ROMAN: usize = 12;

/// What is known of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The same.
    Same,
    /// Neither the same nor proved different.
    Related,
    /// Different.
    Different,
}

/// A text without an article in front, with single spaces for hyphens and with what is joined by
/// "and" sorted.
pub(super) fn bare(words: &str) -> String {
    let words = words.replace(['-', '\u{2010}', '\u{2011}'], " ");
    let words = words.trim();
    let bare = ARTICLES
        .iter()
        .find_map(|article| words.strip_prefix(article))
        // `a and b` has no article.
        .filter(|rest| !JOINING.iter().any(|word| rest.starts_with(word)))
        .unwrap_or(words);
    let mut parts: Vec<_> = bare.split(" and ").map(str::trim).collect();
    // In order only if a word says so.
    if parts.len() > 1 && !tokens(bare).iter().any(|word| ORDERED.contains(word)) {
        parts.sort_unstable();
    }
    parts.join(" and ")
}

/// Compare two texts, case-folded by the parser.
pub(super) fn compare(left: &str, right: &str) -> Words {
    let (left, right) = (bare(left), bare(right));
    if left == right {
        return Words::Same;
    }
    if denies(&left, &right) || denies(&right, &left) {
        return Words::Different;
    }
    // The rest of what is denied may be the other side's word: `not odd` is `even`.
    let denial = [&left, &right].into_iter().any(|words| {
        let tokens = tokens(words);
        tokens.len() > 1 && tokens.iter().any(|word| DENIALS.contains(word))
    });
    let near = NEAR_SYNONYMS
        .iter()
        .any(|class| class.contains(&&*left) && class.contains(&&*right));
    let (mine, theirs) = (tokens(&left), tokens(&right));
    let shared = mine.iter().any(|word| has(&theirs, word));
    let negative = |words: &[&str]| words.iter().any(|word| NEGATIVE.contains(word));
    let prose = mine.len().max(theirs.len()) > MAX_WORDS;
    let digits = |words: &str| words.contains(|c: char| c.is_numeric());
    let related = near
        || denial
        || shared
        || are_segments(&left, &right)
        || prose
        || digits(&left) != digits(&right)
        || mine.len() + theirs.len() > 2 && negative(&mine) && negative(&theirs)
        || is_short_for(&left, &right)
        || is_short_for(&right, &left)
        || same_stem(&left, &right);
    if related {
        Words::Related
    } else {
        Words::Different
    }
}

/// Whether two texts may be the ends of one segment, in either order.
fn are_segments(left: &str, right: &str) -> bool {
    left.len() == 2
        && left.chars().rev().eq(right.chars())
        && !is_yes_or_no(left.max(right))
        && !is_yes_or_no(left.min(right))
}

/// The value of a Roman numeral, in either case.
pub(super) fn roman(text: &str) -> Option<i64> {
    let values: Option<Vec<i64>> = text
        .chars()
        .map(|c| {
            let mut digits = ROMAN.iter();
            let digit = digits.find(|(letter, _)| *letter == c.to_ascii_uppercase());
            digit.map(|(_, value)| *value)
        })
        .collect();
    let values = values.filter(|values| !values.is_empty() && values.len() <= MAX_ROMAN)?;
    let next = values.iter().skip(1).chain([&0]);
    // A digit before a larger one counts down.
    let signed = values.iter().zip(next);
    Some(
        signed
            .map(|(value, next)| if value < next { -value } else { *value })
            .sum(),
    )
}

/// Whether one text is the other with "not" in front.
fn denies(denial: &str, text: &str) -> bool {
    denial.strip_prefix("not ") == Some(text)
}

/// Whether two words differ in their endings only, as `symmetric` and `symmetrical`.
fn same_stem(left: &str, right: &str) -> bool {
    let shared = left
        .chars()
        .zip(right.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let shorter = left.chars().count().min(right.chars().count());
    shared >= 5 && shared + 2 >= shorter
}

fn tokens(words: &str) -> Vec<&str> {
    words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether a word is among others, as singular or plural.
fn has(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| same_noun(other, word))
}

/// Whether two words are the same but for an `s` or `es`.
fn same_noun(left: &str, right: &str) -> bool {
    let plural = |one: &str, many: &str| {
        let ending = many.strip_prefix(one);
        one.len() > 2 && matches!(ending, Some("s" | "es"))
    };
    left == right || plural(left, right) || plural(right, left)
}

fn is_short_for(short: &str, long: &str) -> bool {
    short.len() >= 3 && SHORTENED.contains(&long) && long.starts_with(short)
}

/// Whether a text answers only a question: it is no number, set or expression.
pub(super) fn is_yes_or_no(words: &str) -> bool {
    YES_OR_NO.contains(&&*bare(words))
}

/// The number that a text spells.
pub(super) fn number(words: &str) -> Option<u32> {
    let bare = bare(words);
    let found = NUMBERS.iter().find(|(word, _)| *word == bare);
    found.map(|(_, value)| *value)
}

/// Whether a text is certainly not about a number: few words, none of which counts, no digits.
pub(super) fn is_no_number(words: &str) -> bool {
    let bare = bare(words);
    let tokens = tokens(&bare);
    let counts = |word: &&str| {
        word.len() < 2
            || roman(word).is_some()
            || NUMBER_LIKE.contains(word)
            || NUMBERS.iter().any(|(number, _)| number == word)
    };
    !tokens.is_empty()
        && tokens.len() <= MAX_WORDS + 1
        && !bare.contains(|c: char| c.is_numeric())
        && !tokens.iter().any(counts)
}

/// Whether words in front of a value say that it is not the answer, or not the only one.
pub(super) fn takes_back(words: &str) -> bool {
    tokens(words)
        .iter()
        .any(|word| DENIALS.contains(word) || DOUBTS.contains(word))
}

/// Whether two units of words are the same, plural aside, or one of them says nothing.
pub(super) fn same_unit_words(left: &str, right: &str) -> bool {
    let plain = |words: &str| PLAIN_UNITS.contains(&words);
    if plain(left) && plain(right) {
        return true;
    }
    let (mine, theirs) = (tokens(left), tokens(right));
    mine.len() == theirs.len()
        && mine
            .iter()
            .zip(&theirs)
            .all(|(left, right)| same_noun(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (left, right, expected) in [
            ("no", "on", Words::Different),
            ("odd", "oddd", Words::Different),
            ("yes", "no", Words::Different),
            ("evelyn", "evelyn", Words::Same),
            ("a circle", "circle", Words::Same),
            ("non-negative", "non negative", Words::Same),
            ("alice and bob", "bob and alice", Words::Same),
            ("a and b", "b and a", Words::Same),
            ("a and b", "b", Words::Related),
            ("alice and then bob", "bob and then alice", Words::Related),
            ("not prime", "prime", Words::Different),
            ("not increasing", "decreasing", Words::Related),
            ("not odd", "even", Words::Related),
            ("not no", "yes", Words::Related),
            ("not false", "true", Words::Related),
            ("ab", "ba", Words::Related),
            ("circle", "circles", Words::Related),
            ("yes", "true", Words::Related),
            ("yes", "yes it is", Words::Related),
            ("no solution", "none", Words::Related),
            ("mon", "monday", Words::Related),
            ("monday", "tuesday", Words::Different),
            (
                "hyperbolic paraboloid",
                "elliptic paraboloid",
                Words::Related,
            ),
            ("parallel lines", "skew", Words::Different),
            (
                "it does not converge at all",
                "it converges",
                Words::Related,
            ),
        ] {
            assert_eq!(compare(left, right), expected, "{left}, {right}");
            assert_eq!(compare(right, left), expected, "{right}, {left}");
        }
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(number("five"), Some(5));
        for (text, value) in [
            ("ii", Some(2)),
            ("XIV", Some(14)),
            ("odd", None),
            ("", None),
        ] {
            assert_eq!(roman(text), value, "{text}");
        }
        for words in ["odd", "no solution", "even", "parallel lines"] {
            assert!(is_no_number(words), "{words}");
        }
        for words in [
            "five",
            "one half",
            "infinitely many",
            "x is 5",
            "n",
            "two solutions",
        ] {
            assert!(!is_no_number(words), "{words}");
        }
    }
}
