//! Literal numbers: exact rationals from digits, groups, decimals, repeating decimals, exponents.

use dashu_base::Sign;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use super::super::limits;
use super::super::tree::{Decimal, Number};
use super::SyntaxError;

/// Digits a number may have: they fit into [`limits::INTEGER_BITS`].
const DIGITS: usize = limits::INTEGER_BITS * 3 / 10;

/// A number found in a text.
#[derive(Debug)]
pub(super) struct Literal {
    pub(super) number: Number,
    /// Where it ends.
    pub(super) end: usize,
    /// Digits only, no groups: it may be the whole part of a mixed number or have a base.
    pub(super) plain: bool,
    /// Groups were set off by spaces.
    pub(super) spaced: bool,
}

/// How groups of three digits are set off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `1,234`, which may also be a list.
    Comma,
    /// `1{,}234`, `1,\!234`.
    SureComma,
    /// `1 234`, `1\,234`.
    Space,
}

/// Read the number that starts at `start`, with a digit or a point before a digit.
///
/// `commas`: whether a bare comma may group digits.
pub(super) fn scan(text: &str, start: usize, commas: bool) -> Result<Literal, SyntaxError> {
    let bytes = text.as_bytes();
    let mut digits = String::new();
    let mut end = push_digits(&mut digits, bytes, start);
    let whole = end - start;
    let mut spaced = false;
    let mut plain = true;
    if (1..=3).contains(&whole) && bytes.get(start) != Some(&b'0') {
        if let Some((grouped, kind)) = groups(bytes, end, commas, &mut digits)? {
            end = grouped;
            plain = false;
            spaced = kind == Separator::Space;
        }
    }
    let mut places = 0;
    let mut repeating = None;
    let mut pointed = false;
    if bytes.get(end) == Some(&b'.') {
        let after = push_digits(&mut digits, bytes, end + 1);
        places = after - end - 1;
        repeating = repetend(text, after);
        if places > 0 || repeating.is_some() {
            pointed = true;
            plain = false;
            end = after;
        } else if point_ends_number(bytes, end + 1) {
            plain = false;
            end += 1;
        }
    }
    if digits.len() > DIGITS {
        return Err(SyntaxError::Limit);
    }
    if let Some((period, after)) = repeating {
        let number = repeated(&digits, places, &period)?;
        return Ok(Literal {
            number,
            end: after,
            plain: false,
            spaced,
        });
    }
    let mut exponent = 0;
    if let Some((power, after)) = exponent_at(bytes, end)? {
        exponent = power;
        pointed = true;
        plain = false;
        end = after;
    }
    let places = i32::try_from(places).map_err(|_| SyntaxError::Limit)? - exponent;
    let number = decimal(&digits, places, pointed)?;
    Ok(Literal {
        number,
        end,
        plain,
        spaced,
    })
}

fn push_digits(digits: &mut String, bytes: &[u8], from: usize) -> usize {
    let mut end = from;
    while let Some(digit) = bytes.get(end).filter(|b| b.is_ascii_digit()) {
        digits.push(char::from(*digit));
        end += 1;
    }
    end
}

/// Whether a point without digits behind it belongs to the number, as in `1./3`.
fn point_ends_number(bytes: &[u8], after: usize) -> bool {
    matches!(
        bytes.get(after),
        None | Some(
            b'/' | b')' | b']' | b'}' | b',' | b';' | b' ' | b'*' | b'+' | b'-' | b'\\' | b'$'
        )
    )
}

/// Groups of three digits from `end` on, appended to `digits`.
fn groups(
    bytes: &[u8],
    end: usize,
    commas: bool,
    digits: &mut String,
) -> Result<Option<(usize, Separator)>, SyntaxError> {
    let mut at = end;
    let mut kind = None;
    let mut found = String::new();
    while let Some((separator, after)) = separator(bytes, at, commas) {
        let run = bytes
            .iter()
            .skip(after)
            .take_while(|b| b.is_ascii_digit())
            .count();
        if kind.is_some_and(|k| k != separator) || run != 3 {
            match kind.unwrap_or(separator) {
                // `1,234,5` and `1,2` are lists, `1 2` is no number.
                Separator::Comma | Separator::Space => return Ok(None),
                Separator::SureComma if separator == Separator::SureComma => {
                    return Err(SyntaxError::Unreadable)
                }
                Separator::SureComma => break,
            }
        }
        kind = Some(separator);
        at = push_digits(&mut found, bytes, after);
    }
    let tight_comma =
        bytes.get(at) == Some(&b',') && bytes.get(at + 1).is_some_and(|b| !b.is_ascii_whitespace());
    if kind == Some(Separator::Comma) && tight_comma {
        return Ok(None);
    }
    digits.push_str(&found);
    Ok(kind.map(|kind| (at, kind)))
}

/// What sets a group off, and where its digits start.
fn separator(bytes: &[u8], at: usize, commas: bool) -> Option<(Separator, usize)> {
    const SEPARATORS: [(&[u8], Separator); 6] = [
        (b",\\!", Separator::SureComma),
        (b"{,}", Separator::SureComma),
        (b",", Separator::Comma),
        (b"\\,", Separator::Space),
        (b"\\ ", Separator::Space),
        (b" ", Separator::Space),
    ];
    let rest = bytes.get(at..)?;
    let (mark, kind) = SEPARATORS
        .into_iter()
        .find(|(mark, _)| rest.starts_with(mark))?;
    let mut after = at + mark.len();
    if kind == Separator::SureComma {
        while bytes.get(after) == Some(&b' ') {
            after += 1;
        }
    }
    let usable = (kind != Separator::Comma || commas) && bytes.get(after)?.is_ascii_digit();
    usable.then_some((kind, after))
}

/// `\overline{27}` at `at`, `\dot{2}\dot{7}`: the period and where it ends.
fn repetend(text: &str, at: usize) -> Option<(String, usize)> {
    let rest = text.get(at..)?;
    if let Some((first, tail)) = marked(rest, "\\dot") {
        let inner = tail.bytes().take_while(u8::is_ascii_digit).count();
        let (inner, behind) = tail.split_at_checked(inner)?;
        return Some(match marked(behind, "\\dot") {
            Some((last, tail)) if first.len() == 1 && last.len() == 1 => {
                (format!("{first}{inner}{last}"), text.len() - tail.len())
            }
            _ => (first.to_owned(), text.len() - tail.len()),
        });
    }
    let (period, tail) = marked(rest, "\\overline").or_else(|| marked(rest, "\\bar"))?;
    Some((period.to_owned(), text.len() - tail.len()))
}

/// The digits below an accent at the start of `text`, and what is behind them.
fn marked<'a>(text: &'a str, accent: &str) -> Option<(&'a str, &'a str)> {
    let body = text.strip_prefix(accent)?;
    let inner = body.strip_prefix('{');
    let digits = inner.unwrap_or(body).trim_start_matches(' ');
    let mut length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if inner.is_none() {
        length = length.min(1);
    }
    let (period, tail) = digits.split_at_checked(length)?;
    let tail = if inner.is_some() {
        tail.strip_prefix('}')?
    } else {
        tail
    };
    (!period.is_empty()).then_some((period, tail))
}

/// The value of `digits.(period)` with `places` digits of `digits` behind the point.
fn repeated(digits: &str, places: usize, period: &str) -> Result<Number, SyntaxError> {
    if digits.len() + period.len() > DIGITS {
        return Err(SyntaxError::Limit);
    }
    let head = natural(digits)?;
    let period_value = natural(period)?;
    let nines = UBig::from(10_u8).pow(period.len()) - UBig::ONE;
    let numerator = head * &nines + period_value;
    let denominator = nines * UBig::from(10_u8).pow(places);
    let value = RBig::from_parts(IBig::from_parts(Sign::Positive, numerator), denominator);
    Ok(Number {
        value,
        decimal: None,
    })
}

/// An exponent at `at`: its value and where it ends.
///
/// `6e-10` is e-notation, although it may be `6e - 10` without its spaces: the comparison looks at
/// what the other side has.
fn exponent_at(bytes: &[u8], at: usize) -> Result<Option<(i32, usize)>, SyntaxError> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return Ok(None);
    }
    let sign = bytes
        .get(at + 1)
        .copied()
        .filter(|b| matches!(b, b'+' | b'-'));
    let first = at + 1 + usize::from(sign.is_some());
    let length = bytes
        .iter()
        .skip(first)
        .take_while(|b| b.is_ascii_digit())
        .count();
    if length == 0 {
        return Ok(None);
    }
    let end = first + length;
    let goes_on = bytes
        .get(end)
        .is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'^' | b'(' | b'/' | b'!'));
    if goes_on {
        return Err(SyntaxError::Unreadable);
    }
    let mut power: i32 = 0;
    for digit in bytes.iter().skip(first).take(length) {
        power = power
            .saturating_mul(10)
            .saturating_add(i32::from(digit - b'0'));
        if power > 10_000 {
            return Err(SyntaxError::Limit);
        }
    }
    Ok(Some((if sign == Some(b'-') { -power } else { power }, end)))
}

fn natural(digits: &str) -> Result<UBig, SyntaxError> {
    if digits.len() < 19 {
        return Ok(UBig::from(
            digits
                .bytes()
                .fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0')),
        ));
    }
    UBig::from_str_radix(digits, 10).map_err(|_| SyntaxError::Unreadable)
}

/// `digits * 10^-places`.
fn decimal(digits: &str, places: i32, pointed: bool) -> Result<Number, SyntaxError> {
    let size =
        digits.len() + usize::try_from(places.unsigned_abs()).map_err(|_| SyntaxError::Limit)?;
    if size > DIGITS {
        return Err(SyntaxError::Limit);
    }
    let significant = digits.trim_start_matches('0').len();
    let mantissa = natural(digits)?;
    let shift = UBig::from(10_u8).pow(places.unsigned_abs() as usize);
    let value = if places <= 0 {
        RBig::from(mantissa * shift)
    } else {
        RBig::from_parts(IBig::from_parts(Sign::Positive, mantissa), shift)
    };
    let decimal = pointed.then_some(Decimal {
        significant: u32::try_from(significant).map_err(|_| SyntaxError::Limit)?,
        places,
    });
    Ok(Number { value, decimal })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<(String, usize)> {
        let literal = scan(text, 0, true).ok()?;
        Some((literal.number.value.to_string(), literal.end))
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("1234", "1234"),
            ("1,234", "1234"),
            ("1{,}234", "1234"),
            ("11,\\! 111,\\! 111", "11111111"),
            ("1\\,234", "1234"),
            ("1 000 000", "1000000"),
            (".5", "1/2"),
            ("0.50", "1/2"),
            ("0.\\overline{27}", "3/11"),
            ("0.1\\overline6", "1/6"),
            ("1.6e-3", "1/625"),
            ("4.4E7", "44000000"),
            ("1e-2", "1/100"),
            ("7e-5", "7/100000"),
            ("6e+3", "6000"),
            ("0.\\dot3", "1/3"),
            ("0.1\\dot{6}", "1/6"),
            ("0.\\dot{1}2\\dot{3}", "41/333"),
            ("3.", "3"),
        ] {
            assert_eq!(
                value(text),
                Some((expected.to_owned(), text.len())),
                "{text}"
            );
        }
    }

    #[test]
    fn only_well_formed_groups() {
        for (text, expected, end) in [
            ("1,2,3", "1", 1),
            ("1,234,5", "1", 1),
            ("1234,567", "1234", 4),
            ("0,123", "0", 1),
            ("1, 234", "1", 1),
            ("1,234, 5", "1234", 5),
            ("11 5/6", "11", 2),
            ("1,234,x", "1", 1),
        ] {
            assert_eq!(value(text), Some((expected.to_owned(), end)), "{text}");
        }
        assert!(scan("2e-3x", 0, true).is_err());
        assert!(scan("1e99999", 0, true).is_err());
        assert!(scan(&"9".repeat(2000), 0, true).is_err());
    }
}
