"""Metrics of one benchmark: each gives one figure a problem, from counts.

`macro` averages them: every problem weighs the same, whatever its number of samples. Where a metric
is undefined (k > n) a figure is NaN, and so is the average: missing samples are neither wrong nor
right. Suffixes: `_P` has one entry a problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError
from stare.passk import pass_at_k as _pass_at_k

__all__ = [
    "Counts",
    "Metric",
    "best_at_k_verl",
    "check_counts",
    "curve",
    "g_pass_at_k",
    "macro",
    "mg_pass_at_k",
    "pass_at_k",
    "pass_pow_k",
    "rate",
    "score_bounds",
    "usual_ks",
]

Counts = NDArray[Any] | Sequence[int]
Floats = NDArray[np.float64]
Metric = Callable[[Counts, Counts, int], Floats]


def check_counts(c_P: Counts, n_P: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Correct and drawn samples of each problem, validated.

    Args:
        c_P: correct samples, integers in [0, n].
        n_P: samples, integers >= 1.

    Raises:
        ArgumentError: no problem, unequal lengths, not integers, out of range.

    Example:
        >>> check_counts([1, 2], [4, 4])[0].tolist()
        [1, 2]
    """
    arrays = [np.asarray(value) for value in (c_P, n_P)]
    for name, array in zip(("c", "n"), arrays, strict=True):
        if array.ndim != 1 or array.size == 0:
            raise ArgumentError(f"{name} must be one count a problem, got shape {array.shape}")
        if not np.issubdtype(array.dtype, np.integer):
            raise ArgumentError(f"{name} must be integers, got {array.dtype}")
    c, n = (array.astype(np.int64) for array in arrays)
    if c.shape != n.shape:
        raise ArgumentError(f"c and n must be of equal length, got {c.size} and {n.size}")
    if (n < 1).any():
        raise ArgumentError(
            f"{int((n < 1).sum())} problems have no sample\n"
            "hint: leave them out and show the coverage"
        )
    if ((c < 0) | (c > n)).any():
        at = int(np.flatnonzero((c < 0) | (c > n))[0])
        raise ArgumentError(f"c must lie in [0, n], problem {at} has c={c[at]}, n={n[at]}")
    return c, n


def macro(values_P: Floats | Sequence[float]) -> float:
    """Mean over problems; NaN if a figure is.

    Example:
        >>> macro([0.5, 1.0]), macro([0.5, float("nan")])
        (0.75, nan)
    """
    array = np.asarray(values_P, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ArgumentError(f"values must be one figure a problem, got shape {array.shape}")
    return math.fsum(array.tolist()) / array.size


def rate(c_P: Counts, n_P: Counts) -> Floats:
    """Share of correct samples c/n; `macro` of it is avg@n.

    Example:
        >>> macro(rate([1, 4], [4, 4]))
        0.625
    """
    c, n = check_counts(c_P, n_P)
    return np.asarray(c / n, dtype=np.float64)


def score_bounds(c_P: Counts, undecided_P: Counts, n_P: Counts) -> tuple[float, float]:
    """avg@n with the undecided samples counted as not correct, and as all correct.

    Example:
        >>> score_bounds([1, 2], [1, 0], [4, 4])
        (0.375, 0.5)
    """
    c, n = check_counts(c_P, n_P)
    undecided, _ = check_counts(undecided_P, n_P)
    best, _ = check_counts(c + undecided, n)
    return macro(rate(c, n)), macro(rate(best, n))


def pass_at_k(c_P: Counts, n_P: Counts, k: int) -> Floats:
    """Chance that k samples drawn without replacement hold a correct one; NaN for k > n.

    Source: M. Chen et al. (2021), section 2.1; `stare.passk`.

    Example:
        >>> pass_at_k([1, 0], [4, 4], 2).tolist()
        [0.5, 0.0]
    """
    return _each(_pass_at_k_one, c_P, n_P, k)


def pass_pow_k(c_P: Counts, n_P: Counts, k: int) -> Floats:
    """pass^k: chance that k samples drawn without replacement are all correct; NaN for k > n.

    Source: S. Yao et al., "tau-bench" (2024).

    Example:
        >>> pass_pow_k([3, 4], [4, 4], 2).tolist()
        [0.5, 1.0]
    """
    return _each(_pass_pow_k, c_P, n_P, k)


def g_pass_at_k(c_P: Counts, n_P: Counts, k: int, tau: Fraction | str | float) -> Floats:
    """G-Pass@k_tau: chance that at least max(1, ceil(tau k)) of k samples are correct.

    Args:
        c_P: correct samples.
        n_P: samples.
        k: samples drawn without replacement; NaN where k > n.
        tau: share in [0, 1]; a float or string is read as its shortest decimal, so that
            ceil(0.7 * 10) is 7.

    Source: J. Liu et al., "Are Your LLMs Capable of Stable Reasoning?" (2024).

    Example:
        >>> g_pass_at_k([2], [4], 2, 0.5).round(6).tolist(), g_pass_at_k([2], [4], 2, 0).tolist()
        ([0.833333], [0.8333333333333334])
    """
    try:
        share = tau if isinstance(tau, Fraction) else Fraction(str(tau))
    except ValueError:
        raise ArgumentError(f"tau must be a number in [0, 1], got {tau!r}") from None
    if not 0 <= share <= 1:
        raise ArgumentError(f"tau must lie in [0, 1], got {tau!r}")
    least = max(1, math.ceil(share * k))

    def tail(n: int, c: int, k: int) -> float:
        return _ratio(sum(_ways(n, c, k, x) for x in range(least, min(c, k) + 1)), n, k)

    return _each(tail, c_P, n_P, k)


def mg_pass_at_k(c_P: Counts, n_P: Counts, k: int) -> Floats:
    """mG-Pass@k: (2/k) times the sum over i in ceil(k/2)+1..k of P(at least i correct).

    The mean of G-Pass@k_tau over tau in [1/2, 1]. 0 for k = 1, where the sum is empty.

    Example:
        >>> mg_pass_at_k([4, 3], [4, 4], 4).tolist()
        [1.0, 0.5]
    """
    half = (k + 1) // 2

    def mean(n: int, c: int, k: int) -> float:
        weighted = sum((x - half) * _ways(n, c, k, x) for x in range(half + 1, min(c, k) + 1))
        return _ratio(2 * weighted, n, k, k)

    return _each(mean, c_P, n_P, k)


def best_at_k_verl(c_P: Counts, n_P: Counts, k: int) -> Floats:
    """best@k as verl logs it, without its bootstrap noise: 1 - (1 - c/n)^k. For parity only.

    Drawing with replacement makes it lower than pass@k: one correct sample of 32 gives 0.638 at
    k = 32, where pass@32 is 1. Label it `best@k(verl)`, never pass@k.

    Example:
        >>> best_at_k_verl([1], [32], 32).round(3).tolist()
        [0.638]
    """
    return _each(lambda n, c, k: 1.0 - (1.0 - c / n) ** k, c_P, n_P, k)


def usual_ks(n: int) -> tuple[int, ...]:
    """Powers of two up to n, and n.

    Example:
        >>> usual_ks(12)
        (1, 2, 4, 8, 12)
    """
    powers = [1 << i for i in range(max(0, n).bit_length()) if 1 << i <= n]
    return tuple(dict.fromkeys([*powers, n])) if n >= 1 else ()


def curve(metric: Metric, c_P: Counts, n_P: Counts, ks: Iterable[int]) -> dict[int, float]:
    """The macro average of a metric for each k; NaN where a problem has fewer than k samples.

    Example:
        >>> curve(pass_at_k, [1, 2], [4, 4], [1, 4, 5])
        {1: 0.375, 4: 1.0, 5: nan}
    """
    return {k: macro(metric(c_P, n_P, k)) for k in ks}


def _each(one: Callable[[int, int, int], float], c_P: Counts, n_P: Counts, k: int) -> Floats:
    """`one(n, c, k)` of every problem, worked out once per distinct pair; NaN for k > n."""
    c, n = check_counts(c_P, n_P)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ArgumentError(f"k must be an integer >= 1, got {k!r}")
    pairs = list(zip(n.tolist(), c.tolist(), strict=True))
    known = {(a, b): math.nan if k > a else one(a, b, int(k)) for a, b in set(pairs)}
    return np.array([known[pair] for pair in pairs])


@lru_cache(maxsize=1 << 16)
def _pass_at_k_one(n: int, c: int, k: int) -> float:
    return _pass_at_k(n, c, k)


def _pass_pow_k(n: int, c: int, k: int) -> float:
    return math.comb(c, k) / math.comb(n, k)


def _ways(n: int, c: int, k: int, x: int) -> int:
    """Draws of k of n samples with exactly x of the c correct ones; whole numbers, no rounding."""
    return math.comb(c, x) * math.comb(n - c, k - x)


def _ratio(ways: int, n: int, k: int, divisor: int = 1) -> float:
    return ways / (math.comb(n, k) * divisor)
