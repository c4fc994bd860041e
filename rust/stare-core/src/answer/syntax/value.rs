//! One item of an answer: relations, set operations, ratios, times, base numerals, values.

use super::super::tree::{Answer, Brackets, Expr, Interval, NamedSet, Operator, SetOperator, Time};
use super::expr::{Parsed, Parser};
use super::lex::Kind;
use super::{words, SyntaxError};

impl Parser<'_> {
    pub(super) fn kind(&self, at: usize) -> Option<Kind<'_>> {
        self.tokens.list.get(at).map(|token| token.kind)
    }

    /// One item: a relation or a value.
    pub(super) fn part(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        self.deeper(|parser| parser.part_here(from, to))
    }

    fn part_here(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        if from >= to {
            return Err(SyntaxError::Unreadable);
        }
        let ranges = self.split(from, to, |kind| matches!(kind, Kind::Relation(_)));
        if ranges.len() == 1 {
            return self.side(from, to);
        }
        let mut operators = Vec::new();
        for &(start, _) in ranges.iter().skip(1) {
            match self.kind(start - 1) {
                Some(Kind::Relation(operator)) => operators.push(operator),
                _ => return Err(SyntaxError::Unreadable),
            }
        }
        let mut sides = Vec::new();
        for (at, &(from, to)) in ranges.iter().enumerate() {
            if at == 0 && from == to && operators.as_slice() == [Operator::Equal] {
                // `= 5`
                continue;
            }
            let defined = operators.get(at) == Some(&Operator::Equal);
            let side = match self.definition(from, to).filter(|_| defined) {
                Some(close) => {
                    let name = self.defined_name(from)?;
                    Answer::Expr(Expr::Apply(name.into(), self.arguments(from + 2, close)?))
                }
                None => self.side(from, to)?,
            };
            let member =
                at > 0 && matches!(operators.get(at - 1), Some(Operator::In | Operator::NotIn));
            let side = if member { interval(side) } else { side };
            sides.push(side);
        }
        if sides.len() == 1 {
            return sides.pop().ok_or(SyntaxError::Unreadable);
        }
        Ok(Answer::Relation { sides, operators })
    }

    /// `C(h)` on the left of an equation defines a function, whatever its letter.
    fn definition(&self, from: usize, to: usize) -> Option<usize> {
        let letter = matches!(self.kind(from)?, Kind::Letter(run) if run.len() == 1)
            || matches!(self.kind(from)?, Kind::Named(_));
        let token = self.tokens.list.get(from + 1)?;
        let variables = (from + 2..token.partner).all(|at| {
            matches!(
                self.kind(at),
                Some(Kind::Letter(_) | Kind::Named(_) | Kind::Number(_) | Kind::Mark(b','))
            )
        });
        (letter && token.kind == Kind::Open(b'(') && token.partner + 1 == to && variables)
            .then_some(token.partner)
    }

    fn defined_name(&self, at: usize) -> Parsed<String> {
        match self.kind(at) {
            Some(Kind::Letter(run)) => Ok(run.get(..1).unwrap_or("").to_owned()),
            Some(Kind::Named(name)) => Ok(name.to_owned()),
            _ => Err(SyntaxError::Unreadable),
        }
    }

    /// One side of a relation, or an item without one.
    pub(super) fn side(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        if from >= to {
            return Err(SyntaxError::Unreadable);
        }
        self.within(from, to, |parser| parser.side_here(from, to))
    }

    fn side_here(&mut self, from: usize, to: usize) -> Parsed<Answer> {
        if let Some(sets) = self.set_operation(from, to)? {
            return Ok(sets);
        }
        if self.is(Kind::Command("bigcup")) {
            return self.indexed_union(to);
        }
        if let Some(Kind::Open(bracket)) = self.peek() {
            if self.closing(from)? + 1 == to {
                return self.enclosed(bracket, from, to - 1);
            }
        }
        if let Some(Kind::Begin(name)) = self.peek() {
            if name != "vmatrix" && self.closing(from + 1)? + 1 == to {
                return self.environment(name, from + 2, to - 1);
            }
        }
        if let Some(set) = self.named_set(from, to)? {
            return Ok(Answer::NamedSet(set));
        }
        let colon = self.split(from, to, |kind| kind == Kind::Mark(b':'));
        if colon.len() > 1 {
            return self.ratio(&colon, to);
        }
        if let Some(numeral) = self.base_numeral(from, to) {
            return numeral;
        }
        if let Some(words) = self.words(from, to) {
            return Ok(words);
        }
        if let Some(quantity) = self.quantity(from, to)? {
            return Ok(quantity);
        }
        Ok(Answer::Expr(self.whole(from, to)?))
    }

    /// `A \cup B`, `A \setminus B`.
    fn set_operation(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
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
    fn indexed_union(&mut self, to: usize) -> Parsed<Answer> {
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
        let infinity = Expr::Constant(super::super::tree::Constant::Infinity);
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
            if !(raised && plus && after == to) {
                return Ok(None);
            }
            positive = true;
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

    /// `3:5`, `4:30 p.m.`
    fn ratio(&mut self, ranges: &[(usize, usize)], to: usize) -> Parsed<Answer> {
        if let Some(time) = self.time(ranges, to) {
            return Ok(Answer::Time(time));
        }
        let mut parts = Vec::new();
        for &(from, to) in ranges {
            parts.push(self.whole(from, to)?);
        }
        Ok(Answer::Ratio(parts))
    }

    fn time(&self, ranges: &[(usize, usize)], to: usize) -> Option<Time> {
        let mut fields = [0_u32; 3];
        if ranges.len() > 3 {
            return None;
        }
        let mut afternoon = None;
        for (index, &(from, end)) in ranges.iter().enumerate() {
            let token = self.tokens.list.get(from).filter(|token| token.plain)?;
            let digits = self.tokens.text.get(token.start..token.end)?;
            let value: u32 = digits.parse().ok()?;
            let fits = if index == 0 {
                digits.len() <= 2 && value <= 24
            } else {
                digits.len() == 2 && value < 60
            };
            *fields.get_mut(index)? = value;
            if end == to && end > from + 1 {
                let suffix = self.tokens.list.get(from + 1)?;
                let suffix = self.tokens.text.get(suffix.start..)?;
                let letters: String = suffix
                    .chars()
                    .filter(char::is_ascii_alphabetic)
                    .map(|c| c.to_ascii_lowercase())
                    .collect();
                afternoon = Some(
                    match letters
                        .trim_start_matches("text")
                        .trim_start_matches("mathrm")
                    {
                        "am" => false,
                        "pm" => true,
                        _ => return None,
                    },
                );
            } else if end != from + 1 {
                return None;
            }
            if !fits {
                return None;
            }
        }
        let [hour, minute, second] = fields;
        Some(Time {
            hour,
            minute,
            second: (ranges.len() == 3).then_some(second),
            afternoon,
        })
    }

    /// `204_5`, `1A_{16}`.
    fn base_numeral(&self, from: usize, to: usize) -> Option<Parsed<Answer>> {
        let ranges = self.split(from, to, |kind| kind == Kind::Mark(b'_'));
        let &[(_, digits_end), (base_from, _)] = ranges.as_slice() else {
            return None;
        };
        let braces = self.kind(base_from) == Some(Kind::Open(b'{'));
        let base_at = base_from + usize::from(braces);
        let base_token = self.tokens.list.get(base_at)?;
        let end = base_at + 1 + usize::from(braces);
        let first = self.tokens.list.get(from)?;
        let last = self.tokens.list.get(digits_end.checked_sub(1)?)?;
        let digits = match first.kind {
            Kind::Text(text) if digits_end == from + 1 => text,
            _ => self.tokens.text.get(first.start..last.end)?,
        };
        let numeral = digits.bytes().any(|b| b.is_ascii_digit())
            && digits
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'.');
        if !numeral
            || end != to
            || !base_token.plain
            || matches!(first.kind, Kind::Letter(run) if run.starts_with(|c: char| c.is_ascii_lowercase()))
        {
            return None;
        }
        let base: u32 = self
            .tokens
            .text
            .get(base_token.start..base_token.end)?
            .parse()
            .ok()?;
        let valid =
            (2..=36).contains(&base) && digits.chars().all(|c| c == '.' || c.is_digit(base));
        if !valid {
            return Some(Err(SyntaxError::Unreadable));
        }
        let digits = digits.to_ascii_lowercase();
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() || digits.starts_with('.') {
            format!("0{digits}")
        } else {
            digits.to_owned()
        };
        Some(Ok(Answer::Base {
            digits: digits.into(),
            base,
        }))
    }

    /// Nothing but words.
    fn words(&self, from: usize, to: usize) -> Option<Answer> {
        let mut text = false;
        for at in from..to {
            match self.kind(at)? {
                Kind::Text(_) => text = true,
                Kind::Letter(run) => {
                    let glued = self.tokens.list.get(at).is_some_and(|token| token.glued);
                    text |= !glued && !super::tables::is_product(run);
                }
                Kind::Function(_) | Kind::Named(_) => {}
                _ => return None,
            }
        }
        let (first, last) = (
            self.tokens.list.get(from)?,
            self.tokens.list.get(to.checked_sub(1)?)?,
        );
        if let (Kind::Text(only), true) = (first.kind, from + 1 == to) {
            let mut letters = only.chars();
            if let (Some(letter), None) = (letters.next(), letters.next()) {
                return letter
                    .is_ascii_uppercase()
                    .then_some(Answer::Choice(letter));
            }
            let clean = only
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.' | '~'));
            return clean.then(|| Answer::Words(words::normal(only)));
        }
        let source = self.tokens.text.get(first.start..last.end)?;
        let clean = source
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\''));
        (text && clean).then(|| Answer::Words(words::normal(source)))
    }
}

/// A pair where only a set can stand is an interval.
fn interval(answer: Answer) -> Answer {
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
