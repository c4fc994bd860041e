//! Pass one: check every candidate, count the classes, and histogram their surprisals coarsely.

use std::ops::Range;

use crate::batch::{Batch, Scratch};
use crate::error::Error;
use crate::layout::{At, BLOCK};
use crate::order::Float;
use crate::parallel;

/// Buckets of a histogram.
pub(crate) const BUCKETS: usize = 4096;

/// Values of the two bits of a class; 3 does not occur.
const CLASSES: usize = 4;

/// Zeros made on the heap: the stack of a thread may be small.
struct Table(Box<[u64]>);

impl Default for Table {
    fn default() -> Self {
        Self(vec![0; CLASSES * BUCKETS].into())
    }
}

/// Counts over the whole batch.
#[derive(Default)]
pub(crate) struct Census {
    pub tokens: u64,
    pub dropped: u64,
    /// One histogram a class; class 0 collects what is no candidate.
    histogram: Table,
}

impl Census {
    fn new() -> Self {
        Self::default()
    }

    pub fn histogram(&self, class: u8) -> &[u64] {
        &self.histogram.0[usize::from(class) * BUCKETS..][..BUCKETS]
    }

    pub fn candidates(&self, class: u8) -> u64 {
        self.histogram(class).iter().sum()
    }

    fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.dropped += other.dropped;
        self.histogram
            .0
            .iter_mut()
            .zip(&other.histogram.0)
            .for_each(|(a, b)| *a += b);
    }
}

/// The inclusive key range of a coarse bucket.
pub(crate) fn bucket_range<C: Float>(bucket: usize) -> (u64, u64) {
    let (base, shift) = C::COARSE;
    let start = |b: usize| base + ((b as u64) << shift);
    let low = if bucket == 0 {
        C::LOWEST
    } else {
        start(bucket)
    };
    let high = if bucket == BUCKETS - 1 {
        C::HIGHEST
    } else {
        start(bucket + 1) - 1
    };
    (low, high)
}

/// One block in every so many positions of a sample, and its length: one token in sixteen.
const STRIDE: usize = 1024;
const STRETCH: usize = 64;

/// Counts of every token, each candidate checked.
pub(crate) fn census<C: Float>(batch: &Batch<C>, threads: usize) -> Result<Census, Error> {
    count(
        batch,
        threads,
        |range, visit| batch.layout.blocks(range, visit),
        true,
    )
}

/// Counts of a sixteenth of the tokens, none checked: short stretches at scattered places.
pub(crate) fn sample<C: Float>(batch: &Batch<C>, threads: usize) -> Result<Census, Error> {
    let walk = |range: Range<usize>, visit: &mut Visit| {
        for (i, start) in range.clone().step_by(STRIDE).enumerate() {
            // Scattered, or columns of rows whose length is a multiple would be passed over.
            let start = start + i.wrapping_mul(0x9E37_79B9) % (STRIDE - STRETCH);
            let end = (start + STRETCH).min(range.end);
            batch.layout.blocks(start.min(end)..end, &mut *visit)?;
        }
        Ok(())
    };
    count(batch, threads, walk, false)
}

type Visit<'v> = dyn FnMut(At) -> Result<(), Error> + 'v;

fn count<C: Float>(
    batch: &Batch<C>,
    threads: usize,
    walk: impl Fn(Range<usize>, &mut Visit) -> Result<(), Error> + Sync,
    check: bool,
) -> Result<Census, Error> {
    let parts = parallel::map(parallel::ranges(batch.layout.total(), threads), |range| {
        let mut census = Census::new();
        let mut scratch = Scratch::<C>::new();
        let mut cells = [0_u16; BLOCK];
        let mut table = Table::default();
        let Ok(counts) = <&mut [u64; CLASSES * BUCKETS]>::try_from(&mut table.0[..]) else {
            return Ok(census);
        };
        walk(range, &mut |at| {
            let block = batch.load(at, &mut scratch)?;
            census.tokens += block.tokens as u64;
            census.dropped += block.dropped as u64;
            if block.present == 0 {
                return Ok(());
            }
            // Two loops: the first is vectorised, the second is one increment a token.
            let mut valid = true;
            let cells = &mut cells[..at.len];
            for ((&x, &class), cell) in block.raw.iter().zip(block.classes).zip(&mut *cells) {
                let key = C::key(x);
                valid &= (class == 0) | C::is_valid(key);
                *cell = (u16::from(class) * BUCKETS as u16) | C::bucket(key);
            }
            for &cell in &*cells {
                // The mask tells the compiler that the index is in bounds.
                counts[usize::from(cell) & (CLASSES * BUCKETS - 1)] += 1;
            }
            if valid || !check {
                Ok(())
            } else {
                Err(block.complaint(at))
            }
        })?;
        census.histogram = table;
        Ok(census)
    });
    let mut total = Census::new();
    for part in parts {
        // The first range with an error names the first bad token.
        total.add(&part?);
    }
    Ok(total)
}
