//! From text to tokens: one pass, no look-behind beyond a byte.

use super::super::limits;
use super::super::tree::{Number, Operator};
use super::token::{Kind, Options, Token, Tokens};
use super::{number, tables, SyntaxError};

/// Split a text into tokens with their brackets matched.
pub(super) fn tokens(text: &str, options: Options) -> Result<Tokens<'_>, SyntaxError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        spaced: false,
        apart: false,
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

#[expect(
    clippy::struct_excessive_bools,
    reason = "marks of the next token, and of the text"
)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) spaced: bool,
    pub(super) apart: bool,
    /// Outside of `$..$`, in a text that has some.
    pub(super) words: bool,
    pub(super) groups: bool,
    pub(super) mixed: bool,
    /// Open brackets: the token, and the value of `arguments` outside.
    pub(super) open: Vec<(usize, u8)>,
    /// Single-token arguments that a command still takes: `\frac12`.
    pub(super) arguments: u8,
    pub(super) tokens: Tokens<'a>,
}

impl<'a> Lexer<'a> {
    pub(super) fn rest(&self) -> &'a str {
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
            b'.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' => self.letters(),
            b'[' if self.reversed() => self.close(b'(', 1),
            b']' if self.open.is_empty() => self.open(b'(', 1),
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

    pub(super) fn push(
        &mut self,
        kind: Kind<'a>,
        start: usize,
        length: usize,
    ) -> Result<(), SyntaxError> {
        if self.tokens.list.len() >= limits::TOKENS {
            return Err(SyntaxError::Limit);
        }
        self.at = start + length;
        self.tokens.list.push(Token {
            kind,
            spaced: std::mem::take(&mut self.spaced),
            glued: false,
            apart: std::mem::take(&mut self.apart),
            plain: false,
            start,
            end: self.at,
            partner: usize::MAX,
        });
        Ok(())
    }

    pub(super) fn argument_taken(&mut self) {
        self.arguments = self.arguments.saturating_sub(1);
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
        let zero = self.rest().starts_with('0')
            && self
                .rest()
                .as_bytes()
                .get(1)
                .is_some_and(u8::is_ascii_digit);
        if zero
            && self
                .tokens
                .list
                .last()
                .is_some_and(|token| token.kind == Kind::Mark(b','))
        {
            // `1,00,000` and `1, 000` are no lists.
            return Err(SyntaxError::Unreadable);
        }
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
        let tail = self.text.get(literal.end..).unwrap_or("");
        if commas && is_decimal_comma(source, tail) {
            return Err(SyntaxError::Unreadable);
        }
        self.tokens.grouped |=
            source.bytes().any(|b| b == b',') && !source.contains("{,}") && !source.contains("\\!");
        self.literal(literal.number, literal.plain, start, literal.end - start)
    }

    pub(super) fn literal(
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
        if let Some(half) = ["am", "pm"].into_iter().find(|half| {
            let (first, dotted) = (half.as_bytes().first(), rest.as_bytes());
            dotted.first().map(u8::to_ascii_lowercase).as_ref() == first
                && dotted.get(1) == Some(&b'.')
                && matches!(dotted.get(2), Some(b'm' | b'M'))
                && !dotted.get(3).is_some_and(u8::is_ascii_alphabetic)
        }) {
            let point = usize::from(rest.as_bytes().get(3) == Some(&b'.'));
            return self.push(Kind::Text(half), start, 3 + point);
        }
        if self.words {
            // Words between maths, up to what is no word.
            let bytes = rest.as_bytes();
            let letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
            let end = (0..bytes.len())
                .find(|&at| match bytes.get(at) {
                    Some(b' ' | b'\'' | b'-' | b'\n') => false,
                    // `p.m.`
                    Some(b'.') => !(at > 0 && letter(at - 1) && letter(at + 1)),
                    _ => !letter(at),
                })
                .unwrap_or(bytes.len());
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
        if length > 1 && tail.starts_with('{') && !is_named(run) {
            // A command without its backslash.
            if !(tables::is_fraction(run) || tables::is_binomial(run)) {
                return Err(SyntaxError::Unreadable);
            }
            self.push(Kind::Command(run), start, length)?;
            self.argument_taken();
            self.arguments = 2;
            return Ok(());
        }
        if length > 1 && self.arguments == 0 {
            if let Some(kind) = named(run) {
                return self.push(kind, start, length);
            }
            // `xsqrt(2)`: up to two letters and a function.
            for split in 1..length.min(3) {
                let (head, name) = run.split_at(split);
                let function = name.len() > 1
                    && matches!(
                        named(name),
                        Some(Kind::Function(_) | Kind::Command("sqrt" | "cbrt"))
                    );
                if let (true, true, Some(kind)) = (function, tail.starts_with('('), named(name)) {
                    self.run(head, start)?;
                    return self.push(kind, start + split, name.len());
                }
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
        self.run(run, start)
    }

    /// Letters one by one, or a name.
    fn run(&mut self, run: &'a str, start: usize) -> Result<(), SyntaxError> {
        if let Some(kind) = named(run).filter(|_| self.arguments == 0) {
            return self.push(kind, start, run.len());
        }
        for at in 0..run.len() {
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

    /// Whether the last token wants another operand: `$a+$ $b$`.
    pub(super) fn unfinished(&self) -> bool {
        let last = self.tokens.list.last().map(|token| token.kind);
        matches!(
            last,
            Some(Kind::Mark(b'+' | b'-' | b'*' | b'/') | Kind::Relation(_) | Kind::Open(_))
        )
    }

    fn dollar(&mut self) -> Result<(), SyntaxError> {
        if self.mixed {
            let length = if self.rest().starts_with("$$") { 2 } else { 1 };
            self.at += length;
            self.words = !self.words;
            self.spaced = true;
            self.apart |= !self.words && !self.unfinished();
            return Ok(());
        }
        self.push(Kind::Mark(b'$'), self.at, 1)
    }
}

/// `1.234,5`: a list, or a number with the marks of other countries.
fn is_decimal_comma(number: &str, tail: &str) -> bool {
    let grouped = number.split_once('.').is_some_and(|(whole, group)| {
        (1..=3).contains(&whole.len()) && !whole.starts_with('0') && group.len() == 3
    });
    let behind = tail.strip_prefix(',').unwrap_or("");
    let end = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    grouped && end.len() < behind.len() && !end.starts_with('.')
}

/// What a run of letters means by itself.
pub(super) fn is_named(run: &str) -> bool {
    named(run).is_some()
}

pub(super) fn named(run: &str) -> Option<Kind<'static>> {
    Some(match run {
        "pi" => Kind::Command("pi"),
        "sqrt" => Kind::Command("sqrt"),
        "cbrt" => Kind::Command("cbrt"),
        "infinity" | "infty" | "inf" | "oo" | "Infinity" => Kind::Command("infty"),
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
