//! Where the answer is in a completion. Linear scans only, no regular expressions.

use super::boxes::{last_box, Boxed};
use super::number::Number;
use super::{Reason, MAX_COMPLETION_BYTES};

/// Find the declared answer of a completion.
///
/// 1. Everything up to the last `</think>` is dropped; a think block that never closes holds no
///    answer.
/// 2. The last `\boxed` or `\fbox` decides, even if it is empty or unterminated. Forms: `\boxed{x}`
///    with balanced, escape-aware braces; nested boxes, unwrapped; `\boxed x`.
/// 3. Else the last declared marker: `#### x`, `answer is x`, `answer: x` (any case, Markdown
///    stars allowed), to the end of its sentence or line, or the next line with text on it.
/// 4. Else the last line with text on it, if it is a number and nothing else.
///
/// A number mentioned in passing is never an answer.
///
/// # Errors
///
/// [`Reason::NoAnswer`], [`Reason::UnclosedThink`], or [`Reason::Limit`] for a completion of more
/// than [`MAX_COMPLETION_BYTES`].
///
/// ```
/// use stare_core::answer::{extract, Reason};
///
/// assert_eq!(extract(r"<think>\boxed{1}</think> so \boxed{ 2 }"), Ok("2"));
/// assert_eq!(extract(r"\boxed{1}, or rather \boxed{"), Err(Reason::NoAnswer));
/// assert_eq!(extract("#### 18"), Ok("18"));
/// assert_eq!(extract("I guess 42, 43 or 44."), Err(Reason::NoAnswer));
/// ```
pub fn extract(completion: &str) -> Result<&str, Reason> {
    if completion.len() > MAX_COMPLETION_BYTES {
        return Err(Reason::Limit);
    }
    let text = after(completion, "</think>").unwrap_or(completion);
    if text.contains("<think>") {
        return Err(Reason::UnclosedThink);
    }
    let answer = match last_box(text) {
        Boxed::Found { content, .. } => content,
        Boxed::Unterminated => return Err(Reason::NoAnswer),
        Boxed::Absent => match last_marker(text) {
            Some(start) => declared(&text[start..]),
            None => last_line(text)
                .filter(|line| Number::parse(line).is_some())
                .unwrap_or(""),
        },
    };
    if answer.is_empty() {
        return Err(Reason::NoAnswer);
    }
    Ok(answer)
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.rfind(mark).map(|at| &text[at + mark.len()..])
}

/// Where the text behind the last `####`, `answer is` or `answer:` starts.
fn last_marker(text: &str) -> Option<usize> {
    last_hashes(text.as_bytes()).max(last_answer_phrase(text.as_bytes()))
}

fn last_hashes(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(last) = bytes[..end].iter().rposition(|&b| b == b'#') {
        let run = bytes[..=last]
            .iter()
            .rev()
            .take_while(|&&b| b == b'#')
            .count();
        if run == 4 {
            return Some(last + 1);
        }
        end = last + 1 - run;
    }
    None
}

fn last_answer_phrase(bytes: &[u8]) -> Option<usize> {
    const WORD: &[u8] = b"answer";
    bytes
        .windows(WORD.len())
        .enumerate()
        .rev()
        .find_map(|(at, window)| {
            // The first letter alone settles nearly every position.
            if window[0] | 0x20 != b'a'
                || !window.eq_ignore_ascii_case(WORD)
                || (at > 0 && bytes[at - 1].is_ascii_alphanumeric())
            {
                return None;
            }
            let mut end = at + WORD.len();
            end += decoration(&bytes[end..]);
            let verb = bytes
                .get(end..end + 2)
                .is_some_and(|word| word.eq_ignore_ascii_case(b"is"))
                && !bytes.get(end + 2).is_some_and(u8::is_ascii_alphanumeric);
            if verb {
                end += 2;
                end += decoration(&bytes[end..]);
            }
            let colon = bytes.get(end) == Some(&b':');
            (verb || colon).then_some(end + usize::from(colon))
        })
}

/// Length of the spaces and Markdown marks at the front.
fn decoration(rest: &[u8]) -> usize {
    rest.iter()
        .take_while(|b| matches!(b, b' ' | b'\t' | b'*' | b'_'))
        .count()
}

/// The answer behind a marker: to the end of the sentence on the first line with text on it.
fn declared(rest: &str) -> &str {
    let line = rest
        .lines()
        .map(plain)
        .find(|line| !line.is_empty())
        .unwrap_or("");
    plain(&line[..sentence(line)])
}

/// Length of the first sentence: up to a full stop that white space and a capital letter follow.
fn sentence(line: &str) -> usize {
    line.match_indices('.')
        .map(|(at, _)| at)
        .find(|at| {
            let rest = &line[at + 1..];
            rest.starts_with([' ', '\t']) && rest.trim_start().starts_with(char::is_uppercase)
        })
        .unwrap_or(line.len())
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(plain).find(|line| !line.is_empty())
}

/// Without surrounding space and Markdown emphasis.
fn plain(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        for (text, answer) in [
            ("9*2 = 18 dollars.\n#### 18", "18"),
            ("Step\nAnswer: 42", "42"),
            ("**Answer:** 4.", "4."),
            ("**Final Answer**: **73**", "73"),
            ("**Final Answer:**\n\n73", "73"),
            ("The answer is 42. I am sure of that.", "42"),
            ("The final answer is: $\\frac{1}{2}$", "$\\frac{1}{2}$"),
            ("the answer is 3.5 m", "3.5 m"),
            ("answer: 1\nanswer: 2", "2"),
            ("#### Step 1: add\nThe answer is 42", "42"),
            ("So it is\n$-3$", "$-3$"),
        ] {
            assert_eq!(extract(text), Ok(answer), "{text}");
        }
        for text in [
            "",
            "I guess 42.",
            "answer issued 4",
            "Answer:",
            "##### 4 x",
            "cancer answers is",
        ] {
            assert_eq!(extract(text), Err(Reason::NoAnswer), "{text}");
        }
    }

    #[test]
    fn thinking() {
        assert_eq!(
            extract(r"<think>\boxed{42}</think> The answer is \boxed{41}."),
            Ok("41")
        );
        assert_eq!(
            extract(r"\boxed{42}</think> no idea"),
            Err(Reason::NoAnswer)
        );
        assert_eq!(extract(r"<think> \boxed{42}"), Err(Reason::UnclosedThink));
    }

    #[test]
    fn limits() {
        let long = "x".repeat(MAX_COMPLETION_BYTES - 9) + r"\boxed{1}";
        assert_eq!(extract(&long), Ok("1"));
        assert_eq!(extract(&(long + " ")), Err(Reason::Limit));
    }
}
