//! k = ceil(P * n) without a rounding error.

use crate::error::Error;

/// Number of tokens that a ratio selects from `n` candidates: `ceil(ratio * n)`, at least 1 if both are positive.
///
/// The ratio is read as its shortest decimal, so 0.07 of 100 is 7, not 8 (the double nearest to 0.07 lies above it).
///
/// # Errors
/// [`Error::Ratio`] if the ratio is outside [0, 1] or NaN.
///
/// ```
/// assert_eq!(stare_core::quota(100, 0.07)?, 7);
/// assert_eq!(stare_core::quota(101, 0.07)?, 8);
/// assert_eq!(stare_core::quota(5, 1e-300)?, 1);
/// assert_eq!(stare_core::quota(5, 0.0)?, 0);
/// # Ok::<(), stare_core::Error>(())
/// ```
pub fn quota(n: u64, ratio: f64) -> Result<u64, Error> {
    if !(0.0..=1.0).contains(&ratio) {
        return Err(Error::Ratio(ratio));
    }
    if n == 0 || ratio == 0.0 {
        return Ok(0);
    }
    let (digits, places) = shortest_decimal(ratio);
    // digits < 10^17 and n < 2^64, so the product is below 10^38 and fits.
    let product = u128::from(digits) * u128::from(n);
    let k = match 10_u128.checked_pow(places) {
        Some(scale) => product.div_ceil(scale),
        None => 1, // ten to the places exceeds every product
    };
    Ok(u64::try_from(k).unwrap_or(n).clamp(1, n))
}

/// `ratio == digits / 10^places` in the shortest decimal that reads back as `ratio`.
fn shortest_decimal(ratio: f64) -> (u64, u32) {
    let mut digits = 0_u64;
    let mut fraction = 0_i64;
    let text = format!("{ratio:e}"); // for example 7e-2 or 1.25e-1
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut after_point = false;
    for c in mantissa.chars() {
        match c.to_digit(10) {
            Some(d) => {
                digits = digits * 10 + u64::from(d);
                fraction += i64::from(after_point);
            }
            None => after_point = true,
        }
    }
    // A ratio is at most 1, so the exponent is not positive.
    let places = fraction - exponent.parse::<i64>().unwrap_or(0);
    (digits, u32::try_from(places).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_shortest_decimal() {
        assert_eq!(shortest_decimal(0.07), (7, 2));
        assert_eq!(shortest_decimal(1.0), (1, 0));
        assert_eq!(shortest_decimal(0.125), (125, 3));
        assert_eq!(shortest_decimal(5e-324), (5, 324));
        assert_eq!(shortest_decimal(0.1 + 0.2), (30_000_000_000_000_004, 17));
    }

    #[test]
    fn extremes() {
        assert_eq!(quota(u64::MAX, 1.0), Ok(u64::MAX));
        assert_eq!(quota(u64::MAX, 5e-324), Ok(1));
        assert_eq!(quota(u64::MAX, 0.5), Ok(u64::MAX / 2 + 1));
        assert_eq!(quota(0, 1.0), Ok(0));
        assert!(quota(1, f64::NAN).is_err());
        assert!(quota(1, -0.1).is_err());
    }
}
