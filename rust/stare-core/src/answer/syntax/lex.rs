//! From text to tokens: one pass, no look-behind beyond a byte.

use super::super::limits;
use super::super::tree::{Function, Number, Operator};
use super::super::units;
use super::{number, tables, SyntaxError};

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
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Whether space came before it.
    pub(super) spaced: bool,
    /// Whether it is a letter of the same run as the token before.
    pub(super) glued: bool,
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

/// Split a text into tokens with their brackets matched.
pub(super) fn tokens(text: &str, options: Options) -> Result<Tokens<'_>, SyntaxError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        spaced: false,
        words: options.mixed,
        groups: options.groups,
        mixed: options.mixed,
        open: Vec::new(),
        arguments: 0,
        tokens: Tokens {
            text,
            list: Vec::new(),
            numbers: Vec::new(),
            grouped: false,
        },
    };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    if lexer.open.is_empty() {
        Ok(lexer.tokens)
    } else {
        Err(SyntaxError::Unreadable)
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    spaced: bool,
    /// Outside of `$..$`, in a text that has some.
    words: bool,
    groups: bool,
    mixed: bool,
    /// Open brackets: the token, and the value of `arguments` outside.
    open: Vec<(usize, u8)>,
    /// Single-token arguments that a command still takes: `\frac12`.
    arguments: u8,
    tokens: Tokens<'a>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn step(&mut self) -> Result<(), SyntaxError> {
        let rest = self.rest();
        let Some(byte) = rest.bytes().next() else {
            return Ok(());
        };
        let start = self.at;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'~' => {
                self.at += 1;
                self.spaced = true;
                Ok(())
            }
            b'$' => self.dollar(),
            b'\\' => self.backslash(),
            b'0'..=b'9' => self.number(),
            b'.' if rest.bytes().nth(1).is_some_and(|b| b.is_ascii_digit()) => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' => self.letters(),
            b'(' | b'[' | b'{' => self.open(byte, 1),
            b')' | b']' | b'}' => self.close(byte, 1),
            b'<' | b'>' | b'=' | b'!' | b':' => self.relation(),
            b'*' if rest.starts_with("**") => self.push(Kind::Mark(b'^'), start, 2),
            b'+' | b'-' | b'*' | b'/' | b'^' | b'_' | b',' | b';' | b'\'' | b'|' | b'&' | b'%' => {
                self.push(Kind::Mark(byte), start, 1)
            }
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn push(&mut self, kind: Kind<'a>, start: usize, length: usize) -> Result<(), SyntaxError> {
        if self.tokens.list.len() >= limits::TOKENS {
            return Err(SyntaxError::Limit);
        }
        self.at = start + length;
        self.tokens.list.push(Token {
            kind,
            spaced: std::mem::take(&mut self.spaced),
            glued: false,
            plain: false,
            start,
            end: self.at,
            partner: usize::MAX,
        });
        Ok(())
    }

    fn argument_taken(&mut self) {
        self.arguments = self.arguments.saturating_sub(1);
    }

    fn open(&mut self, bracket: u8, length: usize) -> Result<(), SyntaxError> {
        if self.open.len() >= limits::DEPTH {
            return Err(SyntaxError::Limit);
        }
        self.open.push((self.tokens.list.len(), self.arguments));
        self.arguments = 0;
        self.push(Kind::Open(bracket), self.at, length)
    }

    fn close(&mut self, bracket: u8, length: usize) -> Result<(), SyntaxError> {
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
    fn in_tuple(&self) -> bool {
        let bracket = self
            .open
            .last()
            .and_then(|&(at, _)| self.tokens.list.get(at));
        bracket.is_some_and(|token| !matches!(token.kind, Kind::Open(b'{' | b'M')))
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        if self.arguments > 0 {
            if !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
                return Err(SyntaxError::Unreadable);
            }
            let digit = self.text.get(start..=start).unwrap_or("");
            let literal = number::scan(digit, 0, false)?;
            self.argument_taken();
            return self.literal(literal.number, true, start, 1);
        }
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        let before = if before == Some(&b'-') {
            start.checked_sub(2).and_then(|at| bytes.get(at))
        } else {
            before
        };
        let commas = self.groups && before != Some(&b',') && !self.in_tuple();
        let literal = number::scan(self.text, start, commas)?;
        if literal.spaced
            && self
                .text
                .get(literal.end..)
                .is_some_and(|t| t.trim_start().starts_with('/'))
        {
            // `2 100/300`: a mixed number or a group.
            return Err(SyntaxError::Unreadable);
        }
        let source = self.text.get(start..literal.end).unwrap_or("");
        self.tokens.grouped |=
            source.bytes().any(|b| b == b',') && !source.contains("{,}") && !source.contains("\\!");
        self.literal(literal.number, literal.plain, start, literal.end - start)
    }

    fn literal(
        &mut self,
        number: Number,
        plain: bool,
        start: usize,
        length: usize,
    ) -> Result<(), SyntaxError> {
        let index = u32::try_from(self.tokens.numbers.len()).map_err(|_| SyntaxError::Limit)?;
        self.tokens.numbers.push(number);
        self.push(Kind::Number(index), start, length)?;
        if let Some(token) = self.tokens.list.last_mut() {
            token.plain = plain;
        }
        Ok(())
    }

    fn letters(&mut self) -> Result<(), SyntaxError> {
        let rest = self.rest();
        let start = self.at;
        if self.words {
            // Words between maths, up to what is no word.
            let end = rest
                .find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, ' ' | '\'' | '-' | '\n')))
                .unwrap_or(rest.len());
            let words = rest
                .get(..end)
                .unwrap_or("")
                .trim_end_matches(|c: char| !c.is_ascii_alphabetic());
            return self.push(Kind::Text(words), start, words.len());
        }
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let run = rest.get(..length).unwrap_or("");
        let modules = ["np", "math", "sympy", "sp"];
        let tail = rest.get(length..).unwrap_or("");
        if modules.contains(&run) && tail.starts_with('.') {
            let name = tail
                .bytes()
                .skip(1)
                .take_while(u8::is_ascii_alphabetic)
                .count();
            let known = tail
                .get(1..=name)
                .is_some_and(|n| n == "pi" || n == "sqrt" || tables::function(n, false).is_some());
            if !known {
                return Err(SyntaxError::Unreadable);
            }
            self.at += length + 1;
            return Ok(());
        }
        if length > 1 && self.arguments == 0 {
            if let Some(kind) = named(run) {
                return self.push(kind, start, length);
            }
            // `sinx`: a function and one letter.
            let split = length - 1;
            let head = run.get(..split).unwrap_or("");
            if matches!(head, "sin" | "cos" | "tan" | "ln" | "log") && !tables::is_word(run) {
                if let Some(kind) = named(head) {
                    return self.push(kind, start, split);
                }
            }
        }
        for at in 0..length {
            self.push(Kind::Letter(run.get(at..).unwrap_or("")), start + at, 1)?;
            if let Some(token) = self.tokens.list.last_mut() {
                token.glued = at > 0;
            }
            self.argument_taken();
        }
        Ok(())
    }

    fn relation(&mut self) -> Result<(), SyntaxError> {
        const RELATIONS: [(&str, Operator); 9] = [
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            ("==", Operator::Equal),
            (":=", Operator::Equal),
            ("=>", Operator::Arrow),
            ("!=", Operator::NotEqual),
            ("=", Operator::Equal),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let rest = self.rest();
        let found = RELATIONS
            .into_iter()
            .find(|(mark, _)| rest.starts_with(mark));
        match found {
            // `5!=120` or `x!=2`.
            Some(("!=", _)) if !self.spaced => Err(SyntaxError::Unreadable),
            Some((mark, operator)) => self.push(Kind::Relation(operator), self.at, mark.len()),
            None => {
                let byte = rest.bytes().next().unwrap_or(b' ');
                self.push(Kind::Mark(byte), self.at, 1)
            }
        }
    }

    fn dollar(&mut self) -> Result<(), SyntaxError> {
        if self.mixed {
            let length = if self.rest().starts_with("$$") { 2 } else { 1 };
            self.at += length;
            self.words = !self.words;
            self.spaced = true;
            return Ok(());
        }
        self.push(Kind::Mark(b'$'), self.at, 1)
    }

    fn backslash(&mut self) -> Result<(), SyntaxError> {
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
                }
            }
            return Ok(());
        }
        if tables::is_space(name) {
            self.at = after;
            self.spaced = true;
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
            Some(Kind::Number(_) | Kind::Close(_))
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

/// What a run of letters means by itself.
pub(super) fn is_named(run: &str) -> bool {
    named(run).is_some()
}

fn named(run: &str) -> Option<Kind<'static>> {
    Some(match run {
        "pi" => Kind::Command("pi"),
        "sqrt" => Kind::Command("sqrt"),
        "cbrt" => Kind::Command("cbrt"),
        "infinity" | "infty" | "oo" | "Infinity" => Kind::Command("infty"),
        "and" => Kind::Text("and"),
        "or" => Kind::Text("or"),
        _ => {
            if let Some(function) = tables::function(run, false) {
                Kind::Function(function)
            } else {
                Kind::Named(tables::plain_letter(run)?)
            }
        }
    })
}
