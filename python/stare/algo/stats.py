"""What a call of the selection reports."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stare.algo.rules import Rule

__all__ = ["ReweightStats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReweightStats:
    """Counts over the whole batch (of all shards, where there are several).

    Example:
        >>> stats = ReweightStats(
        ...     n_tokens=10, n_positive=6, n_negative=4, rules=(Rule(1, "high", 0.1, 1.1),),
        ...     selected=(1,), thresholds=(2.5,), dropped_nonfinite=0, mean_weight=1.01,
        ...     gate_on=True, w=1.1, m=0.9,
        ... )
        >>> stats.as_dict()["stare/selected_frac"]
        0.1
    """

    n_tokens: int
    """Tokens inside the mask."""
    n_positive: int
    """Of these, tokens of positive advantage that can be selected."""
    n_negative: int
    """Of these, tokens of negative advantage that can be selected."""
    rules: tuple[Rule, ...]
    """The rules, in the order of the next two."""
    selected: tuple[int, ...]
    """Size of each rule's set, whether or not the gate lets its factor apply."""
    thresholds: tuple[float, ...]
    """Surprisal of the last token each rule selects, nats; nan for an empty set and for the
    selectors `threshold` and `critical`."""
    dropped_nonfinite: int
    """Candidates dropped for a log-probability that is not finite or is positive."""
    mean_weight: float
    """Mean weight over the tokens inside the mask."""
    gate_on: bool
    """Whether factors could apply; in `sample` and `token` granularity rows or tokens decide."""
    w: float
    """Live amplification W."""
    m: float
    """Live attenuation M."""

    @property
    def selected_frac(self) -> float:
        """Selected tokens, all rules together, as a share of the tokens."""
        return sum(self.selected) / self.n_tokens if self.n_tokens else 0.0

    def as_dict(self, prefix: str = "stare/") -> dict[str, float]:
        """Flat metrics under the names the learner logs; a threshold that is nan is left out."""
        out: dict[str, float] = {
            "gate": float(self.gate_on),
            "w": self.w,
            "m": self.m,
            "n_tokens": self.n_tokens,
            "n_positive": self.n_positive,
            "n_negative": self.n_negative,
            "dropped_nonfinite": self.dropped_nonfinite,
            "selected_frac": self.selected_frac,
            "mean_weight": self.mean_weight,
        }
        names = [rule.name for rule in self.rules]
        for i, name in enumerate(names):
            label = name if names.count(name) == 1 else f"{name}_{i}"
            out[f"selected_{label}"] = self.selected[i]
            if not math.isnan(self.thresholds[i]):
                out[f"threshold_{label}"] = self.thresholds[i]
        return {prefix + key: value for key, value in out.items()}
