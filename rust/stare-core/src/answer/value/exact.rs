//! Exact arithmetic: rationals with a rational imaginary part, of bounded size.

use std::cmp::Ordering;

use dashu_base::{Abs, BitTest, Signed, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use crate::answer::limits::INTEGER_BITS;

/// `re + i im` with rational parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gaussian {
    /// Real part.
    pub(super) re: RBig,
    /// Imaginary part.
    pub(super) im: RBig,
}

impl Gaussian {
    /// A rational.
    pub(super) const fn real(re: RBig) -> Self {
        Self { re, im: RBig::ZERO }
    }

    /// The imaginary unit.
    pub(super) const fn i() -> Self {
        Self {
            re: RBig::ZERO,
            im: RBig::ONE,
        }
    }

    /// Whether zero.
    pub(super) fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }

    /// The real part, if the imaginary part is zero.
    pub(super) fn as_real(&self) -> Option<&RBig> {
        self.im.is_zero().then_some(&self.re)
    }

    /// The value, if it is an integer.
    pub(super) fn as_integer(&self) -> Option<&IBig> {
        let real = self.as_real()?;
        real.is_int().then(|| real.numerator())
    }

    /// Bits of its longest part.
    pub(super) fn size(&self) -> usize {
        size(&self.re).max(size(&self.im))
    }

    /// The negative.
    pub(super) fn negated(self) -> Self {
        Self {
            re: -self.re,
            im: -self.im,
        }
    }

    /// The complex conjugate.
    pub(super) fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }

    /// The sum, if it is small enough.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        Some(Self {
            re: add(&self.re, &other.re)?,
            im: add(&self.im, &other.im)?,
        })
    }

    /// The product, if it is small enough.
    pub(super) fn times(&self, other: &Self) -> Option<Self> {
        let re = multiply(&self.re, &other.re)?;
        if self.im.is_zero() && other.im.is_zero() {
            return Some(Self::real(re));
        }
        let cross = multiply(&self.im, &other.im)?;
        Some(Self {
            re: add(&re, &-cross)?,
            im: add(
                &multiply(&self.re, &other.im)?,
                &multiply(&self.im, &other.re)?,
            )?,
        })
    }

    /// `1 / self`; `None` for zero, or if too large.
    pub(super) fn inverse(&self) -> Option<Self> {
        if self.is_zero() {
            return None;
        }
        if self.im.is_zero() {
            return Some(Self::real(RBig::ONE / &self.re));
        }
        let norm = self.norm()?;
        let factor = RBig::ONE / norm;
        Some(Self {
            re: multiply(&self.re, &factor)?,
            im: multiply(&-self.im.clone(), &factor)?,
        })
    }

    /// The squared modulus, if small enough.
    pub(super) fn norm(&self) -> Option<RBig> {
        add(
            &multiply(&self.re, &self.re)?,
            &multiply(&self.im, &self.im)?,
        )
    }

    /// An integer power, if it is defined and small enough. The size is bounded before anything is
    /// multiplied.
    pub(super) fn power(&self, exponent: &IBig) -> Option<Self> {
        if *exponent < IBig::ZERO {
            return self.inverse()?.power(&-exponent);
        }
        if self.is_zero() {
            return (!exponent.is_zero()).then(|| self.clone());
        }
        let count = usize::try_from(exponent).ok();
        if let Some(real) = self.as_real() {
            if real.is_one() {
                return Some(self.clone());
            }
            if *real == RBig::NEG_ONE {
                let odd = exponent.bit(0);
                return Some(if odd {
                    self.clone()
                } else {
                    Self::real(RBig::ONE)
                });
            }
            let count = count?;
            bounded_power(size(real), count)?;
            return Some(Self::real(RBig::from_parts(
                real.numerator().pow(count),
                real.denominator().pow(count),
            )));
        }
        let count = match count {
            Some(count) if count < 2 * INTEGER_BITS => count,
            // Powers of i go round for ever.
            _ if self.re.is_zero() && is_unit(&self.im) => {
                usize::try_from(exponent & &IBig::from(3)).ok()?
            }
            _ => return None,
        };
        bounded_power(self.size(), count)?;
        let mut result = Self::real(RBig::ONE);
        for bit in (0..usize::BITS - count.leading_zeros()).rev() {
            result = result.times(&result)?;
            if count >> bit & 1 == 1 {
                result = result.times(self)?;
            }
        }
        Some(result)
    }
}

/// Whether a rational is 1 or -1.
fn is_unit(value: &RBig) -> bool {
    value.is_one() || *value == RBig::NEG_ONE
}

/// Bits of the longer of numerator and denominator.
pub(super) fn size(value: &RBig) -> usize {
    value
        .numerator()
        .bit_len()
        .max(value.denominator().bit_len())
}

/// `Some` if a power of a number of `bits` bits is small enough.
fn bounded_power(bits: usize, count: usize) -> Option<()> {
    // A number of n bits is 2^(n-1) at least: its powers may be short of n * count bits by count.
    let least = bits.saturating_sub(1).checked_mul(count)?;
    (least <= INTEGER_BITS && bits * count <= 2 * INTEGER_BITS).then_some(())
}

/// The sum, if small enough.
pub(super) fn add(left: &RBig, right: &RBig) -> Option<RBig> {
    if right.is_zero() {
        return Some(left.clone());
    }
    if left.is_zero() {
        return Some(right.clone());
    }
    (size(left) + size(right) <= 2 * INTEGER_BITS).then(|| left + right)
}

/// The product, if small enough.
pub(super) fn multiply(left: &RBig, right: &RBig) -> Option<RBig> {
    if left.is_zero() || right.is_zero() {
        return Some(RBig::ZERO);
    }
    (size(left) + size(right) <= 2 * INTEGER_BITS).then(|| left * right)
}

/// The root of a rational if that is rational: the positive one of an even degree, the real one of
/// an odd degree.
pub(super) fn root(value: &RBig, degree: usize) -> Option<RBig> {
    let negative = value.is_negative();
    if degree == 0 || (negative && degree % 2 == 0) {
        return None;
    }
    let numerator = integer_root(&value.numerator().unsigned_abs(), degree)?;
    let denominator = integer_root(value.denominator(), degree)?;
    let numerator = IBig::from(numerator);
    let numerator = if negative { -numerator } else { numerator };
    Some(RBig::from_parts(numerator, denominator))
}

/// The root of a natural number, if it is one.
fn integer_root(value: &UBig, degree: usize) -> Option<UBig> {
    if value.is_zero() || value.is_one() || degree == 1 {
        return Some(value.clone());
    }
    if degree == 2 {
        // Squares are 0, 1, 4 or 9 modulo 16.
        let last = value & 15_u8;
        if !matches!(last, 0 | 1 | 4 | 9) {
            return None;
        }
        let root = value.sqrt();
        return (&root * &root == *value).then_some(root);
    }
    if degree >= value.bit_len() {
        return None;
    }
    let root = value.nth_root(degree);
    (root.pow(degree) == *value).then_some(root)
}

/// Floor, or the ceiling.
pub(super) fn floor(value: &RBig, up: bool) -> RBig {
    RBig::from(if up { value.ceil() } else { value.floor() })
}

/// The modulus of a Gaussian rational, if rational.
pub(super) fn modulus(value: &Gaussian) -> Option<RBig> {
    match value.as_real() {
        Some(real) => Some(real.clone().abs()),
        None => root(&value.norm()?, 2),
    }
}

/// -1, 0 or 1.
pub(super) fn sign(value: &RBig) -> RBig {
    match value.cmp(&RBig::ZERO) {
        Ordering::Less => RBig::NEG_ONE,
        Ordering::Equal => RBig::ZERO,
        Ordering::Greater => RBig::ONE,
    }
}
