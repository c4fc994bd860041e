//! The cursor that all of the grammar moves, with its limits.

use super::super::limits;
use super::super::tree::{Expr, Function, Number, Operator, Symbol};
use super::token::{Kind, Token, Tokens};
use super::SyntaxError;

/// Result of a parse.
pub(super) type Parsed<T> = Result<T, SyntaxError>;

/// Steps per token that a parse may take: readings are tried one after the other, and one inside
/// the other.
const STEPS_PER_TOKEN: usize = 48;

/// A cursor over tokens; `at..end` is what is read.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    pub(super) at: usize,
    pub(super) end: usize,
    depth: usize,
    steps: usize,
    /// Inside `|..|`: the next bar closes.
    pub(super) bars: bool,
    /// Variables bound by sums and integrals around the cursor.
    pub(super) bound: Vec<Symbol>,
    /// There is a `\choose` somewhere.
    choices: bool,
    /// `i` is an index or a unit vector.
    pub(super) vectors: bool,
    /// Where the last function with an argument without brackets ended.
    pub(super) open_end: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a Tokens<'a>) -> Self {
        let vectors = indexed(tokens);
        let choose = |token: &Token<'_>| token.kind == Kind::Command("choose");
        Self {
            tokens,
            at: 0,
            end: tokens.list.len(),
            depth: 0,
            steps: (tokens.list.len() + 16) * STEPS_PER_TOKEN,
            bars: false,
            choices: tokens.list.iter().any(choose),
            bound: Vec::new(),
            vectors,
            open_end: usize::MAX,
        }
    }

    pub(super) fn token(&self, at: usize) -> Option<&'a Token<'a>> {
        if at < self.end {
            self.tokens.list.get(at)
        } else {
            None
        }
    }

    pub(super) fn peek(&self) -> Option<Kind<'a>> {
        self.token(self.at).map(|token| token.kind)
    }

    /// The text of some tokens, without space.
    pub(super) fn source(&self, from: usize, to: usize) -> String {
        (from..to)
            .filter_map(|at| self.tokens.list.get(at))
            .filter_map(|token| self.tokens.text.get(token.start..token.end))
            .collect()
    }

    pub(super) fn is(&self, kind: Kind<'_>) -> bool {
        self.peek() == Some(kind)
    }

    pub(super) fn eat(&mut self, kind: Kind<'_>) -> bool {
        let found = self.is(kind);
        self.at += usize::from(found);
        found
    }

    /// Whether the next token stands against the one before it.
    pub(super) fn tight(&self) -> bool {
        self.token(self.at).is_some_and(|token| !token.spaced)
    }

    /// Run `read` one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.step()?;
        if self.depth >= limits::DEPTH {
            return Err(SyntaxError::Limit);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn step(&mut self) -> Parsed<()> {
        self.steps = self.steps.checked_sub(1).ok_or(SyntaxError::Limit)?;
        Ok(())
    }

    /// Run `read` on the tokens `from..to` and come back to where the cursor was.
    pub(super) fn within<T>(
        &mut self,
        from: usize,
        to: usize,
        read: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let (at, end, bars) = (self.at, self.end, self.bars);
        (self.at, self.end, self.bars) = (from, to, false);
        let result = self.deeper(read);
        (self.at, self.end, self.bars) = (at, end, bars);
        result
    }

    /// All of `from..to` as one expression.
    pub(super) fn whole(&mut self, from: usize, to: usize) -> Parsed<Expr> {
        if self.choices {
            if let [(above, choose), (below, end)] =
                *self.split(from, to, |kind| kind == Kind::Command("choose"))
            {
                let parts = vec![self.whole(above, choose)?, self.whole(below, end)?];
                return Ok(Expr::Call(Function::Binomial, parts));
            }
        }
        self.within(from, to, |parser| {
            let expr = parser.sum()?;
            parser.finished(expr)
        })
    }

    pub(super) fn finished<T>(&self, value: T) -> Parsed<T> {
        if self.at == self.end {
            Ok(value)
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    /// The content of the bracket at the cursor, which moves behind it.
    pub(super) fn group(&mut self) -> Parsed<Expr> {
        let open = self.at;
        let close = self.closing(open)?;
        let content = self.whole(open + 1, close)?;
        self.at = close + 1;
        Ok(content)
    }

    /// The token that closes the bracket at `open`.
    pub(super) fn closing(&self, open: usize) -> Parsed<usize> {
        let token = self.token(open).ok_or(SyntaxError::Unreadable)?;
        if token.partner < self.end && token.partner > open {
            Ok(token.partner)
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    pub(super) fn number(&self, kind: Kind<'_>) -> Option<Number> {
        let Kind::Number(index) = kind else {
            return None;
        };
        self.tokens.numbers.get(index as usize).cloned()
    }

    /// The ranges between tokens that `separates`, brackets skipped.
    pub(super) fn split(
        &self,
        from: usize,
        to: usize,
        separates: impl Fn(Kind<'_>) -> bool,
    ) -> Vec<(usize, usize)> {
        let mut ranges = Vec::new();
        let (mut start, mut at) = (from, from);
        while at < to {
            let Some(token) = self.tokens.list.get(at) else {
                break;
            };
            if separates(token.kind) {
                ranges.push((start, at));
                start = at + 1;
            } else if matches!(token.kind, Kind::Open(_)) {
                at = token.partner.max(at);
            }
            at = at.saturating_add(1);
        }
        ranges.push((start, to));
        ranges
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind<'_>> {
        self.tokens.list.get(at).map(|token| token.kind)
    }
}

/// Whether `i` is an index or a unit vector somewhere: in a subscript, beside an inequality, or
/// with a `j` as its companion.
fn indexed(tokens: &Tokens<'_>) -> bool {
    let kind = |at: usize| tokens.list.get(at).map(|token| token.kind);
    let letter = |at: usize| matches!(kind(at), Some(Kind::Letter(run)) if run.starts_with('i'));
    let mut subscript_end = None;
    for (at, token) in tokens.list.iter().enumerate() {
        match token.kind {
            Kind::Letter(run) if run.starts_with('j') => return true,
            Kind::Mark(b'_') => {
                let named = at.checked_sub(1).and_then(kind);
                let group = tokens
                    .list
                    .get(at + 1)
                    .filter(|next| next.kind == Kind::Open(b'{'));
                subscript_end = match named {
                    // The base of a logarithm, the index of a sum.
                    Some(Kind::Function(_) | Kind::Command(_)) => None,
                    _ => Some(group.map_or(at + 1, |open| open.partner)),
                };
            }
            Kind::Letter(run)
                if run.starts_with('i') && subscript_end.is_some_and(|end| at <= end) =>
            {
                return true;
            }
            Kind::Relation(operator)
                if operator != Operator::Equal
                    && (letter(at + 1) || (at > 0 && letter(at - 1))) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}
