//! Matching the members of two unordered collections.

use super::super::verdict::Verdict;

/// What is known of a perfect matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// There is one through pairs proved equal.
    Perfect,
    /// There is one only if pairs that are undecided are equal.
    Possible,
    /// There is none.
    Impossible,
}

/// Match `size` members with `size` others. `compare(i, j)` is asked at most once per pair, and not
/// at all for pairs that are not needed: equal collections in the same order cost `size` calls.
pub(super) fn matching(size: usize, compare: &mut dyn FnMut(usize, usize) -> Verdict) -> Matching {
    let mut pairs = Pairs {
        size,
        known: vec![None; size * size],
        compare,
    };
    if perfect(&mut pairs, &[Verdict::Correct]) {
        Matching::Perfect
    } else if perfect(&mut pairs, &[Verdict::Correct, Verdict::Undecided]) {
        Matching::Possible
    } else {
        Matching::Impossible
    }
}

struct Pairs<'f> {
    size: usize,
    known: Vec<Option<Verdict>>,
    compare: &'f mut dyn FnMut(usize, usize) -> Verdict,
}

impl Pairs<'_> {
    fn verdict(&mut self, left: usize, right: usize) -> Verdict {
        match self.known.get_mut(left * self.size + right) {
            Some(slot) => *slot.get_or_insert_with(|| (self.compare)(left, right)),
            None => Verdict::Incorrect,
        }
    }
}

/// Augmenting paths, the member at the same place first.
fn perfect(pairs: &mut Pairs<'_>, edges: &[Verdict]) -> bool {
    let mut partner = vec![None; pairs.size];
    (0..pairs.size).all(|left| {
        let mut visited = vec![false; pairs.size];
        augment(pairs, edges, left, &mut visited, &mut partner)
    })
}

fn augment(
    pairs: &mut Pairs<'_>,
    edges: &[Verdict],
    left: usize,
    visited: &mut [bool],
    partner: &mut [Option<usize>],
) -> bool {
    // Free partners before taken ones: most members have exactly one equal.
    for free in [true, false] {
        for step in 0..pairs.size {
            let right = (left + step) % pairs.size;
            let holder = partner.get(right).copied().flatten();
            let seen = visited.get(right).copied().unwrap_or(true);
            if seen || holder.is_none() != free || !edges.contains(&pairs.verdict(left, right)) {
                continue;
            }
            if let Some(mark) = visited.get_mut(right) {
                *mark = true;
            }
            let reached = holder.is_none_or(|other| augment(pairs, edges, other, visited, partner));
            if reached {
                if let Some(slot) = partner.get_mut(right) {
                    *slot = Some(left);
                }
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERDICTS: [Verdict; 3] = [Verdict::Correct, Verdict::Undecided, Verdict::Incorrect];

    /// The best over all permutations.
    fn slow(size: usize, table: &[Verdict]) -> Matching {
        fn best(row: usize, size: usize, used: &mut Vec<usize>, table: &[Verdict]) -> u8 {
            if row == size {
                return 2;
            }
            (0..size)
                .filter_map(|column| {
                    if used.contains(&column) {
                        return None;
                    }
                    let here = match table[row * size + column] {
                        Verdict::Correct => 2,
                        Verdict::Undecided => 1,
                        Verdict::Incorrect => 0,
                    };
                    used.push(column);
                    let rest = best(row + 1, size, used, table);
                    used.pop();
                    Some(rest.min(here))
                })
                .max()
                .unwrap_or(0)
        }
        match best(0, size, &mut Vec::new(), table) {
            2 => Matching::Perfect,
            1 => Matching::Possible,
            _ => Matching::Impossible,
        }
    }

    proptest! {
        #[test]
        fn as_over_all_permutations(
            size in 0_usize..=5,
            choices in proptest::collection::vec(0_usize..3, 25),
        ) {
            let table: Vec<_> = choices.iter().map(|&c| VERDICTS[c]).collect();
            let mut asked = std::collections::HashSet::new();
            let found = matching(size, &mut |i, j| {
                assert!(asked.insert((i, j)), "asked twice");
                table[i * size + j]
            });
            prop_assert_eq!(found, slow(size, &table));
        }
    }
}
