//! Atoms: numbers, symbols, roots, fractions, functions with their arguments.

use dashu_ratio::RBig;

use super::super::tree::{Constant, Expr, Function, Number};
use super::expr::{single_or, takes_open_argument, Parsed, Parser};
use super::lex::Kind;
use super::{tables, SyntaxError};

/// Commands that are an atom or start one.
pub(super) fn is_atom(name: &str) -> bool {
    tables::is_fraction(name)
        || tables::is_binomial(name)
        || tables::is_font(name)
        || tables::is_accent(name)
        || matches!(
            name,
            "sqrt"
                | "cbrt"
                | "pi"
                | "infty"
                | "sum"
                | "prod"
                | "int"
                | "lim"
                | "mathbb"
                | "boxed"
                | "fbox"
                | "partial"
                | "nabla"
                | "R"
                | "Z"
                | "Q"
                | "N"
                | "C"
        )
}

/// Whether the content of `\text{..}` is a symbol: one letter, or a name that is applied.
pub(super) fn is_text_atom(text: &str) -> bool {
    text.len() == 1 && text.bytes().all(|b| b.is_ascii_alphabetic())
}

pub(super) fn integer(value: u8) -> Expr {
    Expr::Number(Number {
        value: RBig::from(value),
        decimal: None,
    })
}

impl<'a> Parser<'a> {
    pub(super) fn atom(&mut self) -> Parsed<Expr> {
        self.step()?;
        let kind = self.peek().ok_or(SyntaxError::Unreadable)?;
        match kind {
            Kind::Number(_) => {
                let number = self.number(kind).ok_or(SyntaxError::Unreadable)?;
                self.at += 1;
                if self.is(Kind::Mark(b'_')) || self.is(Kind::Mark(b'\'')) {
                    return Err(SyntaxError::Unreadable);
                }
                Ok(Expr::Number(number))
            }
            Kind::Letter(run) => self.letter(run),
            Kind::Named(name) => {
                self.at += 1;
                self.symbol(name.to_owned())
            }
            Kind::Text(text) if is_text_atom(text) => {
                self.at += 1;
                self.symbol(text.to_owned())
            }
            Kind::Text(text) => self.applied_text(text),
            Kind::Function(function) => {
                self.at += 1;
                self.deeper(|parser| parser.call(function))
            }
            Kind::Open(bracket) => self.bracket(bracket),
            Kind::Mark(b'|') if !self.bars => self.modulus(),
            Kind::Begin("vmatrix") => self.determinant(),
            Kind::Command(name) => self.command(name),
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn bracket(&mut self, bracket: u8) -> Parsed<Expr> {
        match bracket {
            b'(' | b'[' | b'{' => {
                let close = self.closing(self.at)?;
                let same = self
                    .token(close)
                    .is_some_and(|t| t.kind == Kind::Close(bracket));
                if !same {
                    return Err(SyntaxError::Unreadable);
                }
                self.group()
            }
            b'F' => Ok(Expr::Call(Function::Floor, vec![self.group()?])),
            b'C' => Ok(Expr::Call(Function::Ceil, vec![self.group()?])),
            b'A' => Ok(Expr::Call(Function::Abs, vec![self.group()?])),
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn modulus(&mut self) -> Parsed<Expr> {
        self.at += 1;
        self.bars = true;
        let content = self.deeper(Self::sum);
        self.bars = false;
        let content = content?;
        if self.eat(Kind::Mark(b'|')) {
            Ok(Expr::Call(Function::Abs, vec![content]))
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    fn determinant(&mut self) -> Parsed<Expr> {
        self.at += 1;
        let open = self.at;
        let close = self.closing(open)?;
        let (rows, columns, cells) = self.cells(open + 1, close)?;
        self.at = close + 1;
        if rows == columns {
            Ok(Expr::Call(Function::Determinant, cells))
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    fn letter(&mut self, run: &str) -> Parsed<Expr> {
        let first = self.token(self.at).is_some_and(|token| !token.glued);
        if first && !tables::is_product(run) {
            return Err(SyntaxError::Unreadable);
        }
        self.at += 1;
        let name = run.get(..1).ok_or(SyntaxError::Unreadable)?;
        self.symbol(name.to_owned())
    }

    /// A symbol with its subscript and primes; what it is applied to.
    fn symbol(&mut self, mut name: String) -> Parsed<Expr> {
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
            if self.is_application(&name, open, close) {
                let arguments = self.arguments(open + 1, close)?;
                self.at = close + 1;
                return Ok(Expr::Apply(name.into(), arguments));
            }
        }
        Ok(Expr::Symbol(name.into()))
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
                _ => text.push_str(self.tokens.text.get(token.start..token.end).unwrap_or("")),
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
        let function = name.starts_with(['f', 'g', 'h', 'u'])
            || name.starts_with(|c: char| c.is_ascii_uppercase())
            || name.contains(['\'', '^'])
            || matches!(name, "phi" | "psi" | "mu" | "sigma" | "tau");
        let special = matches!(name, "Gamma" | "zeta" | "Phi" | "beta");
        several
            || special
            || name.ends_with("^{-1}")
            || name.ends_with('\'')
            || (single && function)
    }

    /// `\operatorname{erf}(x)`.
    fn applied_text(&mut self, text: &str) -> Parsed<Expr> {
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

    /// Expressions between commas.
    pub(super) fn arguments(&mut self, from: usize, to: usize) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        for (from, to) in self.split(from, to, |kind| kind == Kind::Mark(b',')) {
            arguments.push(self.whole(from, to)?);
        }
        Ok(arguments)
    }

    /// A function behind its name.
    fn call(&mut self, function: Function) -> Parsed<Expr> {
        let mut power = None;
        let mut base = (function == Function::Log).then(|| integer(10));
        for _ in 0..2 {
            if self.is(Kind::Mark(b'^')) && power.is_none() {
                self.at += 1;
                power = Some(self.exponent()?);
            } else if self.is(Kind::Mark(b'_'))
                && matches!(function, Function::LogAny | Function::Log)
            {
                self.at += 1;
                base = Some(if self.is(Kind::Open(b'{')) {
                    self.group()?
                } else {
                    self.atom()?
                });
            }
        }
        if self.is(Kind::Mark(b'_')) {
            return Err(SyntaxError::Unreadable);
        }
        let (function, power) = inverse(function, power)?;
        let arguments = self.call_arguments(function)?;
        let call = match (function, base) {
            (Function::Log | Function::LogAny, Some(base)) => {
                let mut arguments = arguments;
                arguments.push(base);
                Expr::Call(Function::Log, arguments)
            }
            _ => Expr::Call(function, arguments),
        };
        Ok(match power {
            Some(power) => Expr::Power(Box::new(call), Box::new(power)),
            None => call,
        })
    }

    fn call_arguments(&mut self, function: Function) -> Parsed<Vec<Expr>> {
        if let Some(Kind::Open(bracket @ (b'(' | b'{' | b'[' | b'S'))) = self.peek() {
            let open = self.at;
            let close = self.closing(open)?;
            if self.token(close).map(|t| t.kind) != Some(Kind::Close(bracket)) {
                return Err(SyntaxError::Unreadable);
            }
            let arguments = self.arguments(open + 1, close)?;
            self.at = close + 1;
            let few = function.arity().is_some_and(|_| arguments.len() != 1);
            let sets = bracket == b'S' && function.arity().is_some();
            if few || sets {
                return Err(SyntaxError::Unreadable);
            }
            return Ok(arguments);
        }
        if !takes_open_argument(function) {
            return Err(SyntaxError::Unreadable);
        }
        let bracketed = matches!(self.peek(), Some(Kind::Mark(b'|') | Kind::Open(_)));
        let argument = self.open_arguments()?;
        if !bracketed {
            self.open_end = self.at;
        }
        Ok(vec![argument])
    }

    /// The argument of a function without brackets: factors up to what surely is no part of it.
    fn open_arguments(&mut self) -> Parsed<Expr> {
        if self.is(Kind::Mark(b'|')) || matches!(self.peek(), Some(Kind::Open(_))) {
            return self.factor();
        }
        if self.is(Kind::Mark(b'-')) {
            return Err(SyntaxError::Unreadable);
        }
        let mut number = matches!(self.peek(), Some(Kind::Number(_)));
        let simple = |kind: Option<Kind<'_>>| {
            matches!(
                kind,
                Some(Kind::Number(_) | Kind::Letter(_) | Kind::Named(_) | Kind::Command("pi"))
            )
        };
        let opening = simple(self.peek());
        let mut factors = vec![self.factor()?];
        loop {
            let next = self.peek();
            match next {
                Some(Kind::Letter(_) | Kind::Named(_) | Kind::Command("pi"))
                    if opening || number =>
                {
                    let factor = self.factor()?;
                    if factor == Expr::Constant(Constant::I) && factors.len() == 1 && number {
                        // `\ln 3 i`
                        return Err(SyntaxError::Unreadable);
                    }
                    factors.push(factor);
                    number = false;
                }
                Some(Kind::Function(_)) | None => break,
                Some(Kind::Letter(_) | Kind::Named(_)) => {
                    // `\cos \frac{x}{2} y`: inside or outside.
                    return Err(SyntaxError::Unreadable);
                }
                Some(Kind::Command("pi")) => factors.push(self.factor()?),
                Some(_) if self.starts_factor() => return Err(SyntaxError::Unreadable),
                Some(_) => break,
            }
        }
        Ok(single_or(factors, Expr::Product))
    }

    /// One argument of a command: a group, or a single token.
    pub(super) fn argument(&mut self) -> Parsed<Expr> {
        if self.is(Kind::Open(b'{')) {
            self.group()
        } else {
            self.deeper(Self::atom)
        }
    }

    fn command(&mut self, name: &'a str) -> Parsed<Expr> {
        let start = self.at;
        self.at += 1;
        match name {
            "pi" => Ok(Expr::Constant(Constant::Pi)),
            "infty" => Ok(Expr::Constant(Constant::Infinity)),
            "top" | "intercal" => Ok(Expr::Symbol("T".into())),
            "sqrt" => self.root(),
            "cbrt" => Ok(Expr::Call(
                Function::Root,
                vec![self.argument()?, integer(3)],
            )),
            "boxed" | "fbox" => self.argument(),
            "sum" | "prod" | "int" | "lim" => self.bound(name),
            "mathbb" | "R" | "Z" | "Q" | "N" | "C" => self.blackboard(name),
            "partial" | "nabla" => {
                let mut symbol = format!("\\{name}");
                self.decorate(&mut symbol)?;
                Ok(Expr::Symbol(symbol.into()))
            }
            _ if tables::is_fraction(name) => self.fraction(start),
            _ if tables::is_binomial(name) => Ok(Expr::Call(
                Function::Binomial,
                vec![self.argument()?, self.argument()?],
            )),
            _ if tables::is_font(name) => self.font(),
            _ if tables::is_accent(name) => self.accent(name),
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn root(&mut self) -> Parsed<Expr> {
        let mut degree = integer(2);
        if self.is(Kind::Open(b'[')) {
            degree = self.group()?;
        }
        if let Some(token) = self.token(self.at) {
            // `\sqrt13` is the root of 1 in LaTeX.
            if matches!(token.kind, Kind::Number(_)) && token.end - token.start > 1 {
                return Err(SyntaxError::Unreadable);
            }
        }
        Ok(Expr::Call(Function::Root, vec![self.argument()?, degree]))
    }

    fn fraction(&mut self, start: usize) -> Parsed<Expr> {
        if let Some(derivative) = self.derivative(start)? {
            return Ok(derivative);
        }
        let above = self.argument()?;
        let below = self.argument()?;
        Ok(Expr::Quotient(Box::new(above), Box::new(below)))
    }

    /// `\mathbf{x}`: the same symbol, but unit vectors are no constants.
    fn font(&mut self) -> Parsed<Expr> {
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
        }
        self.argument()
    }

    /// `\bar{x}` and others: another symbol.
    fn accent(&mut self, accent: &str) -> Parsed<Expr> {
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

    fn blackboard(&mut self, command: &str) -> Parsed<Expr> {
        let letter = if command == "mathbb" {
            self.blackboard_letter()?
        } else {
            command.to_owned()
        };
        let mut name = format!("\\mathbb{{{letter}}}");
        self.decorate(&mut name)?;
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

/// `\sin^{-1}` is the inverse function; other negative powers of functions are not read.
fn inverse(function: Function, power: Option<Expr>) -> Parsed<(Function, Option<Expr>)> {
    use Function as F;
    const INVERSES: [(Function, Function); 9] = [
        (F::Sin, F::Arcsin),
        (F::Cos, F::Arccos),
        (F::Tan, F::Arctan),
        (F::Cot, F::Arccot),
        (F::Sec, F::Arcsec),
        (F::Csc, F::Arccsc),
        (F::Sinh, F::Arsinh),
        (F::Cosh, F::Arcosh),
        (F::Tanh, F::Artanh),
    ];
    let Some(Expr::Negate(exponent)) = &power else {
        return Ok((function, power));
    };
    let found = INVERSES.iter().find(|&&(known, _)| known == function);
    match found {
        Some(&(_, inverse)) if **exponent == integer(1) => Ok((inverse, None)),
        _ => Err(SyntaxError::Unreadable),
    }
}
