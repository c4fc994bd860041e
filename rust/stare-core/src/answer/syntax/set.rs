//! Sets: unions and other operations, sets with a name.

use super::super::tree::{
    Answer, Brackets, Constant, Expr, Interval, NamedSet, Operator, SetOperator,
};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

impl Parser<'_> {
    /// `A \cup B`, `A \setminus B`.
    pub(super) fn set_operation(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
        let operator = |kind: Option<Kind<'_>>| match kind {
            Some(Kind::Command("cup")) => Some(SetOperator::Union),
            Some(Kind::Command("cap")) => Some(SetOperator::Intersection),
            Some(Kind::Command("setminus" | "backslash" | "smallsetminus")) => {
                Some(SetOperator::Difference)
            }
            _ => None,
        };
        let mut ranges = self.split(from, to, |kind| operator(Some(kind)).is_some());
        let mut found: Vec<SetOperator> = ranges
            .iter()
            .skip(1)
            .filter_map(|&(start, _)| operator(self.kind(start - 1)))
            .collect();
        if found.is_empty() {
            // `\mathbb{R} - \{0\}`
            let minus = self.split(from, to, |kind| kind == Kind::Mark(b'-'));
            let set = |range: &(usize, usize)| {
                range.0 > from && self.kind(range.0) == Some(Kind::Open(b'S'))
            };
            if minus.len() != 2 || !minus.iter().skip(1).all(set) {
                return Ok(None);
            }
            ranges = minus;
            found.push(SetOperator::Difference);
        }
        let Some((&first, rest)) = found.split_first() else {
            return Ok(None);
        };
        if rest.iter().any(|&other| other != first) {
            return Err(SyntaxError::Unreadable);
        }
        let mut operands = Vec::new();
        for (from, to) in ranges {
            operands.push(interval(self.side(from, to)?));
        }
        Ok(Some(Answer::SetOperation(first, operands)))
    }

    /// `\bigcup_{k=-\infty}^{\infty} S(k)`.
    pub(super) fn indexed_union(&mut self, to: usize) -> Parsed<Answer> {
        self.at += 1;
        let (Some((low, high)), upper) = self.scripts()? else {
            return Err(SyntaxError::Unreadable);
        };
        let (index, mut lower) = if matches!(self.kind(low + 1), Some(Kind::Relation(Operator::In)))
        {
            let integers = self.named_set(low + 2, high)? == Some(NamedSet::Integers);
            let Some(Kind::Letter(run)) = self.kind(low).filter(|_| integers && upper.is_none())
            else {
                return Err(SyntaxError::Unreadable);
            };
            (run.get(..1).unwrap_or("").into(), None)
        } else {
            let (index, lower) = self.index(low, high, Operator::Equal)?;
            (index, Some(lower))
        };
        let mut upper = upper.map(|(from, to)| self.whole(from, to)).transpose()?;
        let infinity = Expr::Constant(Constant::Infinity);
        if lower == Some(Expr::Negate(Box::new(infinity.clone()))) && upper == Some(infinity) {
            (lower, upper) = (None, None);
        }
        self.bound.push(index.clone());
        let body = self.side(self.at, to);
        self.bound.pop();
        Ok(Answer::IndexedUnion {
            index,
            lower,
            upper,
            body: Box::new(body?),
        })
    }

    /// `\mathbb{R}` and others, alone.
    pub(super) fn named_set(&mut self, from: usize, to: usize) -> Parsed<Option<NamedSet>> {
        let (name, mut after) = match self.kind(from) {
            Some(Kind::Command("emptyset" | "varnothing")) if from + 1 == to => {
                return Ok(Some(NamedSet::Empty))
            }
            Some(Kind::Command(name @ ("R" | "Z" | "Q" | "N" | "C"))) => {
                (name.to_owned(), from + 1)
            }
            Some(Kind::Command("mathbb")) => self.within(from + 1, to, |parser| {
                Ok((parser.blackboard_letter()?, parser.at))
            })?,
            _ => return Ok(None),
        };
        let mut positive = false;
        if after < to {
            let raised = matches!(self.kind(after), Some(Kind::Mark(b'^' | b'_')));
            let braces = self.kind(after + 1) == Some(Kind::Open(b'{'));
            let plus = self.kind(after + 1 + usize::from(braces)) == Some(Kind::Mark(b'+'));
            after += 2 + 2 * usize::from(braces);
            let raised_plus = plus
                && after == to
                && self.kind(after - 2 - 2 * usize::from(braces)) == Some(Kind::Mark(b'^'));
            let above_zero = self.source(after - 2 - 2 * usize::from(braces), to) == "_{>0}";
            positive = raised && (raised_plus || above_zero);
            let marked = (from..to).any(|at| {
                matches!(
                    self.kind(at),
                    Some(Kind::Mark(b'+' | b'-' | b'*') | Kind::Relation(_))
                )
            });
            if !positive {
                // `\mathbb{Z}_{\ge 0}`, `\mathbb{R}^*`: sets of their own.
                return if marked && raised {
                    Err(SyntaxError::Unreadable)
                } else {
                    Ok(None)
                };
            }
        }
        Ok(match (name.as_str(), positive) {
            ("N", false) => Some(NamedSet::Naturals),
            ("Z", false) => Some(NamedSet::Integers),
            ("Z" | "N", true) => Some(NamedSet::PositiveIntegers),
            ("Q", false) => Some(NamedSet::Rationals),
            ("R", false) => Some(NamedSet::Reals),
            ("R", true) => Some(NamedSet::PositiveReals),
            ("C", false) => Some(NamedSet::Complexes),
            _ => None,
        })
    }
}

/// A pair where only a set can stand is an interval.
pub(super) fn interval(answer: Answer) -> Answer {
    let Answer::Tuple { items, brackets } = &answer else {
        return answer;
    };
    let closed = match brackets {
        Brackets::Round => false,
        Brackets::Square => true,
        Brackets::Angle => return answer,
    };
    match items.as_slice() {
        [Answer::Expr(lower), Answer::Expr(upper)] => Answer::Interval(Interval {
            lower: lower.clone(),
            upper: upper.clone(),
            lower_closed: closed,
            upper_closed: closed,
        }),
        _ => answer,
    }
}
