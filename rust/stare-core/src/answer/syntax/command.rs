//! Tokens that start with a backslash.

use super::super::units;
use super::lex::{named, Lexer};
use super::token::Kind;
use super::{number, tables, SyntaxError};

impl<'a> Lexer<'a> {
    pub(super) fn backslash(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let tail = self.text.get(start + 1..).unwrap_or("");
        let length = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        if length == 0 {
            return self.escaped(tail);
        }
        let name = tail.get(..length).unwrap_or("");
        let after = start + 1 + length;
        if tables::is_layout(name) {
            self.at = after;
            if matches!(name, "left" | "right") {
                let delimiter = self.rest().trim_start();
                if delimiter.starts_with('.') {
                    self.at = self.text.len() - delimiter.len() + 1;
                    let innermost = self
                        .open
                        .last()
                        .and_then(|&(at, _)| self.tokens.list.get(at));
                    if name == "right"
                        && innermost.is_some_and(|token| token.kind == Kind::Open(b'S'))
                    {
                        // `\left\{ .. \right.` around cases.
                        return self.close(b'S', 0);
                    }
                }
            }
            return Ok(());
        }
        if tables::is_space(name) {
            self.at = after;
            if tables::is_measured_space(name) {
                self.skip_argument()?;
            }
            self.spaced = true;
            self.apart |= name.starts_with('q');
            return Ok(());
        }
        if tables::is_text(name) {
            return self.text_command(start, after);
        }
        match name {
            "begin" | "end" => self.environment(start, after, name == "begin"),
            "lbrace" => self.open(b'S', 7),
            "rbrace" => self.close(b'S', 7),
            "lbrack" => self.open(b'[', 7),
            "rbrack" => self.close(b'[', 7),
            "langle" => self.open(b'<', 7),
            "rangle" => self.close(b'<', 7),
            "lfloor" => self.open(b'F', 7),
            "rfloor" => self.close(b'F', 7),
            "lceil" => self.open(b'C', 6),
            "rceil" => self.close(b'C', 6),
            "lvert" => self.open(b'A', 6),
            "rvert" => self.close(b'A', 6),
            "vert" | "mid" => self.push(Kind::Mark(b'|'), start, length + 1),
            "cdot" | "times" | "ast" => self.push(Kind::Mark(b'*'), start, length + 1),
            "div" => self.push(Kind::Mark(b'/'), start, length + 1),
            "colon" => self.push(Kind::Mark(b':'), start, length + 1),
            "percent" => self.push(Kind::Mark(b'%'), start, length + 1),
            _ => self.command(start, name),
        }
    }

    /// Pass over `{..}`, which is not shown.
    fn skip_argument(&mut self) -> Result<(), SyntaxError> {
        let rest = self.rest();
        let body = rest.strip_prefix('*').unwrap_or(rest).trim_start();
        let inner = body.strip_prefix('{').ok_or(SyntaxError::Unreadable)?;
        let length = balanced(inner).ok_or(SyntaxError::Unreadable)?;
        self.at = self.text.len() - inner.len() + length + 1;
        Ok(())
    }

    fn command(&mut self, start: usize, name: &'a str) -> Result<(), SyntaxError> {
        let kind = if let Some(letter) = tables::letter(name) {
            Kind::Named(letter)
        } else if let Some(function) = tables::function(name, true) {
            Kind::Function(function)
        } else if let Some(operator) = tables::relation(name) {
            Kind::Relation(operator)
        } else {
            Kind::Command(name)
        };
        self.push(kind, start, name.len() + 1)?;
        self.argument_taken();
        if tables::is_fraction(name) || tables::is_binomial(name) {
            self.arguments = 2;
        }
        Ok(())
    }

    /// A backslash before something that is no letter.
    fn escaped(&mut self, tail: &str) -> Result<(), SyntaxError> {
        let start = self.at;
        match tail.bytes().next() {
            Some(b'{') => self.open(b'S', 2),
            Some(b'}') => self.close(b'S', 2),
            Some(b'\\') => self.push(Kind::Mark(b'\\'), start, 2),
            Some(b'%') => self.push(Kind::Mark(b'%'), start, 2),
            Some(b'$') => self.push(Kind::Mark(b'$'), start, 2),
            Some(b',' | b';' | b':' | b'!' | b'>' | b' ' | b'/') => {
                self.at += 2;
                self.spaced = true;
                Ok(())
            }
            Some(b'(' | b')' | b'[' | b']') if self.mixed => {
                self.at += 2;
                self.words = matches!(tail.bytes().next(), Some(b')' | b']'));
                self.spaced = true;
                self.apart |= !self.words && !self.unfinished();
                Ok(())
            }
            _ => Err(SyntaxError::Unreadable),
        }
    }

    /// `\text{..}`: words, a number, a function, a letter.
    fn text_command(&mut self, start: usize, after: usize) -> Result<(), SyntaxError> {
        let tail = self.text.get(after..).unwrap_or("");
        let tail = tail.strip_prefix('*').unwrap_or(tail);
        let body = tail.trim_start();
        let open = self.text.len() - body.len();
        let inner = body.strip_prefix('{').ok_or(SyntaxError::Unreadable)?;
        let length = balanced(inner).ok_or(SyntaxError::Unreadable)?;
        let content = inner.get(..length).unwrap_or("");
        let end = open + length + 2;
        let words = content.trim_matches(|c: char| c.is_whitespace() || c == '~');
        let padded = words.len() < content.len();
        self.spaced |= padded;
        if words.is_empty() {
            self.at = end;
            self.spaced = true;
            return Ok(());
        }
        self.argument_taken();
        if let Ok(literal) = number::scan(words, 0, true) {
            if literal.end == words.len()
                && words.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            {
                return self.literal(literal.number, false, start, end - start);
            }
        }
        // Behind a number, `min` and `sec` are units.
        let counted = matches!(
            self.tokens.list.last().map(|token| token.kind),
            Some(Kind::Number(_) | Kind::Close(_) | Kind::Mark(b'/') | Kind::Command("pi"))
        ) && units::canonical(words).is_some();
        let kind = named(words).or_else(|| tables::function(words, true).map(Kind::Function));
        if let Some(kind) = kind.filter(|_| !counted) {
            return self.push(kind, start, end - start);
        }
        self.push(Kind::Text(words), start, end - start)?;
        self.spaced = padded;
        Ok(())
    }

    fn environment(&mut self, start: usize, after: usize, begin: bool) -> Result<(), SyntaxError> {
        let tail = self.text.get(after..).unwrap_or("");
        let body = tail.trim_start();
        let open = self.text.len() - body.len();
        let inner = body.strip_prefix('{').ok_or(SyntaxError::Unreadable)?;
        let length = inner.find('}').ok_or(SyntaxError::Unreadable)?;
        let name = inner.get(..length).unwrap_or("").trim();
        let mut end = open + length + 2;
        if !begin {
            return self.close(b'M', end - start);
        }
        if name == "array" {
            // The format of its columns.
            let columns = self.text.get(end..).unwrap_or("").trim_start();
            if let Some(format) = columns.strip_prefix('{') {
                let length = format.find('}').ok_or(SyntaxError::Unreadable)?;
                end = self.text.len() - format.len() + length + 1;
            }
        }
        self.push(Kind::Begin(name), start, end - start)?;
        self.open(b'M', 0)
    }
}

/// Length of the text before the brace that closes it.
pub(super) fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}
