//! Functions with their arguments, in brackets or without.

use super::super::tree::{Constant, Expr, Function};
use super::atom::integer;
use super::expr::single_or;
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

impl Parser<'_> {
    /// A function behind its name.
    pub(super) fn call(&mut self, function: Function) -> Parsed<Expr> {
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
        let argument = self.open_arguments(function)?;
        if !bracketed {
            self.open_end = self.at;
        }
        Ok(vec![argument])
    }

    /// The argument of a function without brackets: factors up to what surely is no part of it.
    fn open_arguments(&mut self, function: Function) -> Parsed<Expr> {
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
        // `\cos \sqrt2 x`: a constant goes with the letters behind it.
        let coefficient = is_trigonometric(function) && factors.first().is_some_and(is_constant);
        loop {
            match self.peek() {
                Some(Kind::Letter(_) | Kind::Named(_) | Kind::Command("pi"))
                    if opening || number || coefficient =>
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
                // `\ln \frac{x}{2} y`: inside or outside.
                Some(_) if self.starts_factor() => return Err(SyntaxError::Unreadable),
                Some(_) => break,
            }
        }
        Ok(single_or(factors, Expr::Product))
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

fn is_trigonometric(function: Function) -> bool {
    matches!(
        function,
        Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
    )
}

/// A constant made of roots, quotients and products of numbers.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) | Expr::Constant(Constant::Pi) => true,
        Expr::Quotient(above, below) => is_constant(above) && is_constant(below),
        Expr::Product(factors) => factors.iter().all(is_constant),
        Expr::Call(Function::Root, arguments) => arguments.iter().all(is_constant),
        _ => false,
    }
}

/// Functions whose argument may stand without brackets.
pub(super) fn takes_open_argument(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::Sin
            | F::Cos
            | F::Tan
            | F::Cot
            | F::Sec
            | F::Csc
            | F::Arcsin
            | F::Arccos
            | F::Arctan
            | F::Arccot
            | F::Arcsec
            | F::Arccsc
            | F::Sinh
            | F::Cosh
            | F::Tanh
            | F::Coth
            | F::Sech
            | F::Csch
            | F::Arsinh
            | F::Arcosh
            | F::Artanh
            | F::Ln
            | F::Log
            | F::LogAny
            | F::Exp
            | F::Re
            | F::Im
            | F::Arg
    )
}
