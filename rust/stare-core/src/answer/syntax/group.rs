//! What stands in brackets: tuples, intervals, sets, matrices, cases.

use super::super::tree::{Answer, Brackets, Constant, Expr, Interval, NamedSet, Operator};
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::SyntaxError;

/// Environments that are matrices.
const MATRICES: &[&str] = &[
    "pmatrix",
    "bmatrix",
    "matrix",
    "Bmatrix",
    "smallmatrix",
    "psmallmatrix",
];

impl Parser<'_> {
    /// A whole answer in the brackets at `open` and `close`.
    pub(super) fn enclosed(&mut self, bracket: u8, open: usize, close: usize) -> Parsed<Answer> {
        let inner = open + 1;
        match (bracket, self.kind(close)) {
            (b'{', _) => self.answer(inner, close),
            (b'S', _) => self.set(inner, close),
            (b'F' | b'C' | b'A', _) => Ok(Answer::Expr(self.whole(open, close + 1)?)),
            (b'(' | b'[' | b'<', Some(Kind::Close(end))) => {
                self.sequence(bracket, end, inner, close)
            }
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn sequence(&mut self, bracket: u8, end: u8, from: usize, to: usize) -> Parsed<Answer> {
        if let Some(Kind::Begin("array")) = self.kind(from) {
            if self.closing(from + 1)? + 1 == to {
                return self.matrix(from + 2, to - 1);
            }
        }
        let mut ranges = self.split(from, to, |kind| kind == Kind::Mark(b','));
        let rows = self.split(from, to, |kind| kind == Kind::Mark(b';'));
        if (bracket, end) == (b'[', b'[') && ranges.len() > 1 && rows.len() > 1 {
            return self.rows(&rows, b',');
        }
        if ranges.len() == 1 {
            ranges = rows;
        }
        if ranges.len() == 1 {
            return if bracket == end && bracket != b'<' {
                self.part(from, to)
            } else {
                Err(SyntaxError::Unreadable)
            };
        }
        let mut items = Vec::new();
        for &(from, to) in &ranges {
            items.push(self.part(from, to)?);
        }
        if bracket == end && items.iter().all(is_relation) {
            // `[x = 1, y = 2]` names its values: their order does not matter.
            return Ok(Answer::List {
                items,
                braces: false,
            });
        }
        let infinite = items.iter().any(is_infinite);
        if bracket == end && !(infinite && items.len() == 2 && bracket != b'<') {
            let brackets = match bracket {
                b'(' => Brackets::Round,
                b'[' => Brackets::Square,
                _ => Brackets::Angle,
            };
            return Ok(Answer::Tuple { items, brackets });
        }
        match (items.pop(), items.pop(), items.is_empty()) {
            (Some(Answer::Expr(upper)), Some(Answer::Expr(lower)), true) => {
                Ok(Answer::Interval(Interval {
                    lower,
                    upper,
                    lower_closed: bracket == b'[',
                    upper_closed: end == b'[',
                }))
            }
            _ => Err(SyntaxError::Unreadable),
        }
    }

    fn set(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        if from == to {
            return Ok(Answer::NamedSet(NamedSet::Empty));
        }
        if let Some(Kind::Begin("array")) = self.kind(from) {
            if self.closing(from + 1)? + 1 == to {
                return self.cases(from + 2, to - 1);
            }
        }
        for mark in [b'|', b':'] {
            let bar = (from..to).find(|&at| self.kind(at) == Some(Kind::Mark(mark)));
            if let Some(bar) = bar {
                if let Some(builder) = self.builder(from, bar, to)? {
                    return Ok(builder);
                }
            }
        }
        let mut ranges = self.split(from, to, |kind| kind == Kind::Mark(b','));
        if ranges.len() == 1 {
            ranges = self.split(from, to, |kind| kind == Kind::Mark(b';'));
        }
        let mut items = Vec::new();
        for (from, to) in ranges {
            items.push(self.part(from, to)?);
        }
        if items.iter().all(is_relation) {
            return Ok(Answer::List {
                items,
                braces: false,
            });
        }
        if items.iter().any(is_relation) {
            return Err(SyntaxError::Unreadable);
        }
        Ok(Answer::List {
            items,
            braces: true,
        })
    }

    /// `element | condition`; `None` if it is none.
    fn builder(&mut self, from: usize, bar: usize, to: usize) -> Parsed<Option<Answer>> {
        let relations = (bar..to).any(|at| matches!(self.kind(at), Some(Kind::Relation(_))));
        if !relations || from == bar {
            return Ok(None);
        }
        let element = match self.part(from, bar) {
            Err(SyntaxError::Unreadable) => return Ok(None),
            other => other?,
        };
        let condition = match self.answer(bar + 1, to) {
            Err(SyntaxError::Unreadable) => return Ok(None),
            other => other?,
        };
        let condition = match condition {
            Answer::Where {
                body,
                mut conditions,
            } if is_relation(&body) => {
                conditions.insert(0, *body);
                Answer::List {
                    items: conditions,
                    braces: false,
                }
            }
            other => other,
        };
        // `\{x \in \mathbb{R} \mid x > 0\}`
        let (element, condition) = match element {
            Answer::Relation { sides, operators } => {
                let Some(Answer::Expr(symbol @ Expr::Symbol(_))) = sides.first().cloned() else {
                    return Ok(None);
                };
                if operators.as_slice() != [Operator::In] {
                    return Ok(None);
                }
                let mut items = vec![Answer::Relation { sides, operators }];
                match condition {
                    Answer::List {
                        items: more,
                        braces: false,
                    } => items.extend(more),
                    other => items.push(other),
                }
                (
                    Answer::Expr(symbol),
                    Answer::List {
                        items,
                        braces: false,
                    },
                )
            }
            element => (element, condition),
        };
        let valid = match &condition {
            Answer::Relation { .. } | Answer::SetOperation(..) => true,
            Answer::List {
                items,
                braces: false,
            } => items.iter().all(is_relation),
            _ => false,
        };
        Ok(valid.then(|| Answer::SetBuilder {
            element: Box::new(element),
            condition: Box::new(condition),
        }))
    }

    /// The content of `\begin{name}`.
    pub(super) fn environment(&mut self, name: &str, from: usize, to: usize) -> Parsed<Answer> {
        if MATRICES.contains(&name) {
            self.matrix(from, to)
        } else if matches!(name, "cases" | "dcases") {
            self.cases(from, to)
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    /// `\frac13 \begin{pmatrix} .. \end{pmatrix}`: the cells times the factor before it.
    pub(super) fn scaled_matrix(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
        let Some(Kind::Close(_)) = self.kind(to.wrapping_sub(1)) else {
            return Ok(None);
        };
        let Some(open) = self.tokens.list.get(to - 1).map(|token| token.partner) else {
            return Ok(None);
        };
        let begins = |at: usize| match self.kind(at) {
            Some(Kind::Begin(name)) => MATRICES.contains(&name) || name == "array",
            _ => false,
        };
        let start = if begins(open + 1) {
            open
        } else if begins(open.wrapping_sub(1)) {
            open - 1
        } else {
            return Ok(None);
        };
        if start <= from {
            return Ok(None);
        }
        let Answer::Matrix {
            rows,
            columns,
            cells,
        } = self.side(start, to)?
        else {
            return Ok(None);
        };
        let negative = start == from + 1 && self.kind(from) == Some(Kind::Mark(b'-'));
        let factor = if negative {
            Expr::Negate(Box::new(super::atom::integer(1)))
        } else {
            self.whole(from, start)?
        };
        let cells = cells
            .into_iter()
            .map(|cell| Expr::Product(vec![factor.clone(), cell]))
            .collect();
        Ok(Some(Answer::Matrix {
            rows,
            columns,
            cells,
        }))
    }

    /// `[1, 2; 3, 4]`
    fn rows(&mut self, rows: &[(usize, usize)], mark: u8) -> Parsed<Answer> {
        let (rows, columns, cells) = self.grid(rows, mark)?;
        Ok(Answer::Matrix {
            rows,
            columns,
            cells,
        })
    }

    fn matrix(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        let (rows, columns, cells) = self.cells(from, to)?;
        Ok(Answer::Matrix {
            rows,
            columns,
            cells,
        })
    }

    /// Values and their conditions.
    fn cases(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        let mut pieces = Vec::new();
        let mut rows = self.split(from, to, |kind| kind == Kind::Mark(b'\\'));
        rows.retain(|&(from, to)| from < to);
        let single = |&(from, to): &(usize, usize)| {
            self.split(from, to, |kind| kind == Kind::Mark(b'&')).len() == 1
        };
        if rows.iter().all(single) {
            return self.system(&rows);
        }
        let last = rows.len().saturating_sub(1);
        for (row, &(from, to)) in rows.iter().enumerate() {
            let cells = self.split(from, to, |kind| kind == Kind::Mark(b'&'));
            let (value, value_end, condition, end) = match *cells.as_slice() {
                [(value, value_end), (condition, end)] => (value, value_end, condition, end),
                // `& if & x > 0`
                [(value, value_end), (word, word_end), (condition, end)]
                    if word_end == word + 1
                        && matches!(self.kind(word), Some(Kind::Text("if" | "for" | "when"))) =>
                {
                    (value, value_end, condition, end)
                }
                _ => return Err(SyntaxError::Unreadable),
            };
            let value_end = if self.kind(value_end.wrapping_sub(1)) == Some(Kind::Mark(b',')) {
                value_end - 1
            } else {
                value_end
            };
            let value = self.part(value, value_end)?;
            pieces.push((value, self.case(condition, end, row == last)?));
        }
        if pieces.is_empty() {
            Err(SyntaxError::Unreadable)
        } else {
            Ok(Answer::Piecewise(pieces))
        }
    }

    /// Equations, one in a row, that all hold.
    fn system(&mut self, rows: &[(usize, usize)]) -> Parsed<Answer> {
        let mut items = Vec::new();
        for &(from, to) in rows {
            let comma = matches!(self.kind(to.wrapping_sub(1)), Some(Kind::Mark(b',' | b';')));
            items.push(self.part(from, to - usize::from(comma))?);
        }
        if items.len() > 1 && items.iter().all(is_relation) {
            Ok(Answer::List {
                items,
                braces: false,
            })
        } else {
            Err(SyntaxError::Unreadable)
        }
    }

    /// A condition; "otherwise" is none.
    fn case(&mut self, from: usize, to: usize, last: bool) -> Parsed<Option<Answer>> {
        let mut from = from;
        if let Some(Kind::Text(text)) = self.kind(from) {
            match super::words::normal(text).as_ref() {
                "if" | "for" | "when" => from += 1,
                "otherwise" | "else" if last && from + 1 == to => return Ok(None),
                _ => return Err(SyntaxError::Unreadable),
            }
        }
        let condition = self.answer(from, to)?;
        if matches!(
            condition,
            Answer::Relation { .. } | Answer::SetOperation(..)
        ) {
            Ok(Some(condition))
        } else {
            Err(SyntaxError::Unreadable)
        }
    }
}

fn is_relation(item: &Answer) -> bool {
    matches!(item, Answer::Relation { .. })
}

fn is_infinite(item: &Answer) -> bool {
    match item {
        Answer::Expr(Expr::Constant(Constant::Infinity)) => true,
        Answer::Expr(Expr::Negate(inner)) => **inner == Expr::Constant(Constant::Infinity),
        _ => false,
    }
}
