//! One flat enum; every message says what was given and what is allowed.

use std::fmt;

/// Why an input was refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A rule's ratio is outside [0, 1] or not a number.
    Ratio(f64),
    /// A rule's factor is not a positive finite number.
    Factor(f64),
    /// More rules than a pattern byte can hold.
    Rules(usize),
    /// The threshold probability is outside (0, 1].
    Threshold(f64),
    /// An array does not cover the batch.
    Length {
        /// Which array.
        name: &'static str,
        /// Elements the layout asks for.
        expected: usize,
        /// Elements given.
        got: usize,
    },
    /// Offsets do not start at 0, decrease, or do not end at the number of tokens.
    Offsets(String),
    /// A log-probability of a candidate is NaN or infinite.
    NotFinite {
        /// Row of the token.
        row: usize,
        /// Position in the row.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A log-probability of a candidate is positive beyond rounding (1e-3).
    Positive {
        /// Row of the token.
        row: usize,
        /// Position in the row.
        column: usize,
        /// The value.
        value: f64,
    },
    /// The advantage of a token inside the mask is NaN.
    NanAdvantage {
        /// Row of the token.
        row: usize,
        /// Position in the row.
        column: usize,
    },
    /// Entropy or concentration of a candidate is NaN or infinite.
    Statistic {
        /// Which statistic.
        name: &'static str,
        /// Row of the token.
        row: usize,
        /// Position in the row.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A reward is NaN or infinite.
    Reward {
        /// Index of the response.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A group number is not below the number of groups.
    Group {
        /// Index of the response.
        index: usize,
        /// The group number.
        group: usize,
        /// The number of groups.
        groups: usize,
    },
    /// eps is negative or not finite.
    Eps(f64),
    /// A row or a position does not fit the 32 bits that the tie-break of shards gives it.
    TooLarge(u64),
}

impl Error {
    /// The (row, column) the error names, if any.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        match *self {
            Self::NotFinite { row, column, .. }
            | Self::Positive { row, column, .. }
            | Self::NanAdvantage { row, column }
            | Self::Statistic { row, column, .. } => Some((row, column)),
            _ => None,
        }
    }
}

const DROP_HINT: &str =
    "hint: mask the token out, or pass drop_nonfinite=True to drop and count such tokens";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(x) => write!(f, "ratio must lie in [0, 1], got {x}"),
            Self::Factor(x) => write!(f, "factor must be a positive finite number, got {x}"),
            Self::Rules(n) => write!(f, "at most {} rules are allowed, got {n}", crate::MAX_RULES),
            Self::Threshold(x) => write!(f, "threshold must lie in (0, 1], got {x}"),
            Self::Length { name, expected, got } => {
                write!(f, "{name} must have {expected} elements, got {got}")
            }
            Self::Offsets(why) => write!(f, "offsets {why}"),
            Self::NotFinite { row, column, value } => write!(
                f,
                "log-probability at row {row}, column {column} must be finite, got {value}\n{DROP_HINT}"
            ),
            Self::Positive { row, column, value } => write!(
                f,
                "log-probability at row {row}, column {column} must be at most 0 (1e-3 with rounding), \
                 got {value}\n{DROP_HINT}"
            ),
            Self::NanAdvantage { row, column } => write!(
                f,
                "advantage at row {row}, column {column} is nan\nhint: mask the token out, or settle the reward first"
            ),
            Self::Statistic { name, row, column, value } => write!(
                f,
                "{name} at row {row}, column {column} must be finite, got {value}\nhint: mask the token out"
            ),
            Self::Reward { index, value } => write!(
                f,
                "reward {index} must be finite, got {value}\nhint: an undecided reward must be settled or its \
                 response dropped before advantages are taken"
            ),
            Self::Group { index, group, groups } => {
                write!(f, "group of response {index} must be below {groups}, got {group}")
            }
            Self::Eps(x) => write!(f, "eps must be finite and at least 0, got {x}"),
            Self::TooLarge(x) => {
                write!(f, "row numbers and positions of shards must be below 2**32, got {x}")
            }
        }
    }
}

impl std::error::Error for Error {}
