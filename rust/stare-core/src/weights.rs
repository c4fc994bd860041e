//! One batch in one call: census, exact cuts, write.

use crate::apply::{apply, check, table, Applied, Gate, Plan, Selector, Weight};
use crate::batch::Batch;
use crate::census::census;
use crate::cut::cuts;
use crate::error::Error;
use crate::layout::{length, Layout, BLOCK};
use crate::order::Float;
use crate::quick::quick;
use crate::rule::{self, Rule, MAX_RULES};
use crate::source::{Mask, Reals};

/// Counts and thresholds of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Tokens inside the mask.
    pub tokens: u64,
    /// Of these, candidates with A > 0.
    pub positive: u64,
    /// Of these, candidates with A < 0.
    pub negative: u64,
    /// Candidates dropped for a bad log-probability.
    pub dropped: u64,
    /// Tokens in the set of each rule, whatever the gate.
    pub selected: [u64; MAX_RULES],
    /// Surprisal of the last token selected by each rule, nats; NaN where it selects none.
    pub thresholds: [f64; MAX_RULES],
    /// Tokens by the set of rules applied to them, as bits; entry 0 is not counted.
    pub patterns: Vec<u64>,
    /// Mean weight over the tokens inside the mask; 1 if there are none.
    pub mean_weight: f64,
}

/// Mean weight of `tokens` tokens from the counts of a writing pass.
#[must_use]
pub fn mean_weight(rules: &[Rule], patterns: &[u64], tokens: u64) -> f64 {
    if tokens == 0 {
        return 1.0;
    }
    let excess = |(&n, weight): (&u64, f64)| n as f64 * (weight - 1.0);
    1.0 + patterns.iter().zip(table(rules)).map(excess).sum::<f64>() / tokens as f64
}

/// Writes the weight of every position to `out` (1 outside the mask and outside the sets).
///
/// # Errors
/// An invalid rule, arrays of the wrong length, or a bad value on a candidate, with its position.
pub fn token_weights<C: Float, W: Weight>(
    batch: &Batch<C>,
    rules: &[Rule],
    selector: &Selector,
    gate: &Gate,
    threads: usize,
    out: &mut [W],
) -> Result<Tally, Error> {
    rule::check(rules)?;
    batch.check()?;
    check(batch, selector, gate)?;
    length("weights", batch.layout.total(), out.len())?;
    if let (Selector::Quantile, Gate::All(on)) = (selector, gate) {
        if let Some(tally) = quick(batch, rules, *on, threads, out)? {
            return Ok(tally);
        }
    }
    let census = census(batch, threads)?;
    let cuts = match selector {
        Selector::Quantile => cuts(batch, rules, &census, threads)?,
        _ => Vec::new(),
    };
    let index = |_, _, flat| flat as u64;
    let plan = Plan {
        rules,
        cuts: &cuts,
        selector,
        gate,
        index,
    };
    let Applied { selected, patterns } = apply(batch, &plan, threads, out)?;
    let mut thresholds = [f64::NAN; MAX_RULES];
    for (threshold, cut) in thresholds.iter_mut().zip(&cuts) {
        *threshold = cut.map_or(f64::NAN, |cut| C::surprisal(cut.key));
    }
    Ok(Tally {
        tokens: census.tokens,
        positive: census.candidates(1),
        negative: census.candidates(2),
        dropped: census.dropped,
        selected,
        thresholds,
        mean_weight: mean_weight(rules, &patterns, census.tokens),
        patterns,
    })
}

/// Mean of `values` over the mask of each row; NaN for a row without tokens.
///
/// # Errors
/// [`Error::Length`] or [`Error::Offsets`].
pub fn row_means(layout: &Layout, values: &dyn Reals, mask: &dyn Mask) -> Result<Vec<f64>, Error> {
    layout.check()?;
    length("entropy", layout.total(), values.len())?;
    length("mask", layout.total(), mask.len())?;
    let mut sums = vec![(0.0, 0_usize); layout.rows()];
    let (mut numbers, mut on) = ([0.0; BLOCK], [0; BLOCK]);
    layout.blocks(0..layout.total(), |at| {
        values.read(at, &mut numbers[..at.len]);
        let (sum, count) = &mut sums[at.row];
        *count += mask.fill(at, &mut on[..at.len]);
        // One token after the other, so that padding and packing change nothing.
        for (x, _) in numbers[..at.len].iter().zip(on).filter(|(_, on)| *on != 0) {
            *sum += x;
        }
        Ok::<(), Error>(())
    })?;
    Ok(sums.into_iter().map(|(sum, n)| sum / n as f64).collect())
}
