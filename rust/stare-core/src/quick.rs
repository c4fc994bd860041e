//! The common case in one pass: a sample brackets each edge, then a single pass over the batch checks,
//! writes and collects the tokens inside the brackets, and counting proves that the edges were there.
//!
//! The sample decides only how long it takes. If a bracket misses its edge, or holds too many tokens
//! (ties), nothing is returned and the exact search of `cut` runs instead.

use std::ops::Range;

use crate::apply::{Applied, Weight};
use crate::batch::{Batch, Scratch};
use crate::census::{bucket_range, sample, BUCKETS};
use crate::divide::divide;
use crate::error::Error;
use crate::layout::BLOCK;
use crate::order::Float;
use crate::parallel;
use crate::quota::quota;
use crate::rule::{Rule, Tail, MAX_RULES};
use crate::weights::{mean_weight, Tally};

/// Fewer positions than this are not worth a sample.
const MIN_TOTAL: usize = 1 << 17;
/// Tokens a thread may collect: three quarters of a mebibyte of (f32 key, position).
const COLLECT: usize = 96 << 10;
/// Half width of a bracket in standard deviations of a rank among as many independent tokens.
const WIDTH: f64 = 4.0;

/// Where the last selected token of a rule should be.
#[derive(Clone, Copy)]
pub(crate) struct Bracket<K, W> {
    pub class: u8,
    tail: Tail,
    low: K,
    high: K,
    pub factor: W,
}

/// What one thread finds.
struct Part<K> {
    start: usize,
    tokens: u64,
    dropped: u64,
    /// Tokens of each class.
    candidates: [u64; 3],
    /// Tokens beyond the bracket of each rule.
    beyond: [u64; MAX_RULES],
    /// Key and position of the tokens in the bracket of each rule, in order.
    inside: Vec<Vec<(K, u32)>>,
    overflow: bool,
}

/// The whole call, or None where this way does not apply.
pub(crate) fn quick<C: Float, W: Weight>(
    batch: &Batch<C>,
    rules: &[Rule],
    on: bool,
    threads: usize,
    out: &mut [W],
) -> Result<Option<Tally>, Error> {
    let total = batch.layout.total();
    let overlap = |rule: &Rule| rules.iter().filter(|other| other.sign == rule.sign).count() > 1;
    if total < MIN_TOTAL || rules.iter().any(|rule| rule.ratio == 0.0 || overlap(rule)) {
        return Ok(None);
    }
    let ranges = parallel::ranges(total, threads);
    let limit = COLLECT / rules.len().max(1);
    // A bad value in the sample is left to the pass that names the first one.
    let Some((brackets, expected)) = brackets::<C, W>(batch, rules, on, threads) else {
        return Ok(None);
    };
    if ranges
        .iter()
        .any(|range| u32::try_from(range.len()).is_err())
        || expected.iter().any(|&n| n * 5 / 4 > limit * ranges.len())
    {
        return Ok(None);
    }
    let mut items: Vec<(Range<usize>, &mut [W])> = Vec::new();
    let mut rest = &mut *out;
    for range in &ranges {
        let (part, tail) = rest.split_at_mut(range.len());
        items.push((range.clone(), part));
        rest = tail;
    }
    let workers = ranges.len();
    let parts = parallel::map(items, |(range, out)| {
        let capacity = |n: &usize| Vec::with_capacity((n * 5 / 4 / workers).min(limit));
        let mut part = Part {
            start: range.start,
            tokens: 0,
            dropped: 0,
            candidates: [0; 3],
            beyond: [0; MAX_RULES],
            inside: expected.iter().map(capacity).collect(),
            overflow: false,
        };
        write(batch, &brackets, range, limit, &mut part, out).map(|()| part)
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(conclude::<C, W>(&parts, rules, &brackets, on, out))
}

/// Brackets of the rules, and how many tokens they should hold.
#[allow(clippy::type_complexity)]
fn brackets<C: Float, W: Weight>(
    batch: &Batch<C>,
    rules: &[Rule],
    on: bool,
    threads: usize,
) -> Option<(Vec<Bracket<C::Key, W>>, Vec<usize>)> {
    let census = sample(batch, threads).ok()?;
    let mut expected = Vec::with_capacity(rules.len());
    let brackets = rules.iter().map(|rule| {
        let class = rule.sign.class();
        let histogram = census.histogram(class);
        let n = histogram.iter().sum::<u64>() as f64;
        let rank = rule.ratio * n;
        let margin = WIDTH * (rank * (1.0 - rule.ratio)).sqrt() + 8.0;
        // Ranks count from the end that the rule selects.
        let (mut first, mut last, mut held, mut before) = (None, BUCKETS - 1, 0, 0.0);
        for i in 0..BUCKETS {
            let bucket = if rule.tail == Tail::High {
                BUCKETS - 1 - i
            } else {
                i
            };
            let count = histogram[bucket] as f64;
            if first.is_none() && before + count > rank - margin {
                first = Some(i);
            }
            if first.is_some() {
                held += histogram[bucket];
            }
            before += count;
            if before >= rank + margin {
                last = i;
                break;
            }
        }
        expected.push(held as usize * 16);
        let first = first.unwrap_or(0);
        let (a, b) = match rule.tail {
            Tail::High => (BUCKETS - 1 - last, BUCKETS - 1 - first),
            Tail::Low => (first, last),
        };
        Bracket {
            class,
            tail: rule.tail,
            low: C::narrow(bucket_range::<C>(a).0),
            high: C::narrow(bucket_range::<C>(b).1),
            factor: W::from_f64(if on { rule.factor } else { 1.0 }),
        }
    });
    let brackets = brackets.collect();
    Some((brackets, expected))
}

fn write<C: Float, W: Weight>(
    batch: &Batch<C>,
    brackets: &[Bracket<C::Key, W>],
    range: Range<usize>,
    limit: usize,
    part: &mut Part<C::Key>,
    out: &mut [W],
) -> Result<(), Error> {
    let mut scratch = Scratch::<C>::new();
    let mut zones = [0; BLOCK];
    batch.layout.blocks(range, |at| {
        let block = batch.load(at, &mut scratch)?;
        let start = at.flat - part.start;
        let out = &mut out[start..][..at.len];
        part.tokens += block.tokens as u64;
        part.dropped += block.dropped as u64;
        part.candidates[1] += block.count(1);
        part.candidates[2] += block.count(2);
        let mut written = false;
        let here = |bracket: &&Bracket<C::Key, W>| bracket.class & block.present != 0;
        let places = brackets.iter().zip(&mut part.beyond).zip(&mut part.inside);
        for ((bracket, beyond), inside) in places.filter(|((bracket, _), _)| here(bracket)) {
            let (low, high) = (C::raw(bracket.low), C::raw(bracket.high));
            let collect = |i: usize| {
                if inside.len() < limit {
                    inside.push((C::key(block.raw[i]), (start + i) as u32));
                }
            };
            let zones = &mut zones[..at.len];
            let (n, valid) = match bracket.tail {
                Tail::High => {
                    let (beyond, reached) = (|x| C::beyond(x, high), |x| C::reaches(x, low));
                    divide(
                        &block, bracket, zones, !written, out, beyond, reached, collect,
                    )
                }
                Tail::Low => {
                    let (beyond, reached) = (|x| C::beyond(low, x), |x| C::reaches(high, x));
                    divide(
                        &block, bracket, zones, !written, out, beyond, reached, collect,
                    )
                }
            };
            *beyond += n;
            written = true;
            part.overflow |= inside.len() >= limit;
            if !valid {
                return Err(block.complaint(at));
            }
        }
        if !written {
            out.fill(W::from_f64(1.0));
            if block.present != 0 && !block.is_valid() {
                return Err(block.complaint(at));
            }
        }
        Ok(())
    })
}

/// Finds each edge among the collected tokens and writes what is selected of them.
fn conclude<C: Float, W: Weight>(
    parts: &[Part<C::Key>],
    rules: &[Rule],
    brackets: &[Bracket<C::Key, W>],
    on: bool,
    out: &mut [W],
) -> Option<Tally> {
    let sum = |field: fn(&Part<C::Key>) -> u64| parts.iter().map(field).sum::<u64>();
    if parts.iter().any(|part| part.overflow) {
        return None;
    }
    let mut applied = Applied::new();
    let mut thresholds = [f64::NAN; MAX_RULES];
    for (r, (rule, bracket)) in rules.iter().zip(brackets).enumerate() {
        let n: u64 = parts
            .iter()
            .map(|p| p.candidates[usize::from(bracket.class)])
            .sum();
        let k = quota(n, rule.ratio).ok()?;
        if k == 0 {
            continue;
        }
        let beyond: u64 = parts.iter().map(|p| p.beyond[r]).sum();
        let mut keys: Vec<C::Key> = parts
            .iter()
            .flat_map(|p| p.inside[r].iter().map(|&(key, _)| key))
            .collect();
        let need = k.checked_sub(beyond)? as usize;
        if need == 0 || need > keys.len() {
            return None;
        }
        let at = if rule.tail == Tail::High {
            keys.len() - need
        } else {
            need - 1
        };
        let (_, &mut edge, _) = keys.select_nth_unstable(at);
        let past = |key: C::Key| {
            if rule.tail == Tail::High {
                key > edge
            } else {
                key < edge
            }
        };
        let mut ties = need - keys.iter().filter(|&&key| past(key)).count();
        for part in parts {
            for &(key, position) in &part.inside[r] {
                let tie = key == edge && ties > 0;
                ties -= usize::from(tie);
                if tie || past(key) {
                    out[part.start + position as usize] = bracket.factor;
                }
            }
        }
        thresholds[r] = C::surprisal(edge.into());
        applied.selected[r] = k;
        applied.patterns[1 << r] = if on { k } else { 0 };
    }
    let tokens = sum(|p| p.tokens);
    Some(Tally {
        tokens,
        positive: sum(|p| p.candidates[1]),
        negative: sum(|p| p.candidates[2]),
        dropped: sum(|p| p.dropped),
        selected: applied.selected,
        thresholds,
        mean_weight: mean_weight(rules, &applied.patterns, tokens),
        patterns: applied.patterns,
    })
}

#[cfg(test)]
mod tests;
