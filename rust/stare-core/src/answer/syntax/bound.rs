//! Operators that bind a variable: sums, products, integrals, limits, derivatives.

use super::super::tree::{Bound, BoundOperator, Expr, Operator, Symbol};
use super::atom::integer;
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

impl Parser<'_> {
    /// `\sum_{k=1}^{n} a_k` and the like, behind the name.
    pub(super) fn bound(&mut self, name: &str) -> Parsed<Expr> {
        self.deeper(|parser| match name {
            "int" => parser.integral(),
            "lim" => parser.limit(),
            _ => parser.indexed(name),
        })
    }

    fn indexed(&mut self, name: &str) -> Parsed<Expr> {
        let (lower, upper) = self.scripts()?;
        let (Some((from, to)), Some(upper)) = (lower, upper) else {
            return Err(SyntaxError::Unreadable);
        };
        let (variable, lower) = self.index(from, to, Operator::Equal)?;
        let upper = self.whole(upper.0, upper.1)?;
        let body = self.body(&variable)?;
        let operator = if name == "sum" {
            BoundOperator::Sum
        } else {
            BoundOperator::Product
        };
        Ok(bound(operator, variable, Some(lower), Some(upper), body))
    }

    fn limit(&mut self) -> Parsed<Expr> {
        let (Some((from, to)), None) = self.scripts()? else {
            return Err(SyntaxError::Unreadable);
        };
        let (variable, point) = self.index(from, to, Operator::Arrow)?;
        let body = self.body(&variable)?;
        Ok(bound(
            BoundOperator::Limit,
            variable,
            Some(point),
            None,
            body,
        ))
    }

    /// What is summed: a term, in which the variable is bound.
    fn body(&mut self, variable: &str) -> Parsed<Expr> {
        self.bound.push(variable.into());
        let body = self.product();
        self.bound.pop();
        body
    }

    fn integral(&mut self) -> Parsed<Expr> {
        let (lower, upper) = self.scripts()?;
        let lower = lower.map(|(from, to)| self.whole(from, to)).transpose()?;
        let upper = upper.map(|(from, to)| self.whole(from, to)).transpose()?;
        let (mark, variable, after) = self.differential_mark().ok_or(SyntaxError::Unreadable)?;
        self.bound.push(variable.clone());
        let body = if mark == self.at {
            Ok(integer(1))
        } else {
            self.whole(self.at, mark)
        };
        self.bound.pop();
        let body = body?;
        self.at = after;
        Ok(bound(BoundOperator::Integral, variable, lower, upper, body))
    }

    /// The `dx` that ends an integral: where it is, its variable, where it ends.
    fn differential_mark(&self) -> Option<(usize, Symbol, usize)> {
        let mut at = self.at;
        while let Some(token) = self.token(at) {
            let sure = match token.kind {
                Kind::Letter("d") | Kind::Text("d") => true,
                Kind::Letter(run) => run.len() == 2 && run.starts_with('d'),
                Kind::Open(_) => {
                    at = token.partner;
                    false
                }
                Kind::Command("int") => return None,
                _ => false,
            };
            if sure {
                let variable = match self.token(at + 1)?.kind {
                    Kind::Letter(run) => run.get(..1)?.into(),
                    Kind::Named(name) => name.into(),
                    _ => return None,
                };
                return Some((at, variable, at + 2));
            }
            at += 1;
        }
        None
    }

    /// The tokens of `_` and `^`, in any order.
    #[allow(clippy::type_complexity, reason = "two optional ranges")]
    pub(super) fn scripts(&mut self) -> Parsed<(Option<(usize, usize)>, Option<(usize, usize)>)> {
        let (mut lower, mut upper) = (None, None);
        loop {
            let script = match self.peek() {
                Some(Kind::Mark(b'_')) if lower.is_none() => &mut lower,
                Some(Kind::Mark(b'^')) if upper.is_none() => &mut upper,
                _ => return Ok((lower, upper)),
            };
            self.at += 1;
            if self.is(Kind::Open(b'{')) {
                let close = self.closing(self.at)?;
                *script = Some((self.at + 1, close));
                self.at = close + 1;
            } else {
                *script = Some((self.at, self.at + 1));
                self.at += 1;
            }
        }
    }

    /// `k = 1` or `x \to 0`.
    pub(super) fn index(
        &mut self,
        from: usize,
        to: usize,
        operator: Operator,
    ) -> Parsed<(Symbol, Expr)> {
        let variable = match self.token(from).map(|token| token.kind) {
            Some(Kind::Letter(run)) => run.get(..1).unwrap_or("").into(),
            Some(Kind::Named(name)) => name.into(),
            _ => return Err(SyntaxError::Unreadable),
        };
        if self.token(from + 1).map(|token| token.kind) != Some(Kind::Relation(operator)) {
            return Err(SyntaxError::Unreadable);
        }
        Ok((variable, self.whole(from + 2, to)?))
    }

    /// `\frac{dy}{dx}` as a symbol of its own; `\frac{d}{dx}` with its operand is not read. `None`
    /// if the fraction at `start` is none of both.
    pub(super) fn derivative(&mut self, start: usize) -> Parsed<Option<Expr>> {
        let above = start + 1;
        let Some(token) = self
            .token(above)
            .filter(|token| token.kind == Kind::Open(b'{'))
        else {
            return Ok(None);
        };
        let below = token.partner + 1;
        let Some(end) = self
            .token(below)
            .filter(|t| t.kind == Kind::Open(b'{'))
            .map(|t| t.partner)
        else {
            return Ok(None);
        };
        let mark = |at: usize| match self.token(at).map(|token| token.kind) {
            Some(Kind::Letter(run)) => run.starts_with('d'),
            Some(Kind::Text("d") | Kind::Command("partial")) => true,
            _ => false,
        };
        let variable = matches!(
            self.token(below + 2).map(|t| t.kind),
            Some(Kind::Letter(_) | Kind::Named(_))
        );
        let power = self
            .token(below + 3)
            .is_some_and(|t| t.kind == Kind::Mark(b'^'));
        let single = end == below + 3 || (power && end <= below + 7);
        if !(mark(above + 1) && mark(below + 1) && variable && single) {
            return Ok(None);
        }
        let operand = (above + 2..below - 1).any(|at| {
            matches!(
                self.token(at).map(|t| t.kind),
                Some(Kind::Letter(_) | Kind::Named(_))
            )
        });
        if !operand {
            return Err(SyntaxError::Unreadable);
        }
        let (Some(first), Some(last)) = (self.token(above), self.token(end)) else {
            return Err(SyntaxError::Unreadable);
        };
        let source = self.tokens.text.get(first.start..last.end).unwrap_or("");
        let name: String = source
            .replace("}{", "/")
            .replace("\\mathrm", "")
            .chars()
            .filter(|c| !c.is_whitespace() && !matches!(c, '{' | '}'))
            .collect();
        self.at = end + 1;
        Ok(Some(Expr::Symbol(name.into())))
    }

    /// The cells of a matrix between two tokens.
    pub(super) fn cells(&mut self, from: usize, to: usize) -> Parsed<(usize, usize, Vec<Expr>)> {
        let mut rows = self.split(from, to, |kind| kind == Kind::Mark(b'\\'));
        rows.retain(|&(from, to)| from < to);
        self.grid(&rows, b'&')
    }

    /// The cells of rows, with `mark` between them.
    pub(super) fn grid(
        &mut self,
        rows: &[(usize, usize)],
        mark: u8,
    ) -> Parsed<(usize, usize, Vec<Expr>)> {
        let mut cells = Vec::new();
        let mut columns = 0;
        for &(from, to) in rows {
            let row = self.split(from, to, |kind| kind == Kind::Mark(mark));
            if columns != 0 && columns != row.len() {
                return Err(SyntaxError::Unreadable);
            }
            columns = row.len();
            for (from, to) in row {
                cells.push(self.whole(from, to)?);
            }
        }
        if cells.is_empty() {
            Err(SyntaxError::Unreadable)
        } else {
            Ok((rows.len(), columns, cells))
        }
    }
}

fn bound(
    operator: BoundOperator,
    variable: Symbol,
    lower: Option<Expr>,
    upper: Option<Expr>,
    body: Expr,
) -> Expr {
    Expr::Bound(Box::new(Bound {
        operator,
        variable,
        lower,
        upper,
        body,
    }))
}
