//! A second opinion on small rational numbers, in a grammar so small that it is surely right:
//! `-7`, `1.25`, `3/4`, `\frac{3}{4}`.

/// Numerator and denominator, reduced; the denominator is positive.
pub fn parse(text: &str) -> Option<(i128, i128)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (top, bottom) = match rest.strip_prefix("\\frac{") {
        Some(inside) => inside.strip_suffix('}')?.split_once("}{")?,
        None => rest.split_once('/').unwrap_or((rest, "1")),
    };
    let ((a, b), (c, d)) = (decimal(top)?, decimal(bottom)?);
    let (numerator, denominator) = (a * d, b * c);
    if denominator == 0 {
        return None;
    }
    let divisor = gcd(numerator, denominator);
    Some((sign * numerator / divisor, denominator / divisor))
}

fn decimal(text: &str) -> Option<(i128, i128)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part}");
    let good = !whole.is_empty() && digits.len() <= 12 && digits.bytes().all(|b| b.is_ascii_digit());
    let numerator = digits.parse().ok().filter(|_| good)?;
    Some((numerator, 10_i128.pow(u32::try_from(part.len()).ok()?)))
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// Whether a text is arithmetic: no words, units, relations or brackets that have two readings.
#[allow(dead_code)] // not every target asks
pub fn plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b"+-*/^. ".contains(&b))
}
