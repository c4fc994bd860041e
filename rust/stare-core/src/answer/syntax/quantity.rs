//! Values with a unit, a percent sign, degrees, a currency.

use super::super::tree::{Answer, Expr, Unit};
use super::super::units;
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::{tables, words, SyntaxError};

/// More words than this behind a number are prose.
const UNIT_WORDS: usize = 4;

/// Words that change a value, or say that it is none.
const VALUES: &[&str] = &[
    "per",
    "hundred",
    "hundreds",
    "thousand",
    "thousands",
    "million",
    "millions",
    "billion",
    "billions",
    "trillion",
    "dozen",
    "dozens",
    "score",
    "half",
    "halves",
    "quarter",
    "quarters",
    "third",
    "thirds",
    "tenths",
    "hundredths",
    "squared",
    "cubed",
    "factorial",
    "times",
    "plus",
    "minus",
    "over",
    "divided",
    "by",
    "base",
    "mod",
    "modulo",
    "not",
    "no",
    "less",
    "more",
    "least",
    "most",
    "approximately",
    "about",
    "around",
    "roughly",
    "or",
    "and",
    "to",
    "than",
    "from",
    "except",
    "if",
    "when",
    "where",
    "for",
    "with",
    "is",
    "are",
    "was",
    "then",
    "choose",
    "pi",
    "ago",
    "before",
    "after",
    "above",
    "below",
    "past",
    "am",
    "pm",
    "a.m",
    "p.m",
    "a.m.",
    "p.m.",
    "k",
    "infinity",
];

/// Codes in front of an amount of money.
const CURRENCIES: &[(&str, &str)] = &[
    ("USD", "dollar"),
    ("EUR", "euro"),
    ("GBP", "pound sterling"),
];

/// Whether letters in front of a number look like the code of a currency.
fn is_code(run: &str) -> bool {
    run == "Rs" || run.len() == 3 && run.bytes().all(|b| b.is_ascii_uppercase())
}

/// Letters behind a number that may multiply it: `5\text{k}`, `5\text{M}`.
const MAGNITUDES: &[&str] = &["k", "K", "M", "B", "b", "T"];

/// Names of the percent.
const PERCENT: &[&str] = &["percent", "per cent", "percents", "pct"];

impl Parser<'_> {
    /// The value and unit of `from..to`; `None` if it has no unit.
    pub(super) fn quantity(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
        if let Some(currency) = self.currency(from, to)? {
            return Ok(Some(currency));
        }
        if let Some((end, unit)) = self.sign_unit(from, to) {
            // The sign belongs to the last term of a sum, and to the argument of a function.
            let apart = |kind: Kind<'_>| is_term_sign(kind) || matches!(kind, Kind::Function(_));
            let function = matches!(self.kind(from), Some(Kind::Function(_)));
            let sign = self.kind(from).is_some_and(is_term_sign);
            let start = from + usize::from(sign);
            let single = !function && self.split(start, end, apart).len() == 1;
            if !single {
                return Ok(None);
            }
            return Ok(Some(self.counted(from, end, unit)?));
        }
        let Some(start) = self.unit_start(from, to) else {
            return Ok(None);
        };
        let unit = self.unit(start, to)?;
        if start == from {
            return Err(SyntaxError::Unreadable);
        }
        Ok(Some(self.counted(from, start, unit)?))
    }

    fn counted(&mut self, from: usize, to: usize, unit: Unit) -> Parsed<Answer> {
        let value = match self.kind(from) {
            Some(Kind::Open(b'(' | b'[')) if self.closing(from)? + 1 == to => {
                self.side(from, to)?
            }
            _ => Answer::Expr(self.whole(from, to)?),
        };
        match value {
            Answer::Expr(_) | Answer::Tuple { .. } => Ok(Answer::Quantity(Box::new(value), unit)),
            _ => Err(SyntaxError::Unreadable),
        }
    }

    /// `\$5`, `-\$5`.
    fn currency(&mut self, from: usize, to: usize) -> Parsed<Option<Answer>> {
        let negative = self.kind(from) == Some(Kind::Mark(b'-'));
        let at = from + usize::from(negative);
        let mut length = 1;
        let name = match self.kind(at) {
            Some(Kind::Mark(b'$')) => "dollar",
            Some(Kind::Command("euro")) => "euro",
            Some(Kind::Command("pounds")) => "pound sterling",
            Some(Kind::Letter(code)) => {
                let number = matches!(self.kind(at + code.len()), Some(Kind::Number(_)));
                let known = CURRENCIES.iter().find(|(known, _)| *known == code);
                match known {
                    Some((_, name)) if number => {
                        length = code.len();
                        name
                    }
                    // `CAD 5` is no product.
                    None if number && is_code(code) => return Err(SyntaxError::Unreadable),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let value = self.whole(at + length, to)?;
        let value = if negative {
            Expr::Negate(Box::new(value))
        } else {
            value
        };
        Ok(Some(Answer::Quantity(
            Box::new(Answer::Expr(value)),
            Unit::Known(name.into()),
        )))
    }

    /// `\%`, `^\circ` or `\$` at the end: where the value ends.
    fn sign_unit(&self, from: usize, to: usize) -> Option<(usize, Unit)> {
        let last = to.checked_sub(1)?;
        let circle =
            |kind: Option<Kind<'_>>| matches!(kind, Some(Kind::Command("circ" | "degree")));
        let kind = |back: usize| {
            to.checked_sub(back)
                .filter(|&at| at >= from)
                .and_then(|at| self.kind(at))
        };
        let scale = match self.kind(last)? {
            Kind::Text("C") | Kind::Letter("C") => Some("degC"),
            Kind::Text("F") | Kind::Letter("F") => Some("degF"),
            _ => None,
        };
        if let Some(scale) = scale {
            let (end, unit) = self.sign_unit(from, last)?;
            return (unit == Unit::Degree).then(|| (end, Unit::Known(scale.into())));
        }
        let (end, unit) = match self.kind(last)? {
            Kind::Mark(b'%') => (last, Unit::Percent),
            Kind::Mark(b'$') => (last, Unit::Known("dollar".into())),
            Kind::Command("circ" | "degree") if kind(2) == Some(Kind::Mark(b'^')) => {
                (last - 1, Unit::Degree)
            }
            Kind::Command("degree") => (last, Unit::Degree),
            Kind::Close(b'{')
                if circle(kind(2))
                    && kind(3) == Some(Kind::Open(b'{'))
                    && kind(4) == Some(Kind::Mark(b'^')) =>
            {
                (to - 4, Unit::Degree)
            }
            _ => return None,
        };
        (end > from).then_some((end, unit))
    }

    /// The first token of the unit behind a value.
    fn unit_start(&self, from: usize, to: usize) -> Option<usize> {
        let mut at = from;
        while at < to {
            let token = self.tokens.list.get(at)?;
            let counted = at > from
                && matches!(
                    self.kind(at - 1),
                    Some(Kind::Number(_) | Kind::Close(_) | Kind::Command("pi"))
                );
            match token.kind {
                Kind::Open(_) => at = token.partner.max(at),
                Kind::Text(text) => {
                    let letter = super::atom::is_text_atom(text);
                    let unit =
                        !matches!(text, "e" | "i") && units::canonical(text).is_some() && at > from;
                    let applied = self.kind(at + 1) == Some(Kind::Open(b'('));
                    let scaled = counted && MAGNITUDES.contains(&text);
                    if unit || scaled || !(letter || applied) {
                        return Some(at);
                    }
                }
                // `15.6$m/s$`
                Kind::Letter(run)
                    if counted && self.enters(at) && units::canonical(run).is_some() =>
                {
                    return Some(at);
                }
                Kind::Letter(run) if counted && !token.glued && run.len() > 1 => {
                    // `3 men` is no product.
                    let word = match run.len() {
                        0..=2 => at + run.len() == to && is_half_day(run),
                        3 => token.spaced && !tables::is_algebra(run),
                        _ => !tables::is_product(run),
                    };
                    if word || units::canonical(run).is_some() {
                        return Some(at);
                    }
                }
                Kind::Function(_) if counted && at + 1 == to => {
                    let source = self.tokens.text.get(token.start..token.end)?;
                    if units::canonical(source).is_some() {
                        return Some(at);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Whether one `$` stands between a token and the one before it.
    fn enters(&self, at: usize) -> bool {
        let end = at
            .checked_sub(1)
            .and_then(|before| self.tokens.list.get(before))
            .map(|token| token.end);
        let start = self.tokens.list.get(at).map(|token| token.start);
        match (end, start) {
            (Some(end), Some(start)) => {
                let between = self.tokens.text.get(end..start).unwrap_or("");
                between.trim_matches(' ') == "$"
            }
            _ => false,
        }
    }

    /// The unit that `from..to` is.
    fn unit(&self, from: usize, to: usize) -> Parsed<Unit> {
        let mut name = String::new();
        let mut plain_words = true;
        for at in from..to {
            let token = self.tokens.list.get(at).ok_or(SyntaxError::Unreadable)?;
            let source = self.tokens.text.get(token.start..token.end).unwrap_or("");
            match token.kind {
                Kind::Text(text) => {
                    if !name.is_empty() && !name.ends_with(['/', '*']) {
                        name.push(' ');
                    }
                    name.push_str(text);
                }
                Kind::Letter(run) => {
                    if token.spaced && !name.is_empty() && !name.ends_with(['/', '*']) {
                        name.push(' ');
                    }
                    name.push_str(run.get(..1).unwrap_or(""));
                }
                Kind::Function(_) => {
                    name.push(' ');
                    name.push_str(source);
                }
                Kind::Mark(b'^' | b'/') | Kind::Number(_) => {
                    plain_words = false;
                    name.push_str(source);
                }
                Kind::Mark(b'-') => name.push('-'),
                Kind::Mark(b'*') => {
                    plain_words = false;
                    name.push('*');
                }
                Kind::Open(b'{') | Kind::Close(b'{') => {}
                _ => return Err(SyntaxError::Unreadable),
            }
        }
        // `2mg` may be a product.
        let tight = self
            .tokens
            .list
            .get(from)
            .is_some_and(|token| !token.spaced && matches!(token.kind, Kind::Letter(_)));
        // `\text{K}` may be thousands.
        let thousand = name == "K"
            && self.tokens.list.get(from).is_some_and(|token| {
                let source = self.tokens.text.get(token.start..token.end);
                !(token.spaced && source.is_some_and(|source| source.starts_with("\\mathrm")))
            });
        if thousand || tight && matches!(name.as_str(), "mg" | "in" | "kg") {
            return Err(SyntaxError::Unreadable);
        }
        let name = name.trim();
        if let Some(unit) = units::canonical(name) {
            return Ok(if &*unit == "degree" {
                Unit::Degree
            } else {
                Unit::Known(unit)
            });
        }
        let clean = name
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.'));
        if name
            .split_whitespace()
            .any(|word| VALUES.contains(&word.to_lowercase().as_str()))
        {
            return Err(SyntaxError::Unreadable);
        }
        if plain_words && clean && name.split_whitespace().count() <= UNIT_WORDS {
            let folded = words::normal(name);
            return Ok(if PERCENT.contains(&&*folded) {
                Unit::Percent
            } else {
                Unit::Words(units::normal(name))
            });
        }
        Err(SyntaxError::Unreadable)
    }
}

/// `12 pm` is no product.
fn is_half_day(run: &str) -> bool {
    run.eq_ignore_ascii_case("am") || run.eq_ignore_ascii_case("pm")
}

fn is_term_sign(kind: Kind<'_>) -> bool {
    matches!(kind, Kind::Mark(b'+' | b'-') | Kind::Command("pm" | "mp"))
}
