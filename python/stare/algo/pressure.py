"""Bookkeeping of the entropy pressure: sums that add over micro-batches, ranks and steps.

The quantities are defined in `stare.algo.theory`, which computes them; nothing here needs torch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from stare.errors import ArgumentError

__all__ = ["EntropyPressure", "PressurePool"]


@dataclass(frozen=True, slots=True)
class EntropyPressure:
    """Sums over tokens, so that micro-batches, ranks and steps add with `+`.

    Example:
        >>> a = EntropyPressure(n=10, a_phi=0.2, selected_pos=-0.1)
        >>> (a + a).w_star
        3.0
    """

    n: float = 0.0
    """Tokens under the mask."""
    a_phi: float = 0.0
    """Sum of A Phi."""
    selected_pos: float = 0.0
    """Sum of A Phi over L+, the selected tokens with A > 0."""
    selected_neg: float = 0.0
    """Sum of A Phi over L-, the selected tokens with A < 0."""
    critical_pos: float = 0.0
    """Sum of A Phi over the exact set: A > 0 and s > s*."""
    n_pos: float = 0.0
    """Tokens with A > 0."""
    n_pos_above: float = 0.0
    """Those of them with s > s*."""
    n_selected_pos: float = 0.0
    """Tokens of L+."""
    n_selected_pos_above: float = 0.0
    """Those of them with s > s*."""

    def __add__(self, other: EntropyPressure) -> EntropyPressure:
        pairs = zip(_values(self), _values(other), strict=True)
        return EntropyPressure(*(a + b for a, b in pairs))

    @property
    def lambda_(self) -> float:
        """Lambda: net pressure that lowers entropy, per token."""
        return _ratio(self.a_phi, self.n)

    @property
    def gamma(self) -> float:
        """Gamma: what L+ pushes back, per token of the batch."""
        return _ratio(-self.selected_pos, self.n)

    @property
    def gamma_minus(self) -> float:
        """Gamma-: what L- adds to the pressure, per token of the batch."""
        return _ratio(self.selected_neg, self.n)

    @property
    def gamma_exact(self) -> float:
        """Gamma of the exact set, A > 0 and s > s*."""
        return _ratio(-self.critical_pos, self.n)

    @property
    def w_star(self) -> float:
        """W* = 1 + Lambda / Gamma for the selected set; NaN where Gamma <= 0: no W balances it."""
        return 1.0 + self.lambda_ / self.gamma if self.gamma > 0 else math.nan

    @property
    def w_star_exact(self) -> float:
        """W* if exactly the tokens with A > 0 and s > s* were amplified."""
        return 1.0 + self.lambda_ / self.gamma_exact if self.gamma_exact > 0 else math.nan

    @property
    def base_in(self) -> float:
        """Share of the A > 0 tokens that raise entropy (s > s*); NaN if no token has A > 0."""
        return _ratio(self.n_pos_above, self.n_pos)

    @property
    def sel_in(self) -> float:
        """Proxy alignment: share of L+ that raises entropy; NaN if nothing is selected."""
        return _ratio(self.n_selected_pos_above, self.n_selected_pos)

    def as_dict(self, prefix: str = "stare/") -> dict[str, float]:
        """The figures worth plotting, by metric name."""
        return {
            f"{prefix}lambda": self.lambda_,
            f"{prefix}gamma": self.gamma,
            f"{prefix}gamma_minus": self.gamma_minus,
            f"{prefix}w_star": self.w_star,
            f"{prefix}w_star_exact": self.w_star_exact,
            f"{prefix}base_in": self.base_in,
            f"{prefix}sel_in": self.sel_in,
        }


class PressurePool:
    """The pressure of the last `window` batches, pooled: the estimate of W* worth reading.

    Example:
        >>> pool = PressurePool(window=2)
        >>> for a_phi in (9.0, 0.1, 0.3):
        ...     pool.add(EntropyPressure(n=1, a_phi=a_phi, selected_pos=-0.2))
        >>> pool.pooled.w_star
        2.0
    """

    def __init__(self, window: int = 50) -> None:
        if window < 1:
            raise ArgumentError(f"window must be >= 1, got {window!r}")
        self._batches: deque[EntropyPressure] = deque(maxlen=window)

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, batch: EntropyPressure) -> None:
        """Append one batch; the oldest leaves a full window."""
        self._batches.append(batch)

    @property
    def pooled(self) -> EntropyPressure:
        """Sum over the window, recomputed each time so that it carries no drift."""
        return sum(self._batches, EntropyPressure())

    def state_dict(self) -> dict[str, list[list[float]]]:
        """The window as JSON values."""
        return {"batches": [list(_values(batch)) for batch in self._batches]}

    def load_state_dict(self, state: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Continue from `state_dict()`.

        Raises:
            ArgumentError: the state is not one of this class.
        """
        width = len(fields(EntropyPressure))
        batches = state.get("batches")
        if batches is None or any(len(batch) != width for batch in batches):
            raise ArgumentError(f"pressure state: 'batches' must be a list of lists of {width}")
        self._batches.clear()
        self._batches.extend(EntropyPressure(*map(float, batch)) for batch in batches)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


def _values(pressure: EntropyPressure) -> tuple[float, ...]:
    # dataclasses.astuple would deep-copy every float: 0.1 ms a batch, 50 batches a checkpoint.
    return tuple(getattr(pressure, f.name) for f in fields(pressure))
