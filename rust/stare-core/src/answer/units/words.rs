//! Words behind a number that only say what is counted.
//!
//! The list is one of what is known to be harmless: a word that is not on it may negate the number,
//! multiply it or deny it, and no list of such words is ever complete.

/// Nouns for what is counted, which have no size of their own; singular or irregular ones too.
const COUNTED: &[&str] = &[
    "unit",
    "units",
    "way",
    "ways",
    "people",
    "person",
    "persons",
    "children",
    "child",
    "men",
    "man",
    "women",
    "woman",
    "students",
    "student",
    "adults",
    "adult",
    "boys",
    "girls",
    "teachers",
    "workers",
    "members",
    "friends",
    "players",
    "teams",
    "games",
    "points",
    "questions",
    "problems",
    "numbers",
    "integers",
    "digits",
    "values",
    "solutions",
    "roots",
    "pairs of numbers",
    "terms",
    "sides",
    "edges",
    "faces",
    "vertices",
    "diagonals",
    "triangles",
    "squares",
    "rectangles",
    "circles",
    "lines",
    "angles",
    "tiles",
    "cubes",
    "blocks",
    "books",
    "pages",
    "words",
    "letters",
    "pencils",
    "pens",
    "apples",
    "oranges",
    "bananas",
    "eggs",
    "cookies",
    "candies",
    "cakes",
    "pies",
    "pieces",
    "slices",
    "cars",
    "buses",
    "trains",
    "trips",
    "tickets",
    "seats",
    "rows",
    "columns",
    "boxes",
    "bags",
    "bottles",
    "balls",
    "marbles",
    "coins",
    "cards",
    "dice",
    "toys",
    "flowers",
    "trees",
    "plants",
    "animals",
    "dogs",
    "cats",
    "birds",
    "fish",
    "sheep",
    "cows",
    "horses",
    "chickens",
    "rabbits",
    "robins",
    "steps",
    "moves",
    "turns",
    "rolls",
    "tosses",
    "paths",
    "routes",
    "arrangements",
    "permutations",
    "combinations",
    "subsets",
    "functions",
    "sequences",
    "polynomials",
    "matrices",
    "customers",
    "employees",
    "houses",
    "rooms",
    "chairs",
    "tables",
    "shirts",
    "shoes",
    "hats",
    "items",
    "objects",
    "elements",
    "stamps",
    "stickers",
    "photos",
    "pictures",
    "songs",
    "movies",
    "months old",
    "years old",
    "laps",
    "visitors",
];

/// Words in front of a noun that only tell which ones.
const WHICH: &[&str] = &[
    "square",
    "sq",
    "cubic",
    "different",
    "distinct",
    "possible",
    "ordered",
    "total",
    "red",
    "blue",
    "green",
    "yellow",
    "black",
    "white",
    "small",
    "large",
    "unique",
    "real",
    "of",
    "the",
];

/// Symbols of units without a scale in the table of units: their size counts only beside another
/// unit. Case matters.
const SYMBOLS: &[&str] = &[
    "eV", "keV", "MeV", "GeV", "mJ", "MJ", "kHz", "MHz", "GHz", "mW", "MW", "GW", "mV", "kV", "mA",
    "nC", "mC", "pC", "pF", "nF", "bar", "torr", "Torr", "psi", "hPa", "GPa", "kN", "AU", "pc",
    "ft-lb", "N-m", "slugs", "gallons", "gallon", "quarts", "pints", "cups", "gal", "kWh", "dB",
    "BTU", "cal", "rpm", "tons", "tonnes",
];

/// Endings of plurals that are fractions, as in `fifths`.
const FRACTIONS: &str = "ths";

/// Plurals that change a value, by their beginnings.
const NOT_PLAIN: &[&str] = &[
    "negative",
    "false",
    "wrong",
    "incorrect",
    "not",
    "non",
    "minus",
    "plus",
    "ten",
    "hundred",
    "thousand",
    "million",
    "billion",
    "trillion",
    "lakh",
    "crore",
    "googol",
    "dozen",
    "pair",
    "score",
    "gross",
    "half",
    "halv",
    "third",
    "quarter",
    "percent",
    "permil",
    "basis",
    "double",
    "triple",
    "quadruple",
    "twice",
    "thrice",
    "time",
    "inverse",
    "reciprocal",
    "opposite",
    "square",
    "cube",
    "factorial",
    "log",
    "root",
    "power",
    "exponent",
    "hex",
    "binar",
    "octal",
    "decimal",
    "less",
    "unless",
    "minus",
    "plus",
    "is",
    "this",
    "was",
    "has",
    "does",
    "versus",
    "always",
    "perhaps",
    "besides",
    "error",
    "lie",
    "mistake",
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "myriad",
    "bn",
    "mn",
    "multiple",
    "fraction",
    "imaginar",
    "complex",
    "conjugate",
    "remainder",
    "previous",
    "minuses",
    "infinit",
    "mod",
    "centur",
    "millen",
    "fortnight",
    "base",
];

/// Whether the words behind a number cannot change its value: a known noun, a symbol of a unit, or
/// what looks like a plural and begins like nothing that counts.
pub(in super::super) fn is_harmless(words: &str) -> bool {
    if is_symbol(words) || is_counted(words) {
        return true;
    }
    let mut words: Vec<&str> = words.split(' ').collect();
    let noun = words.pop().unwrap_or("");
    (is_counted(noun) || is_plural(noun)) && words.iter().all(|word| WHICH.contains(word))
}

/// Whether `words` is a noun that has no size.
pub(in super::super) fn is_counted(words: &str) -> bool {
    let mut parts = words.split(' ').rev();
    COUNTED.contains(&words)
        || (parts.next().is_some_and(|noun| COUNTED.contains(&noun))
            && parts.all(|word| WHICH.contains(&word)))
}

/// Whether `word` is the symbol of a unit.
fn is_symbol(word: &str) -> bool {
    SYMBOLS.contains(&word)
}

fn is_plural(word: &str) -> bool {
    word.len() > 3
        && word.bytes().all(|b| b.is_ascii_lowercase())
        && word.ends_with('s')
        && !["ss", "us", "is", FRACTIONS]
            .iter()
            .any(|end| word.ends_with(end))
        && !NOT_PLAIN.iter().any(|start| word.starts_with(start))
}

/// A unit in words, in one spelling. Symbols keep their case: `mW` is not `MW`.
pub(in super::super) fn normal(name: &str) -> Box<str> {
    let folded = |word: &str| {
        let tail = word.chars().skip(1);
        let title = tail.clone().all(|c| !c.is_uppercase());
        let capitals = word.chars().all(|c| !c.is_lowercase());
        let noun = word.chars().count() > 3 && (title || capitals);
        if noun || title && word.chars().all(|c| !c.is_uppercase()) {
            word.to_lowercase()
        } else {
            word.to_owned()
        }
    };
    let words: Vec<_> = name
        .split(|c: char| c.is_whitespace() || c == '~')
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect();
    let spaced = words.join(" ").replace("- ", "-");
    spaced
        .trim_matches(|c: char| c.is_ascii_punctuation())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless() {
        for words in [
            "units",
            "square units",
            "students",
            "red marbles",
            "eV",
            "ways",
            "kangaroos",
            "different ways",
            "people",
        ] {
            assert!(is_harmless(words), "{words}");
        }
        for words in [
            "negative",
            "wrong",
            "dollars off",
            "fewer apples",
            "fifths",
            "lakh",
            "crores",
            "bn",
            "hundreds",
            "not apples",
            "missing",
            "percents",
            "inverse",
            "tens",
            "",
            "false units",
            "halves",
            "doubled",
            "less",
            "unless",
            "mm off",
            "ppm",
            "bps",
            "EV",
        ] {
            assert!(!is_harmless(words), "{words}");
        }
    }

    #[test]
    fn symbols_keep_their_case() {
        assert_eq!(&*normal("mW"), "mW");
        assert_eq!(&*normal("MW"), "MW");
        assert_eq!(&*normal("Square  Units."), "square units");
        assert_eq!(&*normal("APPLES"), "apples");
        assert_eq!(&*normal("N- m"), "N-m");
    }
}
