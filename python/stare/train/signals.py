"""SIGTERM and SIGINT: finish the step, save, leave; the second one ends the process at once."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType

__all__ = ["Interrupted", "StopSignals"]

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run ended early because it was asked to, with a checkpoint of its last step.

    Example:
        >>> Interrupted(15).exit_code, Interrupted(2).exit_code
        (143, 130)
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name}: the step was finished and saved")
        self.exit_code = 128 + number
        """What a shell says of a process that the signal ended."""


class StopSignals:
    """While open: the first SIGTERM or SIGINT is remembered, the second ends the process.

    The numbers arrive through a wake-up descriptor and are read by a thread, so that the second one
    works even where the main thread waits in C, for a GPU or for a rank that does not answer.
    Outside the main thread, where Python lets nobody handle signals, nothing is caught.

    Args:
        leaving: called before the second signal ends the process; errors in it are ignored.

    Example:
        >>> with StopSignals() as signals:
        ...     signals.number
        0
    """

    def __init__(self, leaving: Callable[[str], None] = lambda reason: None) -> None:
        self.number = 0
        """Number of the first signal; 0 before it."""
        self._leaving = leaving
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is not threading.main_thread():
            return self
        read, write = socket.socketpair()
        write.setblocking(False)
        thread = threading.Thread(
            target=self._listen, args=(read,), name="stare-signals", daemon=True
        )
        thread.start()
        # Undone in reverse order: no signal may find the descriptor closed.
        self._opened.callback(thread.join)
        self._opened.callback(write.close)
        before = signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
        self._opened.callback(signal.set_wakeup_fd, before)
        for number in _CAUGHT:
            self._opened.callback(signal.signal, number, signal.signal(number, _remembered))
        return self

    def __exit__(self, *exc: object) -> None:
        self._opened.close()

    def _listen(self, read: socket.socket) -> None:
        with read:
            while data := read.recv(64):
                for number in data:
                    if number in _CAUGHT:
                        self._arrived(number)

    def _arrived(self, number: int) -> None:
        name = signal.Signals(number).name
        if self.number:
            with contextlib.suppress(Exception):
                self._leaving(f"{name}, the second signal: ended at once")
            os._exit(128 + number)
        self.number = number
        with contextlib.suppress(OSError, ValueError):  # nobody may be listening to stderr
            print(
                f"{name}: finishing the step and saving; a second signal ends it at once",
                file=sys.stderr,
                flush=True,
            )


def _remembered(number: int, frame: FrameType | None) -> None:
    """The thread reads it; a handler must be there, or the default would end the process."""
