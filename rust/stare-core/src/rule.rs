//! The four quadrants of the method as data.

use crate::error::Error;

/// Patterns of applied rules are bytes, so a byte bounds their number.
pub const MAX_RULES: usize = 8;

/// Which advantages a rule looks at. Zero advantages are in neither set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A > 0.
    Positive,
    /// A < 0.
    Negative,
}

impl Sign {
    /// The class byte of the tokens of this sign (0: not a candidate).
    #[must_use]
    pub fn class(self) -> u8 {
        match self {
            Self::Positive => 1,
            Self::Negative => 2,
        }
    }
}

/// Which end of the surprisal order a rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The most surprising tokens (the minority).
    High,
    /// The least surprising tokens (the majority).
    Low,
}

/// "Multiply the weight of the `ratio` most (least) surprising tokens of one sign by `factor`."
///
/// Rules that overlap multiply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Sign of the advantage.
    pub sign: Sign,
    /// End of the order.
    pub tail: Tail,
    /// Share P of the tokens of this sign, read as its shortest decimal; in [0, 1].
    pub ratio: f64,
    /// Weight factor, > 0.
    pub factor: f64,
}

pub(crate) fn check(rules: &[Rule]) -> Result<(), Error> {
    if rules.len() > MAX_RULES {
        return Err(Error::Rules(rules.len()));
    }
    for rule in rules {
        if !(0.0..=1.0).contains(&rule.ratio) {
            return Err(Error::Ratio(rule.ratio));
        }
        if !(rule.factor > 0.0 && rule.factor.is_finite()) {
            return Err(Error::Factor(rule.factor));
        }
    }
    Ok(())
}
