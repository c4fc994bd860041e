//! Functions of integers, of bounded size: factorials, binomials, divisors.

use std::cmp::Ordering;

use dashu_base::{BitTest, Gcd, RemEuclid, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use crate::answer::limits::INTEGER_BITS;

/// `from * (from + step) * ..` up to `to`, if small enough; nothing is multiplied if it is not.
fn product(from: u64, to: u64, step: u64) -> Option<UBig> {
    let count = (to + step).saturating_sub(from) / step;
    // Every factor but the first is above 1; half of them are above the middle.
    let middle = from / 2 + to / 2;
    let least = (count / 2).checked_mul(u64::from(middle.max(1).ilog2()))?;
    if count.max(least) > INTEGER_BITS as u64 {
        return None;
    }
    let mut result = UBig::ONE;
    let mut factor = from;
    for _ in 0..count {
        result *= factor;
        factor += step;
    }
    (result.bit_len() <= INTEGER_BITS).then_some(result)
}

/// What such a product costs, in units of the budget: nothing if it is too long anyway.
pub(super) fn product_cost(factors: &IBig) -> u64 {
    let factors = usize::try_from(factors).unwrap_or(usize::MAX);
    8 + if factors <= INTEGER_BITS {
        factors as u64
    } else {
        0
    }
}

/// A natural number, if far from overflow.
fn natural(n: &IBig) -> Option<u64> {
    u64::try_from(n).ok().filter(|n| n >> 62 == 0)
}

/// `n!`, if defined and small enough.
pub(super) fn factorial(n: &IBig) -> Option<IBig> {
    Some(product(1, natural(n)?, 1)?.into())
}

/// `n!!`, with `0!! = (-1)!! = 1`, if defined and small enough.
pub(super) fn double_factorial(n: &IBig) -> Option<IBig> {
    if *n == IBig::NEG_ONE {
        return Some(IBig::ONE);
    }
    let n = natural(n)?;
    Some(product(if n % 2 == 0 { 2 } else { 1 }, n, 2)?.into())
}

/// `n (n-1) .. (n-k+1)` for `0 <= k`, if small enough; zero if `0 <= n < k`.
pub(super) fn permutations(n: &IBig, k: &IBig) -> Option<IBig> {
    let (n, k) = (natural(n)?, natural(k)?);
    if k > n {
        return Some(IBig::ZERO);
    }
    Some(product(n - k + 1, n, 1)?.into())
}

/// A binomial coefficient, before it is multiplied out.
enum Choice {
    /// Zero.
    None,
    /// Of `0 <= k <= n / 2`, of this many bits at least.
    Some { n: u64, k: u64, bits: u64 },
}

/// `None` for negative or gigantic `n`.
fn choice(n: &IBig, k: &IBig) -> Option<Choice> {
    let n = natural(n)?;
    let Some(k) = u64::try_from(k).ok().filter(|k| *k <= n) else {
        return Some(Choice::None);
    };
    let k = k.min(n - k);
    // It is (n/k)^k at least.
    let bits = k.saturating_mul(u64::from((n / k.max(1)).max(1).ilog2()));
    Some(Choice::Some { n, k, bits })
}

/// What [`binomial`] costs, in units of the budget.
pub(super) fn binomial_cost(n: &IBig, k: &IBig) -> u64 {
    const LONGEST: u64 = INTEGER_BITS as u64;
    match choice(n, k) {
        // At most (3n/k)^k.
        Some(Choice::Some { k, bits, .. }) if bits <= LONGEST => {
            8 + k * (1 + (bits + 3 * k).min(LONGEST) / 1024)
        }
        _ => 8,
    }
}

/// Binomial coefficients of `0 <= n`, if small enough; zero unless `0 <= k <= n`.
pub(super) fn binomial(n: &IBig, k: &IBig) -> Option<IBig> {
    let Choice::Some { n, k, bits } = choice(n, k)? else {
        return Some(IBig::ZERO);
    };
    if bits > INTEGER_BITS as u64 {
        return None;
    }
    let mut result = UBig::ONE;
    for step in 1..=k {
        result = result * (n - k + step) / step;
        if result.bit_len() > INTEGER_BITS {
            return None;
        }
    }
    Some(result.into())
}

/// The remainder of the sign of the modulus' direction: `0 <= a mod m < m` for positive `m`.
pub(super) fn modulo(a: &IBig, m: &IBig) -> Option<IBig> {
    (*m > IBig::ZERO).then(|| a.rem_euclid(m).into())
}

/// Greatest common divisor or least common multiple of some integers, if small enough.
pub(super) fn common(values: &[IBig], multiple: bool) -> Option<IBig> {
    let (first, rest) = values.split_first()?;
    let mut result = first.unsigned_abs();
    for value in rest {
        let value = value.unsigned_abs();
        if multiple {
            if result.is_zero() || value.is_zero() {
                return Some(IBig::ZERO);
            }
            result = &result / (&result).gcd(&value) * value;
            if result.bit_len() > INTEGER_BITS {
                return None;
            }
        } else if result.is_zero() {
            result = value;
        } else if !value.is_zero() {
            result = result.gcd(value);
        }
    }
    Some(result.into())
}

/// The largest or smallest of some rationals.
pub(super) fn extreme(values: &[RBig], wanted: Ordering) -> Option<RBig> {
    let (first, rest) = values.split_first()?;
    let mut result = first;
    for value in rest {
        if value.cmp(result) == wanted {
            result = value;
        }
    }
    Some(result.clone())
}
