"""Stops a run whose steps have nothing to learn from, because their numbers are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stare.errors import RunError

__all__ = ["BadSteps"]

_WATCHED = ("loss/total", "optim/grad_norm")


class BadSteps:
    """Counts steps in a row whose loss or gradient norm is not finite.

    The learner skips such an update, so the weights are what they were. A step without any update
    (no group had a signal) neither counts nor ends the count.

    Args:
        limit: so many in a row are too many.

    Example:
        >>> bad = BadSteps(2)
        >>> [bad.add(i, {"loss/total": x}) for i, x in enumerate((1.0, float("nan"), 1.0))]
        [0, 1, 0]
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: list[str] = []

    def add(self, step: int, row: Mapping[str, float | int | None]) -> int:
        """Take the metrics of a step; the number of bad ones in a row."""
        values = {key: float(value) for key in _WATCHED if (value := row.get(key)) is not None}
        bad = {key: value for key, value in values.items() if not math.isfinite(value)}
        if bad:
            words = ", ".join(f"{key} = {value}" for key, value in bad.items())
            self._seen.append(f"step {step}: {words}")
        elif values:
            self._seen.clear()
        return len(self._seen)

    def check(self) -> None:
        """Refuse to go on after too many.

        Raises:
            RunError: the message says what was seen.
        """
        if len(self._seen) < self._limit:
            return
        shown = self._seen if len(self._seen) <= 3 else [*self._seen[:2], "...", self._seen[-1]]
        lines = "\n".join(f"  {line}" for line in shown)
        raise RunError(
            f"guard.max_bad_steps={self._limit}: {len(self._seen)} steps in a row had a loss or "
            f"gradient norm that is not finite\n{lines}\n"
            "each was skipped: the weights in the newest checkpoint are those before them\n"
            "hint: --resume goes on with the next problems; where it comes again, a run with a "
            "lower optim.lr or model.dtype=float32 may not"
        )
