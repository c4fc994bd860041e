//! Tokens.

use super::super::tree::{Function, Number, Operator};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Index into [`Tokens::numbers`].
    Number(u32),
    /// One letter: the rest of the run of letters that it starts.
    Letter(&'a str),
    /// A greek letter and the like, by its canonical name.
    Named(&'static str),
    /// A function with its argument behind it.
    Function(Function),
    /// Any other command, without the backslash.
    Command(&'a str),
    /// The content of `\text{..}`, or words between maths; trimmed, never empty.
    Text(&'a str),
    /// `( [ {`, `S` for `\{`, `<` for `\langle`, `F` for `\lfloor`, `C` for `\lceil`, `A` for
    /// `\lvert`, `N` for a norm, `M` for `\begin{..}`.
    Open(u8),
    /// The same letters.
    Close(u8),
    /// Name of an environment; an `Open(M)` follows.
    Begin(&'a str),
    /// A relation.
    Relation(Operator),
    /// `+ - * / ^ _ , ; : ! ' | & % $ .` and others; `\` for the end of a row.
    Mark(u8),
}

/// A token.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent marks")]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Whether space came before it.
    pub(super) spaced: bool,
    /// Whether it is a letter of the same run as the token before.
    pub(super) glued: bool,
    /// A wide gap came before it, over which nothing is multiplied.
    pub(super) apart: bool,
    /// A number of digits only.
    pub(super) plain: bool,
    /// Its place in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    /// For brackets: the token that closes or opens it.
    pub(super) partner: usize,
}

/// A text in tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    pub(super) list: Vec<Token<'a>>,
    pub(super) numbers: Vec<Number>,
    /// Whether a comma was read as part of a number.
    pub(super) grouped: bool,
}

/// How to read a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// `1,234` is one number.
    pub(super) groups: bool,
    /// Words until the first `$`.
    pub(super) mixed: bool,
}
