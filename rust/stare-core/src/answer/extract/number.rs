//! Plain numbers in running text.

/// What a text that is a number and nothing else may hold besides digits, the longest first.
const PARTS: &[&str] = &[
    "\\dfrac", "\\tfrac", "\\frac", "\\,", "\\!", "\\$", "\\%", "{", "}", ",", ".", "/", "%", " ",
    "\u{a0}", "\u{202f}", "\u{2009}",
];

/// Signs, which stand at the start or behind an opening brace.
const SIGNS: &[char] = &['-', '+', '\u{2212}', '\u{2013}'];

/// Endings that make a number an ordinal.
const ORDINALS: &[&[u8]] = &[b"st", b"nd", b"rd", b"th"];

/// Whether `text` is made of the parts of one number, and so no prose. Whether they are in order
/// is for the parser to say.
pub(super) fn is_number(text: &str) -> bool {
    let mut rest = text.trim();
    let mut digits = 0_usize;
    let mut sign_may_follow = true;
    while let Some(first) = rest.chars().next() {
        let step = if first.is_ascii_digit() {
            digits += 1;
            sign_may_follow = false;
            1
        } else if SIGNS.contains(&first) && sign_may_follow {
            sign_may_follow = false;
            first.len_utf8()
        } else if let Some(part) = PARTS.iter().find(|part| rest.starts_with(**part)) {
            sign_may_follow = *part == "{" || (sign_may_follow && *part == " ");
            part.len()
        } else {
            return false;
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    digits > 0
}

/// The last number of a text: digits with groups, a decimal point, a slash between two, a sign,
/// a percent sign. Digits in names (`x2`) and ordinals (`2nd`) are no numbers.
pub(super) fn last(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut end = bytes.len();
    loop {
        end = bytes.get(..end)?.iter().rposition(u8::is_ascii_digit)? + 1;
        let mut start = end - 1;
        while let Some(before) = start.checked_sub(1).and_then(|at| bytes.get(at)) {
            let separator = matches!(before, b',' | b'.' | b'/')
                && start
                    .checked_sub(2)
                    .and_then(|at| bytes.get(at))
                    .is_some_and(u8::is_ascii_digit);
            if !before.is_ascii_digit() && !separator {
                break;
            }
            start -= 1;
        }
        let (before, behind) = (text.get(..start)?, text.get(end..)?);
        let ordinal = behind
            .as_bytes()
            .get(..2)
            .is_some_and(|two| ORDINALS.contains(&two))
            && !behind
                .as_bytes()
                .get(2)
                .is_some_and(u8::is_ascii_alphanumeric);
        let named = before.ends_with(|c: char| c.is_alphabetic() || c == '_');
        if !ordinal && !named {
            return text.get(start - sign(before)..end + percent(behind));
        }
        end = start;
    }
}

/// Length of a sign at the end of `before`, if it is no operator.
fn sign(before: &str) -> usize {
    let Some(unsigned) = before.strip_suffix(SIGNS) else {
        return 0;
    };
    let is_sign = unsigned.is_empty()
        || unsigned.ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | '=' | ':' | '*'));
    if is_sign {
        before.len() - unsigned.len()
    } else {
        0
    }
}

fn percent(behind: &str) -> usize {
    ["%", "\\%"]
        .iter()
        .find(|mark| behind.starts_with(**mark))
        .map_or(0, |mark| mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number() {
        for (text, number) in [
            ("I guess 42, 43 or 44.", Some("44")),
            ("it is -5.", Some("-5")),
            ("from 3-5", Some("5")),
            ("about 1,234.50 dollars", Some("1,234.50")),
            ("half: 1/2", Some("1/2")),
            ("so 25% in the 2nd year", Some("25%")),
            ("call it x2", None),
            ("5cm", Some("5")),
            ("at 3\u{2212}\u{e9}", Some("3")),
            ("none", None),
            ("", None),
        ] {
            assert_eq!(last(text), number, "{text}");
        }
    }

    #[test]
    fn numbers_and_nothing_else() {
        for text in [
            "42",
            "-3",
            "- 3",
            r"\frac{-1}{2}",
            "1{,}234",
            r"\$5",
            "5%",
            ".5",
            "1 000",
        ] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "x", "10-3", "--", "5 cm", "{}", "3:5", "1e5"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
