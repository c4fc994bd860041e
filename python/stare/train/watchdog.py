"""Ends a run that makes no progress, and leaves behind where each thread was."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["STALLED", "Watchdog"]

STALLED = 75
"""Exit code of a stalled run: EX_TEMPFAIL of sysexits.h, "try again"."""

_REPORT_S = 10.0


class Watchdog:
    """A thread that ends the process unless `phase` is called often enough; a context manager.

    Args:
        folder: where `stalled-<time>.txt` is written.
        timeout_s: longest time between two calls of `phase`; None watches nothing.
        leaving: called before the end, with the reason; errors in it are ignored.
        name: put into the file's name, to tell ranks apart.

    Example:
        >>> with Watchdog(Path("."), None) as watchdog:
        ...     watchdog.phase("rollout")
    """

    def __init__(
        self,
        folder: Path,
        timeout_s: float | None,
        leaving: Callable[[str], None] = lambda reason: None,
        *,
        name: str = "",
    ) -> None:
        self._folder, self._timeout_s, self._leaving, self._name = folder, timeout_s, leaving, name
        self._changed = threading.Condition()
        self._phase, self._began, self._open = "start", time.monotonic(), True

    def __enter__(self) -> Watchdog:
        self._began = time.monotonic()
        if self._timeout_s is not None:
            threading.Thread(
                target=self._watch, args=(self._timeout_s,), name="stare-watchdog", daemon=True
            ).start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._open = False
            self._changed.notify()

    def phase(self, name: str) -> None:
        """Progress: the phase before is done, this one begins."""
        with self._changed:
            self._phase, self._began = name, time.monotonic()

    def _watch(self, timeout_s: float) -> None:
        with self._changed:
            while self._open:
                left = self._began + timeout_s - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if not self._open:
                return
            reason = f"no progress for {timeout_s:g} s in phase {self._phase!r}"
        # A disk that does not answer may be the very reason: nothing here may wait for it.
        report = threading.Thread(target=self._report, args=(reason,), daemon=True)
        report.start()
        report.join(_REPORT_S)
        os._exit(STALLED)

    def _report(self, reason: str) -> None:
        path = self._folder / f"stalled-{time.strftime('%Y%m%dT%H%M%S')}{self._name}.txt"
        with contextlib.suppress(OSError), path.open("w", encoding="utf-8") as file:
            file.write(f"{reason}; pid {os.getpid()}\n\n")
            file.flush()
            faulthandler.dump_traceback(file, all_threads=True)
        with contextlib.suppress(Exception):
            self._leaving(f"stalled: {reason}, see {path.name}")
        with contextlib.suppress(OSError, ValueError):  # nobody may be listening to stderr
            print(
                f"error: {reason}\nhint: {path} says where each thread was; --resume continues",
                file=sys.stderr,
                flush=True,
            )
