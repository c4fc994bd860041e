//! Rows and blocks.

use std::ops::Range;

use crate::error::Error;

/// Tokens handled at a time; log-probs, classes and weights of a block fit the first-level cache.
pub const BLOCK: usize = 1024;

/// Where rows begin and end. A token's flat index is the number of tokens before it.
#[derive(Clone, Copy, Debug)]
pub enum Layout<'a> {
    /// (rows, cols), padded.
    Padded {
        /// B.
        rows: usize,
        /// T.
        cols: usize,
    },
    /// Row `i` is `offsets[i]..offsets[i + 1]` of one dimension.
    Packed {
        /// From 0 to the number of tokens, never decreasing.
        offsets: &'a [usize],
    },
}

impl Layout<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Padded { rows, .. } => *rows,
            Self::Packed { offsets } => offsets.len().saturating_sub(1),
        }
    }

    /// Number of positions, padding included.
    #[must_use]
    pub fn total(&self) -> usize {
        match self {
            Self::Padded { rows, cols } => rows * cols,
            Self::Packed { offsets } => offsets.last().copied().unwrap_or(0),
        }
    }

    /// Flat index of the first position of a row.
    fn start(&self, row: usize) -> usize {
        match self {
            Self::Padded { cols, .. } => row * cols,
            Self::Packed { offsets } => offsets.get(row).copied().unwrap_or(0),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self::Packed { offsets } = self else {
            return Ok(());
        };
        match offsets.first() {
            None => Err(Error::Offsets(
                "must not be empty: n rows have n + 1 offsets".into(),
            )),
            Some(&first) if first != 0 => {
                Err(Error::Offsets(format!("must start at 0, got {first}")))
            }
            Some(_) => match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
                Some(i) => Err(Error::Offsets(format!(
                    "must not decrease, got {} after {} at index {}",
                    offsets[i + 1],
                    offsets[i],
                    i + 1
                ))),
                None => Ok(()),
            },
        }
    }

    /// Calls `visit` on the blocks of a range of flat indices, in order.
    pub(crate) fn blocks<E>(
        &self,
        range: Range<usize>,
        mut visit: impl FnMut(At) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut flat = range.start;
        if flat >= range.end {
            return Ok(());
        }
        let mut row = match self {
            Self::Padded { cols, .. } => flat / cols,
            Self::Packed { offsets } => offsets.partition_point(|&o| o <= flat) - 1,
        };
        while flat < range.end {
            let end = self.start(row + 1).min(range.end);
            while flat < end {
                let len = (end - flat).min(BLOCK);
                visit(At {
                    row,
                    col: flat - self.start(row),
                    flat,
                    len,
                })?;
                flat += len;
            }
            row += 1;
        }
        Ok(())
    }
}

/// A block: `len` positions of one row from column `col` on, the first at flat index `flat`.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Row.
    pub row: usize,
    /// First column.
    pub col: usize,
    /// Flat index of the first position.
    pub flat: usize,
    /// Number of positions, at most [`BLOCK`].
    pub len: usize,
}

pub(crate) fn length(name: &'static str, expected: usize, got: usize) -> Result<(), Error> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::Length {
            name,
            expected,
            got,
        })
    }
}
