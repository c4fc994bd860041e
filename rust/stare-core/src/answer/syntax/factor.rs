//! Factors: atoms with their powers, factorials, degrees and percent signs.

use super::super::tree::{Constant, Expr, Function};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

impl Parser<'_> {
    /// A factor behind `*` or `/`, which may have a sign: `3 * -2`.
    pub(super) fn signed_factor(&mut self) -> Parsed<Expr> {
        if self.eat(Kind::Mark(b'-')) {
            return Ok(Expr::Negate(Box::new(self.factor()?)));
        }
        self.factor()
    }

    /// An atom with its powers, factorials, degrees, percent.
    pub(super) fn factor(&mut self) -> Parsed<Expr> {
        let start = self.at;
        let mut base = self.atom()?;
        loop {
            self.step()?;
            match self.peek() {
                Some(Kind::Mark(b'^')) => {
                    if self.eat_degrees() {
                        base = Expr::Call(Function::Degrees, vec![base]);
                        continue;
                    }
                    if matches!(base, Expr::Power(..)) && self.at > start && !self.after_bracket() {
                        return Err(SyntaxError::Unreadable);
                    }
                    self.at += 1;
                    let open = self.is(Kind::Open(b'{'));
                    let exponent = self.exponent()?;
                    let tail = matches!(self.peek(), Some(Kind::Letter(_) | Kind::Named(_)))
                        && self.tight();
                    if base == Expr::Constant(Constant::E) && !open && tail {
                        // `e^2x`
                        return Err(SyntaxError::Unreadable);
                    }
                    base = Expr::Power(Box::new(base), Box::new(exponent));
                }
                Some(Kind::Mark(b'!')) => {
                    if matches!(
                        base,
                        Expr::Power(..)
                            | Expr::Call(Function::Factorial | Function::DoubleFactorial, _)
                    ) && !self.after_bracket()
                    {
                        return Err(SyntaxError::Unreadable);
                    }
                    self.at += 1;
                    let double = self.tight() && self.eat(Kind::Mark(b'!'));
                    let function = if double {
                        Function::DoubleFactorial
                    } else {
                        Function::Factorial
                    };
                    base = Expr::Call(function, vec![base]);
                }
                Some(Kind::Mark(b'%')) => {
                    self.at += 1;
                    base = Expr::Call(Function::Percent, vec![base]);
                }
                // `f \circ g` is no angle.
                Some(Kind::Command("circ")) if !matches!(base, Expr::Number(_)) => {
                    return Err(SyntaxError::Unreadable);
                }
                Some(Kind::Command("degree" | "circ" | "degrees")) => {
                    self.at += 1;
                    base = Expr::Call(Function::Degrees, vec![base]);
                }
                _ => return Ok(base),
            }
        }
    }

    fn after_bracket(&self) -> bool {
        let before = self
            .at
            .checked_sub(1)
            .and_then(|at| self.tokens.list.get(at));
        before.is_some_and(|token| matches!(token.kind, Kind::Close(b'(' | b'[')))
    }

    /// `^\circ`, `^{\circ}`.
    pub(super) fn eat_degrees(&mut self) -> bool {
        let kind = |offset: usize| self.token(self.at + offset).map(|token| token.kind);
        let circle =
            |kind: Option<Kind<'_>>| matches!(kind, Some(Kind::Command("circ" | "degree")));
        let length = if circle(kind(1)) {
            2
        } else if kind(1) == Some(Kind::Open(b'{'))
            && circle(kind(2))
            && kind(3) == Some(Kind::Close(b'{'))
        {
            4
        } else {
            return false;
        };
        self.at += length;
        true
    }

    /// What stands behind `^`.
    pub(super) fn exponent(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| {
            if parser.eat(Kind::Mark(b'-')) {
                return Ok(Expr::Negate(Box::new(parser.exponent()?)));
            }
            let braces = parser.is(Kind::Open(b'{'));
            let base = if braces {
                parser.group()?
            } else {
                parser.atom()?
            };
            if parser.is(Kind::Mark(b'^')) && !braces {
                parser.at += 1;
                let exponent = parser.exponent()?;
                return Ok(Expr::Power(Box::new(base), Box::new(exponent)));
            }
            Ok(base)
        })
    }
}
