//! Tests of the reader as a whole.

mod bounds;
mod pieces;
mod properties;
mod refused;
mod spellings;
mod trees;

use super::{parse, SyntaxError};

/// The tree of a text, as text.
fn shown(text: &str) -> Result<String, SyntaxError> {
    parse(text).map(|answer| answer.to_string())
}
