"""`[guard]`: what a run does about a stalled step and about steps that return no numbers."""

from __future__ import annotations

from dataclasses import dataclass

from stare.coerce import check_fields, interval

__all__ = ["GuardConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardConfig:
    """Protection of long runs; none of it changes the numbers of a good step.

    Example:
        >>> GuardConfig(step_timeout_s=1800.0).max_bad_steps
        20
    """

    step_timeout_s: float | None = None
    """Seconds without a finished step, evaluation or checkpoint before the process exits with 75.

    None: never.
    """
    max_bad_steps: int = 20
    """Steps in a row with a non-finite loss, gradient or entropy before the run stops."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("step_timeout_s", self.step_timeout_s, 0, open_low=True)
        interval("max_bad_steps", self.max_bad_steps, 1)
