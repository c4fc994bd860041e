"""`[guard]`: when a run that makes no progress ends by itself."""

from __future__ import annotations

from dataclasses import dataclass

from stare.coerce import check_fields, interval

__all__ = ["GuardConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardConfig:
    """What stops a long run that nobody watches.

    Example:
        >>> GuardConfig(step_timeout_s=3600).max_bad_steps
        10
    """

    step_timeout_s: float | None = None
    """Longest that one phase of a step (rollout, update, handing over weights, evaluation, writing)
    may take: then all stacks go to `stalled-<time>.txt` in the run folder and the process ends with
    exit code 75, so that a supervisor can start it again with --resume. None: for ever."""
    max_bad_steps: int = 10
    """So many steps in a row with a loss or gradient norm that is not finite end the run with an
    error; each is skipped, and the weights stay what they were."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("step_timeout_s", self.step_timeout_s, 0, open_low=True)
        interval("max_bad_steps", self.max_bad_steps, 1)
