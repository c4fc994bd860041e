//! Side conditions: `x > 0` behind "for", `k` behind "any integer".

use super::super::tree::{Answer, Expr, NamedSet, Operator};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::{words, SyntaxError};

/// Words that start a condition.
const STARTS: &[&str] = &[
    "for",
    "for all",
    "for any",
    "for every",
    "for each",
    "for some",
    "where",
    "if",
    "when",
    "with",
    "whenever",
    "provided",
    "provided that",
    "unless",
];

/// Words before a variable that say which numbers it runs over.
const BEFORE: &[(&str, NamedSet)] = &[
    ("any integer", NamedSet::Integers),
    ("integer", NamedSet::Integers),
    ("for integer", NamedSet::Integers),
    ("for any integer", NamedSet::Integers),
    ("for all integers", NamedSet::Integers),
    ("for every integer", NamedSet::Integers),
    ("for some integer", NamedSet::Integers),
    ("for integers", NamedSet::Integers),
    ("for all real numbers", NamedSet::Reals),
    ("for any real number", NamedSet::Reals),
    ("for all real", NamedSet::Reals),
    ("for real", NamedSet::Reals),
];

/// The same behind a variable.
const BEHIND: &[(&str, NamedSet)] = &[
    ("is an integer", NamedSet::Integers),
    ("is any integer", NamedSet::Integers),
    ("an integer", NamedSet::Integers),
    ("any integer", NamedSet::Integers),
    ("integer", NamedSet::Integers),
    ("is an arbitrary integer", NamedSet::Integers),
    ("is a real number", NamedSet::Reals),
    ("is real", NamedSet::Reals),
    ("is any real number", NamedSet::Reals),
];

fn look_up(table: &[(&str, NamedSet)], words: &str) -> Option<NamedSet> {
    table
        .iter()
        .find(|&&(known, _)| known == words)
        .map(|&(_, set)| set)
}

impl Parser<'_> {
    /// Where the answer ends and what its conditions are, if it has some in words.
    pub(super) fn condition_split(
        &mut self,
        from: usize,
        to: usize,
    ) -> Parsed<Option<(usize, Vec<Answer>)>> {
        if let Some(split) = self.bracketed_condition(from, to)? {
            return Ok(Some(split));
        }
        let mut at = from;
        while at < to {
            let Some(token) = self.token(at) else { break };
            match token.kind {
                Kind::Open(_) => at = token.partner.max(at),
                Kind::Text(text) if at > from => {
                    let text = words::normal(text);
                    let before = at + 1 < to && look_up(BEFORE, &text).is_some();
                    if STARTS.contains(&&*text) || before {
                        let conditions = self.conditions(at, to)?;
                        return Ok(Some((self.before_comma(from, at), conditions)));
                    }
                    if let (Some(set), Some(variable)) =
                        (look_up(BEHIND, &text), self.variable(at.wrapping_sub(1)))
                    {
                        let comma = self.before_comma(from, at - 1);
                        if at + 1 == to && comma < at - 1 {
                            return Ok(Some((comma, vec![membership(variable, set)])));
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(None)
    }

    /// `k\pi (k \in \mathbb{Z})`.
    fn bracketed_condition(
        &mut self,
        from: usize,
        to: usize,
    ) -> Parsed<Option<(usize, Vec<Answer>)>> {
        let last = to.wrapping_sub(1);
        let Some(token) = self
            .token(last)
            .filter(|token| token.kind == Kind::Close(b'('))
        else {
            return Ok(None);
        };
        let open = token.partner;
        let membership = self.variable(open + 1).is_some()
            && self.kind(open + 2) == Some(Kind::Relation(Operator::In));
        if open <= from || !membership {
            return Ok(None);
        }
        let condition = self.part(open + 1, last)?;
        Ok(Some((self.before_comma(from, open), vec![condition])))
    }

    /// `at`, or the comma before it.
    fn before_comma(&self, from: usize, at: usize) -> usize {
        let comma = at > from
            && self
                .token(at - 1)
                .is_some_and(|token| token.kind == Kind::Mark(b','));
        at - usize::from(comma)
    }

    fn variable(&self, at: usize) -> Option<Expr> {
        match self.token(at)?.kind {
            Kind::Letter(run) => Some(Expr::Symbol(run.get(..1)?.into())),
            Kind::Named(name) => Some(Expr::Symbol(name.into())),
            _ => None,
        }
    }

    fn conditions(&mut self, at: usize, to: usize) -> Parsed<Vec<Answer>> {
        let Some(Kind::Text(text)) = self.token(at).map(|token| token.kind) else {
            return Err(SyntaxError::Unreadable);
        };
        let text = words::normal(text);
        if let Some(set) = look_up(BEFORE, &text) {
            let variable = self.variable(at + 1).ok_or(SyntaxError::Unreadable)?;
            return if at + 2 == to {
                Ok(vec![membership(variable, set)])
            } else {
                Err(SyntaxError::Unreadable)
            };
        }
        if &*text == "unless" {
            return Err(SyntaxError::Unreadable);
        }
        if let Some(Kind::Text(behind)) = self.token(to.wrapping_sub(1)).map(|token| token.kind) {
            let set = look_up(BEHIND, &words::normal(behind)).ok_or(SyntaxError::Unreadable)?;
            let variable = self
                .variable(at + 1)
                .filter(|_| at + 3 == to)
                .ok_or(SyntaxError::Unreadable)?;
            return Ok(vec![membership(variable, set)]);
        }
        let mut conditions = Vec::new();
        for (from, to) in self.split(at + 1, to, |kind| {
            kind == Kind::Mark(b',') || kind == Kind::Text("and")
        }) {
            let condition = self.part(from, to)?;
            if !matches!(condition, Answer::Relation { .. }) {
                return Err(SyntaxError::Unreadable);
            }
            conditions.push(condition);
        }
        Ok(conditions)
    }
}

fn membership(variable: Expr, set: NamedSet) -> Answer {
    Answer::Relation {
        sides: vec![Answer::Expr(variable), Answer::NamedSet(set)],
        operators: vec![Operator::In],
    }
}
