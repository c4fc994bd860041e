"""Sets of shingles (runs of tokens) as integers, and an exact join of similar sets.

Finding all pairs with a Jaccard similarity of at least t is a set-similarity join. Sorted from the
rarest shingle of the collection to the commonest, two sets that similar share one of the first
`n - ceil(t n) + 1` of each (prefix filtering: Chaudhuri et al., "A primitive operator for
similarity joins", ICDE 2006; Bayardo et al., "Scaling up all pairs similarity search", WWW 2007).
So candidates come from an index of rare shingles and every one is verified: nothing above the
threshold is missed and nothing below it is reported, unlike with MinHash.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Shingled", "overlap", "shingle"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shingled:
    """The shingle sets of a collection of token lists.

    `sets[i]` is sorted from the rarest shingle of the collection to the commonest; `shared` says of
    each shingle whether more than one set has it.
    """

    sets: list[Ints]
    shared: npt.NDArray[np.bool_]

    def prefix(self, index: int, threshold: float) -> Ints:
        """Shingles of which any set with a containment of `threshold` of this one has one."""
        own = self.sets[index]
        return own[: len(own) - math.ceil(threshold * len(own) - 1e-9) + 1]


def shingle(documents: Sequence[Sequence[str]], size: int) -> Shingled:
    """Shingle every document; one shorter than `size` has a single shingle, all of it.

    Args:
        documents: token lists.
        size: tokens of a shingle, at least 1.

    Example:
        >>> result = shingle([["a", "b", "c"], ["a", "b", "d"]], 2)
        >>> [len(s) for s in result.sets], int(result.shared.sum())
        ([2, 2], 1)
    """
    words: dict[str, int] = defaultdict(lambda: len(words) + 1)  # 0 is the padding
    rows = [[words[w] for w in document] for document in documents]
    lengths = np.array([max(1, len(r) - size + 1) for r in rows], dtype=np.int64)
    # One line of tokens; short documents are padded to one shingle.
    flat = np.concatenate(
        [np.array(r + [0] * max(0, size - len(r)), dtype=np.int64) for r in rows]
        or [np.zeros(0, dtype=np.int64)]
    )
    widths = np.array([max(size, len(r)) for r in rows], dtype=np.int64)
    starts = np.repeat(np.cumsum(widths) - widths, lengths) + _within(lengths)
    owner = np.repeat(np.arange(len(rows)), lengths)
    # Two ids at a time become one dense id: exact for any vocabulary, no hash to collide.
    code = flat[starts] if len(starts) else starts
    for offset in range(1, size):
        paired = code * (len(words) + 2) + flat[starts + offset]
        code = np.unique(paired, return_inverse=True)[1].astype(np.int64)
    code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    count = int(code.max()) + 1 if len(code) else 0
    both = np.unique(owner * max(1, count) + code)
    owner, code = both // max(1, count), both % max(1, count)
    frequency = np.bincount(code, minlength=count)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(frequency, kind="stable")] = np.arange(count)
    ranked = rank[code]
    order = np.lexsort((ranked, owner))
    ends = np.cumsum(np.bincount(owner, minlength=len(rows)))
    shared = np.empty(count, dtype=np.bool_)
    shared[rank] = frequency > 1
    return Shingled(np.split(ranked[order], ends[:-1]) if len(rows) else [], shared)


def _within(lengths: Ints) -> Ints:
    """0..n-1 for each n, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) - np.repeat(ends - lengths, lengths)


def overlap(a: Ints, b: Ints) -> int:
    """Number of common elements of two sorted sets."""
    if len(a) > len(b):
        a, b = b, a
    at = np.searchsorted(b, a)
    at[at == len(b)] = 0
    return int(np.count_nonzero(b[at] == a)) if len(b) else 0
