"""How many problems and samples it takes to see a difference: planned before the run.

Problems have difficulties drawn from a mix; the better run's are shifted by one amount on the logit
scale, chosen so that the mean rises by the effect. What decides is then the re-sampling noise,
which more samples shrink, and the spread of the effect over problems, which only more problems do.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError
from stare.evals.stats.counts import BenchCounts
from stare.evals.stats.distributions import normal_quantile, t_quantile

__all__ = ["MIXES", "Mix", "Power", "Simulated", "closed_form", "problems_needed", "simulate"]

Floats = NDArray[np.float64]

_GRID = np.arange(-80.0, 80.0, 0.05)
_FLIPS = 999
_BLOCK = 500


@dataclass(frozen=True, slots=True)
class Mix:
    """Difficulties of the problems: success rates on the logit scale and their weights.

    Example:
        >>> mix = Mix.beta(2.0, 2.0)
        >>> round(mix.mean(), 6), round(mix.mean(mix.shift(0.04)), 6)
        (0.5, 0.54)
    """

    logits_G: Floats
    weights_G: Floats

    @classmethod
    def beta(cls, a: float, b: float) -> Mix:
        """Rates from Beta(a, b).

        Raises:
            ArgumentError: a or b is not > 0.03, where the grid ends.
        """
        if not (a > 0.03 and b > 0.03):
            raise ArgumentError(f"a and b of the beta mix must be > 0.03, got {a!r}, {b!r}")
        log_weights = -a * np.logaddexp(0.0, -_GRID) - b * np.logaddexp(0.0, _GRID)
        weights = np.exp(log_weights - log_weights.max())
        return cls(_GRID, weights / weights.sum())

    @classmethod
    def like(cls, counts: BenchCounts) -> Mix:
        """The rates seen in a run, drawn in by half a sample on each side."""
        c, n = np.array(counts.c, dtype=np.float64), np.array(counts.n, dtype=np.float64)
        rates = (c + 0.5) / (n + 1.0)
        return cls(np.log(rates / (1.0 - rates)), np.full(c.size, 1.0 / c.size))

    def rates(self, shift: float = 0.0) -> Floats:
        """Success rates after a shift on the logit scale: (G,)."""
        return _sigmoid(self.logits_G + shift)

    def mean(self, shift: float = 0.0) -> float:
        """Mean success rate after a shift."""
        return float(self.weights_G @ self.rates(shift))

    def shift(self, effect: float) -> float:
        """The shift that raises the mean by `effect`.

        Raises:
            ArgumentError: the mean would leave (0, 1).
        """
        start = self.mean()
        if not 0.0 < start + effect < 1.0:
            raise ArgumentError(
                f"an effect of {effect:+g} takes the mean of {start:.3f} out of (0, 1)"
            )
        low, high = -100.0, 100.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            if self.mean(middle) - start < effect:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high) if effect else 0.0


MIXES = {"aime": Mix.beta(0.35, 0.8), "math500": Mix.beta(1.2, 0.3)}
"""`aime`: mean 0.30, most problems hard or easy. `math500`: mean 0.80."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Closed-form power of a design, and what it can detect."""

    problems: int
    n: int
    effect: float
    alpha: float
    se_these: float
    """Standard error of the difference from re-sampling these problems."""
    se_like_these: float
    """Standard error over problems like these."""
    these: float
    """Chance of p < alpha by the stratified z."""
    like_these: float
    """Chance of p < alpha by the paired t."""
    detectable_these: float
    """Effect found with 80 % chance, the noise taken as it is at this effect."""
    detectable_like_these: float

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Share of simulated comparisons with p < alpha, and the coverage of the t interval."""

    simulations: int
    these_z: float
    like_these_t: float
    like_these_sign_flip: float

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


def closed_form(
    problems: int, n: int, effect: float, *, mix: Mix = MIXES["aime"], alpha: float = 0.05
) -> Power:
    """Power of comparing two runs of n samples a problem; agrees with `simulate` within 0.05.

    Args:
        problems: in common, >= 2.
        n: samples of each problem in each run.
        effect: true difference of the means, a fraction: four points are 0.04.
        mix: difficulties.
        alpha: level of the two-sided tests.

    Raises:
        ArgumentError: an argument is out of range.

    Example:
        >>> power = closed_form(60, 32, 0.04)
        >>> power.these > 0.9, power.like_these > 0.85
        (True, True)
    """
    _check(problems, n, effect, alpha)
    shift = mix.shift(effect)
    p, q = mix.rates(), mix.rates(shift)
    delta = q - p
    mean = float(mix.weights_G @ delta)
    spread = float(mix.weights_G @ (delta - mean) ** 2)
    noise = float(mix.weights_G @ (p * (1.0 - p) + q * (1.0 - q))) / n
    se_these, se_like = math.sqrt(noise / problems), math.sqrt((noise + spread) / problems)
    z, df = normal_quantile(1.0 - alpha / 2.0), float(problems - 1)
    t = t_quantile(1.0 - alpha / 2.0, df)
    # The problems drawn have their own mean effect, and the noise is all that this test divides by.
    wider = se_like / se_these
    return Power(
        problems=problems,
        n=n,
        effect=effect,
        alpha=alpha,
        se_these=se_these,
        se_like_these=se_like,
        these=_above((z - effect / se_these) / wider) + _above((z + effect / se_these) / wider),
        like_these=_t_above(t, df, effect / se_like) + _t_above(t, df, -effect / se_like),
        detectable_these=(z + normal_quantile(0.8)) * se_these,
        detectable_like_these=(t + t_quantile(0.8, df)) * se_like,
    )


def problems_needed(
    n: int,
    effect: float,
    *,
    power: float = 0.8,
    mix: Mix = MIXES["aime"],
    alpha: float = 0.05,
    most: int = 1 << 20,
) -> int | None:
    """The fewest problems with which the paired t finds the effect with this chance.

    None if `most` are too few.

    Example:
        >>> 40 < problems_needed(32, 0.04) < 60
        True
    """
    if effect == 0.0:
        raise ArgumentError("effect must not be 0")
    low, high = 2, 4

    def enough(problems: int) -> bool:
        return closed_form(problems, n, effect, mix=mix, alpha=alpha).like_these >= power

    while not enough(high):
        low, high = high, 2 * high
        if low > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def simulate(
    problems: int,
    n: int,
    effect: float,
    *,
    mix: Mix = MIXES["aime"],
    alpha: float = 0.05,
    simulations: int = 2000,
    seed: int = 0,
) -> Simulated:
    """Run the tests of `compare` on simulated runs; both draw n samples of the same problems.

    With `effect` 0 the shares are the rates of false alarms. `these_z` is NaN for n = 1.

    Example:
        >>> found = simulate(60, 32, 0.04, simulations=200)
        >>> found.like_these_t > 0.75
        True
    """
    _check(problems, n, effect, alpha)
    generator = np.random.default_rng(seed)
    shift = mix.shift(effect)
    t = t_quantile(1.0 - alpha / 2.0, float(problems - 1))
    z = normal_quantile(1.0 - alpha / 2.0)
    signs = generator.integers(0, 2, size=(problems, _FLIPS)) * 2.0 - 1.0
    hits = np.zeros(3)
    for start in range(0, simulations, _BLOCK):
        shape = (min(_BLOCK, simulations - start), problems)
        logits = generator.choice(mix.logits_G, size=shape, p=mix.weights_G)
        a = generator.binomial(n, _sigmoid(logits)) / n
        b = generator.binomial(n, _sigmoid(logits + shift)) / n
        delta = b - a
        total = np.abs(delta.sum(axis=1))
        variance = (a * (1.0 - a) + b * (1.0 - b)) / max(1, n - 1)
        slack = 1e-9
        flipped = (np.abs(delta @ signs) >= total[:, None] - slack).sum(axis=1)
        hits += [
            (total > z * np.sqrt(variance.sum(axis=1)) + slack).sum(),
            (total > t * delta.std(axis=1, ddof=1) * math.sqrt(problems) + slack).sum(),
            ((flipped + 1) / (_FLIPS + 1) < alpha).sum(),
        ]
    shares = hits / simulations
    return Simulated(
        simulations=simulations,
        these_z=float(shares[0]) if n > 1 else math.nan,
        like_these_t=float(shares[1]),
        like_these_sign_flip=float(shares[2]),
    )


def _check(problems: int, n: int, effect: float, alpha: float) -> None:
    if problems < 2 or n < 1:
        raise ArgumentError(f"problems must be >= 2 and n >= 1, got {problems!r} and {n!r}")
    if not -1.0 < effect < 1.0:
        raise ArgumentError(
            f"effect must lie in (-1, 1), got {effect!r}\nhint: four points are 0.04"
        )
    if not 0.0 < alpha < 1.0:
        raise ArgumentError(f"alpha must lie in (0, 1), got {alpha!r}")


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)), dtype=np.float64)


def _above(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def _t_above(t: float, df: float, centre: float) -> float:
    """P(T > t) of the noncentral t, by the usual normal approximation."""
    return _above((t * (1.0 - 0.25 / df) - centre) / math.sqrt(1.0 + 0.5 * t * t / df))
