//! Exact rationals from plain text and LaTeX.

use num_bigint::{BigInt, BigUint, Sign};

use super::compare::bare;

/// An exact rational, not reduced, and how it was written.
#[derive(Debug)]
pub(super) struct Number {
    numerator: BigInt,
    /// Never zero.
    denominator: BigUint,
    /// Significant digits of a number written with a decimal point.
    decimal_digits: Option<usize>,
}

impl Number {
    /// Read an integer, decimal or fraction: `-1,234.50`, `1/2`, `\frac{1}{2}`, `\dfrac12`, `\$5`.
    ///
    /// Thousands groups (`,` `{,}` `,\!` `\,`) must be well formed. Anything else (a percentage, a
    /// unit, a mixed number, an exponent, a zero denominator) is `None`. Time is quadratic in the
    /// length of `text`: bound it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut cursor = Cursor { rest: bare(text) };
        let negative = cursor.sign();
        let _currency = cursor.eat("\\$") || cursor.eat("$");
        cursor.space();
        let number = if cursor.fraction_command() {
            let (numerator_negative, numerator) = cursor.argument()?;
            let (denominator_negative, denominator) = cursor.argument()?;
            let negative = negative ^ numerator_negative ^ denominator_negative;
            Self::ratio(negative, &numerator, Some(&denominator))?
        } else {
            let numerator = cursor.decimal()?;
            cursor.space();
            let denominator = if cursor.eat("/") {
                cursor.space();
                Some(cursor.decimal()?)
            } else {
                None
            };
            Self::ratio(negative, &numerator, denominator.as_ref())?
        };
        cursor.rest.is_empty().then_some(number)
    }

    fn ratio(negative: bool, over: &Decimal, under: Option<&Decimal>) -> Option<Self> {
        let mut numerator = BigUint::parse_bytes(over.digits.as_bytes(), 10)?;
        let mut denominator = power_of_ten(over.places)?;
        if let Some(under) = under {
            numerator *= power_of_ten(under.places)?;
            denominator *= BigUint::parse_bytes(under.digits.as_bytes(), 10)?;
        }
        if denominator == BigUint::ZERO {
            return None;
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        let written_with_point = under.is_none() && over.places > 0;
        let significant = over.digits.trim_start_matches('0').len();
        Some(Self {
            numerator: BigInt::from_biguint(sign, numerator),
            denominator,
            decimal_digits: written_with_point.then_some(significant),
        })
    }

    /// Whether `self` is a decimal of at least `digits` significant digits that lies within half a
    /// unit of its last place of `exact`, which is not a decimal.
    pub(super) fn rounds(&self, exact: &Self, digits: usize) -> bool {
        if exact.decimal_digits.is_some() || self.decimal_digits.is_none_or(|have| have < digits) {
            return false;
        }
        // |n/10^k - a/b| <= 1/(2*10^k)  <=>  2 |n*b - a*10^k| <= b
        let difference = &self.numerator * BigInt::from(exact.denominator.clone())
            - &exact.numerator * BigInt::from(self.denominator.clone());
        difference.into_parts().1 * 2_u8 <= exact.denominator
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.numerator.sign() == other.numerator.sign()
            && self.numerator.magnitude() * &other.denominator
                == other.numerator.magnitude() * &self.denominator
    }
}

fn power_of_ten(exponent: usize) -> Option<BigUint> {
    Some(BigUint::from(10_u8).pow(u32::try_from(exponent).ok()?))
}

/// `digits / 10^places`.
struct Decimal {
    digits: String,
    places: usize,
}

struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// An optional sign; true for minus. U+2212 and the en dash are minus signs too.
    fn sign(&mut self) -> bool {
        let negative = self.eat("-") || self.eat("\u{2212}") || self.eat("\u{2013}");
        if negative || self.eat("+") {
            self.space();
        }
        negative
    }

    /// `\frac` and its sizes; the backslash may be doubled, as in JSON that was escaped twice.
    fn fraction_command(&mut self) -> bool {
        let rest = self.rest.trim_start_matches('\\');
        let slashes = self.rest.len() - rest.len();
        for name in ["frac", "dfrac", "tfrac", "cfrac"] {
            if let Some(rest) = rest
                .strip_prefix(name)
                .filter(|_| (1..=2).contains(&slashes))
            {
                self.rest = rest;
                return true;
            }
        }
        false
    }

    /// An argument of `\frac`: `{-12}`, or a single digit without braces.
    fn argument(&mut self) -> Option<(bool, Decimal)> {
        self.space();
        if self.eat("{") {
            self.space();
            let negative = self.sign();
            let value = self.decimal()?;
            self.space();
            return self.eat("}").then_some((negative, value));
        }
        let digit = self.run(1);
        (!digit.is_empty()).then_some((
            false,
            Decimal {
                digits: digit,
                places: 0,
            },
        ))
    }

    /// Up to `limit` digits.
    fn run(&mut self, limit: usize) -> String {
        let end = self
            .rest
            .bytes()
            .take(limit)
            .take_while(u8::is_ascii_digit)
            .count();
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.to_owned()
    }

    /// Digits with optional thousands groups and an optional fraction; `.5` is one, `5.` is not.
    fn decimal(&mut self) -> Option<Decimal> {
        let mut digits = self.run(usize::MAX);
        let mut groups = 0;
        while self.group_separator() {
            groups += 1;
            let group = self.run(usize::MAX);
            let well_formed = group.len() == 3 && (groups > 1 || (1..=3).contains(&digits.len()));
            if !well_formed || digits.starts_with('0') {
                return None;
            }
            digits.push_str(&group);
        }
        let mut places = 0;
        if self.eat(".") {
            let fraction = self.run(usize::MAX);
            places = fraction.len();
            digits.push_str(&fraction);
            if places == 0 {
                return None;
            }
        }
        (!digits.is_empty()).then_some(Decimal { digits, places })
    }

    fn group_separator(&mut self) -> bool {
        // The longest first: `,` is a prefix of `,\!`.
        self.eat(",\\!") || self.eat("{,}") || self.eat(",") || self.eat("\\,")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_in_many_spellings() {
        for spellings in [
            vec![
                "1234", "1,234", "1{,}234", r"1,\!234", r"1\,234", "+1234", "01234", "1234.0",
                r"\$1,234",
            ],
            vec![
                "-0.5",
                "-.5",
                "-1/2",
                r"-\frac{1}{2}",
                r"\frac{-1}{2}",
                r"\frac{1}{-2}",
                r"-\dfrac12",
                "\u{2212}1/2",
                "- 1 / 2",
                r"$-\tfrac{2}{4}$",
                r"\\frac{-1}{2}",
                "-0.50.",
                r"\(-0.5\)",
            ],
            vec!["0", "-0", "0/7", "000", "0.0"],
            vec!["1.5/2", "3/4", r"\frac{1.5}2", "0.75"],
        ] {
            let numbers: Vec<_> = spellings.iter().map(|s| (s, Number::parse(s))).collect();
            for (spelling, number) in &numbers {
                assert!(number.is_some(), "{spelling}");
                assert_eq!(number, &numbers[0].1, "{spelling}");
            }
        }
    }

    #[test]
    fn what_is_not_a_plain_number() {
        for text in [
            "",
            "x",
            "5%",
            r"5\%",
            "5 cm",
            "12,34",
            "1,2345",
            "0,123",
            "1234,567",
            "1,234,56",
            "1 234",
            "1/0",
            r"\frac{1}{0}",
            r"1\frac12",
            "1/2/3",
            "--5",
            "1e5",
            "1.2.3",
            "3:5",
            r"\frac1",
            r"\frac{1}{2",
            "1/-2",
            r"\text{5}",
            "(5)",
            "5,",
            "\u{ff15}",
            "0x10",
            "1_000",
            "inf",
            "NaN",
            "1/",
            "/2",
            ".",
            "$",
            "-",
        ] {
            let trailing_comma = text == "5,";
            assert_eq!(Number::parse(text).is_some(), trailing_comma, "{text}");
        }
    }
}
