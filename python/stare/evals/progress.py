"""How far a run is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO

__all__ = ["Progress", "clock"]

SHOW_AFTER_S = 2.0
LINE_EVERY_S = 30.0


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    Example:
        >>> clock(59.6), clock(3723)
        ('1:00', '1:02:03')
    """
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Progress:
    """Counts samples and tokens; a context manager.

    Nothing is shown in the first two seconds, or with `quiet`.

    Args:
        total: samples to make.
        before: samples that were there already.
        quiet: show nothing.
        stream: for tests; stderr by default.
    """

    def __init__(
        self, total: int, before: int = 0, *, quiet: bool = False, stream: TextIO | None = None
    ) -> None:
        self.total, self.before, self.quiet = total, before, quiet
        self._stream = sys.stderr if stream is None else stream
        self._began = self._last_line = time.monotonic()
        self.done = self.errors = self.tokens = 0
        self.note = ""
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, tokens: int, failed: bool) -> None:
        """One sample more."""
        self.done += 1
        self.errors += failed
        self.tokens += tokens
        self.show()

    def show(self) -> None:
        """Bring the display up to date."""
        now = time.monotonic()
        if self.quiet or now - self._began < SHOW_AFTER_S:
            return
        if self._bar is None and self._stream.isatty():
            self._start_bar()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.before + self.done, words=self.words(now))
        elif now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            count = f"{self.before + self.done}/{self.before + self.total} samples"
            print(f"{count}  {self.words(now)}", file=self._stream, flush=True)

    def words(self, now: float) -> str:
        """Speed, errors and what is left."""
        elapsed = max(now - self._began, 1e-9)
        parts = []
        if self.tokens:
            parts.append(f"{self.tokens / elapsed:,.0f} tokens/s")
        if self.errors:
            parts.append(f"{self.errors} errors")
        if self.note:
            parts.append(self.note)
        left = elapsed / self.done * (self.total - self.done) if self.done else None
        parts.append(f"ETA {clock(left) if left is not None else '-'}")
        return "  ".join(parts)

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("sampling"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=Console(file=self._stream),
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("sampling", total=self.before + self.total, words="")
        self._bar.start()
