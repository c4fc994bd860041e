//! The same selection when the tokens lie on many hosts: they exchange histograms of 8-bit digits.
//!
//! The order of a rule is that of a composite number: the key (its complement for the low tail), then
//! the complement of the 64-bit index (row, column). Each round fixes one digit of the last selected
//! token from the sum of all shards' 256-bin histograms, so a message does not grow with the tokens.

use crate::apply::{apply, check, Applied, Gate, Plan, Selector, Weight};
use crate::batch::{Batch, Scratch};
use crate::census::census;
use crate::cut::Cut;
use crate::error::Error;
use crate::layout::length;
use crate::order::Float;
use crate::parallel;
use crate::rule::{self, Rule, Tail};

/// Bins of a message.
pub const DIGITS: usize = 256;

/// Which rows of the whole batch the local rows are.
#[derive(Clone, Copy, Debug)]
pub enum RowIds<'a> {
    /// Consecutive from this one on.
    From(u64),
    /// One number a row.
    Each(&'a [i64]),
}

impl RowIds<'_> {
    fn index(&self, row: usize, col: usize) -> u64 {
        let row = match self {
            Self::From(first) => first + row as u64,
            Self::Each(ids) => ids.get(row).map_or(0, |&id| id.unsigned_abs()),
        };
        row << 32 | col as u64
    }

    fn check(&self, rows: usize) -> Result<(), Error> {
        let limit = 1_u64 << 32;
        match self {
            Self::From(first) => match first.checked_add(rows as u64) {
                Some(end) if end <= limit => Ok(()),
                _ => Err(Error::TooLarge(*first)),
            },
            Self::Each(ids) => {
                length("rows", rows, ids.len())?;
                match ids
                    .iter()
                    .find(|&&id| !u64::try_from(id).is_ok_and(|id| id < limit))
                {
                    Some(&id) => Err(Error::TooLarge(id as u64)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Counts of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Tokens inside the mask.
    pub tokens: u64,
    /// Candidates with A > 0.
    pub positive: u64,
    /// Candidates with A < 0.
    pub negative: u64,
    /// Candidates dropped for a bad log-probability.
    pub dropped: u64,
}

impl Survey {
    /// Checks every candidate of a shard and counts.
    ///
    /// # Errors
    /// As [`crate::token_weights`].
    pub fn of<C: Float>(batch: &Batch<C>, rows: &RowIds, threads: usize) -> Result<Self, Error> {
        batch.check()?;
        rows.check(batch.layout.rows())?;
        let census = census(batch, threads)?;
        let (positive, negative) = (census.candidates(1), census.candidates(2));
        Ok(Self {
            tokens: census.tokens,
            positive,
            negative,
            dropped: census.dropped,
        })
    }
}

/// What is known of a rule's last selected token: `level` leading digits of the composite number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The leading digits of the key part.
    pub key: u64,
    /// The leading digits of the index part.
    pub tie: u64,
    /// Number of digits known, over both parts.
    pub level: u32,
}

/// A rule's last selected token as a composite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoff {
    /// The whole key part.
    pub key: u64,
    /// The least index part that is selected among equals.
    pub tie: u64,
}

/// Key part of a rule's composite number.
fn composite<C: Float>(key: u64, tail: Tail) -> u64 {
    match tail {
        Tail::High => key,
        Tail::Low => !key & (u64::MAX >> (64 - C::BITS)),
    }
}

/// Leading `digits` of a number of `bits` bits.
fn leading(number: u64, bits: u32, digits: u32) -> u64 {
    number.checked_shr(bits - 8 * digits).unwrap_or(0)
}

/// Histogram of the next digit over the tokens that agree with the prefix, 256 bins.
///
/// # Errors
/// As [`crate::token_weights`].
pub fn digit_histogram<C: Float>(
    batch: &Batch<C>,
    rule: &Rule,
    prefix: Prefix,
    rows: &RowIds,
    threads: usize,
) -> Result<Vec<u64>, Error> {
    batch.check()?;
    rows.check(batch.layout.rows())?;
    let class = rule.sign.class();
    let key_digits = C::BITS / 8;
    let level = prefix.level.min(key_digits + 7);
    let parts = parallel::map(parallel::ranges(batch.layout.total(), threads), |range| {
        let mut counts = vec![0_u64; DIGITS];
        let mut scratch = Scratch::<C>::new();
        batch.layout.blocks(range, |at| {
            let block = batch.load(at, &mut scratch)?;
            if block.present & class == 0 {
                return Ok(());
            }
            let index = rows.index(at.row, at.col);
            for (i, (&x, &c)) in block.raw.iter().zip(block.classes).enumerate() {
                if c != class {
                    continue;
                }
                let key = composite::<C>(C::key(x).into(), rule.tail);
                if level < key_digits {
                    if leading(key, C::BITS, level) == prefix.key {
                        counts[leading(key, C::BITS, level + 1) as usize % DIGITS] += 1;
                    }
                } else if key == prefix.key {
                    let (tie, level) = (!(index + i as u64), level - key_digits);
                    if leading(tie, 64, level) == prefix.tie {
                        counts[leading(tie, 64, level + 1) as usize % DIGITS] += 1;
                    }
                }
            }
            Ok(())
        })?;
        Ok(counts)
    });
    let mut total = vec![0; DIGITS];
    for part in parts {
        let part: Vec<u64> = part?;
        total.iter_mut().zip(part).for_each(|(a, b)| *a += b);
    }
    Ok(total)
}

/// Writes the weights of a shard from the cutoffs all shards agreed on; None selects nothing.
///
/// # Errors
/// As [`crate::token_weights`].
#[allow(clippy::too_many_arguments)] // one more than `token_weights`, and in its order
pub fn apply_cutoffs<C: Float, W: Weight>(
    batch: &Batch<C>,
    rules: &[Rule],
    cutoffs: &[Option<Cutoff>],
    rows: &RowIds,
    selector: &Selector,
    gate: &Gate,
    threads: usize,
    out: &mut [W],
) -> Result<Applied, Error> {
    rule::check(rules)?;
    batch.check()?;
    rows.check(batch.layout.rows())?;
    check(batch, selector, gate)?;
    let cut = |(rule, cutoff): (&Rule, &Option<Cutoff>)| {
        cutoff.map(|cutoff| Cut {
            class: rule.sign.class(),
            tail: rule.tail,
            key: composite::<C>(cutoff.key, rule.tail),
            last: !cutoff.tie,
        })
    };
    let cuts: Vec<_> = rules.iter().zip(cutoffs).map(cut).collect();
    let index = |row, col, _| rows.index(row, col);
    let plan = Plan {
        rules,
        cuts: &cuts,
        selector,
        gate,
        index,
    };
    apply(batch, &plan, threads, out)
}
