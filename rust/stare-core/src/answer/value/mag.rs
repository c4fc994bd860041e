//! Upper bounds of magnitudes, rounded up: the radii of balls.

use dashu_base::{BitTest, SquareRoot};
use dashu_int::IBig;

/// `mantissa * 2^exponent`, never below what it bounds. The mantissa has at most 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mag {
    mantissa: u64,
    exponent: i64,
}

impl Mag {
    /// Nothing: an exact value.
    pub(super) const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };

    /// At least `mantissa * 2^exponent`.
    pub(super) const fn new(mantissa: u64, exponent: i64) -> Self {
        let excess = 32_u32.saturating_sub(mantissa.leading_zeros());
        if excess == 0 {
            return Self { mantissa, exponent };
        }
        // Rounding up to 2^32 is one bit too long, which is harmless.
        Self {
            mantissa: (mantissa >> excess) + 1,
            exponent: exponent + excess as i64,
        }
    }

    /// At least `|integer| * 2^exponent`.
    pub(super) fn above(integer: &IBig, exponent: i64) -> Self {
        let (mantissa, shift) = leading(integer);
        if shift == 0 {
            Self::new(mantissa, exponent)
        } else {
            Self::new(mantissa + 1, exponent + shift)
        }
    }

    /// At most `|integer| * 2^exponent - radius`; `None` unless that is positive.
    pub(super) fn below(integer: &IBig, exponent: i64, radius: Self) -> Option<Self> {
        let (mantissa, shift) = leading(integer);
        let exponent = exponent + shift;
        if mantissa == 0 {
            return None;
        }
        // The same number with 31 more bits, less the radius in those units.
        let wide = mantissa << 31;
        let unit = exponent - 31;
        let shift = radius.exponent - unit;
        let less = if radius.mantissa == 0 {
            0
        } else if shift >= 0 {
            let bits = 64 - i64::from(radius.mantissa.leading_zeros());
            if bits + shift > 63 {
                return None;
            }
            radius.mantissa << shift
        } else if shift > -63 {
            (radius.mantissa >> -shift) + 1
        } else {
            1
        };
        let left = wide.checked_sub(less)?;
        let drop = 32_u32.saturating_sub(left.leading_zeros());
        let mantissa = left >> drop;
        (mantissa > 0).then_some(Self {
            mantissa,
            exponent: unit + i64::from(drop),
        })
    }

    /// Whether exactly zero.
    pub(super) const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// The power of two above it: `self < 2^top`; `None` for zero.
    pub(super) fn top(self) -> Option<i64> {
        (self.mantissa > 0).then(|| self.exponent + 64 - i64::from(self.mantissa.leading_zeros()))
    }

    /// `self + other`, or more.
    pub(super) fn plus(self, other: Self) -> Self {
        if self.mantissa == 0 {
            return other;
        }
        if other.mantissa == 0 {
            return self;
        }
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let shift = high.exponent - low.exponent;
        if shift <= 30 {
            return Self::new((high.mantissa << shift) + low.mantissa, low.exponent);
        }
        let low = if shift < 63 { low.mantissa >> shift } else { 0 };
        Self::new(high.mantissa + low + 1, high.exponent)
    }

    /// `self * other`, or more.
    pub(super) const fn times(self, other: Self) -> Self {
        if self.mantissa == 0 || other.mantissa == 0 {
            return Self::ZERO;
        }
        // Both have at most 33 bits, and 33 only as 2^32 exactly.
        let product = self.mantissa as u128 * other.mantissa as u128;
        let exponent = self.exponent + other.exponent;
        if product >> 64 == 0 {
            return Self::new(product as u64, exponent);
        }
        Self::new((product >> 4) as u64 + 1, exponent + 4)
    }

    /// `self / below`, or more, where `below` is a lower bound that is not zero.
    pub(super) fn over(self, below: Self) -> Self {
        if self.mantissa == 0 {
            return Self::ZERO;
        }
        let shift = self.mantissa.leading_zeros();
        let quotient = (self.mantissa << shift) / below.mantissa.max(1);
        if quotient == u64::MAX {
            return Self::new(1, 64 + self.exponent - i64::from(shift) - below.exponent);
        }
        Self::new(
            quotient + 1,
            self.exponent - i64::from(shift) - below.exponent,
        )
    }

    /// The square root, or more.
    pub(super) fn root(self) -> Self {
        if self.mantissa == 0 {
            return Self::ZERO;
        }
        let odd = self.exponent & 1;
        let wide = self.mantissa << (28 + odd);
        Self::new(u64::from(wide.sqrt()) + 1, (self.exponent - odd - 28) / 2)
    }

    /// `self * 2^shift`.
    pub(super) const fn shifted(self, shift: i64) -> Self {
        Self {
            mantissa: self.mantissa,
            exponent: self.exponent + shift,
        }
    }
}

/// The leading 32 bits or fewer of `|integer|`, and how many bits follow them.
fn leading(integer: &IBig) -> (u64, i64) {
    let shift = integer.bit_len().saturating_sub(32);
    let (_, words) = integer.as_sign_words();
    let (word, offset) = (shift / WORD, shift % WORD);
    let low = words.get(word).copied().unwrap_or(0);
    let high = words.get(word + 1).copied().unwrap_or(0);
    let wide = (u128::from(high) << WORD) | u128::from(low);
    let mantissa = (wide >> offset) as u64 & u64::from(u32::MAX);
    (mantissa, i64::try_from(shift).unwrap_or(i64::MAX))
}

/// Bits of a machine word of dashu.
const WORD: usize = dashu_int::Word::BITS as usize;
