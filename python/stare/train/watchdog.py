"""A thread that ends the process when a step makes no progress, so that it can be started again."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

__all__ = ["STALLED_EXIT_CODE", "Watchdog"]

STALLED_EXIT_CODE = 75
"""EX_TEMPFAIL of sysexits: trying again (with --resume) is worth it."""


class Watchdog:
    """Exits with 75 when `beat` is not called for `timeout_s` seconds; a context manager.

    It writes the stacks of all threads first. What hangs inside a native call that holds the
    interpreter lock stops this thread as well and is not seen.

    Args:
        timeout_s: None switches it off.
        stacks: file for the stacks.
        on_stall: called before the exit (it marks the run); an OSError in it is reported.
        leave: ends the process; for tests.
    """

    def __init__(
        self,
        timeout_s: float | None,
        stacks: Path,
        on_stall: Callable[[], None],
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._timeout_s, self._stacks = timeout_s, stacks
        self._on_stall, self._leave = on_stall, leave
        self._last = time.monotonic()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def beat(self) -> None:
        """Say that there was progress."""
        self._last = time.monotonic()

    def __enter__(self) -> Watchdog:
        self.beat()
        if self._timeout_s is not None:
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        assert self._timeout_s is not None
        while (left := self._last + self._timeout_s - time.monotonic()) > 0:
            if self._done.wait(left):
                return
        try:
            with self._stacks.open("w", encoding="utf-8") as file:
                faulthandler.dump_traceback(file, all_threads=True)
            self._on_stall()
        except OSError as error:
            print(f"warning: the stall could not be recorded: {error}", file=sys.stderr)
        print(
            f"error: no progress for {self._timeout_s:g} s (guard.step_timeout_s); stacks in "
            f"{self._stacks}; --resume continues",
            file=sys.stderr,
            flush=True,
        )
        self._leave(STALLED_EXIT_CODE)
