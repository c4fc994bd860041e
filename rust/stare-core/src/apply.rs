//! The writing pass: mark each rule's tokens in a byte of rule bits, then look the weight up.

use std::ops::Range;

use crate::batch::{Batch, Block, Scratch};
use crate::cut::Cut;
use crate::error::Error;
use crate::layout::{length, At, BLOCK};
use crate::mark::{mark, mark_by, mark_critical};
use crate::order::Float;
use crate::parallel;
use crate::rule::{Rule, MAX_RULES};
use crate::source::Reals;

/// How tokens are chosen.
#[derive(Clone, Copy)]
pub enum Selector<'a> {
    /// The exact top share of the rule by surprisal.
    Quantile,
    /// Probability below (tail high) or above (tail low) this one.
    Threshold(f64),
    /// Surprisal beyond the critical one: with p ln p + p H + C < 0 (tail high) or > 0 (tail low).
    Critical {
        /// H of each token, nats.
        entropy: &'a dyn Reals,
        /// C = sum of p^2 (s - H) of each token.
        concentration: &'a dyn Reals,
    },
}

/// Where the factors apply. Selection does not depend on it.
#[derive(Clone, Copy)]
pub enum Gate<'a> {
    /// Everywhere or nowhere.
    All(bool),
    /// In the rows with a non-zero byte.
    Rows(&'a [u8]),
    /// At the tokens whose entropy is below the target.
    Tokens {
        /// H of each token, nats.
        entropy: &'a dyn Reals,
        /// Target entropy, nats.
        target: f64,
    },
}

impl std::fmt::Debug for Selector<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quantile => "Quantile",
            Self::Threshold(_) => "Threshold",
            Self::Critical { .. } => "Critical",
        })
    }
}

impl std::fmt::Debug for Gate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::All(_) => "All",
            Self::Rows(_) => "Rows",
            Self::Tokens { .. } => "Tokens",
        })
    }
}

/// The element type of the weights.
pub trait Weight: Copy + Send + Sync {
    /// Rounded from the exact product of factors.
    fn from_f64(x: f64) -> Self;
}

impl Weight for f32 {
    fn from_f64(x: f64) -> Self {
        x as Self
    }
}

impl Weight for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }
}

/// What a writing pass counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Tokens in the set of each rule, whatever the gate.
    pub selected: [u64; MAX_RULES],
    /// Tokens by the set of rules applied to them, as bits; entry 0 is not counted.
    pub patterns: Vec<u64>,
}

impl Applied {
    pub(crate) fn new() -> Self {
        Self {
            selected: [0; MAX_RULES],
            patterns: vec![0; 1 << MAX_RULES],
        }
    }

    fn add(&mut self, other: &Self) {
        self.selected
            .iter_mut()
            .zip(other.selected)
            .for_each(|(a, b)| *a += b);
        self.patterns
            .iter_mut()
            .zip(&other.patterns)
            .for_each(|(a, b)| *a += b);
    }
}

/// The weight of each set of rules.
pub(crate) fn table(rules: &[Rule]) -> [f64; 1 << MAX_RULES] {
    let mut table = [1.0; 1 << MAX_RULES];
    for (pattern, weight) in table.iter_mut().enumerate() {
        for (r, rule) in rules.iter().enumerate() {
            if pattern >> r & 1 == 1 {
                *weight *= rule.factor;
            }
        }
    }
    table
}

/// Everything the writing pass needs besides the batch.
pub(crate) struct Plan<'a, I> {
    pub rules: &'a [Rule],
    pub cuts: &'a [Option<Cut>],
    pub selector: &'a Selector<'a>,
    pub gate: &'a Gate<'a>,
    /// Index of the first token of a block in the order of ties, from (row, column, flat index).
    pub index: I,
}

pub(crate) fn check<C: Float>(
    batch: &Batch<C>,
    selector: &Selector,
    gate: &Gate,
) -> Result<(), Error> {
    let total = batch.layout.total();
    match selector {
        Selector::Threshold(tau) if !(*tau > 0.0 && *tau <= 1.0) => {
            return Err(Error::Threshold(*tau))
        }
        Selector::Critical {
            entropy,
            concentration,
        } => {
            length("entropy", total, entropy.len())?;
            length("concentration", total, concentration.len())?;
        }
        _ => {}
    }
    match gate {
        Gate::Rows(rows) => length("gate", batch.layout.rows(), rows.len()),
        Gate::Tokens { entropy, .. } => length("entropy", total, entropy.len()),
        Gate::All(_) => Ok(()),
    }
}

pub(crate) fn apply<C: Float, W: Weight>(
    batch: &Batch<C>,
    plan: &Plan<impl Fn(usize, usize, usize) -> u64 + Sync>,
    threads: usize,
    out: &mut [W],
) -> Result<Applied, Error> {
    length("weights", batch.layout.total(), out.len())?;
    let weights = table(plan.rules).map(W::from_f64);
    let mut items: Vec<(Range<usize>, &mut [W])> = Vec::new();
    let mut rest = out;
    for range in parallel::ranges(batch.layout.total(), threads) {
        let (part, tail) = rest.split_at_mut(range.len());
        items.push((range, part));
        rest = tail;
    }
    let parts = parallel::map(items, |(range, out)| {
        let pattern = vec![0; BLOCK];
        let mut writer = Writer {
            plan,
            weights: &weights,
            applied: Applied::new(),
            pattern,
        };
        let mut scratch = Scratch::<C>::new();
        let first = range.start;
        batch.layout.blocks(range, |at| {
            let block = batch.load(at, &mut scratch)?;
            writer.write(at, &block, &mut out[at.flat - first..][..at.len])
        })?;
        Ok(writer.applied)
    });
    let mut applied = Applied::new();
    for part in parts {
        applied.add(&part?);
    }
    Ok(applied)
}

struct Writer<'a, W, I> {
    plan: &'a Plan<'a, I>,
    weights: &'a [W; 1 << MAX_RULES],
    applied: Applied,
    pattern: Vec<u8>,
}

impl<W: Weight, I: Fn(usize, usize, usize) -> u64> Writer<'_, W, I> {
    fn write<C: Float>(&mut self, at: At, block: &Block<C>, out: &mut [W]) -> Result<(), Error> {
        let plan = self.plan;
        let here = |rule: &Rule| rule.sign.class() & block.present != 0;
        if !plan.rules.iter().any(here) {
            out.fill(self.weights[0]);
            return Ok(());
        }
        let pattern = &mut self.pattern[..at.len];
        pattern.fill(0);
        let mut counts = [0; MAX_RULES];
        for (r, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| here(rule)) {
            counts[r] = match plan.selector {
                Selector::Quantile => match plan.cuts.get(r).copied().flatten() {
                    Some(cut) => mark::<C>(
                        block,
                        cut,
                        (plan.index)(at.row, at.col, at.flat),
                        1 << r,
                        pattern,
                    ),
                    None => 0,
                },
                Selector::Threshold(tau) => {
                    let edge = tau.ln();
                    mark_by(block.classes, rule, 1 << r, pattern, |i| {
                        edge - C::real(block.raw[i])
                    })
                }
                Selector::Critical {
                    entropy,
                    concentration,
                } => mark_critical(at, block, rule, 1 << r, pattern, *entropy, *concentration)?,
            };
            self.applied.selected[r] += counts[r];
        }
        let on = match plan.gate {
            Gate::All(on) => *on,
            Gate::Rows(rows) => rows.get(at.row).is_some_and(|&on| on != 0),
            Gate::Tokens { entropy, target } => {
                let mut values = [0.0; BLOCK];
                entropy.read(at, &mut values[..at.len]);
                for (pattern, value) in pattern.iter_mut().zip(values) {
                    *pattern = if value < *target { *pattern } else { 0 };
                }
                true
            }
        };
        if !on {
            out.fill(self.weights[0]);
            return Ok(());
        }
        let alone = counts.iter().filter(|&&n| n > 0).count() == 1;
        if alone && !matches!(plan.gate, Gate::Tokens { .. }) {
            let r = counts.iter().position(|&n| n > 0).unwrap_or(0);
            self.applied.patterns[1 << r] += counts[r];
            let (one, factor) = (self.weights[0], self.weights[1 << r]);
            for (weight, &pattern) in out.iter_mut().zip(pattern.iter()) {
                *weight = if pattern == 0 { one } else { factor };
            }
        } else {
            for (weight, &pattern) in out.iter_mut().zip(pattern.iter()) {
                *weight = self.weights[usize::from(pattern)];
            }
            for &p in pattern.iter().filter(|&&p| p != 0) {
                self.applied.patterns[usize::from(p)] += 1;
            }
        }
        Ok(())
    }
}
