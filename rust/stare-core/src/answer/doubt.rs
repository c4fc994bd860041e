//! Where the other reading of how an answer is written forbids a verdict.

use super::limits::Budget;
use super::tree::{Answer, Constant, Expr, NamedSet, Unit};
use super::value::Tolerance;
use super::{relate, syntax, Verdict};

/// One side of a comparison: as written, without wrappers, and what it was read as.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) text: &'a str,
    pub(super) bare: &'a str,
    pub(super) tree: &'a Answer,
}

/// A doubt about a pair of sides; both orders are tried.
type Doubt = fn(Written, Written) -> bool;

/// What keeps two sides from being proved different.
const AGAINST_INCORRECT: &[Doubt] = &[vague, tight_exponent, bare_unit, anagram, empty_set];

/// What keeps any verdict from being given.
const AGAINST_BOTH: &[Doubt] = &[clock, slash];

/// Whether a verdict must not be given.
pub(super) fn forbids(sides: [Written; 2], verdict: Verdict, tolerance: Tolerance) -> bool {
    let [left, right] = sides;
    let any = |doubts: &[Doubt]| {
        doubts
            .iter()
            .any(|doubt| doubt(left, right) || doubt(right, left))
    };
    match verdict {
        Verdict::Incorrect => any(AGAINST_INCORRECT) || any(AGAINST_BOTH),
        Verdict::Correct => {
            sides.into_iter().all(letters_only)
                || other_option(left, right)
                || mixed_percent(left.tree, right.tree, tolerance)
                || any(AGAINST_BOTH)
        }
        Verdict::Undecided => false,
    }
}

/// Whether a text that was not read ends in something that changes what is before it, and that a
/// more lenient reader drops: an ellipsis, a star, a denial.
pub(super) fn goes_on(text: &str) -> bool {
    const OPEN: &[&str] = &["..", "\\ldots", "\\dots", "\\cdots", "\u{2026}"];
    const DENIALS: &[&str] = &["not", "wrong", "false", "incorrect", "never"];
    let denied = || {
        text.split(|c: char| !c.is_alphabetic())
            .any(|word| DENIALS.iter().any(|no| word.eq_ignore_ascii_case(no)))
    };
    OPEN.iter().any(|mark| text.contains(mark)) || text.ends_with('*') || denied()
}

/// `\approx 3` is no exact number.
fn vague(side: Written, _: Written) -> bool {
    side.bare.starts_with("\\approx") || side.bare.starts_with('\u{2248}')
}

/// `6e-10` may be `6e - 10` without its spaces if the other side has the number e too.
fn tight_exponent(side: Written, other: Written) -> bool {
    let tight = side.bare.as_bytes().windows(4).any(
        |bytes| matches!(bytes, [b'0'..=b'9', b'e', b'+' | b'-', digit] if digit.is_ascii_digit()),
    );
    tight && relate::contains(other.tree, &mut |e| *e == Expr::Constant(Constant::E))
}

/// `5 m^2` beside a bare number: the letters may be its unit.
fn bare_unit(side: Written, other: Written) -> bool {
    let spaced =
        side.bare.as_bytes().windows(3).any(
            |bytes| matches!(bytes, [b'0'..=b'9', b' ', letter] if letter.is_ascii_alphabetic()),
        );
    let symbols = |tree: &Answer| relate::contains(tree, &mut |e| matches!(e, Expr::Symbol(_)));
    spaced
        && matches!(other.tree, Answer::Expr(_))
        && !symbols(other.tree)
        && relate::is_measured(side.tree)
}

/// `AB` and `BA` may be words, segments or products.
fn anagram(side: Written, other: Written) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<_> = text.bytes().collect();
        letters.sort_unstable();
        letters
    };
    let short = |text: &str| text.len() <= 4 && text.bytes().all(|b| b.is_ascii_uppercase());
    short(side.bare) && short(other.bare) && sorted(side.bare) == sorted(other.bare)
}

/// A phi is often what became of the sign of the empty set.
fn empty_set(side: Written, other: Written) -> bool {
    *other.tree == Answer::NamedSet(NamedSet::Empty)
        && matches!(side.tree, Answer::Expr(Expr::Symbol(name)) if name.eq_ignore_ascii_case("phi"))
}

/// A time beside a ratio: `12:30` may be either.
fn clock(side: Written, other: Written) -> bool {
    matches!((side.tree, other.tree), (Answer::Time(_), Answer::Ratio(_)))
}

/// `1/2x` may be half of x or one over 2x.
fn slash(side: Written, other: Written) -> bool {
    has_open_slash(side.bare) && !has_open_slash(other.bare)
}

/// Whether digits, a slash, digits and what may be a factor follow each other without space.
fn has_open_slash(text: &str) -> bool {
    text.match_indices('/').any(|(at, _)| {
        let before = text.get(..at).unwrap_or("");
        let behind = text.get(at + 1..).unwrap_or("");
        let factor = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        before.ends_with(|c: char| c.is_ascii_digit())
            && factor.len() < behind.len()
            && (factor.starts_with(|c: char| c == '(' || c == '\u{221a}' || c.is_alphabetic())
                || factor.starts_with("\\pi")
                || factor.starts_with("\\sqrt"))
    })
}

/// Runs of letters without any mark of maths may be words, which are not equal in another order.
fn letters_only(side: Written) -> bool {
    let bytes = side.bare.as_bytes();
    let maths = side.text.contains(['$', '\\']);
    let letters = bytes
        .iter()
        .all(|b| b.is_ascii_alphabetic() || matches!(b, b' ' | b','));
    let run = bytes
        .windows(2)
        .any(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    !maths && letters && run && relate::contains(side.tree, &mut |e| matches!(e, Expr::Product(_)))
}

/// The same letter for options that differ: `(A) 5` and `(A) 6`.
fn other_option(left: Written, right: Written) -> bool {
    if !matches!(
        (left.tree, right.tree),
        (Answer::Choice(_), Answer::Choice(_))
    ) {
        return false;
    }
    let option = |side: Written| -> String {
        let mut written = side.bare;
        for wrapper in ["\\text", "\\textbf", "\\mathrm", "\\mathbf"] {
            written = written.strip_prefix(wrapper).unwrap_or(written);
        }
        let letter = written.find(|c: char| c.is_ascii_uppercase());
        letter
            .and_then(|at| written.get(at + 1..))
            .unwrap_or("")
            .trim_matches(|c: char| !(c.is_alphanumeric() || c == '\\' || c == '-' || c == '$'))
            .to_owned()
    };
    let (left, right) = (option(left), option(right));
    if left == right
        || ![&left, &right]
            .iter()
            .all(|text| text.contains(char::is_alphanumeric))
    {
        return false;
    }
    let (Ok(left), Ok(right)) = (syntax::parse(&left), syntax::parse(&right)) else {
        return true;
    };
    let reason = relate::compare(&left, &right, Tolerance::None, &mut Budget::new());
    reason.verdict() != Verdict::Correct
}

/// Percent in a list are read one way in all of it: `20\%, 30\%` is not `0.2, 30`.
fn mixed_percent(left: &Answer, right: &Answer, tolerance: Tolerance) -> bool {
    let counts = (percents(left), percents(right));
    let (list, bare) = match counts {
        (2.., 0) => (left, right),
        (0, 2..) => (right, left),
        (mine, theirs) => return mine.max(theirs) > 1 && mine != theirs,
    };
    let agrees = |factor| {
        let plain = relate::without_percent(list, factor);
        let reason = relate::compare(&plain, bare, tolerance, &mut Budget::new());
        reason.verdict() == Verdict::Correct
    };
    !(agrees(1) || agrees(100))
}

fn percents(answer: &Answer) -> usize {
    match answer {
        Answer::Quantity(_, Unit::Percent) => 1,
        Answer::List { items, .. } | Answer::Tuple { items, .. } => {
            items.iter().map(percents).sum()
        }
        Answer::Relation { sides, .. } => sides.iter().map(percents).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{compare, grade, Options};
    use super::*;

    #[test]
    fn doubts() {
        use Verdict::{Correct, Incorrect, Undecided};
        for (left, right, verdict) in [
            ("12:30", "2:5", Undecided),
            ("12:30", "12:30", Correct),
            ("3:5", "6:10", Undecided),
            ("3:5", "9:15 pm", Undecided),
            ("1/2x", r"\frac{x}{2}", Undecided),
            ("1/2x", r"\frac{x}{3}", Undecided),
            ("1/2x", "1/2x+0", Correct),
            ("1/2", "0.5", Correct),
            ("AB", "BA", Undecided),
            ("ABCDE", "EDCBA", Incorrect),
            (r"\phi", r"\emptyset", Undecided),
            ("5 m^2", "5", Undecided),
            ("5 x^2", "5", Incorrect),
            ("(A) 5", "(A) 6", Undecided),
            ("(A) 5", "(A) 5.0", Correct),
            ("(A) 5", "(B) 5", Incorrect),
            (r"(20\%, 30\%)", "(20, 0.3)", Undecided),
            (r"(20\%, 30\%)", "(0.2, 0.3)", Correct),
        ] {
            let reason = compare(left, right, Tolerance::None);
            assert_eq!(reason.verdict(), verdict, "{left}, {right}: {reason:?}");
        }
    }

    #[test]
    fn what_goes_on_is_left_to_nobody() {
        use super::super::Reason;
        for (answer, gold) in [
            ("0.333...", "0.333"),
            ("1, 2, 3, ...", "1, 2, 3"),
            (r"42 \ldots", "42"),
            ("z*", "z"),
            (r"\text{wrong}=5", "5"),
        ] {
            let reason = compare(answer, gold, Tolerance::None);
            assert_eq!(reason, Reason::Ambiguous, "{answer}, {gold}");
        }
    }

    #[test]
    fn joined_boxes_have_one_chance() {
        use Verdict::{Correct, Incorrect, Undecided};
        for (completion, gold, verdict) in [
            (r"\boxed{-2} or \boxed{2}", "2", Undecided),
            (r"\boxed{-2} or \boxed{2}", "3", Incorrect),
            (r"\boxed{-2} or \boxed{2}", "-2, 2", Correct),
            (r"\boxed{-2} or \boxed{2}", r"\pm 2", Undecided),
            (r"\boxed{-2} or \boxed{2}", "1, 2", Incorrect),
            (r"\boxed{-2}, \boxed{2}", "2", Correct),
            (r"\boxed{2} or \boxed{2.0}", "2", Undecided),
        ] {
            let grade = grade(completion, &[gold], &Options::default());
            assert_eq!(grade.verdict(), verdict, "{completion}, {gold}");
        }
    }
}
