"""A bar on stderr, on terminals only, once something takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]

_AFTER_S = 2.0


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield how to move the bar."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        *Progress.get_default_columns()[:-1],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(what, total=total)
    start, shown = time.perf_counter(), False

    def tick(rows: int) -> None:
        nonlocal shown
        bar.advance(task, rows)
        if not shown and time.perf_counter() - start > _AFTER_S:
            bar.start()
            shown = True

    try:
        yield tick
    finally:
        bar.stop()
