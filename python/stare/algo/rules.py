"""The four quadrants (advantage sign x surprisal tail) as data, and the named variants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["MAX_RULES", "Rule", "rules_for"]

MAX_RULES = 8
"""The core keeps the set of rules applied to a token in one byte."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Multiply the weight of the `ratio` most or least surprising tokens of one sign by `factor`.

    Rules that overlap multiply.

    Raises:
        ArgumentError: a field is outside its range.

    Example:
        >>> Rule(+1, "high", 0.1, 1.1).name
        'positive_high'
        >>> Rule(+1, "high", 1.2, 1.1)
        Traceback (most recent call last):
        ...
        stare.errors.ArgumentError: ratio of a rule must lie in [0, 1], got 1.2
    """

    sign: int
    """+1: tokens of positive advantage; -1: of negative."""
    tail: Literal["high", "low"]
    """`high`: the most surprising tokens (the minority); `low`: the least (the majority)."""
    ratio: float
    """Share P of the tokens of this sign; k = ceil(P n), P read as its shortest decimal."""
    factor: float
    """Factor of the weight, > 0."""

    def __post_init__(self) -> None:
        if self.sign not in (1, -1):
            raise ArgumentError(f"sign of a rule must be +1 or -1, got {self.sign!r}")
        if self.tail not in ("high", "low"):
            raise ArgumentError(f"tail of a rule must be 'high' or 'low', got {self.tail!r}")
        if not 0.0 <= self.ratio <= 1.0:
            raise ArgumentError(f"ratio of a rule must lie in [0, 1], got {self.ratio!r}")
        if not (self.factor > 0.0 and math.isfinite(self.factor)):
            raise ArgumentError(
                f"factor of a rule must be positive and finite, got {self.factor!r}"
            )

    @property
    def name(self) -> str:
        """The quadrant."""
        return f"{'positive' if self.sign > 0 else 'negative'}_{self.tail}"

    def as_tuple(self) -> tuple[int, bool, float, float]:
        """What the extension takes: (sign, high tail?, ratio, factor)."""
        return int(self.sign), self.tail == "high", float(self.ratio), float(self.factor)


_SINGLE: dict[str, tuple[int, Literal["high", "low"], Literal["w", "m"]]] = {
    "O1": (+1, "high", "w"),
    "O2": (-1, "high", "m"),
    "O3": (+1, "low", "m"),
    "O4": (-1, "low", "w"),
}
_COMBINED = {
    "C1": ("O1", "O3"),
    "C2": ("O1", "O2"),
    "C3": ("O3", "O4"),
    "C4": ("O1", "O2", "O3", "O4"),
}


def rules_for(config: StareConfig, w: float, m: float) -> tuple[Rule, ...]:
    """The rules of a variant at amplification `w` and attenuation `m`.

    Single operations, each of which keeps entropy up (arXiv 2606.19236, section 3.2): O1
    amplifies A > 0 of high surprisal, O2 attenuates A < 0 of high surprisal, O3 attenuates A > 0
    of low surprisal, O4 amplifies A < 0 of low surprisal. Combinations: C1 = O1 + O3 (both tails
    of A > 0), C2 = O1 + O2 (both minorities), C3 = O3 + O4 (both majorities), C4 = all four.

    The paper ablates four single operations and four combinations. Only the names O1 and C2 are
    known to be its names for these sets (its released code has those two); the others are ours.

    Example:
        >>> [rule.name for rule in rules_for(StareConfig(variant="C2"), 1.1, 0.9)]
        ['positive_high', 'negative_high']
    """
    factors = {"w": w, "m": m}
    return tuple(
        Rule(sign, tail, config.top_p_ratio, factors[factor])
        for sign, tail, factor in (
            _SINGLE[name] for name in _COMBINED.get(config.variant, (config.variant,))
        )
    )
