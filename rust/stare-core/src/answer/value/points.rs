//! Points at which expressions are compared.
//!
//! They depend on the two expressions: nothing that vanishes at all of them can be written down
//! beforehand. Those that make up keys are always the same.

use dashu_int::IBig;
use dashu_ratio::RBig;

use super::evaluate::Value;
use super::field::mix;
use super::pieces;
use super::primes::Primes;
use crate::answer::tree::Expr;

/// Points at which expressions are compared, at most.
pub(super) const POINTS: u64 = 18;

/// So many points hold one of every kind.
pub(super) const KINDS: u64 = 10;

/// One point of every kind.
pub(super) const ONE_OF_EACH: [u64; 7] = [6, 0, 2, 4, 3, 8, 9];

/// The largest sizes that points far away are chosen for, in bits.
const FAR: i64 = 1 << 11;

/// What kind of number a variable is at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Natural,
    /// As small as one can be and seldom be the root of a denominator.
    NearNatural,
    SmallNatural,
    Negative,
    /// Between 0 and 1, or between 0 and -1.
    Small(Sign),
    /// Between 1 and 5, or between -1 and -5.
    Large(Sign),
    /// An integer of so many bits.
    Far(Sign, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
    Any,
}

/// The first two make up keys: integers, where factorials have values too, and too large to be
/// roots of many denominators, which need not be there in another form of the same function.
const fn kind(number: u64) -> Kind {
    match number {
        0 | 1 => Kind::Natural,
        2 | 4 => Kind::SmallNatural,
        3 => Kind::Negative,
        _ => match number % 5 {
            0 => Kind::Small(Sign::Plus),
            2 => Kind::Small(Sign::Any),
            3 => Kind::Small(Sign::Minus),
            4 => Kind::Large(Sign::Any),
            _ => Kind::Large(Sign::Plus),
        },
    }
}

/// A value for every name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    kind: Kind,
    seed: u64,
}

impl Point {
    /// One of a sequence of points.
    pub(super) const fn new(number: u64, seed: u64) -> Self {
        Self {
            kind: kind(number),
            seed: mix(seed, number),
        }
    }

    /// One of moderate size, for keys.
    pub(super) const fn near() -> Self {
        Self {
            kind: Kind::NearNatural,
            seed: 0,
        }
    }

    /// Whether variables are integers.
    pub(super) const fn is_whole(self) -> bool {
        !matches!(self.kind, Kind::Small(_) | Kind::Large(_))
    }

    /// The value of what has this hash.
    pub(super) fn coordinate(self, name: u64) -> Value {
        let word = mix(name, self.seed);
        let fraction =
            RBig::from_parts((((word >> 8) % (1 << 16)) | 1).into(), (1_u64 << 16).into());
        let signed = |size: RBig, sign| match sign {
            Sign::Plus => size,
            Sign::Minus => -size,
            Sign::Any => size * RBig::from(if word & 1 == 1 { 1 } else { -1 }),
        };
        Value::rational(match self.kind {
            Kind::Natural => RBig::from(40 + word % 200),
            Kind::NearNatural => RBig::from(11 + word % 9),
            Kind::SmallNatural => RBig::from(2 + word % 11),
            Kind::Negative => -RBig::from(2 + word % 200),
            Kind::Small(sign) => signed(fraction, sign),
            Kind::Large(sign) => signed(fraction * RBig::from(4) + RBig::ONE, sign),
            Kind::Far(sign, bits) => {
                let size = (IBig::ONE << bits) + IBig::from(word % (1 << 16));
                signed(RBig::from(size), sign)
            }
        })
    }
}

/// The points for two expressions, in either order.
pub(super) struct Points {
    seed: u64,
    /// Whether the expressions may be made of pieces that hold in some places only.
    pub(super) are_pieces: bool,
}

impl Points {
    /// For two expressions.
    pub(super) fn of(left: &Expr, right: &Expr) -> Self {
        Self {
            seed: Primes::of(left, right).seed(),
            are_pieces: pieces::has_any(left) || pieces::has_any(right),
        }
    }

    /// The point of this number.
    pub(super) const fn at(&self, number: u64) -> Point {
        Point::new(number, self.seed)
    }

    /// Points beyond numbers of so many bits, if there are any.
    pub(super) fn far_away(&self, spread: i64) -> impl Iterator<Item = Point> {
        let bits = usize::try_from(spread.min(FAR) + 20).unwrap_or(0);
        let seed = mix(self.seed, POINTS);
        [Sign::Plus, Sign::Minus]
            .into_iter()
            .map(move |sign| Point {
                kind: Kind::Far(sign, bits),
                seed,
            })
    }
}
