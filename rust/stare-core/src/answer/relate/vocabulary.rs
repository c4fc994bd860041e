//! Words with a meaning, as data.

/// Words that say the same or nearly so. Two of one class are not proved different, nor equal:
/// what a problem takes them for is not known here.
const NEAR_SYNONYMS: &[&[&str]] = &[
    &["yes", "true", "correct", "right", "y", "t"],
    &["no", "false", "incorrect", "wrong", "n", "f"],
    &[
        "no solution",
        "no solutions",
        "no real solution",
        "no real solutions",
        "none",
        "empty",
        "empty set",
        "impossible",
        "does not exist",
        "dne",
        "undefined",
        "not defined",
        "no such number",
        "not possible",
        "nothing",
        "never",
        "no",
        "inconsistent",
        "cannot be determined",
        "indeterminate",
        "not enough information",
        "nonexistent",
        "not exist",
        "diverges",
        "divergent",
    ],
    &[
        "infinite",
        "infinity",
        "infinitely many",
        "infinitely many solutions",
        "unbounded",
        "infinite solutions",
        "dependent",
        "diverges",
        "divergent",
        "does not exist",
        "dne",
        "countably infinite",
        "uncountable",
        "uncountably infinite",
    ],
    &[
        "all real numbers",
        "all reals",
        "any real number",
        "all numbers",
        "reals",
        "real numbers",
        "identity",
        "infinitely many",
        "infinitely many solutions",
        "all real x",
        "every real number",
        "always",
        "all",
    ],
    &[
        "converges",
        "convergent",
        "converge",
        "absolutely convergent",
        "converges absolutely",
    ],
    &["diverges", "divergent", "diverge"],
    &["increasing", "increase", "increases", "rising"],
    &["decreasing", "decrease", "decreases", "falling"],
    &["equal", "same", "equals", "they are equal", "neither"],
    &["greater", "larger", "bigger", "more"],
    &["less", "smaller", "lesser", "fewer"],
    &["woman", "female", "girl", "girls", "women"],
    &["man", "male", "boy", "boys", "men"],
];

/// Words for and against, which answer nothing but a question.
const YES_OR_NO: &[&str] = &["yes", "no", "true", "false"];

/// Words that may stand for a number: not proved different from one.
const NUMBER_LIKE: &[&str] = &[
    "half",
    "halves",
    "third",
    "thirds",
    "quarter",
    "quarters",
    "fourth",
    "fourths",
    "fifth",
    "fifths",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "tenths",
    "dozen",
    "hundred",
    "hundredth",
    "hundredths",
    "thousand",
    "thousandth",
    "million",
    "billion",
    "trillion",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
    "pi",
    "infinity",
    "infinite",
    "infinitely",
    "infty",
    "inf",
    "oo",
    "nothing",
    "none",
    "null",
    "zeros",
    "once",
    "twice",
    "thrice",
    "pair",
    "couple",
    "single",
    "double",
    "triple",
    "point",
    "minus",
    "negative",
    "plus",
    "times",
    "root",
    "squared",
    "cubed",
    "over",
    "percent",
    "e",
    "i",
    "unity",
    "unbounded",
    "first",
    "second",
    "diverges",
    "divergent",
];

/// Number words with their values.
const NUMBERS: &[(&str, u32)] = &[
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
];

/// Words of units that multiply the number before them.
const SCALES: &[&str] = &[
    "dozen",
    "dozens",
    "hundred",
    "hundreds",
    "thousand",
    "thousands",
    "million",
    "millions",
    "billion",
    "billions",
    "trillion",
    "pair",
    "pairs",
    "score",
    "gross",
    "half",
    "times",
    "k",
];

/// Names of days and months, which are shortened.
const SHORTENED: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Words that say nothing about what is counted.
const PLAIN_UNITS: &[&str] = &["unit", "units", "square units", "cubic units", "sq units"];

/// Words in front that carry no meaning.
const ARTICLES: &[&str] = &["a ", "an ", "the "];

/// Longer texts are prose: nothing is proved about them.
const MAX_WORDS: usize = 2;

/// Words that deny.
const NEGATIVE: &[&str] = &[
    "no",
    "not",
    "none",
    "never",
    "cannot",
    "impossible",
    "nothing",
    "neither",
];

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

/// A text without an article in front, and with single spaces for hyphens.
pub(super) fn bare(words: &str) -> String {
    let words = words.replace(['-', '\u{2010}', '\u{2011}'], " ");
    let words = words.trim();
    let bare = ARTICLES
        .iter()
        .find_map(|article| words.strip_prefix(article))
        .unwrap_or(words);
    bare.trim().to_owned()
}

/// Compare two texts, case-folded by the parser.
pub(super) fn compare(left: &str, right: &str) -> Words {
    let (left, right) = (bare(left), bare(right));
    if left == right {
        return Words::Same;
    }
    let near = NEAR_SYNONYMS
        .iter()
        .any(|class| class.contains(&&*left) && class.contains(&&*right));
    let (mine, theirs) = (tokens(&left), tokens(&right));
    let shared = mine.iter().any(|word| has(&theirs, word));
    let negative = |words: &[&str]| words.iter().any(|word| NEGATIVE.contains(word));
    let prose = mine.len().max(theirs.len()) > MAX_WORDS;
    let digits = |words: &str| words.contains(|c: char| c.is_numeric());
    let related = near
        || shared
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
            || NUMBER_LIKE.contains(word)
            || NUMBERS.iter().any(|(number, _)| number == word)
    };
    !tokens.is_empty()
        && tokens.len() <= MAX_WORDS + 1
        && !bare.contains(|c: char| c.is_numeric())
        && !tokens.iter().any(counts)
}

/// Whether words behind a number multiply it.
pub(super) fn is_scale_word(words: &str) -> bool {
    tokens(words).iter().any(|word| SCALES.contains(word))
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
