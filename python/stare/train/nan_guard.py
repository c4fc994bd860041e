"""Counts steps without usable numbers and stops a run that has too many of them in a row.

The learner leaves weights and moments alone where a gradient norm is not finite; this says when
going on is pointless.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from stare.errors import RunError

__all__ = ["NanGuard", "bad_keys"]

WATCHED = ("loss/total", "optim/grad_norm", "entropy/batch")


def bad_keys(row: Mapping[str, float | int | None]) -> list[str]:
    """The watched keys of a step that are NaN or infinite.

    Example:
        >>> bad_keys({"loss/total": float("nan"), "optim/grad_norm": 1.0})
        ['loss/total']
    """
    values = ((key, row.get(key)) for key in WATCHED)
    return [key for key, value in values if value is not None and not math.isfinite(value)]


class NanGuard:
    """Counts consecutive bad steps.

    Args:
        limit: so many in a row stop the run.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bad_steps = 0

    def count(self, row: Mapping[str, float | int | None]) -> int:
        """Take a step's row; the bad steps in a row so far, 0 after a good one."""
        self.bad_steps = self.bad_steps + 1 if bad_keys(row) else 0
        return self.bad_steps

    def check(self, row: Mapping[str, float | int | None]) -> None:
        """Stop at the limit.

        Raises:
            RunError: `limit` bad steps in a row; the message names what was not finite.
        """
        if self.bad_steps >= self.limit:
            raise RunError(
                f"{self.bad_steps} steps in a row up to step {row.get('step')} had a non-finite "
                f"{', '.join(bad_keys(row))}; none of them moved the weights\n"
                "hint: look at optim.lr, model.dtype and the rewards; guard.max_bad_steps is the "
                "limit"
            )
