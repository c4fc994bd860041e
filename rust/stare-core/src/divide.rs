//! One block against one bracket: what lies beyond is written, what lies inside is handed over.

use crate::apply::Weight;
use crate::batch::Block;
use crate::order::Float;
use crate::quick::Bracket;

/// Tokens of a chunk: one test decides whether any lies in the bracket.
const CHUNK: usize = 16;

/// A token's byte: inside or beyond the bracket, beyond it, a bad candidate.
const REACHED: u8 = 1;
const BEYOND: u8 = 2;
const BAD: u8 = 4;

/// Writes the factor beyond the bracket and collects inside it: (number beyond, no bad candidate).
/// The `first` rule of a block writes every weight.
///
/// Several short loops, as each is then vectorised, instead of one that would not be.
#[allow(clippy::too_many_arguments)] // an inner loop with nothing to group
pub(crate) fn divide<C: Float, W: Weight>(
    block: &Block<C>,
    bracket: &Bracket<C::Key, W>,
    zones: &mut [u8],
    first: bool,
    out: &mut [W],
    beyond: impl Fn(C::Raw) -> bool,
    reached: impl Fn(C::Raw) -> bool,
    mut inside: impl FnMut(usize),
) -> (u64, bool) {
    let flag = |test: bool, bit: u8| u8::from(test) * bit;
    for (&x, zone) in block.raw.iter().zip(&mut *zones) {
        *zone = flag(reached(x), REACHED) | flag(beyond(x), BEYOND) | flag(!C::is_good(x), BAD);
    }
    let (mut n, mut all) = (0_u64, 0);
    let chunks = zones.chunks_mut(CHUNK).zip(block.classes.chunks(CHUNK));
    for (c, (zones, classes)) in chunks.enumerate() {
        let (mut selected, mut union, mut any) = (0_u8, 0, false);
        for (zone, &class) in zones.iter_mut().zip(classes) {
            let mine = 0_u8.wrapping_sub(u8::from(class == bracket.class));
            let candidate = 0_u8.wrapping_sub(u8::from(class != 0));
            *zone &= (mine & (REACHED | BEYOND)) | (candidate & BAD);
            selected = selected.wrapping_add((*zone & BEYOND) / BEYOND);
            union |= *zone;
            any |= *zone == REACHED;
        }
        n += u64::from(selected);
        all |= union;
        if any {
            for (i, &zone) in zones.iter().enumerate() {
                if zone == REACHED {
                    inside(c * CHUNK + i);
                }
            }
        }
    }
    // Copies of the two weights, or a choice between addresses keeps this from being vectorised.
    let (one, factor) = (W::from_f64(1.0), bracket.factor);
    if first {
        for (weight, &zone) in out.iter_mut().zip(&*zones) {
            *weight = if zone & BEYOND == 0 { one } else { factor };
        }
    } else {
        for (weight, &zone) in out.iter_mut().zip(&*zones) {
            let old = *weight;
            *weight = if zone & BEYOND == 0 { old } else { factor };
        }
    }
    (n, all & BAD == 0)
}
