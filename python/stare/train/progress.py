"""Progress on stderr: a live bar on a terminal, plain lines elsewhere. Never a byte on stdout."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

__all__ = ["TrainProgress", "describe"]


def _number(value: float | int | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "-" if value is None else str(value)
    return f"{value:.{digits}f}"


def describe(row: Mapping[str, float | int | None], evaluation: Mapping[str, float | None]) -> str:
    """The key numbers of a step in words; what a row lacks is left out.

    Example:
        >>> describe({"step": 7, "entropy/batch": 0.24, "entropy/target": 0.25, "stare/w": 1.3}, {})
        'entropy 0.240 / 0.250  W 1.30'
    """
    parts = []
    if "entropy/batch" in row:
        target = row.get("entropy/target")
        goal = f" / {_number(target)}" if target is not None and math.isfinite(target) else ""
        parts.append(f"entropy {_number(row['entropy/batch'])}{goal}")
    if "reward/rollouts" in row:
        parts.append(f"reward {_number(row['reward/rollouts'])}")
    if "stare/w" in row:
        parts.append(f"W {_number(row['stare/w'], 2)}")
    if "groups/kept" in row:
        parts.append(f"groups {_number(row['groups/kept'], 0)}")
    passes = {k: v for k, v in evaluation.items() if k.startswith("eval/pass@") and "_" not in k}
    if passes:
        by_k = sorted(passes, key=lambda k: int(k.rpartition("@")[2]))
        for key in dict.fromkeys((by_k[0], by_k[-1])):
            parts.append(f"{key[5:]} {_number(passes[key])}")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class TrainProgress:
    """Shows a run's progress; a context manager.

    Args:
        steps: Steps of the whole run.
        start: Steps that were done before (a resumed run).
        log_every: Steps between lines where stderr is no terminal.
        console: For tests; by default rich on stderr, which respects NO_COLOR and TERM=dumb.
    """

    def __init__(
        self, *, steps: int, start: int = 0, log_every: int = 10, console: Console | None = None
    ) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self._steps, self._start, self._log_every = steps, start, log_every
        self._began = time.monotonic()
        self._evaluation: dict[str, float | None] = {}
        self._bar: Progress | None = None
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self._bar = Progress(
                TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[numbers]}", markup=False),
                TextColumn("ETA {task.fields[eta]}", markup=False),
                console=self.console,
                refresh_per_second=4,
            )
            self._task = self._bar.add_task(
                "train", total=steps, completed=start, numbers="", eta="-"
            )

    def __enter__(self) -> TrainProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def message(self, text: str) -> None:
        """A line of words above the bar (a warning, the place of the run folder)."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def update(self, row: Mapping[str, float | int | None]) -> None:
        """Show the row of a finished step."""
        step = int(row["step"] or 0)
        self._evaluation.update({k: v for k, v in row.items() if k.startswith("eval/")})
        done = step - self._start
        elapsed = time.monotonic() - self._began
        eta = _clock(elapsed / done * (self._steps - step)) if done > 0 else "-"
        numbers = describe(row, self._evaluation)
        if self._bar is not None:
            self._bar.update(self._task, completed=step, numbers=numbers, eta=eta)
        elif step % self._log_every == 0 or step in (1, self._steps):
            self.message(f"step {step}/{self._steps}  {numbers}  ETA {eta}")
