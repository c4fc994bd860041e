//! Whether two expressions are the same rational function, by residues.

use super::field::PRIMES;
use super::modular::{NoResidue, Residues};
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

/// Compare two expressions.
pub(super) fn compare(left: &Expr, right: &Expr, closed: bool, budget: &mut Budget) -> Identity {
    let (primes, mut points) = if closed { (4, 1) } else { (2, 2) };
    let mut opaque = false;
    for prime in PRIMES.iter().take(primes) {
        let (mut point, mut agreed) = (0, 0);
        while agreed < points {
            if point >= points + TRIES {
                return Identity::Unknown;
            }
            let mut run = Residues::new(*prime, point, budget);
            point += 1;
            let pair = run
                .value(left)
                .and_then(|left| Ok((left, run.value(right)?)));
            opaque |= run.has_unknowns();
            if run.has_root_of_unity() {
                points = EXPONENT_POINTS;
            }
            match pair {
                Ok((left, right)) if left == right => agreed += 1,
                Ok(_) if run.is_opaque() => return Identity::Unknown,
                Ok(_) => return Identity::Different,
                Err(NoResidue::Point) => {}
                Err(NoResidue::Unsupported) => return Identity::Unknown,
                Err(NoResidue::Limit) => return Identity::Limit,
            }
        }
    }
    if opaque {
        Identity::EqualOpaque
    } else {
        Identity::Equal
    }
}
