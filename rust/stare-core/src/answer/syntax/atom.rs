//! Atoms: numbers, symbols, roots, fractions, functions with their arguments.

use dashu_ratio::RBig;

use super::super::tree::{Constant, Expr, Function, Number};
use super::parser::{Parsed, Parser};
use super::token::Kind;
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
        if self.is(Kind::Begin("array")) || self.is(Kind::Begin("matrix")) {
            let determinant = self.determinant()?;
            return if self.eat(Kind::Mark(b'|')) {
                Ok(determinant)
            } else {
                Err(SyntaxError::Unreadable)
            };
        }
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

    /// Expressions between commas.
    pub(super) fn arguments(&mut self, from: usize, to: usize) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        for (from, to) in self.split(from, to, |kind| kind == Kind::Mark(b',')) {
            arguments.push(self.whole(from, to)?);
        }
        Ok(arguments)
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
            "boxed" | "fbox" => {
                let content = self.argument()?;
                self.finished(content)
            }
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
            _ if tables::is_font(name) => self.font(name),
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
}
