//! Arithmetic modulo a prime below 2^61.

use dashu_base::RemEuclid;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// A prime that is 1 modulo 4, and a square root of -1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prime {
    /// The prime.
    pub(super) modulus: u64,
    /// Its square is -1.
    pub(super) imaginary: u64,
}

/// Primes just below 2^61.
pub(super) const PRIMES: [Prime; 4] = [
    Prime {
        modulus: 2_305_843_009_213_693_921,
        imaginary: 583_529_827_753_931_384,
    },
    Prime {
        modulus: 2_305_843_009_213_693_693,
        imaginary: 966_685_122_347_009_555,
    },
    Prime {
        modulus: 2_305_843_009_213_693_669,
        imaginary: 1_290_453_122_423_660_404,
    },
    Prime {
        modulus: 2_305_843_009_213_693_613,
        imaginary: 330_140_092_769_082_148,
    },
];

/// `a + b` modulo `m`, for `a, b < m < 2^63`.
pub(super) const fn add(a: u64, b: u64, m: u64) -> u64 {
    let sum = a + b;
    if sum >= m {
        sum - m
    } else {
        sum
    }
}

/// `-a` modulo `m`.
pub(super) const fn negate(a: u64, m: u64) -> u64 {
    if a == 0 {
        0
    } else {
        m - a
    }
}

/// `a * b` modulo `m`.
#[allow(clippy::cast_possible_truncation, reason = "a remainder of m fits")]
pub(super) const fn multiply(a: u64, b: u64, m: u64) -> u64 {
    (a as u128 * b as u128 % m as u128) as u64
}

/// `a ^ n` modulo `m`.
pub(super) const fn power(a: u64, mut n: u64, m: u64) -> u64 {
    let mut square = a;
    let mut result = 1 % m;
    while n > 0 {
        if n & 1 == 1 {
            result = multiply(result, square, m);
        }
        square = multiply(square, square, m);
        n >>= 1;
    }
    result
}

/// `1 / a` modulo `m`, by Euclid; `None` unless they have no common divisor.
pub(super) fn invert(a: u64, m: u64) -> Option<u64> {
    let (mut r, mut next) = (i128::from(m), i128::from(a % m));
    let (mut t, mut next_t) = (0_i128, 1_i128);
    while next != 0 {
        let quotient = r / next;
        (r, next) = (next, r - quotient * next);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    if r != 1 {
        return None;
    }
    u64::try_from(t.rem_euclid(i128::from(m))).ok()
}

/// An integer modulo `m > 0`.
pub(super) fn reduce(value: &IBig, m: u64) -> u64 {
    if let Ok(small) = i64::try_from(value) {
        let size = small.unsigned_abs() % m;
        return if small < 0 { negate(size, m) } else { size };
    }
    let remainder: UBig = value.rem_euclid(&IBig::from(m));
    u64::try_from(&remainder).unwrap_or(0)
}

/// A rational modulo `m`, if its denominator can be inverted.
pub(super) fn reduce_rational(value: &RBig, m: u64) -> Option<u64> {
    let over = reduce(value.numerator(), m);
    if value.is_int() {
        return Some(over);
    }
    let under = reduce(value.denominator().as_ibig(), m);
    Some(multiply(over, invert(under, m)?, m))
}

/// A well-mixed word from two.
pub(super) const fn mix(state: u64, word: u64) -> u64 {
    let mut x = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)).wrapping_add(state.rotate_left(23))
}

/// A word from a name.
pub(super) fn hash(name: &str) -> u64 {
    let fold = |state, byte: &u8| mix(state, u64::from(*byte));
    name.as_bytes().iter().fold(0x51_7c_c1_b7_27_22_0a_95, fold)
}
