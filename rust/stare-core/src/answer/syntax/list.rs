//! Whole answers: items between commas, semicolons, "and", "or".

use super::super::tree::{Answer, Expr, Operator, SetOperator};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::{tables, SyntaxError};

/// More words than this in an item of a list are prose.
const ITEM_WORDS: usize = 2;

/// What stands between two items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Comma,
    Semicolon,
    And,
    Or,
}

fn separator(kind: Kind<'_>) -> Option<Separator> {
    match kind {
        Kind::Mark(b',') => Some(Separator::Comma),
        Kind::Mark(b';') => Some(Separator::Semicolon),
        Kind::Text(text) => {
            let text = text.trim_matches(|c: char| c == ',' || c.is_whitespace());
            if text.eq_ignore_ascii_case("and") {
                Some(Separator::And)
            } else if text.eq_ignore_ascii_case("or") {
                Some(Separator::Or)
            } else {
                None
            }
        }
        Kind::Command("wedge" | "land") => Some(Separator::And),
        Kind::Command("vee" | "lor") => Some(Separator::Or),
        _ => None,
    }
}

impl Parser<'_> {
    /// All of `from..to` as a whole answer.
    pub(super) fn answer(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        self.step()?;
        let from = self.introduction(from, to);
        if let Some((body, conditions)) = self.condition_split(from, to)? {
            return Ok(Answer::Where {
                body: Box::new(self.items(from, body)?),
                conditions,
            });
        }
        self.items(from, to)
    }

    /// Behind "Solution is:" and the like.
    fn introduction(&self, from: usize, to: usize) -> usize {
        let Some(Kind::Text(text)) = self.token(from).map(|token| token.kind) else {
            return from;
        };
        let text = super::words::normal(text);
        if !tables::INTRODUCTIONS.contains(&&*text) {
            return from;
        }
        let colon = self
            .token(from + 1)
            .is_some_and(|token| token.kind == Kind::Mark(b':'));
        (from + 1 + usize::from(colon)).min(to)
    }

    fn items(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        let mut parts = self.split(from, to, |kind| separator(kind).is_some());
        if parts.len() == 1 {
            return self.part(from, to);
        }
        let mut separators: Vec<Separator> = parts
            .iter()
            .skip(1)
            .filter_map(|&(start, _)| self.tokens.list.get(start.wrapping_sub(1)))
            .filter_map(|token| separator(token.kind))
            .collect();
        // `a, and b` has one separator.
        let mut at = 1;
        while let (Some(&(start, end)), Some(&first), Some(&second)) =
            (parts.get(at), separators.get(at - 1), separators.get(at))
        {
            self.step()?;
            if start == end
                && first == Separator::Comma
                && matches!(second, Separator::And | Separator::Or)
            {
                parts.remove(at);
                separators.remove(at - 1);
            }
            at += 1;
        }
        let has = |kind: Separator| separators.contains(&kind);
        if has(Separator::Semicolon) && separators.iter().any(|&s| s != Separator::Semicolon) {
            return Err(SyntaxError::Unreadable);
        }
        let mut items = Vec::new();
        let mut conditions = Vec::new();
        for (from, to) in parts {
            let item = self.part(from, to)?;
            let prose = |words: &str| words.split(' ').count() > ITEM_WORDS;
            if matches!(&item, Answer::Words(words) if prose(words)) {
                return Err(SyntaxError::Unreadable);
            }
            if is_membership(&item) && !items.is_empty() && !items.iter().all(is_membership) {
                conditions.push(item);
            } else if conditions.is_empty() {
                collect(&mut items, item)?;
            } else {
                return Err(SyntaxError::Unreadable);
            }
        }
        if matches!(items.as_slice(), [Answer::Words(first), _, ..] if matches!(&**first, "yes" | "no" | "true" | "false"))
        {
            // "Yes, it is".
            return Err(SyntaxError::Unreadable);
        }
        let body = match (items.pop(), items.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                items.push(last);
                join(items, has(Separator::And), has(Separator::Or))?
            }
            (None, _) => return Err(SyntaxError::Unreadable),
        };
        if conditions.is_empty() {
            return Ok(body);
        }
        Ok(Answer::Where {
            body: Box::new(body),
            conditions,
        })
    }
}

/// `k \in S`.
fn is_membership(item: &Answer) -> bool {
    let Answer::Relation { sides, operators } = item else {
        return false;
    };
    let symbol = matches!(sides.first(), Some(Answer::Expr(Expr::Symbol(_))));
    symbol && operators.as_slice() == [Operator::In]
}

/// Add an item: in `n = 2, 3` the second belongs to the first.
fn collect(items: &mut Vec<Answer>, item: Answer) -> Parsed<()> {
    let relation = matches!(item, Answer::Relation { .. } | Answer::SetBuilder { .. });
    let Some(Answer::Relation { sides, operators }) = items.last_mut().filter(|_| !relation) else {
        items.push(item);
        return Ok(());
    };
    if operators.as_slice() != [Operator::Equal] {
        return Err(SyntaxError::Unreadable);
    }
    let named = matches!(
        sides.first(),
        Some(Answer::Expr(Expr::Symbol(_) | Expr::Apply(..)))
    );
    let alike = match sides.last() {
        Some(Answer::List {
            items,
            braces: false,
        }) => items.last().is_some_and(|last| same_kind(last, &item)),
        Some(side) => same_kind(side, &item),
        None => false,
    };
    if !(named && alike) {
        items.push(item);
        return Ok(());
    }
    match sides.last_mut() {
        Some(Answer::List {
            items,
            braces: false,
        }) => items.push(item),
        Some(side) => {
            let first = std::mem::replace(side, Answer::Words(Box::default()));
            *side = Answer::List {
                items: vec![first, item],
                braces: false,
            };
        }
        None => return Err(SyntaxError::Unreadable),
    }
    Ok(())
}

fn same_kind(left: &Answer, right: &Answer) -> bool {
    std::mem::discriminant(left) == std::mem::discriminant(right)
}

/// Several items: inequalities joined by "and" or "or" are an intersection or a union.
fn join(items: Vec<Answer>, and: bool, or: bool) -> Parsed<Answer> {
    let inequality = |item: &Answer| {
        matches!(item, Answer::Relation { operators, .. }
            if operators.iter().any(|o| !matches!(o, Operator::Equal | Operator::Approximately)))
    };
    if !items.iter().any(inequality) || !(and || or) {
        return Ok(Answer::List {
            items,
            braces: false,
        });
    }
    match (and, or) {
        (true, false) => Ok(Answer::SetOperation(SetOperator::Intersection, items)),
        (false, true) => Ok(Answer::SetOperation(SetOperator::Union, items)),
        _ => Err(SyntaxError::Unreadable),
    }
}
