"""Uncertainty of scores: two standard errors, told apart, and intervals.

`se_sampling`: would the same model, sampled again on these very problems, score the same?
`se_problems`: would it on other problems like these? The second is the larger by far (0.058 against
0.011 on 30 problems of AIME's kind at n = 32) and is what a claim about ability needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError
from stare.evals.stats.distributions import normal_two_sided, t_quantile
from stare.evals.stats.metrics import Counts, Metric, check_counts, macro
from stare.passk import bootstrap_means

__all__ = [
    "N_BOOT",
    "Estimate",
    "estimate",
    "jsonable",
    "macro_estimate",
    "metric_variance",
    "rate_variance",
    "resampled_means",
    "satterthwaite",
    "se_problems",
    "se_sampling",
]

N_BOOT = 10_000
"""Resamples of an interval."""
_FEW = 8
Floats = NDArray[np.float64]
Interval = tuple[float, float]
_NONE: Interval = (math.nan, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over problems with its uncertainty; NaN where there is nothing to tell it from."""

    value: float
    se_sampling: float
    """If the model were sampled again on these problems."""
    se_problems: float
    """If other problems like these were drawn; sampling noise included."""
    ci: Interval
    """Bootstrap by problem; an exact bound where all problems score alike."""
    ci_t: Interval
    """Student's interval over problems."""
    problems: int
    level: float = 0.95
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object; None for NaN.

        Example:
            >>> estimate([0.0, 1.0, 1.0]).to_json()["se_sampling"] is None
            True
        """
        row: dict[str, Any] = jsonable(asdict(self))
        if not self.note:
            del row["note"]
        return row


def rate_variance(c_P: Counts, n_P: Counts) -> Floats:
    """Sampling variance of each problem's c/n: p(1-p)/(n-1); NaN for n = 1, where none is seen.

    Example:
        >>> rate_variance([1, 1], [2, 1]).tolist()
        [0.25, nan]
    """
    c, n = check_counts(c_P, n_P)
    p = c / n
    with np.errstate(invalid="ignore"):
        return np.where(n > 1, p * (1.0 - p) / np.maximum(1, n - 1), np.nan)


def metric_variance(metric: Metric, c_P: Counts, n_P: Counts, k: int) -> Floats:
    """Sampling variance of each problem's figure at k, for any metric of counts.

    The jackknife over samples, which is `rate_variance` at k = 1 and too large rather than too
    small (Efron and Stein, 1981): the standard error of pass@k on problems of AIME's kind, n = 32,
    is 1.03 times the true one at k = 8, 1.1 at 16, 1.3 at 31. As a sample cannot be left out at
    k = n, its variance is that of k = n - 1.

    Args:
        metric: such as `pass_at_k`.
        c_P: correct samples.
        n_P: samples.
        k: its k.

    Returns:
        (P,) variances; NaN for n = 1 and k > n.

    Example:
        >>> from stare.evals.stats.metrics import pass_at_k
        >>> metric_variance(pass_at_k, [1, 4, 1], [4, 4, 1], 2).round(4).tolist()
        [0.25, 0.0, nan]
    """
    c, n = check_counts(c_P, n_P)
    variance = np.full(c.size, math.nan)
    for total in set(n.tolist()):
        if total > 1 and k <= total:
            here = n == total
            good = c[here]
            left = metric(np.arange(total), np.full(total, total - 1), min(k, total - 1))
            # Leaving out a correct sample gives left[c - 1], a wrong one left[c].
            gap = left[np.maximum(good - 1, 0)] - left[np.minimum(good, total - 1)]
            variance[here] = (total - 1) * good * (total - good) * (gap / total) ** 2
    return variance


def se_sampling(variance_P: Floats | Sequence[float]) -> float:
    """Standard error of the mean over these problems, from each one's sampling variance.

    Example:
        >>> se_sampling([0.25, 0.0])
        0.25
    """
    variance = np.asarray(variance_P, dtype=np.float64)
    return math.sqrt(math.fsum(variance.tolist())) / variance.size


def se_problems(values_P: Floats | Sequence[float]) -> float:
    """Standard error over problems: sd / sqrt(P), P - 1 in the variance; NaN for one problem.

    Example:
        >>> se_problems([0.0, 1.0])
        0.5
    """
    values = np.sort(np.asarray(values_P, dtype=np.float64))
    if values.size < 2:
        return math.nan
    if values[0] == values[-1]:
        return 0.0
    return float(values.std(ddof=1) / math.sqrt(values.size))


def estimate(
    values_P: Floats | Sequence[float],
    variance_P: Floats | Sequence[float] | None = None,
    *,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
    bounds: Interval = (0.0, 1.0),
) -> Estimate:
    """The mean of one figure a problem with its standard errors and intervals.

    The order of the problems does not matter.

    Args:
        values_P: (P,) figures; if one is NaN, so is the result.
        variance_P: (P,) sampling variances of them.
        level: coverage of the intervals.
        n_boot: resamples.
        seed: of the resampling.
        bounds: of a figure; what the interval falls back on where all problems score alike.

    Raises:
        ArgumentError: there is no problem, or unequal lengths.

    Example:
        >>> from stare.evals.stats.metrics import rate
        >>> c, n = [0, 3, 4], [4, 4, 4]
        >>> score = estimate(rate(c, n), rate_variance(c, n))
        >>> round(score.value, 4), round(score.se_sampling, 4), round(score.se_problems, 4)
        (0.5833, 0.0833, 0.3005)
    """
    return macro_estimate(
        {"": values_P},
        None if variance_P is None else {"": variance_P},
        level=level,
        n_boot=n_boot,
        seed=seed,
        bounds=bounds,
    )


def macro_estimate(
    values: Mapping[str, Floats | Sequence[float]],
    variances: Mapping[str, Floats | Sequence[float]] | None = None,
    *,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
    bounds: Interval = (0.0, 1.0),
) -> Estimate:
    """The average over benchmarks, each the mean over its problems, benchmarks weighing the same.

    Problems are resampled within their benchmark. The percentiles are Hesterberg's expanded ones
    ("What Teachers Should Know About the Bootstrap", 2015), since resampled means of few problems
    spread too little: with 30 of AIME's kind the plain ones cover 92.8 %, these 94.7 %. Student's
    interval has the degrees of freedom of Welch and Satterthwaite.

    Args:
        values: (P,) figures of each benchmark.
        variances: their sampling variances, with the same keys.
        level: coverage of the intervals.
        n_boot: resamples.
        seed: of the resampling.
        bounds: of a figure; what the interval falls back on where all problems score alike.

    Example:
        >>> macro_estimate({"a": [0.0, 1.0], "b": [1.0, 1.0]}).value
        0.75
    """
    if not values:
        raise ArgumentError("there is no benchmark to average")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level must lie in (0, 1), got {level!r}")
    names = sorted(values)
    figures = [np.sort(np.asarray(values[name], dtype=np.float64)) for name in names]
    means = [macro(one) for one in figures]
    value = math.fsum(means) / len(means)
    errors = [se_problems(one) for one in figures]
    se = math.hypot(*errors) / len(errors)
    sampling = math.nan
    if variances is not None:
        if any(np.shape(variances[name]) != np.shape(values[name]) for name in names):
            raise ArgumentError("values and variances must be of equal length")
        sampling = math.hypot(*(se_sampling(variances[name]) for name in names)) / len(names)
    ci, ci_t, note = _NONE, _NONE, ""
    if math.isnan(value):
        note = "undefined: some problems have too few samples"
    elif math.isnan(se):
        note = "one problem: its spread over problems is not known"
    elif se == 0.0:
        ci = ci_t = _unanimous(figures, level, bounds)
        note = "no spread over problems: the interval is an exact bound"
    else:
        parts = [resampled_means(one, n_boot, [seed, at]) for at, one in enumerate(figures)]
        total = np.sum(parts, axis=0) / len(parts)
        t = t_quantile((1.0 + level) / 2.0, satterthwaite(errors, figures))
        tail = 0.5 * normal_two_sided(t * se / _se_resampled(errors, figures))
        low, high = np.quantile(total, [tail, 1.0 - tail])
        ci = float(low), float(high)
        ci_t = value - t * se, value + t * se
        alike = [name for name, one in zip(names, errors, strict=True) if one == 0.0]
        if alike:
            note = f"no spread between the problems of {', '.join(alike)}: too narrow"
    return Estimate(
        value=value,
        se_sampling=sampling,
        se_problems=se,
        ci=ci,
        ci_t=ci_t,
        problems=sum(one.size for one in figures),
        level=level,
        note=note,
    )


def resampled_means(values: Floats, n_boot: int, seed: Sequence[int]) -> Floats:
    """Means of resampled problems, as `bootstrap_means`: (n_boot,).

    Where few values repeat, as the five of n = 4 do over 500 problems, how often each is drawn is
    drawn at once: the same law at a tenth of the time.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size * _FEW > values.size:
        return bootstrap_means(values, n_boot=n_boot, seed=seed)
    draws = np.random.default_rng(seed).multinomial(values.size, counts / values.size, size=n_boot)
    return np.asarray(draws @ distinct / values.size, dtype=np.float64)


def _se_resampled(errors: Sequence[float], figures: Sequence[Floats]) -> float:
    """Standard error of resampled means: smaller by sqrt((P - 1) / P)."""
    parts = (e * math.sqrt(1.0 - 1.0 / one.size) for e, one in zip(errors, figures, strict=True))
    return math.hypot(*parts) / len(errors)


def satterthwaite(errors: Sequence[float], figures: Sequence[Floats]) -> float:
    """Degrees of freedom of a sum of independent means with these standard errors.

    Example:
        >>> satterthwaite([1.0, 1.0], [np.zeros(10), np.zeros(10)])
        18.0
    """
    if len(errors) == 1:
        return float(figures[0].size - 1)
    pairs = [(error**2, one.size - 1) for error, one in zip(errors, figures, strict=True) if error]
    if not pairs or not all(df for _, df in pairs):
        return math.nan
    return math.fsum(v for v, _ in pairs) ** 2 / math.fsum(v * v / df for v, df in pairs)


def _unanimous(figures: Sequence[Floats], level: float, bounds: Interval) -> Interval:
    """Interval where each benchmark's problems score alike, so that no spread is seen.

    If a share q of such problems scored like these, all of P would with chance q^P. So a share of
    at most u = 1 - (alpha/2)^(1/P) scores otherwise, which moves the mean to the bounds at most.
    With several benchmarks each gets its part of alpha.
    """
    alpha = (1.0 - level) / len(figures)
    low = high = 0.0
    for one in figures:
        u = -math.expm1(math.log(alpha / 2.0) / one.size)
        low += float(one[0]) * (1.0 - u) + bounds[0] * u
        high += float(one[0]) * (1.0 - u) + bounds[1] * u
    return low / len(figures), high / len(figures)


def jsonable(value: Any) -> Any:
    """The value with lists for tuples and None for what JSON cannot say: NaN and infinity."""
    if isinstance(value, dict):
        return {name: jsonable(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [jsonable(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
