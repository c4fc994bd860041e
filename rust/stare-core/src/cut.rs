//! From a quota to an exact cut: the key of the last selected token, and its index among equals.

use crate::batch::{Batch, Scratch};
use crate::census::{bucket_range, Census, BUCKETS};
use crate::error::Error;
use crate::layout::{At, BLOCK};
use crate::order::Float;
use crate::parallel;
use crate::quota::quota;
use crate::rule::{Rule, Tail};
use crate::scan::{chunks_with, equals};

/// Edge tokens collected at once, all rules together, per thread: half a mebibyte.
const COLLECT: u64 = 1 << 15;

/// A rule's set: everything beyond `key`, and tokens of that key up to index `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub class: u8,
    pub tail: Tail,
    pub key: u64,
    pub last: u64,
}

/// The edge lies in `low..=high` and takes `need` of the `count` tokens there.
#[derive(Clone, Copy, Debug)]
struct Edge {
    class: u8,
    tail: Tail,
    low: u64,
    high: u64,
    need: u64,
    count: u64,
}

impl Edge {
    /// Narrows the edge to one bucket of a histogram; `range` gives a bucket's keys.
    fn narrow(&mut self, histogram: &[u64], range: impl Fn(usize) -> (u64, u64)) {
        let n = histogram.len();
        for i in 0..n {
            let bucket = if self.tail == Tail::High {
                n - 1 - i
            } else {
                i
            };
            let count = histogram[bucket];
            if self.need <= count {
                (self.low, self.high) = range(bucket);
                self.count = count;
                return;
            }
            self.need -= count;
        }
        // Unreachable while the arrays stay as they are; without it a change would never end.
        self.need = 0;
    }

    fn holds(&self, key: u64) -> bool {
        (self.low..=self.high).contains(&key)
    }
}

/// Exact cuts of all rules; None for a rule that selects nothing.
pub(crate) fn cuts<C: Float>(
    batch: &Batch<C>,
    rules: &[Rule],
    census: &Census,
    threads: usize,
) -> Result<Vec<Option<Cut>>, Error> {
    let mut edges = Vec::with_capacity(rules.len());
    for rule in rules {
        let class = rule.sign.class();
        let count = census.candidates(class);
        let need = quota(count, rule.ratio)?;
        let (low, high) = (C::LOWEST, C::HIGHEST);
        let mut edge = Edge {
            class,
            tail: rule.tail,
            low,
            high,
            need,
            count,
        };
        edge.narrow(census.histogram(class), bucket_range::<C>);
        edges.push(edge);
    }
    let workers = parallel::ranges(batch.layout.total(), threads).len() as u64;
    let limit = COLLECT * workers / rules.len().max(1) as u64;
    while edges
        .iter()
        .any(|e| e.need > 0 && e.count > limit && e.low < e.high)
    {
        refine(batch, &mut edges, limit, threads)?;
    }
    let mut cuts: Vec<Option<Cut>> = edges
        .iter()
        .map(|e| {
            (e.need > 0).then_some(Cut {
                class: e.class,
                tail: e.tail,
                key: e.low,
                last: u64::MAX,
            })
        })
        .collect();
    // A bucket of one key that is taken whole is done; one too large to collect holds equals only.
    let open = |e: &Edge| e.need > 0 && (e.low < e.high || e.need < e.count);
    let small: Vec<_> = (0..edges.len())
        .filter(|&r| open(&edges[r]) && edges[r].count <= limit)
        .collect();
    let collected = collect(batch, &edges, &small, threads)?;
    for (&r, mut tokens) in small.iter().zip(collected) {
        let edge = &edges[r];
        let nth = (edge.need - 1) as usize;
        if nth >= tokens.len() {
            continue; // only if the arrays change under our hands
        }
        let flip = if edge.tail == Tail::High { u64::MAX } else { 0 };
        let (_, &mut (key, last), rest) =
            tokens.select_nth_unstable_by_key(nth, |&(key, index)| (key ^ flip, index));
        // The writing pass need not look for equals where all of them are selected.
        let whole = rest.iter().all(|&(other, _)| other != key);
        let last = if whole { u64::MAX } else { last };
        cuts[r] = Some(Cut {
            class: edge.class,
            tail: edge.tail,
            key,
            last,
        });
    }
    for (r, edge) in edges.iter().enumerate() {
        if open(edge) && edge.count > limit {
            let last = nth_equal(batch, edge, threads)?;
            cuts[r] = Some(Cut {
                class: edge.class,
                tail: edge.tail,
                key: edge.low,
                last,
            });
        }
    }
    Ok(cuts)
}

/// Splits every large edge into 4096 parts and keeps the part with the edge.
fn refine<C: Float>(
    batch: &Batch<C>,
    edges: &mut [Edge],
    limit: u64,
    threads: usize,
) -> Result<(), Error> {
    let large: Vec<usize> = (0..edges.len())
        .filter(|&r| edges[r].need > 0 && edges[r].count > limit && edges[r].low < edges[r].high)
        .collect();
    let shift = |e: &Edge| (64 - (e.high - e.low).leading_zeros()).saturating_sub(BUCKETS.ilog2());
    let parts = parallel::map(parallel::ranges(batch.layout.total(), threads), |range| {
        let mut counts = vec![0_u64; large.len() * BUCKETS];
        let mut scratch = Scratch::<C>::new();
        batch.layout.blocks(range, |at| {
            let block = batch.load(at, &mut scratch)?;
            for (&r, counts) in large.iter().zip(counts.chunks_mut(BUCKETS)) {
                let edge = &edges[r];
                let shift = shift(edge);
                if block.present & edge.class == 0 {
                    continue;
                }
                for (&x, &class) in block.raw.iter().zip(block.classes) {
                    let key: u64 = C::key(x).into();
                    if class == edge.class && edge.holds(key) {
                        counts[((key - edge.low) >> shift) as usize & (BUCKETS - 1)] += 1;
                    }
                }
            }
            Ok(())
        })?;
        Ok(counts)
    });
    let mut counts = vec![0_u64; large.len() * BUCKETS];
    for part in parts {
        let part: Vec<u64> = part?;
        counts.iter_mut().zip(part).for_each(|(a, b)| *a += b);
    }
    for (&r, counts) in large.iter().zip(counts.chunks(BUCKETS)) {
        let (low, high, shift) = (edges[r].low, edges[r].high, shift(&edges[r]));
        edges[r].narrow(counts, |bucket| {
            let start = low + ((bucket as u64) << shift);
            (start, (start + ((1 << shift) - 1)).min(high))
        });
    }
    Ok(())
}

/// (key, flat index) of the tokens at the edges of the rules in `which`.
fn collect<C: Float>(
    batch: &Batch<C>,
    edges: &[Edge],
    which: &[usize],
    threads: usize,
) -> Result<Vec<Vec<(u64, u64)>>, Error> {
    let mut all = vec![Vec::new(); which.len()];
    if which.is_empty() {
        return Ok(all);
    }
    let parts = parallel::map(parallel::ranges(batch.layout.total(), threads), |range| {
        let mut found = vec![Vec::new(); which.len()];
        let mut scratch = Scratch::<C>::new();
        let mut raw = vec![C::Raw::default(); BLOCK];
        batch.layout.blocks(range, |at| {
            let raw = batch.raw(at, &mut raw);
            for (&r, found) in which.iter().zip(&mut found) {
                let edge = &edges[r];
                if !batch.may_hold(at.row, edge.class) {
                    continue;
                }
                // Few chunks have a token at the edge, so classes are made for those alone.
                chunks_with::<C>(raw, edge.low, edge.high, |i, len| {
                    let at = At {
                        col: at.col + i,
                        flat: at.flat + i,
                        len,
                        ..at
                    };
                    let block = batch.load(at, &mut scratch)?;
                    for (j, (&x, &class)) in block.raw.iter().zip(block.classes).enumerate() {
                        let key = C::key(x).into();
                        if class == edge.class && edge.holds(key) {
                            found.push((key, (at.flat + j) as u64));
                        }
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        Ok(found)
    });
    for part in parts {
        let part: Vec<Vec<(u64, u64)>> = part?;
        all.iter_mut().zip(part).for_each(|(a, b)| a.extend(b));
    }
    Ok(all)
}

/// Flat index of the `need`-th of the tokens whose key is the edge's.
fn nth_equal<C: Float>(batch: &Batch<C>, edge: &Edge, threads: usize) -> Result<u64, Error> {
    let total = batch.layout.total();
    let count = |range| {
        let mut equals = 0_u64;
        let mut scratch = Scratch::<C>::new();
        let key = C::narrow(edge.low);
        batch.layout.blocks(range, |at| {
            let block = batch.load(at, &mut scratch)?;
            let mut here = 0_u32;
            for (&x, &class) in block.raw.iter().zip(block.classes) {
                here += u32::from((class == edge.class) & (C::key(x) == key));
            }
            equals += u64::from(here);
            Ok::<(), Error>(())
        })?;
        Ok::<u64, Error>(equals)
    };
    // Many small ranges: the one with the edge is then walked token by token at little cost.
    let ranges = parallel::split(total, 256);
    let groups = parallel::split(ranges.len(), parallel::ranges(total, threads).len());
    let parts = parallel::map(groups, |group| {
        ranges[group]
            .iter()
            .cloned()
            .map(count)
            .collect::<Result<Vec<_>, _>>()
    });
    let mut counts = Vec::with_capacity(ranges.len());
    for part in parts {
        counts.extend(part?);
    }
    let mut need = edge.need;
    for (range, count) in ranges.into_iter().zip(counts) {
        if need > count {
            need -= count;
            continue;
        }
        let mut scratch = Scratch::<C>::new();
        let mut last = u64::MAX;
        batch.layout.blocks(range, |at| {
            let block = batch.load(at, &mut scratch)?;
            equals::<C>(block.raw, edge.low, |i| {
                if block.classes[i] == edge.class && need > 0 {
                    need -= 1;
                    last = (at.flat + i) as u64;
                }
            });
            Ok::<(), Error>(())
        })?;
        return Ok(last);
    }
    Ok(u64::MAX)
}
