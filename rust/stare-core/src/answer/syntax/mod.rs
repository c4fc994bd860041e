//! From text to tree: LaTeX and plain maths, bounded depth, size and work.
//!
//! [`unicode`] maps to ASCII and LaTeX, [`wrap`] takes off what surrounds an answer, [`lex`] makes
//! tokens with their brackets matched. [`list`] then splits a whole answer at its separators,
//! [`value`] reads one item of it, [`expr`] and [`atom`] read expressions. Where a text has two
//! likely readings, it is refused: undecided is better than wrong.

mod atom;
mod bound;
mod bracket;
mod call;
mod command;
mod condition;
mod expr;
mod factor;
mod group;
mod lex;
mod list;
mod measure;
mod number;
mod parser;
mod quantity;
mod set;
mod symbol;
mod tables;
mod token;
mod unicode;
mod value;
mod words;
mod wrap;

#[cfg(test)]
mod tests;

use super::limits;
use super::tree::Answer;
pub(super) use wrap::without_final_mark;

/// Why a text has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// Nothing is left once the wrappers are off.
    Empty,
    /// Not a form that is read.
    Unreadable,
    /// Over a limit of [`super::limits`].
    Limit,
}

/// Read an answer: all of `text` is the answer, nothing is searched for.
///
/// # Errors
///
/// [`SyntaxError`]; never a part of what was given.
pub fn parse(text: &str) -> Result<Answer, SyntaxError> {
    read(text, true).map(|(answer, _)| answer)
}

/// The other reading of an answer with commas between digits: `1,234` as a list of two.
///
/// `None` if no comma was read as part of a number.
#[must_use]
pub fn parse_as_list(text: &str) -> Option<Answer> {
    let (_, grouped) = read(text, true).ok()?;
    if !grouped {
        return None;
    }
    read(text, false).ok().map(|(answer, _)| answer)
}

/// The answer, and whether a bare comma grouped digits.
fn read(text: &str, groups: bool) -> Result<(Answer, bool), SyntaxError> {
    if text.len() > limits::ANSWER_CHARS && text.chars().count() > limits::ANSWER_CHARS {
        return Err(SyntaxError::Limit);
    }
    let restored = wrap::restore(text);
    let folded = unicode::fold(&restored)?;
    let single = wrap::undouble(&folded);
    let bare = wrap::strip(&single)?;
    if let Some(answer) = words::read(bare) {
        return Ok((answer, false));
    }
    let dollars =
        bare.text.bytes().filter(|&b| b == b'$').count() - bare.text.matches("\\$").count();
    let mixed =
        bare.worded || dollars >= 2 || bare.text.contains("\\(") || bare.text.contains("\\[");
    let tokens = lex::tokens(bare.text, token::Options { groups, mixed })?;
    let mut parser = parser::Parser::new(&tokens);
    let answer = parser.answer(0, tokens.list.len())?;
    measure::check(&answer)?;
    Ok((answer, tokens.grouped))
}
