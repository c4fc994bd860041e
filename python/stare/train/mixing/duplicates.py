"""Near-duplicates within training data, and training problems that are benchmark problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from stare.train.mixing.normal import exact_key, near_tokens, numbers
from stare.train.mixing.shingles import Shingled, overlap, shingle

__all__ = ["Match", "find_contained", "find_near"]

SHORT_CONTAINED = 12
"""Fewest shingles of a benchmark problem that counts as contained in a longer text: a shorter one
("What is 2 + 3?") is part of many others."""


@dataclass(frozen=True, slots=True)
class Match:
    """A text and the earlier (or benchmark) text it repeats; both by position."""

    index: int
    other: int
    kind: Literal["exact", "near", "contains"]
    similarity: float
    """Jaccard similarity of the shingle sets; the contained share for `contains`."""


def find_near(
    documents: Sequence[Sequence[str]],
    *,
    threshold: float,
    size: int,
    different: Callable[[int, int], bool] = lambda _i, _j: False,
) -> list[Match]:
    """Find each text that nearly repeats an earlier one that is kept; the earliest is named.

    Two texts are near when their numbers are the same multiset, the Jaccard similarity of their
    shingle sets is at least `threshold`, and `different(later, earlier)` does not tell them apart.

    Args:
        documents: [N] token lists (`normal.tokens`).
        threshold: in (0, 1].
        size: tokens of a shingle.
        different: asked last, about pairs that are near otherwise.

    Returns:
        One match for each text that is not kept, by ascending index.
    """
    sets = shingle([near_tokens(d) for d in documents], size)
    figures = [numbers(d) for d in documents]
    kept: dict[tuple[tuple[str, ...], int], list[int]] = defaultdict(list)
    found = []
    for i, own in enumerate(sets.sets):
        prefix = sets.prefix(i, threshold)
        prefix = prefix[sets.shared[prefix]]
        # The numbers belong to the key: texts from one template with other numbers never meet.
        keys = [(figures[i], int(s)) for s in prefix]
        match = None
        for j in sorted({j for key in keys for j in kept.get(key, ())}):
            common = overlap(own, sets.sets[j])
            similarity = common / (len(own) + len(sets.sets[j]) - common)
            if similarity >= threshold and not different(i, j):
                match = Match(i, j, "near", similarity)
                break
        if match is not None:
            found.append(match)
            continue
        for key in keys:
            kept[key].append(i)
    return found


def find_contained(
    documents: Sequence[Sequence[str]],
    benchmarks: Sequence[Sequence[str]],
    *,
    threshold: float,
    containment: float,
    size: int,
) -> list[Match]:
    """Find each text that is, nearly is, or contains a benchmark problem; the closest is named.

    `exact`: equal tokens. `near`: the same numbers and a Jaccard similarity of at least
    `threshold`. `contains`: the numbers of the benchmark problem are all there, and so is a share
    of at least `containment` of its shingles (of which it has 12 or more).

    Args:
        documents: [N] token lists of training problems.
        benchmarks: [M] token lists of benchmark problems.
        threshold: in (0, 1], for `near`.
        containment: in (0, 1], for `contains`.
        size: tokens of a shingle.
    """
    exact: dict[bytes, int] = {}
    for j, document in enumerate(benchmarks):
        exact.setdefault(exact_key(document), j)
    sets = shingle([near_tokens(d) for d in (*benchmarks, *documents)], size)
    index = _prefix_index(sets, len(benchmarks), min(threshold, containment))
    figures = [numbers(d) for d in benchmarks]
    found = []
    for i, document in enumerate(documents):
        same = exact.get(exact_key(document))
        if same is not None:
            found.append(Match(i, same, "exact", 1.0))
            continue
        own = sets.sets[len(benchmarks) + i]
        candidates = {j for s in own[sets.shared[own]].tolist() for j in index.get(s, ())}
        if not candidates:
            continue
        mine = numbers(document)
        best: Match | None = None
        for j in sorted(candidates):
            common = overlap(own, sets.sets[j])
            size_j = len(sets.sets[j])
            jaccard, share = common / (len(own) + size_j - common), common / size_j
            if jaccard >= threshold and figures[j] == mine:
                match = Match(i, j, "near", jaccard)
            elif share >= containment and size_j >= SHORT_CONTAINED and _within(figures[j], mine):
                match = Match(i, j, "contains", share)
            else:
                continue
            if best is None or (match.kind == "near", match.similarity) > (
                best.kind == "near",
                best.similarity,
            ):
                best = match
        if best is not None:
            found.append(best)
    return found


def _prefix_index(sets: Shingled, count: int, threshold: float) -> dict[int, list[int]]:
    index: dict[int, list[int]] = defaultdict(list)
    for j in range(count):
        prefix = sets.prefix(j, threshold)
        for s in prefix[sets.shared[prefix]].tolist():
            index[s].append(j)
    return index


def _within(few: tuple[str, ...], many: tuple[str, ...]) -> bool:
    """Whether one sorted multiset is part of another."""
    rest = list(many)
    for item in few:
        if item not in rest:
            return False
        rest.remove(item)
    return True
