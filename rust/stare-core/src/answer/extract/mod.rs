//! Where the answer is in a completion. Linear scans only, no regular expressions.

pub(super) mod boxes;
mod marker;
mod maths;
mod number;
mod phrase;
mod profile;
mod think;

use super::compare::bare;
use super::{limits, Reason};

pub use profile::Profile;
use profile::{Joining, Rules};

/// How an answer was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// The last box.
    Box,
    /// Several boxes that make a list.
    Boxes,
    /// `#### x`.
    Hashes,
    /// In words: `the answer is x`.
    Marker,
    /// The last line, which is a number and nothing else.
    Line,
    /// The last maths.
    Maths,
    /// The last number.
    Number,
}

impl How {
    /// The name that users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Box => "box",
            Self::Boxes => "boxes",
            Self::Hashes => "hashes",
            Self::Marker => "marker",
            Self::Line => "line",
            Self::Maths => "maths",
            Self::Number => "number",
        }
    }
}

/// An answer found in a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The answer, a part of the completion.
    pub text: &'a str,
    /// How it was declared.
    pub how: How,
    /// The boxes that make a list, the last of which is `text`.
    pub(super) list: Option<Joined>,
    /// Whether the text reads like a sentence about the answer.
    pub(super) prose: bool,
}

/// Several boxes written as one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// With commas in between.
    pub text: String,
    /// Number of boxes.
    pub items: usize,
    /// Whether an `or` stands between the boxes.
    pub alternatives: bool,
    /// Whether the list stands for the answer whatever the gold.
    pub always: bool,
}

impl<'a> Found<'a> {
    const fn plain(text: &'a str, how: How) -> Self {
        Self {
            text,
            how,
            list: None,
            prose: false,
        }
    }
}

/// Find the declared answer of a completion.
///
/// 1. Everything up to the end of thinking (`</think>` and its like) is dropped; thinking that
///    never ends holds no answer.
/// 2. The last `\boxed` or `\fbox` decides, even if it is empty or unterminated. Forms: `\boxed{x}`
///    with balanced, escape-aware braces; nested boxes, unwrapped; `\boxed x`.
/// 3. Else the last declared marker: `#### x`, `answer is x`, `answer: x` and the like (any case,
///    Markdown allowed), to the end of its sentence or line, or the next line with text on it.
/// 4. Else, if the profile allows it, the last line with text on it, if it is a number and nothing
///    else; then the last maths; then the last number.
///
/// [`Profile`] says what differs between profiles. In the default one a number mentioned in passing
/// is never an answer.
///
/// # Errors
///
/// [`Reason::NoAnswer`], [`Reason::UnclosedThink`], or [`Reason::Limit`] for a completion of more
/// than [`limits::COMPLETION_BYTES`].
///
/// ```
/// use stare_core::answer::{extract, Profile, Reason};
///
/// let found = |text| extract(text, Profile::Reward).map(|found| found.text);
/// assert_eq!(found(r"<think>\boxed{1}</think> so \boxed{ 2 }"), Ok("2"));
/// assert_eq!(found(r"\boxed{1}, or rather \boxed{"), Err(Reason::NoAnswer));
/// assert_eq!(found("#### 18"), Ok("18"));
/// assert_eq!(found("I guess 42, 43 or 44."), Err(Reason::NoAnswer));
/// let lenient = extract("I guess 42, 43 or 44.", Profile::Eval)?;
/// assert_eq!(lenient.text, "44");
/// # Ok::<(), Reason>(())
/// ```
pub fn extract(completion: &str, profile: Profile) -> Result<Found<'_>, Reason> {
    if completion.len() > limits::COMPLETION_BYTES {
        return Err(Reason::Limit);
    }
    let rules = profile.rules();
    let text = if rules.drops_thinking {
        think::after_thinking(completion).map_err(|think::Unclosed| Reason::UnclosedThink)?
    } else {
        completion
    };
    let text = think::without_end_tokens(text);
    boxed(text, rules)?
        .or_else(|| unboxed(text, rules))
        .filter(|found| !bare(found.text).is_empty())
        .ok_or(Reason::NoAnswer)
}

/// What the boxes say; `None` if there are none.
fn boxed<'a>(text: &'a str, rules: &Rules) -> Result<Option<Found<'a>>, Reason> {
    let boxes = boxes::scan(text);
    if boxes.last_is_open && rules.last_box_decides {
        return Err(Reason::NoAnswer);
    }
    let joined = boxes.joined(text, rules.joining).map(|list| Joined {
        text: list.contents.join(", "),
        items: list.contents.len(),
        alternatives: list.alternatives,
        always: rules.joining != Joining::Connectives,
    });
    Ok(boxes.closed.last().map(|last| Found {
        list: joined,
        ..Found::plain(last.content, How::Box)
    }))
}

fn unboxed<'a>(text: &'a str, rules: &Rules) -> Option<Found<'a>> {
    if let Some(declared) = marker::last(text) {
        let how = if declared.hashes {
            How::Hashes
        } else {
            How::Marker
        };
        return Some(Found {
            prose: declared.prose,
            ..Found::plain(declared.text, how)
        });
    }
    let line = || {
        let line = text
            .lines()
            .rev()
            .map(phrase::plain)
            .find(|line| !line.is_empty())?;
        let short = line.len() <= limits::ANSWER_CHARS;
        (short && number::is_number(bare(line))).then_some(Found::plain(line, How::Line))
    };
    let maths = || maths::last(text).map(|text| Found::plain(text, How::Maths));
    let number = || number::last(text).map(|text| Found::plain(text, How::Number));
    None.or_else(|| rules.line.then(line)?)
        .or_else(|| rules.maths.then(maths)?)
        .or_else(|| rules.number.then(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each profile finds, in the order of [`Profile::ALL`].
    #[test]
    fn profiles() {
        for (text, [reward, eval, math_verify]) in [
            (r"\boxed{42}", [Some("42"); 3]),
            (r"\boxed{42} $43$", [Some("42"); 3]),
            ("Answer: 42, not $43$", [Some("42, not $43$"); 3]),
            ("#### 18", [Some("18"); 3]),
            ("So it is\n$-3$", [None, Some("$-3$"), Some("-3")]),
            ("we get $x=3$ and $x=4$.", [None, Some("x=4"), Some("x=4")]),
            ("I guess 42, or 44.", [None, Some("44"), Some("44")]),
            ("no idea", [None; 3]),
            ("", [None; 3]),
            (r"\boxed{42} or \boxed{", [None, None, Some("42")]),
            (r"\boxed{42} or \boxed{}", [None; 3]),
            (r"\boxed{$$.}", [None; 3]),
            (r"<think>\boxed{1}", [None, None, Some("1")]),
            (r"<think>1</think>no", [None, None, Some("1")]),
            ("The answer is 4<|im_end|>", [Some("4"); 3]),
        ] {
            let found = |profile| extract(text, profile).ok().map(|found| found.text);
            assert_eq!(found(Profile::Reward), reward, "{text}");
            assert_eq!(found(Profile::Eval), eval, "{text}");
            assert_eq!(found(Profile::MathVerify), math_verify, "{text}");
        }
    }

    #[test]
    fn thinking() {
        let found = |text| extract(text, Profile::Reward).map(|found| found.text);
        assert_eq!(
            found(r"<think>\boxed{42}</think> The answer is \boxed{41}."),
            Ok("41")
        );
        assert_eq!(found(r"\boxed{42}</think> no"), Err(Reason::NoAnswer));
        assert_eq!(found(r"<think> \boxed{42}"), Err(Reason::UnclosedThink));
    }

    #[test]
    fn limits() {
        let long = "x".repeat(limits::COMPLETION_BYTES - 9) + r"\boxed{1}";
        let found = |text| extract(text, Profile::Reward).map(|found| found.text);
        assert_eq!(found(&long), Ok("1"));
        assert_eq!(found(&(long.clone() + " ")), Err(Reason::Limit));
    }
}
