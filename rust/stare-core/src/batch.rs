//! A batch as blocks of one row: the shape of the arrays is met here and nowhere else.
//!
//! A block that is not contiguous is copied to a scratch of `BLOCK` elements, never the batch.

use crate::error::Error;
use crate::layout::{length, At, Layout, BLOCK};
use crate::order::Float;
use crate::source::{Mask, SignSource, Source};

/// What selection reads.
#[derive(Clone, Copy)]
pub struct Batch<'a, C: Float> {
    pub(crate) layout: Layout<'a>,
    pub(crate) logprobs: &'a dyn Source<C::Raw>,
    pub(crate) mask: &'a dyn Mask,
    pub(crate) signs: &'a dyn SignSource,
    pub(crate) drop_nonfinite: bool,
}

impl<C: Float> std::fmt::Debug for Batch<'_, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// One block, loaded.
pub(crate) struct Block<'s, C: Float> {
    pub raw: &'s [C::Raw],
    /// 0 no candidate, 1 positive, 2 negative advantage.
    pub classes: &'s [u8],
    /// Union of the classes.
    pub present: u8,
    /// Tokens inside the mask.
    pub tokens: usize,
    /// Candidates dropped for their log-probability.
    pub dropped: usize,
}

impl<C: Float> Block<'_, C> {
    /// Whether no candidate has a bad log-probability.
    pub fn is_valid(&self) -> bool {
        let good = |(x, class): (&C::Raw, &u8)| (*class == 0) | C::is_good(*x);
        let tokens = self.raw.iter().zip(self.classes);
        tokens.fold(true, |valid, token| valid & good(token))
    }

    /// The error that names the first bad candidate.
    pub fn complaint(&self, at: At) -> Error {
        let bad = |(x, class): (&C::Raw, &u8)| *class != 0 && !C::is_good(*x);
        let tokens = self.raw.iter().zip(self.classes);
        let i = tokens.clone().position(bad).unwrap_or(0);
        let (row, column) = (at.row, at.col + i);
        match self.raw.get(i).map_or(f64::NAN, |x| C::real(*x)) {
            value if value.is_finite() => Error::Positive { row, column, value },
            value => Error::NotFinite { row, column, value },
        }
    }

    /// Number of tokens of a class.
    pub fn count(&self, class: u8) -> u64 {
        if self.present & class == 0 {
            return 0;
        }
        // Sums of up to 128 ones fit a byte.
        let ones = |n: u8, &c: &u8| n.wrapping_add(u8::from(c == class));
        self.classes
            .chunks(128)
            .map(|c| u64::from(c.iter().fold(0, ones)))
            .sum()
    }
}

/// Per-thread buffers of a pass.
pub(crate) struct Scratch<C: Float> {
    raw: Vec<C::Raw>,
    classes: Vec<u8>,
}

impl<C: Float> Scratch<C> {
    pub fn new() -> Self {
        Self {
            raw: vec![C::Raw::default(); BLOCK],
            classes: vec![0; BLOCK],
        }
    }
}

impl<'a, C: Float> Batch<'a, C> {
    /// A batch whose bad log-probabilities are errors.
    pub fn new(
        layout: Layout<'a>,
        logprobs: &'a dyn Source<C::Raw>,
        mask: &'a dyn Mask,
        signs: &'a dyn SignSource,
    ) -> Self {
        Self {
            layout,
            logprobs,
            mask,
            signs,
            drop_nonfinite: false,
        }
    }

    /// Drops and counts candidates with a bad log-probability instead.
    #[must_use]
    pub fn drop_nonfinite(mut self, drop: bool) -> Self {
        self.drop_nonfinite = drop;
        self
    }

    /// Whether the arrays agree with each other.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.layout.check()?;
        let total = self.layout.total();
        length("log-probabilities", total, self.logprobs.len())?;
        length("mask", total, self.mask.len())?;
        self.signs.check(&self.layout)
    }

    /// The log-probabilities of a block alone.
    pub(crate) fn raw<'s>(&'s self, at: At, scratch: &'s mut [C::Raw]) -> &'s [C::Raw] {
        if let Some(block) = self.logprobs.slice(at) {
            return block;
        }
        let scratch = &mut scratch[..at.len];
        self.logprobs.copy(at, scratch);
        scratch
    }

    /// Whether a row may hold tokens of a class, as far as can be told without reading it.
    pub(crate) fn may_hold(&self, row: usize, class: u8) -> bool {
        self.signs.of_row(row).is_none_or(|of_row| of_row == class)
    }

    pub(crate) fn load<'s>(
        &'s self,
        at: At,
        scratch: &'s mut Scratch<C>,
    ) -> Result<Block<'s, C>, Error> {
        let Scratch { raw, classes } = scratch;
        let classes = &mut classes[..at.len];
        let tokens = self.mask.fill(at, classes);
        let mut present = 0;
        if tokens > 0 {
            present = self
                .signs
                .fill(at, classes)
                .map_err(|i| Error::NanAdvantage {
                    row: at.row,
                    column: at.col + i,
                })?;
        }
        let raw = if let Some(block) = self.logprobs.slice(at) {
            block
        } else {
            let raw = &mut raw[..at.len];
            if present != 0 {
                self.logprobs.copy(at, raw);
            }
            raw
        };
        let mut dropped = 0;
        if self.drop_nonfinite && present != 0 {
            for (&x, class) in raw.iter().zip(classes.iter_mut()) {
                if *class != 0 && !C::is_good(x) {
                    *class = 0;
                    dropped += 1;
                }
            }
        }
        Ok(Block {
            raw,
            classes,
            present,
            tokens,
            dropped,
        })
    }
}
