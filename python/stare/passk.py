"""pass@k without bias, and the uncertainty of a mean over problems.

Source: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError

__all__ = ["bootstrap_means", "mean_and_standard_error", "pass_at_k", "problem_bootstrap"]

_BLOCK = 1 << 20
"""Resampled values drawn at a time, so that memory does not grow with `n_boot`."""


@overload
def pass_at_k(n: int, c: int, k: int) -> float: ...  # type: ignore[overload-overlap]
@overload
def pass_at_k(
    n: NDArray[Any] | Sequence[int] | int,
    c: NDArray[Any] | Sequence[int] | int,
    k: NDArray[Any] | Sequence[int] | int,
) -> NDArray[np.float64]: ...
def pass_at_k(n: Any, c: Any, k: Any) -> Any:
    """Chance that k of the n samples, drawn without replacement, hold a correct one.

    1 - C(n - c, k) / C(n, k), as `-expm1(sum log1p(-k / j))`: no factorial, no cancellation.

    Args:
        n: samples of the problem, >= 0; an integer, or an array of them.
        c: correct ones among them, in [0, n].
        k: samples allowed, >= 1.

    Returns:
        A float; an array of the broadcast shape if any argument is one. NaN where k > n: missing
        samples are neither wrong nor right.

    Raises:
        ArgumentError: an argument is not an integer or out of its range.

    Example:
        >>> pass_at_k(4, 1, 2), pass_at_k(4, 0, 2), pass_at_k(1, 1, 2)
        (0.5, 0.0, nan)
        >>> pass_at_k([4, 4], [1, 3], 2).round(6).tolist()
        [0.5, 1.0]
    """
    arrays = [np.asarray(value) for value in (n, c, k)]
    for name, array in zip("nck", arrays, strict=True):
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise ArgumentError(f"{name} must be an integer, got {array.dtype}")
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ArgumentError(f"n, c and k must broadcast, got shapes {shapes}") from None
    if not shape:
        return _pass_at_k(*(int(array) for array in arrays))
    columns = (np.broadcast_to(array, shape).ravel().tolist() for array in arrays)
    values = [_pass_at_k(*row) for row in zip(*columns, strict=True)]
    return np.array(values, dtype=np.float64).reshape(shape)


def _pass_at_k(n: int, c: int, k: int) -> float:
    if n < 0 or not 0 <= c <= n:
        raise ArgumentError(f"c must lie in [0, n] and n must be >= 0, got n={n}, c={c}")
    if k < 1:
        raise ArgumentError(f"k must be >= 1, got {k}")
    if k > n:
        return math.nan
    if n - c < k:
        return 1.0
    # C(n-c, k) / C(n, k) is symmetric in c and k: the product over the smaller has fewer terms.
    few, many = min(c, k), max(c, k)
    return -math.expm1(math.fsum(math.log1p(-many / j) for j in range(n - few + 1, n + 1))) + 0.0


def mean_and_standard_error(values: Sequence[float] | NDArray[Any]) -> tuple[float, float]:
    """Mean over problems and its standard error (n - 1 in the variance; NaN for one problem).

    Raises:
        ArgumentError: there is no value, or one is not finite.

    Example:
        >>> mean_and_standard_error([0.0, 1.0])
        (0.5, 0.5)
    """
    array = _problem_values(values)
    if array.size == 1:
        return float(array[0]), math.nan
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size))


def problem_bootstrap(
    values: Sequence[float] | NDArray[Any],
    *,
    n_boot: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over problems.

    Problems, not samples, are resampled: they are what a benchmark draws. A function of its
    arguments alone.

    Args:
        values: (P,) one figure a problem, such as its pass@k.
        n_boot: resamples.
        seed: of the resampling.
        level: coverage asked for, in (0, 1).

    Returns:
        Lower and upper bound.

    Raises:
        ArgumentError: there is no value, one is not finite, or `n_boot` or `level` is out of range.

    Example:
        >>> low, high = problem_bootstrap([0.0, 1.0] * 50)
        >>> 0.38 < low < 0.42 and 0.58 < high < 0.62
        True
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level must lie in (0, 1), got {level!r}")
    means = bootstrap_means(values, n_boot=n_boot, seed=seed)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def bootstrap_means(
    values: Sequence[float] | NDArray[Any], *, n_boot: int = 2000, seed: int | Sequence[int] = 0
) -> NDArray[np.float64]:
    """Means of `n_boot` resamples of the problems: (n_boot,).

    Args:
        values: (P,) one figure a problem.
        n_boot: resamples.
        seed: of the resampling; two series of resamples are independent if their seeds differ.

    Raises:
        ArgumentError: there is no value, one is not finite, or `n_boot` is out of range.

    Example:
        >>> bootstrap_means([0.0, 1.0], n_boot=3).shape
        (3,)
    """
    array = _problem_values(values)
    if n_boot < 1:
        raise ArgumentError(f"n_boot must be >= 1, got {n_boot!r}")
    generator = np.random.default_rng(seed)
    means = np.empty(n_boot)
    step = max(1, _BLOCK // array.size)
    for start in range(0, n_boot, step):
        stop = min(start + step, n_boot)
        draws = generator.integers(array.size, size=(stop - start, array.size))
        means[start:stop] = array[draws].mean(axis=1)
    return means


def _problem_values(values: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ArgumentError(f"values must be one figure a problem, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(
            f"values must be finite, got {int((~np.isfinite(array)).sum())} that are not\n"
            "hint: pass@k is NaN for problems with fewer than k samples; leave them out and say so"
        )
    return array
