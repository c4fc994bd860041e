//! Whether two expressions are the same rational function, by residues.
//!
//! Primes that everyone knows prove differences. Equality is confirmed modulo primes drawn from the
//! two sides ([`Primes`]), and must not contradict their values at a point.

use super::field::{Prime, PRIMES};
use super::modular::{NoResidue, Residues};
use super::numeric;
use super::primes::Primes;
use crate::answer::limits::Budget;
use crate::answer::tree::Expr;

/// What residues say about two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Equal as rational functions.
    Equal,
    /// Equal as rational functions of something that was not looked into.
    EqualOpaque,
    /// Proved different.
    Different,
    /// Nothing.
    Unknown,
    /// Too much work.
    Limit,
}

/// Points tried where a division by zero may get in the way.
const TRIES: u64 = 8;

/// Points needed where variables are exponents of -1: its powers agree at every other point.
const EXPONENT_POINTS: u64 = 24;

/// Points modulo each prime, if there are variables.
const POINTS: u64 = 2;

/// Primes drawn for expressions with variables, and for constants, which have no points.
const PRIMES_OF_EXPRESSIONS: usize = 2;
const PRIMES_OF_CONSTANTS: usize = 4;

/// Primes drawn where there is a huge exponent: it may be a multiple of `p - 1` for one prime in a
/// thousand.
const PRIMES_OF_POWERS: usize = 8;

/// Compare two expressions with these variables.
pub(super) fn compare(
    left: &Expr,
    right: &Expr,
    variables: &[&str],
    budget: &mut Budget,
) -> Identity {
    let mut test = Test {
        left,
        right,
        points: 1,
        seen: Seen::default(),
    };
    if let Some(stop) = test.modulo(PRIMES[0], budget) {
        return stop;
    }
    if left != right {
        let mut count = if variables.is_empty() {
            PRIMES_OF_CONSTANTS
        } else {
            test.points = test.points.max(POINTS);
            PRIMES_OF_EXPRESSIONS
        };
        if test.seen.huge {
            count = PRIMES_OF_POWERS;
        }
        let mut primes = Primes::of(left, right);
        let seed = primes.seed();
        for _ in 0..count {
            let Ok(prime) = primes.next(budget) else {
                return Identity::Limit;
            };
            if let Some(stop) = test.modulo(prime, budget) {
                return stop;
            }
        }
        match numeric::overlap(left, right, variables, seed, budget) {
            Some(false) => return Identity::Unknown,
            // Something undefined may have cancelled out.
            None if test.seen.unlike => return Identity::Unknown,
            Some(true) | None => {}
        }
    }
    if test.seen.opaque && !test.seen.factorials {
        Identity::EqualOpaque
    } else {
        Identity::Equal
    }
}

/// What occurred on the way.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
struct Seen {
    /// Something was not looked into.
    opaque: bool,
    /// Not the same on both sides.
    unlike: bool,
    /// A huge exponent.
    huge: bool,
    /// Factorials, whose rules are known.
    factorials: bool,
}

struct Test<'e> {
    left: &'e Expr,
    right: &'e Expr,
    points: u64,
    seen: Seen,
}

impl Test<'_> {
    /// `None` if the sides agree modulo a prime.
    fn modulo(&mut self, prime: Prime, budget: &mut Budget) -> Option<Identity> {
        let (mut point, mut agreed) = (0, 0);
        while agreed < self.points {
            if point >= self.points + TRIES {
                return Some(Identity::Unknown);
            }
            let mut run = Residues::new(prime, point, budget);
            point += 1;
            let left = run.value(self.left);
            let atoms = run.take_atoms();
            let pair = left.and_then(|left| Ok((left, run.value(self.right)?)));
            self.seen.opaque |= run.has_unknowns();
            self.seen.huge |= run.has_huge_exponent();
            self.seen.factorials |= !run.factorials.is_empty();
            self.seen.unlike |= atoms != run.take_atoms();
            if run.has_root_of_unity() {
                self.points = EXPONENT_POINTS;
            }
            match pair {
                Ok((left, right)) if left == right => agreed += 1,
                Ok(_) if run.is_opaque() => return Some(Identity::Unknown),
                Ok(_) => return Some(Identity::Different),
                Err(NoResidue::Point) => {}
                Err(NoResidue::Unsupported) => return Some(Identity::Unknown),
                Err(NoResidue::Limit) => return Some(Identity::Limit),
            }
        }
        None
    }
}
