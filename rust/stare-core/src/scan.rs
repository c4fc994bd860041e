//! Finds the few tokens at an edge: a vectorised test of a chunk, and a look where it says so.

use crate::error::Error;
use crate::order::Float;

/// Elements tested at a time.
const CHUNK: usize = 32;

/// Calls `hit` with the start and length of every short chunk that has a key in `low..=high`.
#[inline]
pub(crate) fn chunks_with<C: Float>(
    raw: &[C::Raw],
    low: u64,
    high: u64,
    mut hit: impl FnMut(usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let (low, high) = (C::narrow(low), C::narrow(high));
    for (c, chunk) in raw.chunks(CHUNK).enumerate() {
        let inside = |x| (low <= C::key(x)) & (C::key(x) <= high);
        if chunk.iter().fold(false, |any, &x| any | inside(x)) {
            hit(c * CHUNK, chunk.len())?;
        }
    }
    Ok(())
}

/// Calls `hit` for the elements whose key is `key`; quick where there are few.
#[inline]
pub(crate) fn equals<C: Float>(raw: &[C::Raw], key: u64, mut hit: impl FnMut(usize)) {
    let key = C::narrow(key);
    for (c, chunk) in raw.chunks(CHUNK).enumerate() {
        if chunk.iter().fold(false, |any, &x| any | (C::key(x) == key)) {
            for (i, &x) in chunk.iter().enumerate() {
                if C::key(x) == key {
                    hit(c * CHUNK + i);
                }
            }
        }
    }
}
