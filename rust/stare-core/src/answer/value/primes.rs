//! Primes that nobody knows beforehand: drawn from the text of both sides.
//!
//! Equal residues modulo primes that are known to everyone prove nothing against an answer that was
//! made to fool them: the product of those primes is zero to them. A prime drawn from a hash of the
//! answer changes with every change of the answer.

use std::hash::{Hash, Hasher};

use super::field::{power, Prime};
use crate::answer::limits::{Budget, Spent};
use crate::answer::tree::Expr;

/// A stream of primes for two expressions, in either order.
pub(super) struct Primes {
    state: Sponge,
}

/// What one prime costs.
const COST: u64 = 150;

impl Primes {
    /// The primes for a pair.
    pub(super) fn of(left: &Expr, right: &Expr) -> Self {
        let (left, right) = (digest(left), digest(right));
        let mut state = Sponge::new();
        // Both orders give the same.
        for at in 0..left.len() {
            state.absorb(left[at].min(right[at]));
            state.absorb(left[at].max(right[at]));
        }
        Self { state }
    }

    /// A word that depends on both sides, and not on their order.
    pub(super) const fn seed(&self) -> u64 {
        self.state.lanes[0]
    }

    /// The next one.
    pub(super) fn next(&mut self, budget: &mut Budget) -> Result<Prime, Spent> {
        budget.charge(COST)?;
        self.state.absorb(1);
        // 61 bits, and 1 modulo 4.
        let start = (self.state.lanes[0] >> 4) | 1 << 60;
        let mut modulus = (start & !3) | 1;
        while !is_prime(modulus) {
            modulus += 4;
        }
        Ok(Prime {
            modulus,
            imaginary: imaginary(modulus),
        })
    }
}

/// A hash of an expression.
fn digest(expr: &Expr) -> [u64; 4] {
    let mut sponge = Sponge::new();
    expr.hash(&mut sponge);
    sponge.absorb(2);
    sponge.lanes
}

/// Words are added to the first of four lanes, which are then mixed by the rounds of `SipHash`. The
/// other three are never seen while words are added: an answer cannot easily be made to have a
/// given hash.
#[derive(Clone, Debug)]
struct Sponge {
    lanes: [u64; 4],
}

/// Rounds per word.
const ROUNDS: usize = 4;

impl Sponge {
    const fn new() -> Self {
        Self {
            lanes: [
                0x736f_6d65_7073_6575,
                0x646f_7261_6e64_6f6d,
                0x6c79_6765_6e65_7261,
                0x7465_6462_7974_6573,
            ],
        }
    }

    const fn absorb(&mut self, word: u64) {
        let [mut a, mut b, mut c, mut d] = self.lanes;
        a ^= word;
        let mut round = 0;
        while round < ROUNDS {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
            round += 1;
        }
        self.lanes = [a, b, c, d];
    }
}

impl Hasher for Sponge {
    fn finish(&self) -> u64 {
        self.lanes[0]
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.absorb(u64::from_le_bytes(word));
        }
    }

    fn write_usize(&mut self, word: usize) {
        self.absorb(word as u64);
    }

    #[allow(clippy::cast_sign_loss, reason = "a hash")]
    fn write_isize(&mut self, word: isize) {
        self.absorb(word as u64);
    }
}

/// Small primes, to divide by first.
const SMALL: [u64; 15] = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// The test of Miller and Rabin to these bases is certain below 2^64 (Sinclair, 2011).
const BASES: [u64; 7] = [2, 325, 9375, 28178, 450_775, 9_780_504, 1_795_265_022];

/// Whether an odd number above all of [`SMALL`] and [`BASES`] is prime.
fn is_prime(n: u64) -> bool {
    if SMALL.iter().any(|small| n % small == 0) {
        return false;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|base| {
        let mut x = power(*base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = power(x, 2, n);
            x == n - 1
        })
    })
}

/// A square root of -1 modulo a prime that is 1 modulo 4.
fn imaginary(prime: u64) -> u64 {
    (2..prime)
        .map(|base| power(base, (prime - 1) / 4, prime))
        .find(|root| power(*root, 2, prime) == prime - 1)
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::field::PRIMES;
    use super::super::trees::{add, n, x};
    use super::*;

    #[test]
    fn primality() {
        assert!(PRIMES.iter().all(|prime| is_prime(prime.modulus)));
        // A strong pseudoprime to the first nine primes, and a square.
        assert!(!is_prime(3_825_123_056_546_413_051));
        assert!(!is_prime(1_000_000_007 * 1_000_000_007));
        assert!(is_prime((1 << 61) - 1));
    }

    #[test]
    fn the_primes_of_a_pair() {
        let draw = |left: &Expr, right: &Expr| {
            let mut primes = Primes::of(left, right);
            let mut next = || primes.next(&mut Budget::new()).unwrap();
            [next(), next()].map(|prime| {
                assert!(is_prime(prime.modulus) && prime.modulus >> 60 == 1);
                assert_eq!(power(prime.imaginary, 2, prime.modulus), prime.modulus - 1);
                prime.modulus
            })
        };
        let (left, right) = (add([x(), n(1)]), add([x(), n(2)]));
        let primes = draw(&left, &right);
        assert_ne!(primes[0], primes[1]);
        assert_eq!(primes, draw(&right, &left));
        assert_ne!(primes, draw(&left, &left));
        assert_ne!(primes[0], draw(&left, &x())[0]);
    }
}
