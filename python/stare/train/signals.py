"""SIGTERM and SIGINT: the first asks for an end after the step, the second interrupts it."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

__all__ = ["StopRequest", "StopRequestedError"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequestedError(KeyboardInterrupt):
    """The run ended after a step, with a checkpoint, because a signal asked for it.

    Args:
        number: the signal; the process exits with 128 + it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name}: stopped after a step")
        self.number = number

    @property
    def exit_code(self) -> int:
        """143 after SIGTERM, 130 after SIGINT."""
        return 128 + self.number


class StopRequest:
    """While entered, remembers the first signal; a context manager.

    The second signal raises KeyboardInterrupt where the step is, and a third has the system's own
    effect. Outside the main thread, where Python sets no handlers, it does nothing.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.number:
            self.number = number
            return
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        raise KeyboardInterrupt
