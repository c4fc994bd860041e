//! Marks the tokens of one rule in one block.

use crate::batch::Block;
use crate::cut::Cut;
use crate::error::Error;
use crate::layout::{At, BLOCK};
use crate::order::Float;
use crate::rule::{Rule, Tail};
use crate::scan::equals;
use crate::source::Reals;

/// Sets `bit` on the tokens of a cut; returns their number. `index` is that of the block's first token.
pub(crate) fn mark<C: Float>(
    block: &Block<C>,
    cut: Cut,
    index: u64,
    bit: u8,
    pattern: &mut [u8],
) -> u64 {
    let key = C::narrow(cut.key);
    // Are the equals of the key in this block all in, all out, or divided?
    let all = cut.last >= index.saturating_add(pattern.len() as u64 - 1);
    let mut n = match (cut.tail, all) {
        (Tail::High, true) => select::<C>(block, cut.class, bit, pattern, |x| C::key(x) >= key),
        (Tail::High, false) => select::<C>(block, cut.class, bit, pattern, |x| C::key(x) > key),
        (Tail::Low, true) => select::<C>(block, cut.class, bit, pattern, |x| C::key(x) <= key),
        (Tail::Low, false) => select::<C>(block, cut.class, bit, pattern, |x| C::key(x) < key),
    };
    if !all && index <= cut.last {
        equals::<C>(block.raw, cut.key, |i| {
            if block.classes[i] == cut.class && index + i as u64 <= cut.last {
                pattern[i] |= bit;
                n += 1;
            }
        });
    }
    n
}

/// Sets `bit` on the tokens of a class that are `beyond`; one vectorised loop for each comparison.
#[inline]
fn select<C: Float>(
    block: &Block<C>,
    class: u8,
    bit: u8,
    pattern: &mut [u8],
    beyond: impl Fn(C::Raw) -> bool,
) -> u64 {
    let mut n = 0;
    let tokens = block.raw.chunks(128).zip(block.classes.chunks(128));
    for ((raw, classes), pattern) in tokens.zip(pattern.chunks_mut(128)) {
        let mut here = 0_u8;
        for ((&x, &c), pattern) in raw.iter().zip(classes).zip(pattern) {
            let selected = u8::from((c == class) & beyond(x));
            *pattern |= bit & 0_u8.wrapping_sub(selected);
            here = here.wrapping_add(selected);
        }
        n += u64::from(here);
    }
    n
}

/// Sets `bit` on the tokens of the rule's sign where `score` is positive (tail high) or negative (tail low).
pub(crate) fn mark_by(
    classes: &[u8],
    rule: &Rule,
    bit: u8,
    pattern: &mut [u8],
    score: impl Fn(usize) -> f64,
) -> u64 {
    let mut n = 0;
    for (i, (&class, pattern)) in classes.iter().zip(pattern).enumerate() {
        if class == rule.sign.class() {
            let score = score(i);
            let selected = if rule.tail == Tail::High {
                score > 0.0
            } else {
                score < 0.0
            };
            *pattern |= u8::from(selected) * bit;
            n += u64::from(selected);
        }
    }
    n
}

/// The exact set: phi(p) = p (ln p + H) + C is negative just where s > s*.
pub(crate) fn mark_critical<C: Float>(
    at: At,
    block: &Block<C>,
    rule: &Rule,
    bit: u8,
    pattern: &mut [u8],
    entropy: &dyn Reals,
    concentration: &dyn Reals,
) -> Result<u64, Error> {
    let (mut h, mut c) = ([0.0; BLOCK], [0.0; BLOCK]);
    entropy.read(at, &mut h[..at.len]);
    concentration.read(at, &mut c[..at.len]);
    for (name, values) in [("entropy", &h), ("concentration", &c)] {
        let bad = |(class, value): (&u8, &f64)| *class == rule.sign.class() && !value.is_finite();
        if let Some(i) = block.classes.iter().zip(values).position(bad) {
            return Err(Error::Statistic {
                name,
                row: at.row,
                column: at.col + i,
                value: values[i],
            });
        }
    }
    Ok(mark_by(block.classes, rule, bit, pattern, |i| {
        let log_p = C::real(block.raw[i]);
        -(log_p.exp() * (log_p + h[i]) + c[i])
    }))
}
