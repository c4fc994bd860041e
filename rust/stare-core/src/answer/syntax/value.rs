//! One item of an answer: relations, set operations, ratios, times, base numerals, values.

use super::super::tree::{Answer, Expr, Operator, Time};
use super::parser::{Parsed, Parser};
use super::set::interval;
use super::token::Kind;
use super::{words, SyntaxError};

impl Parser<'_> {
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
            let alone = [Operator::Equal, Operator::Approximately];
            if at == 0 && from == to && alone.iter().any(|o| operators.as_slice() == [*o]) {
                // `= 5`
                continue;
            }
            let defined = operators.get(at) == Some(&Operator::Equal);
            let definition = if defined {
                self.definition(from, to)?
            } else {
                None
            };
            let side = match definition {
                Some(definition) => definition,
                None => self.side(from, to)?,
            };
            let map = matches!(side, Answer::Ratio(_)) && operators.contains(&Operator::Arrow);
            let prose = |words: &str| words.contains(' ') || words::takes_back(words);
            if map || matches!(&side, Answer::Words(words) if prose(words)) {
                // "The mode is x = 0" is prose, `wrong = 5` a denial.
                return Err(SyntaxError::Unreadable);
            }
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

    /// `C(h)` or `p_Y(y)` on the left of an equation defines a function, whatever its letter.
    fn definition(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
        let mut name = match self.kind(from) {
            Some(Kind::Letter(run)) => run.get(..1).unwrap_or("").to_owned(),
            Some(Kind::Named(name)) => name.to_owned(),
            _ => return Ok(None),
        };
        let Some(open) = (from + 1..to).find(|&at| self.kind(at) == Some(Kind::Open(b'('))) else {
            return Ok(None);
        };
        let close = self.tokens.list.get(open).map_or(0, |token| token.partner);
        let variables = (open + 1..close).all(|at| {
            matches!(
                self.kind(at),
                Some(Kind::Letter(_) | Kind::Named(_) | Kind::Number(_) | Kind::Mark(b','))
            )
        });
        let subscript = open == from + 1 || self.kind(from + 1) == Some(Kind::Mark(b'_'));
        if !(variables && subscript && close + 1 == to) {
            return Ok(None);
        }
        let named = self.within(from + 1, open, |parser| {
            parser.decorate(&mut name)?;
            Ok(parser.at == parser.end)
        })?;
        if !named {
            return Ok(None);
        }
        let arguments = self.arguments(open + 1, close)?;
        Ok(Some(Answer::Expr(Expr::Apply(name.into(), arguments))))
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
        if let Some(matrix) = self.scaled_matrix(from, to)? {
            return Ok(matrix);
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
        // `FF_{16}` has letters only; `ff_{16}` may be a product.
        let letters = digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_alphabetic());
        let capitals = digits.bytes().all(|b| b.is_ascii_uppercase());
        let numeral = (letters || digits.bytes().any(|b| b.is_ascii_digit()))
            && digits
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'.');
        let starts_small = matches!(first.kind, Kind::Letter(run) if run.starts_with(|c: char| c.is_ascii_lowercase()));
        if !numeral || end != to || !base_token.plain || (starts_small && !letters) {
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
        match (valid, letters) {
            (false, true) => return None,
            (true, true) if capitals => {}
            (true, false) => {}
            _ => return Some(Err(SyntaxError::Unreadable)),
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
        if let (Some(Kind::Text(only)), true) = (self.kind(from), from + 1 == to) {
            let mut letters = only.chars();
            if let (Some(letter), None) = (letters.next(), letters.next()) {
                return letter
                    .is_ascii_uppercase()
                    .then_some(Answer::Choice(letter));
            }
        }
        let mut certain = false;
        let mut text = String::new();
        for at in from..to {
            let token = self.tokens.list.get(at)?;
            if !token.glued && !text.is_empty() {
                text.push(' ');
            }
            match token.kind {
                Kind::Text(words) => {
                    certain = true;
                    text.push_str(words);
                }
                Kind::Letter(run) => {
                    if super::tables::hides_function(run) {
                        return None;
                    }
                    certain |= !token.glued && !super::tables::is_product(run);
                    text.push_str(run.get(..1)?);
                }
                Kind::Function(_) | Kind::Named(_) => {
                    text.push_str(self.tokens.text.get(token.start..token.end)?);
                }
                _ => return None,
            }
        }
        let clean = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.' | '~');
        (certain && text.chars().all(clean)).then(|| Answer::Words(words::normal(&text)))
    }
}
