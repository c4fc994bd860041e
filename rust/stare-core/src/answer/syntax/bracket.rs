//! Brackets, matched while tokens are made.

use super::super::limits;
use super::lex::Lexer;
use super::token::Kind;
use super::SyntaxError;

impl Lexer<'_> {
    /// Whether `[` closes an interval, as in `[a, b[` and `]a, b[`.
    pub(super) fn reversed(&self) -> bool {
        let Some(&(at, _)) = self.open.last().filter(|_| self.open.len() == 1) else {
            return false;
        };
        let Some(open) = self.tokens.list.get(at) else {
            return false;
        };
        let source = self.text.as_bytes().get(open.start);
        let comma = self
            .tokens
            .list
            .iter()
            .skip(at)
            .any(|t| matches!(t.kind, Kind::Mark(b',' | b';')));
        let rest = self.text.get(self.at + 1..).unwrap_or("").trim_start();
        let ends = rest.is_empty()
            || rest.starts_with("\\cup")
            || rest.starts_with("\\cap")
            || rest.starts_with('$');
        comma && ends && matches!(source, Some(b'[' | b']'))
    }

    pub(super) fn open(&mut self, bracket: u8, length: usize) -> Result<(), SyntaxError> {
        if self.open.len() >= limits::DEPTH {
            return Err(SyntaxError::Limit);
        }
        self.open.push((self.tokens.list.len(), self.arguments));
        self.arguments = 0;
        self.push(Kind::Open(bracket), self.at, length)
    }

    pub(super) fn close(&mut self, bracket: u8, length: usize) -> Result<(), SyntaxError> {
        let bracket = match bracket {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            other => other,
        };
        let (opener, arguments) = self.open.pop().ok_or(SyntaxError::Unreadable)?;
        let closer = self.tokens.list.len();
        self.push(Kind::Close(bracket), self.at, length)?;
        self.arguments = arguments;
        self.argument_taken();
        let mixed = |b: u8| matches!(b, b'(' | b'[');
        let Some(token) = self.tokens.list.get_mut(opener) else {
            return Err(SyntaxError::Unreadable);
        };
        token.partner = closer;
        let matching =
            matches!(token.kind, Kind::Open(b) if b == bracket || (mixed(b) && mixed(bracket)));
        if let Some(token) = self.tokens.list.get_mut(closer) {
            token.partner = opener;
        }
        if matching {
            Ok(())
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    /// Innermost open bracket, braces of LaTeX arguments aside.
    pub(super) fn in_tuple(&self) -> bool {
        let bracket = self
            .open
            .last()
            .and_then(|&(at, _)| self.tokens.list.get(at));
        bracket.is_some_and(|token| !matches!(token.kind, Kind::Open(b'{' | b'M')))
    }
}
