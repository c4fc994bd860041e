//! Expressions: sums, products, quotients, powers, by precedence.
//!
//! Where a spelling has two likely readings that differ (`x/2y`, `\sin x/2`), it is refused.

use dashu_ratio::RBig;

use super::super::tree::{Expr, Number};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

/// What an implicit product may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Anything that a factor may follow.
    Free,
    /// A literal number.
    Number,
    /// A letter.
    Letter,
    /// A factorial.
    Factorial,
    /// A function whose argument has no brackets.
    OpenCall,
    /// A denominator behind a plain slash; true if it and what it divides are literal numbers.
    Slash(bool),
}

impl Parser<'_> {
    /// `a + b - c`.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        let mut terms = Vec::new();
        loop {
            let mut sign = self.sign();
            if sign.is_none() && !terms.is_empty() {
                break;
            }
            if !terms.is_empty() && matches!(sign, Some(Sign::Plus | Sign::Minus)) {
                // `14 + -1`, but `1--2` is a range.
                let range = sign == Some(Sign::Minus) && self.tight();
                if self.is(Kind::Mark(b'-')) && range {
                    return Err(SyntaxError::Unreadable);
                }
                if let Some(Sign::Minus) = self.sign() {
                    sign = Some(if sign == Some(Sign::Plus) {
                        Sign::Minus
                    } else {
                        Sign::Plus
                    });
                }
            }
            let term = self.product()?;
            terms.push(match sign {
                None | Some(Sign::Plus) => term,
                Some(Sign::Minus) => Expr::Negate(Box::new(term)),
                Some(Sign::Either(plus_first)) => Expr::PlusMinus {
                    plus_first,
                    term: Box::new(term),
                },
            });
        }
        Ok(single_or(terms, Expr::Sum))
    }

    fn sign(&mut self) -> Option<Sign> {
        let sign = match self.peek()? {
            Kind::Mark(b'+') => Sign::Plus,
            Kind::Mark(b'-') => Sign::Minus,
            Kind::Command("pm") => Sign::Either(true),
            Kind::Command("mp") => Sign::Either(false),
            _ => return None,
        };
        self.at += 1;
        Some(sign)
    }

    /// `a b / c * d`.
    pub(super) fn product(&mut self) -> Parsed<Expr> {
        let mut last = self.last_kind();
        let mut factors = vec![self.factor()?];
        last = self.behind(last);
        loop {
            self.step()?;
            if self.open_end == self.at {
                last = Last::OpenCall;
            }
            match self.peek() {
                Some(Kind::Mark(b'*')) => {
                    self.at += 1;
                    last = self.last_kind();
                    factors.push(self.signed_factor()?);
                    last = self.behind(last);
                }
                Some(Kind::Mark(b'/')) => {
                    self.at += 1;
                    if last == Last::OpenCall || self.differential(&factors) {
                        // `\sin x/2`, `dy/dx`.
                        return Err(SyntaxError::Unreadable);
                    }
                    let numbers = factors.len() == 1 && factors.first().is_some_and(is_number);
                    let below = self.signed_factor()?;
                    last = Last::Slash(numbers && is_number(&below));
                    let above = single_or(std::mem::take(&mut factors), Expr::Product);
                    factors.push(Expr::Quotient(Box::new(above), Box::new(below)));
                }
                Some(Kind::Letter("x" | "X")) if last == Last::Number && self.before_number() => {
                    self.at += 1;
                    last = Last::Number;
                    factors.push(self.factor()?);
                }
                Some(_) if self.starts_factor() => {
                    let power = matches!(factors.last(), Some(Expr::Power(base, _)) if is_function_name(base));
                    let iterated = power && self.is(Kind::Open(b'(')) && self.tight();
                    // `f^2(x)`: a power or an iterate.
                    if iterated || self.token(self.at).is_some_and(|token| token.apart) {
                        return Err(SyntaxError::Unreadable);
                    }
                    let next = self.last_kind();
                    let slashed = next == Last::Number;
                    if let Some(mixed) = self.mixed(&mut factors, last)? {
                        factors.push(mixed);
                        last = if slashed {
                            Last::Slash(false)
                        } else {
                            Last::Free
                        };
                        continue;
                    }
                    let power = self
                        .token(self.at + 1)
                        .is_some_and(|t| t.kind == Kind::Mark(b'^'));
                    let tight_digit =
                        next == Last::Number && last == Last::Letter && self.tight() && !power;
                    // `3 x 4`: a sign of multiplication or a variable.
                    let crossed =
                        next == Last::Number && last == Last::Letter && !power && self.crossed();
                    let number_after = next == Last::Number
                        && (matches!(last, Last::Number | Last::Slash(_))
                            || (last == Last::Factorial && !self.before_factorial()));
                    if tight_digit || crossed || number_after || last == Last::Slash(false) {
                        return Err(SyntaxError::Unreadable);
                    }
                    factors.push(self.factor()?);
                    last = self.behind(next);
                }
                _ => break,
            }
        }
        Ok(single_or(factors, Expr::Product))
    }

    /// Whether the token before the cursor is an `x` behind a number.
    fn crossed(&self) -> bool {
        let kind = |back: usize| {
            self.at
                .checked_sub(back)
                .and_then(|at| self.token(at))
                .map(|token| token.kind)
        };
        matches!(kind(1), Some(Kind::Letter("x" | "X"))) && matches!(kind(2), Some(Kind::Number(_)))
    }

    /// What a factor left behind that started with `last` and ends before the cursor.
    fn behind(&self, last: Last) -> Last {
        let before = self.at.checked_sub(1).and_then(|at| self.token(at));
        match before.map(|token| token.kind) {
            Some(Kind::Mark(b'!')) => Last::Factorial,
            _ => last,
        }
    }

    /// Whether the number at the cursor has a factorial: `7!7!` is a product.
    fn before_factorial(&self) -> bool {
        self.token(self.at + 1)
            .is_some_and(|token| token.kind == Kind::Mark(b'!'))
    }

    /// Whether the letter at the cursor is a sign of multiplication: `1.6 x 10^{-19}`.
    fn before_number(&self) -> bool {
        let ten = self
            .token(self.at + 1)
            .filter(|token| token.spaced)
            .and_then(|token| self.number(token.kind));
        let power = self
            .token(self.at + 2)
            .is_some_and(|token| token.kind == Kind::Mark(b'^'));
        power
            && self.token(self.at).is_some_and(|token| token.spaced)
            && ten.is_some_and(|ten| ten.value == RBig::from(10))
    }

    /// Whether `dx` stands at the cursor, below a `d` of something.
    fn differential(&self, above: &[Expr]) -> bool {
        let below = matches!(self.peek(), Some(Kind::Letter(run)) if run.starts_with('d') && run.len() == 2);
        below
            && above
                .iter()
                .any(|factor| matches!(factor, Expr::Symbol(name) if **name == *"d"))
    }

    /// What the token at the cursor will leave behind as a factor.
    fn last_kind(&self) -> Last {
        match self.peek() {
            Some(Kind::Number(_)) => Last::Number,
            Some(Kind::Letter(_)) => Last::Letter,
            _ => Last::Free,
        }
    }

    /// `1\frac12` and `11 5/6`: takes the whole part off `factors`.
    fn mixed(&mut self, factors: &mut Vec<Expr>, last: Last) -> Parsed<Option<Expr>> {
        if last != Last::Number {
            return Ok(None);
        }
        let whole_plain = self
            .at
            .checked_sub(1)
            .and_then(|at| self.token(at))
            .is_some_and(|t| t.plain);
        let start = self.at;
        let (above, below) = match self.peek() {
            Some(Kind::Command(name)) if super::tables::is_fraction(name) => {
                self.at += 1;
                let Some(above) = self.plain_argument() else {
                    self.at = start;
                    return Ok(None);
                };
                let Some(below) = self.plain_argument() else {
                    self.at = start;
                    return Ok(None);
                };
                (above, below)
            }
            Some(Kind::Number(_)) => {
                let parts = (
                    self.plain_number(start),
                    self.token(start + 1).map(|t| t.kind),
                    self.plain_number(start + 2),
                );
                let (Some(above), Some(Kind::Mark(b'/')), Some(below)) = parts else {
                    return Err(SyntaxError::Unreadable);
                };
                self.at += 3;
                (above, below)
            }
            _ => return Ok(None),
        };
        let proper = above.value < below.value && above.value > RBig::ZERO;
        let (true, true, Some(whole)) = (whole_plain, proper, factors.pop()) else {
            return Err(SyntaxError::Unreadable);
        };
        let fraction = Expr::Quotient(Box::new(Expr::Number(above)), Box::new(Expr::Number(below)));
        Ok(Some(Expr::Sum(vec![whole, fraction])))
    }

    fn plain_number(&self, at: usize) -> Option<Number> {
        let token = self.token(at).filter(|token| token.plain)?;
        self.number(token.kind)
    }

    /// An argument of `\frac` that is an integer.
    fn plain_argument(&mut self) -> Option<Number> {
        let braces = self.eat(Kind::Open(b'{'));
        let number = self.plain_number(self.at)?;
        self.at += 1;
        (!braces || self.eat(Kind::Close(b'{'))).then_some(number)
    }

    /// Whether the token at the cursor can start another factor of an implicit product.
    pub(super) fn starts_factor(&self) -> bool {
        match self.peek() {
            Some(
                Kind::Number(_)
                | Kind::Letter(_)
                | Kind::Named(_)
                | Kind::Function(_)
                | Kind::Begin(_)
                | Kind::Open(b'(' | b'[' | b'{' | b'F' | b'C' | b'A'),
            ) => true,
            Some(Kind::Text(text)) => super::atom::is_text_atom(text),
            Some(Kind::Command(name)) => super::atom::is_atom(name),
            Some(Kind::Mark(b'|')) => !self.bars,
            _ => false,
        }
    }
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) => true,
        Expr::Negate(inner) => matches!(**inner, Expr::Number(_)),
        _ => false,
    }
}

fn is_function_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Symbol(name) if matches!(&**name, "f" | "g"))
}

/// A sign before a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
    /// Plus and minus, in this order if true.
    Either(bool),
}

/// The only item, or `many` of them.
pub(super) fn single_or(mut items: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    match items.pop() {
        Some(only) if items.is_empty() => only,
        Some(last) => {
            items.push(last);
            many(items)
        }
        None => many(items),
    }
}
