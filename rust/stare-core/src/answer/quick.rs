//! Plain integers and decimals, decided without a tree. Most answers are such.

/// `mantissa / 10^places`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    mantissa: i64,
    places: u32,
}

/// Digits that fit an `i64` whatever they are.
const MAX_DIGITS: usize = 18;

impl Plain {
    /// Read a sign, digits and at most one point, nothing else: no groups, no spaces.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        if whole.is_empty() || fraction.is_empty() || whole.len() + fraction.len() > MAX_DIGITS {
            return None;
        }
        let fraction = if unsigned.contains('.') { fraction } else { "" };
        let mut mantissa = 0_i64;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return None;
            }
            mantissa = mantissa * 10 + i64::from(byte - b'0');
        }
        Some(Self {
            mantissa: if unsigned.len() < text.len() {
                -mantissa
            } else {
                mantissa
            },
            places: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// At most 18 digits times a power of ten of at most 18: below 2^127.
    const fn scaled(self, places: u32) -> i128 {
        self.mantissa as i128 * 10_i128.pow(places - self.places)
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        let places = self.places.max(other.places);
        self.scaled(places) == other.scaled(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain() {
        for text in [
            "",
            "-",
            ".",
            "1.",
            ".5",
            "1.2.3",
            "+1",
            "--1",
            "1,000",
            "1e5",
            "1 ",
            "\u{ff11}",
            "1234567890123456789",
        ] {
            assert!(Plain::parse(text).is_none(), "{text}");
        }
        for (a, b) in [("1", "1.00"), ("-0", "0"), ("007", "7"), ("-1.5", "-1.500")] {
            assert_eq!(Plain::parse(a), Plain::parse(b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "-1"),
            ("0.1", "1"),
            ("999999999999999999", "99999999999999999.9"),
        ] {
            assert_ne!(Plain::parse(a), Plain::parse(b), "{a} {b}");
        }
    }
}
