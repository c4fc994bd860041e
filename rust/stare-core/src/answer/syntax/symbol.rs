//! Symbols: letters with subscripts, primes and accents, and what they are applied to.

use dashu_ratio::RBig;

use super::super::tree::{Constant, Expr};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::{tables, SyntaxError};

/// Names of numbers of choices and of arrangements.
const COUNTS: [char; 3] = ['C', 'P', 'A'];

/// Whether `C(5, 2)` may be the number of choices, a point or a function.
fn counts(name: &str, arguments: &[Expr]) -> bool {
    let pair = match arguments {
        [Expr::Number(_), Expr::Number(_)] => true,
        [Expr::Symbol(all), Expr::Symbol(_)] => matches!(&**all, "n" | "m" | "N"),
        _ => false,
    };
    pair && name.strip_prefix(COUNTS) == Some("")
}

/// A token of a subscript without its wrapper: `\max`, `\text{1}`, `\text{max}`.
fn unwrapped(source: &str) -> &str {
    let Some(name) = source.strip_prefix('\\') else {
        return source;
    };
    match name.split_once('{') {
        Some((wrapper, inner)) if tables::is_text(wrapper) => {
            inner.strip_suffix('}').unwrap_or(inner).trim()
        }
        None if tables::function(name, true).is_some() => name,
        _ => source,
    }
}

impl Parser<'_> {
    pub(super) fn letter(&mut self, run: &str) -> Parsed<Expr> {
        let first = self.token(self.at).is_some_and(|token| !token.glued);
        if first && !tables::is_product(run) {
            return Err(SyntaxError::Unreadable);
        }
        self.at += 1;
        let name = run.get(..1).ok_or(SyntaxError::Unreadable)?;
        self.symbol(name.to_owned())
    }

    /// A symbol with its subscript and primes; what it is applied to.
    pub(super) fn symbol(&mut self, mut name: String) -> Parsed<Expr> {
        let bare = self.decorate(&mut name)?;
        if bare && !self.bound.iter().any(|bound| **bound == *name) {
            match name.as_str() {
                "e" => return Ok(Expr::Constant(Constant::E)),
                "i" if !self.vectors => return Ok(Expr::Constant(Constant::I)),
                _ => {}
            }
        }
        if self.is(Kind::Open(b'(')) && self.tight() {
            let open = self.at;
            let close = self.closing(open)?;
            if name == "O" {
                // Equal orders of growth are written in many ways.
                return Err(SyntaxError::Unreadable);
            }
            if self.is_application(&name, open, close) {
                let before = open.checked_sub(1).and_then(|at| self.token(at));
                if before.is_some_and(|token| token.glued) && !name.starts_with(['f', 'g', 'h']) {
                    return Err(SyntaxError::Unreadable);
                }
                let arguments = self.arguments(open + 1, close)?;
                self.at = close + 1;
                if counts(&name, &arguments) {
                    return Err(SyntaxError::Unreadable);
                }
                return Ok(Expr::Apply(name.into(), arguments));
            }
        }
        if self.is_count(&name) {
            return Err(SyntaxError::Unreadable);
        }
        Ok(Expr::Symbol(name.into()))
    }

    /// Whether `C_5^2` or `C_n^k` starts before the cursor: a number of choices or a power.
    fn is_count(&self, name: &str) -> bool {
        let Some(lower) = name
            .strip_prefix(COUNTS)
            .and_then(|rest| rest.strip_prefix('_'))
        else {
            return false;
        };
        if !self.is(Kind::Mark(b'^')) {
            return false;
        }
        let braces = self.token(self.at + 1).map(|token| token.kind) == Some(Kind::Open(b'{'));
        let exponent = self
            .token(self.at + 1 + usize::from(braces))
            .and_then(|token| self.number(token.kind));
        match lower.trim_matches(['{', '}']).parse::<u32>() {
            Ok(lower) => exponent.is_some_and(|upper| upper.value <= RBig::from(lower)),
            Err(_) => name.starts_with("C_n"),
        }
    }

    /// Subscripts, primes and starred superscripts go into the name; false if there were some.
    pub(super) fn decorate(&mut self, name: &mut String) -> Parsed<bool> {
        let mut bare = true;
        loop {
            self.step()?;
            match self.peek() {
                Some(Kind::Mark(b'_')) => {
                    self.at += 1;
                    let subscript = self.subscript()?;
                    name.push('_');
                    if subscript.len() == 1 {
                        name.push_str(&subscript);
                    } else {
                        name.push('{');
                        name.push_str(&subscript);
                        name.push('}');
                    }
                }
                Some(Kind::Mark(b'\'')) => {
                    self.at += 1;
                    name.push('\'');
                }
                Some(Kind::Mark(b'^')) => {
                    let Some((mark, length)) = self.raised_mark() else {
                        return Ok(bare);
                    };
                    self.at += length;
                    name.push_str(&mark);
                }
                _ => return Ok(bare),
            }
            bare = false;
        }
    }

    /// `^\prime`, `^{\prime\prime}`, `^*`, `^{-1}(`: a superscript that is no power.
    fn raised_mark(&self) -> Option<(String, usize)> {
        let kind = |offset: usize| self.token(self.at + offset).map(|token| token.kind);
        let mark = |kind: Option<Kind<'_>>| match kind? {
            Kind::Command("prime") | Kind::Mark(b'\'') => Some("'"),
            Kind::Command("star" | "ast") | Kind::Mark(b'*') => Some("^*"),
            Kind::Command("dagger") => Some("^\\dagger"),
            Kind::Command("perp") => Some("^\\perp"),
            _ => None,
        };
        if kind(1) != Some(Kind::Open(b'{')) {
            return mark(kind(1)).map(|text| (text.to_owned(), 2));
        }
        let mut text = String::new();
        let mut offset = 2;
        while let Some(next) = mark(kind(offset)) {
            text.push_str(next);
            offset += 1;
        }
        if text.is_empty() {
            // `f^{-1}(x)` is the inverse function, `a^{-1}` a power.
            let inverse = kind(2) == Some(Kind::Mark(b'-'))
                && kind(4) == Some(Kind::Close(b'{'))
                && kind(5) == Some(Kind::Open(b'('))
                && kind(3)
                    .and_then(|k| self.number(k))
                    .is_some_and(|n| n.value == RBig::ONE);
            let function = matches!(
                self.at.checked_sub(1).and_then(|at| self.token(at)).map(|t| t.kind),
                Some(Kind::Letter(run)) if run.len() == 1 && matches!(run, "f" | "g" | "h" | "F" | "G" | "H" | "k")
            );
            return (inverse && function).then(|| ("^{-1}".to_owned(), 5));
        }
        (kind(offset) == Some(Kind::Close(b'{'))).then_some((text, offset + 1))
    }

    /// The text of a subscript, without space and wrappers.
    fn subscript(&mut self) -> Parsed<String> {
        let open = self.at;
        let (from, to) = if self.is(Kind::Open(b'{')) {
            (open + 1, self.closing(open)?)
        } else {
            (open, open + 1)
        };
        let mut text = String::new();
        for at in from..to {
            let token = self.token(at).ok_or(SyntaxError::Unreadable)?;
            match token.kind {
                Kind::Letter(run) => text.push_str(run.get(..1).unwrap_or("")),
                Kind::Text(words) => text.push_str(words),
                Kind::Named(name) => text.push_str(name),
                Kind::Open(b'{') | Kind::Close(b'{') => {}
                _ => {
                    let source = self.tokens.text.get(token.start..token.end).unwrap_or("");
                    text.push_str(unwrapped(source));
                }
            }
        }
        self.at = if from == open { to } else { to + 1 };
        if text.is_empty() {
            Err(SyntaxError::Unreadable)
        } else {
            Ok(text)
        }
    }

    /// Whether `name(..)` applies a function; else it is a product.
    fn is_application(&self, name: &str, open: usize, close: usize) -> bool {
        let several = (open + 1..close)
            .filter_map(|at| self.token(at))
            .any(|token| token.kind == Kind::Mark(b','));
        let single = close == open + 2
            && matches!(
                self.token(open + 1).map(|token| token.kind),
                Some(Kind::Number(_) | Kind::Letter(_) | Kind::Named(_))
            );
        let base = name.split(['_', '\'', '^']).next().unwrap_or(name);
        let capital = base.len() == 1 && base.bytes().all(|b| b.is_ascii_uppercase());
        let surely = matches!(base, "f" | "g" | "Gamma" | "zeta" | "Phi" | "beta")
            || name.ends_with("^{-1}")
            || name.ends_with('\'');
        let likely = capital || matches!(base, "h" | "u" | "phi" | "psi" | "mu" | "sigma" | "tau");
        several || surely || (likely && (single || self.applied_elsewhere(base)))
    }

    /// Whether a capital letter stands before a single letter or number in brackets somewhere: then
    /// it is the name of a function everywhere.
    fn applied_elsewhere(&self, name: &str) -> bool {
        let list = &self.tokens.list;
        list.windows(3).any(|window| {
            let [letter, open, argument] = window else {
                return false;
            };
            matches!(letter.kind, Kind::Letter(run) if run == name)
                && open.kind == Kind::Open(b'(')
                && !open.spaced
                && matches!(argument.kind, Kind::Number(_) | Kind::Letter(_))
                && list
                    .get(open.partner)
                    .is_some_and(|close| close.start == argument.end)
        })
    }

    /// `\operatorname{erf}(x)`.
    pub(super) fn applied_text(&mut self, text: &str) -> Parsed<Expr> {
        let name: String = text.to_owned();
        self.at += 1;
        let word = name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphabetic());
        let mut name = name;
        self.decorate(&mut name)?;
        if !word || !self.is(Kind::Open(b'(')) {
            return Err(SyntaxError::Unreadable);
        }
        let close = self.closing(self.at)?;
        let arguments = self.arguments(self.at + 1, close)?;
        self.at = close + 1;
        Ok(Expr::Apply(name.into(), arguments))
    }

    /// `\mathbf{x}`: the same symbol, but unit vectors are no constants.
    pub(super) fn font(&mut self, command: &str) -> Parsed<Expr> {
        let open = self.at;
        let inner = if self.is(Kind::Open(b'{')) {
            open + 1
        } else {
            open
        };
        if let Some(Kind::Letter(run)) = self.token(inner).map(|token| token.kind) {
            let single = inner == open || self.closing(open)? == open + 2;
            if single {
                self.at = if inner == open { open + 1 } else { open + 3 };
                let mut name = run.get(..1).unwrap_or("").to_owned();
                self.decorate(&mut name)?;
                return Ok(Expr::Symbol(name.into()));
            }
            if command.starts_with("over") {
                // `\overrightarrow{AB}` is no product.
                return Err(SyntaxError::Unreadable);
            }
        }
        self.argument()
    }

    /// `\bar{x}` and others: another symbol.
    pub(super) fn accent(&mut self, accent: &str) -> Parsed<Expr> {
        let inner = self.argument()?;
        let name = match inner {
            Expr::Symbol(name) => name,
            Expr::Constant(Constant::I) => "i".into(),
            Expr::Constant(Constant::E) => "e".into(),
            _ => return Err(SyntaxError::Unreadable),
        };
        let accent = match accent {
            "overline" => "bar",
            "widehat" => "hat",
            "widetilde" => "tilde",
            other => other,
        };
        let vector = accent == "hat" && matches!(&*name, "i" | "j" | "k");
        let mut name = if vector {
            name.into_string()
        } else {
            format!("\\{accent}{{{name}}}")
        };
        self.decorate(&mut name)?;
        Ok(Expr::Symbol(name.into()))
    }

    pub(super) fn blackboard(&mut self, command: &str) -> Parsed<Expr> {
        let letter = if command == "mathbb" {
            self.blackboard_letter()?
        } else {
            command.to_owned()
        };
        let mut name = format!("\\mathbb{{{letter}}}");
        self.decorate(&mut name)?;
        if self.is(Kind::Open(b'(')) && self.tight() {
            let close = self.closing(self.at)?;
            let arguments = self.arguments(self.at + 1, close)?;
            self.at = close + 1;
            return Ok(Expr::Apply(name.into(), arguments));
        }
        Ok(Expr::Symbol(name.into()))
    }

    /// The letter of `\mathbb{R}`.
    pub(super) fn blackboard_letter(&mut self) -> Parsed<String> {
        let braces = self.eat(Kind::Open(b'{'));
        let Some(Kind::Letter(run)) = self.peek() else {
            return Err(SyntaxError::Unreadable);
        };
        self.at += 1;
        if braces && !self.eat(Kind::Close(b'{')) {
            return Err(SyntaxError::Unreadable);
        }
        Ok(run.get(..1).unwrap_or("").to_owned())
    }
}
