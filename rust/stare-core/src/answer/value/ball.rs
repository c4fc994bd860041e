//! Real balls: a midpoint and a radius that bounds the distance to the true value.
//!
//! Midpoints are integers times powers of two, with 64-bit exponents, so that numbers far too large
//! to write out still have a ball. Every rounding is added to the radius.

use std::cmp::Ordering;

use dashu_base::{BitTest, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use super::mag::Mag;

/// Exponents beyond this are given up on, long before they could overflow.
const MAX_EXPONENT: i64 = 1 << 60;

/// A real number within `radius` of `mid * 2^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Ball {
    mid: IBig,
    exponent: i64,
    radius: Mag,
}

impl Ball {
    /// `mid * 2^exponent`, give or take `radius`, rounded to `bits`.
    pub(super) fn new(mid: IBig, exponent: i64, radius: Mag, bits: usize) -> Self {
        let mut excess = length(&mid) - signed(bits);
        if let Some(top) = radius.top() {
            // Bits far below the radius say nothing.
            excess = excess.max(top - 30 - exponent);
        }
        if excess <= 0 {
            return Self {
                mid,
                exponent,
                radius,
            };
        }
        let exponent = exponent + excess;
        let shift = usize::try_from(excess).unwrap_or(usize::MAX);
        let mid = if shift > mid.bit_len() {
            IBig::ZERO
        } else {
            mid >> shift
        };
        Self {
            mid,
            exponent,
            radius: radius.plus(Mag::new(1, exponent)),
        }
    }

    /// Zero.
    pub(super) const fn zero() -> Self {
        Self {
            mid: IBig::ZERO,
            exponent: 0,
            radius: Mag::ZERO,
        }
    }

    /// An integer, rounded to `bits`.
    pub(super) fn integer(value: IBig, bits: usize) -> Self {
        Self::new(value, 0, Mag::ZERO, bits)
    }

    /// A rational, rounded to `bits`.
    pub(super) fn rational(value: &RBig, bits: usize) -> Self {
        if value.is_int() {
            return Self::integer(value.numerator().clone(), bits);
        }
        let shift = (signed(bits) + signed(value.denominator().bit_len()) + 1
            - length(value.numerator()))
        .max(0);
        let shifted = value.numerator() << usize::try_from(shift).unwrap_or(0);
        let quotient = shifted / value.denominator();
        Self::new(quotient, -shift, Mag::new(1, -shift), bits)
    }

    /// Whether it is zero and nothing else.
    pub(super) fn is_zero(&self) -> bool {
        self.mid.is_zero() && self.radius.is_zero()
    }

    /// Whether it contains zero.
    pub(super) fn contains_zero(&self) -> bool {
        self.low().is_none()
    }

    /// The sign of every number in it; `None` if they differ.
    pub(super) fn sign(&self) -> Option<Ordering> {
        if self.is_zero() {
            return Some(Ordering::Equal);
        }
        self.low()?;
        Some(self.mid.cmp(&IBig::ZERO))
    }

    /// A positive lower bound of its magnitude, if it is away from zero.
    pub(super) fn low(&self) -> Option<Mag> {
        Mag::below(&self.mid, self.exponent, self.radius)
    }

    /// An upper bound of its magnitude.
    pub(super) fn high(&self) -> Mag {
        self.mid_high().plus(self.radius)
    }

    fn mid_high(&self) -> Mag {
        Mag::above(&self.mid, self.exponent)
    }

    /// The radius.
    pub(super) const fn radius(&self) -> Mag {
        self.radius
    }

    /// The midpoint, `integer * 2^exponent`.
    pub(super) const fn middle(&self) -> (&IBig, i64) {
        (&self.mid, self.exponent)
    }

    /// The midpoint alone, exactly.
    pub(super) fn center(&self) -> Self {
        Self {
            radius: Mag::ZERO,
            ..self.clone()
        }
    }

    /// The same, `extra` wider.
    pub(super) fn widened(mut self, extra: Mag) -> Self {
        self.radius = self.radius.plus(extra);
        self
    }

    /// The negative.
    pub(super) fn negated(mut self) -> Self {
        self.mid = -self.mid;
        self
    }

    /// `self * 2^shift`.
    pub(super) fn shifted(mut self, shift: i64) -> Self {
        self.exponent += shift;
        self.radius = self.radius.shifted(shift);
        self
    }

    /// The sum.
    pub(super) fn plus(&self, other: &Self, bits: usize) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let radius = self.radius.plus(other.radius);
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let shift = high.exponent - low.exponent;
        if high.mid.is_zero() {
            return Self::new(low.mid.clone(), low.exponent, radius, bits);
        }
        // Far apart: the smaller one is swallowed by the radius.
        let top = length(&high.mid) + shift;
        if top > 2 * signed(bits) + 64 && length(&low.mid) < top - signed(bits) - 32 {
            let swallowed = low.mid_high();
            return Self::new(
                high.mid.clone(),
                high.exponent,
                radius.plus(swallowed),
                bits,
            );
        }
        let mid = (&high.mid << usize::try_from(shift).unwrap_or(0)) + &low.mid;
        Self::new(mid, low.exponent, radius, bits)
    }

    /// The difference.
    pub(super) fn minus(&self, other: &Self, bits: usize) -> Self {
        self.plus(&other.clone().negated(), bits)
    }

    /// The product; `None` if its exponent is out of range.
    pub(super) fn times(&self, other: &Self, bits: usize) -> Option<Self> {
        if self.is_zero() || other.is_zero() {
            return Some(Self::zero());
        }
        let exponent = bounded(self.exponent + other.exponent)?;
        let mut radius = Mag::ZERO;
        if !self.radius.is_zero() {
            radius = self.radius.times(other.high());
        }
        if !other.radius.is_zero() {
            radius = radius.plus(other.radius.times(self.mid_high()));
        }
        Some(Self::new(&self.mid * &other.mid, exponent, radius, bits))
    }

    /// The quotient; `None` if the divisor may be zero.
    pub(super) fn over(&self, other: &Self, bits: usize) -> Option<Self> {
        let low = other.low()?;
        if self.is_zero() {
            return Some(Self::zero());
        }
        let shift = (signed(bits) + length(&other.mid) - length(&self.mid) + 1).max(0);
        let shifted = &self.mid << usize::try_from(shift).ok()?;
        let exponent = bounded(self.exponent - other.exponent - shift)?;
        let quotient = shifted / &other.mid;
        let mut radius = Mag::new(1, exponent);
        if !self.radius.is_zero() {
            radius = radius.plus(self.radius.over(low));
        }
        if !other.radius.is_zero() {
            // |a/b - a/(b + r)| <= (|a/b| * r) / (|b| - r)
            let size = Mag::above(&quotient, exponent).plus(Mag::new(1, exponent));
            radius = radius.plus(other.radius.times(size).over(low));
        }
        Some(Self::new(quotient, exponent, radius, bits))
    }

    /// The square root of a number that is not negative; `None` if it may be.
    pub(super) fn root(&self, bits: usize) -> Option<Self> {
        if self.is_zero() {
            return Some(Self::zero());
        }
        if self.mid <= IBig::ZERO {
            return None;
        }
        let low = self.low()?;
        let mut shift = (2 * signed(bits) + 2 - length(&self.mid)).max(0);
        shift += (self.exponent - shift) & 1;
        let wide = (&self.mid << usize::try_from(shift).ok()?).unsigned_abs();
        let root = wide.sqrt();
        let exponent = (self.exponent - shift) / 2;
        let mut radius = Mag::ZERO;
        if &root * &root != wide {
            radius = Mag::new(1, exponent);
        }
        if !self.radius.is_zero() {
            // sqrt(x) - sqrt(x - r) <= r / sqrt(x - r), and sqrt(x - r) >= (x - r) / sqrt(x)
            radius = radius.plus(self.radius.times(self.high().root()).over(low));
        }
        Some(Self::new(IBig::from(root), exponent, radius, bits))
    }

    /// A ball around zero that contains the square roots of the magnitudes of all its numbers.
    pub(super) fn root_bound(&self) -> Self {
        Self {
            mid: IBig::ZERO,
            exponent: 0,
            radius: self.high().root(),
        }
    }

    /// A ball that contains the magnitudes.
    pub(super) fn magnitude(&self) -> Self {
        match self.sign() {
            Some(Ordering::Less) => self.clone().negated(),
            _ => self.clone(),
        }
    }

    /// Its integer part if that is the same for every number in it, and none of them is an integer
    /// unless it is exact.
    pub(super) fn floor(&self) -> Option<IBig> {
        let (mid, exponent) = self.middle();
        if length(mid) + exponent > 4096 {
            return None;
        }
        // An integer at the edge of the ball would make two candidates.
        let spread = Self::new(
            IBig::from(UBig::ONE),
            self.radius.top().unwrap_or(-signed(1 << 20)),
            Mag::ZERO,
            1 << 20,
        );
        if self.radius.is_zero() {
            return Some(floor_of(mid, exponent));
        }
        let below = self.center().minus(&spread, 1 << 16);
        let above = self.center().plus(&spread, 1 << 16);
        if !below.radius.is_zero() || !above.radius.is_zero() {
            return None;
        }
        let low = floor_of(&below.mid, below.exponent);
        let high = floor_of(&above.mid, above.exponent);
        (low == high).then_some(low)
    }

    /// The integer `round(self * 2^bits)` of the midpoint, and whether that was exact; `None` if it
    /// would be longer than `limit` bits.
    pub(super) fn fixed(&self, bits: i64, limit: usize) -> Option<IBig> {
        let shift = self.exponent + bits;
        if length(&self.mid) + shift > signed(limit) {
            return None;
        }
        Some(shift_by(&self.mid, shift))
    }

    /// The power of two above every magnitude in it: `|x| < 2^top`; `None` for zero.
    pub(super) fn top(&self) -> Option<i64> {
        self.high().top()
    }

    /// The midpoint as a float, as far as it fits.
    pub(super) fn to_f64(&self) -> f64 {
        let drop = self.mid.bit_len().saturating_sub(60);
        let lead = i64::try_from(&self.mid >> drop).unwrap_or(0);
        let exponent = self.exponent + signed(drop);
        #[allow(clippy::cast_precision_loss, reason = "an approximation is wanted")]
        let lead = lead as f64;
        let exponent = i32::try_from(exponent.clamp(-2000, 2000)).unwrap_or(0);
        // In two steps, as 2^exponent alone may be out of range.
        lead * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2)
    }
}

/// `mid * 2^exponent`, rounded down; exponents far below zero are fine.
fn floor_of(mid: &IBig, exponent: i64) -> IBig {
    shift_by(mid, exponent)
}

/// `mid * 2^shift`, rounded down.
pub(super) fn shift_by(mid: &IBig, shift: i64) -> IBig {
    if shift >= 0 {
        return mid << usize::try_from(shift).unwrap_or(0);
    }
    let shift = usize::try_from(-shift).unwrap_or(usize::MAX);
    if shift > mid.bit_len() {
        return if *mid < IBig::ZERO {
            IBig::NEG_ONE
        } else {
            IBig::ZERO
        };
    }
    mid >> shift
}

fn bounded(exponent: i64) -> Option<i64> {
    (exponent.abs() <= MAX_EXPONENT).then_some(exponent)
}

/// Bits of the magnitude, as a signed number.
fn length(value: &IBig) -> i64 {
    signed(value.bit_len())
}

/// Sizes in memory fit.
pub(super) fn signed(bits: usize) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}
