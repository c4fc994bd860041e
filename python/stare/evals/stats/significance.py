"""Tests of a difference between two runs on the same problems.

Two questions, two tests. On these very problems: the labels "A" and "B" are exchangeable among the
samples of each problem (`within_problems`; for one sample a problem this is McNemar's exact test),
or its normal approximation (`stratified_z`). On problems like these: the sign of each problem's
difference is exchangeable (`sign_flip`), or Student's paired t. Counts are whole numbers, so the
permutation distributions are worked out exactly, on a lattice, wherever that is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError
from stare.evals.stats.distributions import normal_two_sided

__all__ = [
    "DRAWS",
    "Significance",
    "holm",
    "lattice",
    "sign_flip",
    "stratified_z",
    "within_problems",
]

DRAWS = 20_000
"""Random permutations where the exact distribution is too large."""
_CELLS = 20_000_000
"""Additions allowed for an exact distribution: about a tenth of a second."""
_BLOCK = 1 << 22
_SLACK = 1e-9
"""Probabilities this close to the observed one's tail are rounding."""


class Significance(NamedTuple):
    """A two-sided p-value and how it was found."""

    p: float
    method: str


def stratified_z(delta: float, se: float) -> float:
    """Two-sided p of a difference with this standard error of re-sampling; 1 if both are 0.

    Example:
        >>> round(stratified_z(0.04, 0.0156), 4), stratified_z(0.0, 0.0)
        (0.0103, 1.0)
    """
    if se == 0.0:
        return 1.0 if delta == 0.0 else 0.0
    return normal_two_sided(delta / se)


def within_problems(
    c_a: Sequence[int],
    n_a: Sequence[int],
    c_b: Sequence[int],
    n_b: Sequence[int],
    *,
    weights: Sequence[int] | None = None,
    seed: int = 0,
) -> Significance:
    """Permutation test of labels within problems: does the mean rate differ on these problems?

    Given a problem's cA + cB correct samples, cB is hypergeometric under the null.

    Args:
        c_a: correct samples of A.
        n_a: its samples, >= 1.
        c_b: correct samples of B.
        n_b: its samples, >= 1.
        weights: of the problems in the mean; by default all weigh the same, whatever their n.
        seed: of the draws, where the exact distribution is too large.

    Example:
        >>> within_problems([0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1])  # McNemar: 2 of 2
        Significance(p=0.5, method='exact within problems')
    """
    problems = list(zip(c_a, n_a, c_b, n_b, strict=True))
    scale = math.lcm(*n_a, *n_b)
    factors = [scale * weight for weight in weights or [1] * len(problems)]
    steps = [f // na + f // nb for f, (_, na, _, nb) in zip(factors, problems, strict=True)]
    ranges = [(max(0, ca + cb - na), min(ca + cb, nb)) for ca, na, cb, nb in problems]
    unit = math.gcd(*steps)
    cells = 1 + sum((hi - lo) * step // unit for (lo, hi), step in zip(ranges, steps, strict=True))
    if cells * sum(hi - lo + 1 for lo, hi in ranges) > _CELLS:
        p = _within_by_draws(problems, factors, seed)
        return Significance(p, f"{DRAWS:,} draws within problems")
    # The statistic is sum of step * cB - centre, in whole numbers: ties are ties.
    centre = sum((p[0] + p[2]) * f // p[1] for p, f in zip(problems, factors, strict=True))
    observed = abs(sum(step * p[2] for step, p in zip(steps, problems, strict=True)) - centre)
    if observed == 0:
        return Significance(1.0, "exact within problems")
    ways = np.ones(1)
    for (ca, na, cb, nb), (lo, hi), step in zip(problems, ranges, steps, strict=True):
        total = math.comb(na + nb, nb)
        chances = [
            math.comb(ca + cb, x) * math.comb(na + nb - ca - cb, nb - x) / total
            for x in range(lo, hi + 1)
        ]
        ways = _spread(ways, chances, step // unit)
    start = sum(lo * step for (lo, _), step in zip(ranges, steps, strict=True)) - centre
    tail = math.fsum(
        chance for at, chance in enumerate(ways.tolist()) if abs(start + at * unit) >= observed
    )
    return Significance(min(1.0, tail), "exact within problems")


def _spread(ways: NDArray[np.float64], chances: list[float], step: int) -> NDArray[np.float64]:
    new = np.zeros(ways.size + step * (len(chances) - 1))
    for at, chance in enumerate(chances):
        new[at * step : at * step + ways.size] += chance * ways
    return new


def _within_by_draws(
    problems: list[tuple[int, int, int, int]], factors: list[int], seed: int
) -> float:
    ca, na, cb, nb = np.array(problems, dtype=np.int64).T
    weights = np.array([factor / sum(factors) for factor in factors])
    generator = np.random.default_rng(seed)
    observed = abs(float((cb / nb - ca / na) @ weights))
    extreme, block = 0, max(1, _BLOCK // len(problems))
    for start in range(0, DRAWS, block):
        shape = (min(block, DRAWS - start), len(problems))
        x = generator.hypergeometric(ca + cb, na + nb - ca - cb, nb, size=shape)
        drawn = np.abs((x / nb - (ca + cb - x) / na) @ weights)
        extreme += int((drawn >= observed - _SLACK).sum())
    return (extreme + 1) / (DRAWS + 1)


def lattice(
    c_a: Sequence[int], n_a: Sequence[int], c_b: Sequence[int], n_b: Sequence[int]
) -> tuple[list[int], int]:
    """Differences cB/nB - cA/nA as whole numbers over one common denominator.

    Example:
        >>> lattice([1, 0], [2, 2], [1, 2], [3, 3])
        ([-1, 4], 6)
    """
    scale = math.lcm(*n_a, *n_b)
    return [
        cb * (scale // nb) - ca * (scale // na)
        for ca, na, cb, nb in zip(c_a, n_a, c_b, n_b, strict=True)
    ], scale


def sign_flip(differences: Sequence[int], *, seed: int = 0) -> Significance:
    """Sign-flip permutation test: would the mean difference be 0 on problems like these?

    Args:
        differences: one a problem, in whole units (`lattice`), so that ties are ties.
        seed: of the draws, where the exact distribution is too large.

    Example:
        >>> sign_flip([1, 1, 1, 1, 1, 0])
        Significance(p=0.0625, method='exact sign-flip')
    """
    moves = [abs(d) for d in differences if d]
    if not moves:
        return Significance(1.0, "exact sign-flip")
    unit = math.gcd(*moves)
    moves = [move // unit for move in moves]
    observed = abs(sum(differences)) // unit
    total = sum(moves)
    if (2 * total + 1) * len(moves) > _CELLS:
        return Significance(_flip_by_draws(moves, observed, seed), f"{DRAWS:,} draws of signs")
    # ways[t]: the chance that the positive ones among the problems so far sum to t.
    ways = np.ones(1)
    for move in moves:
        ways = _spread(ways, [0.5, 0.5], move)
    distance = np.abs(2 * np.arange(total + 1) - total)
    return Significance(min(1.0, math.fsum(ways[distance >= observed].tolist())), "exact sign-flip")


def _flip_by_draws(moves: list[int], observed: int, seed: int) -> float:
    sizes = np.array([float(move) / float(sum(moves)) for move in sorted(moves)])
    least = observed / sum(moves) - _SLACK
    generator = np.random.default_rng(seed)
    extreme, block = 0, max(1, _BLOCK // len(moves))
    for start in range(0, DRAWS, block):
        shape = (min(block, DRAWS - start), len(moves))
        signs = generator.integers(0, 2, size=shape, dtype=np.int8)
        extreme += int((np.abs(2.0 * (signs @ sizes) - 1.0) >= least).sum())
    return (extreme + 1) / (DRAWS + 1)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values: no more than alpha of false alarms over all, whatever their ties.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).

    Example:
        >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
        {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    if any(not 0.0 <= p <= 1.0 for p in p_values.values()):
        raise ArgumentError(f"p-values must lie in [0, 1], got {dict(p_values)}")
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: (p_values[name], name))):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
