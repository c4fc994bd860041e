"""What runs a policy's programs. A caller never needs to know where they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, TypeVar

T = TypeVar("T", bound="ClosingExecutor")

__all__ = ["ClosingExecutor", "Execution", "Executor", "Status"]

Status = Literal["ok", "error", "timeout", "memory", "output", "killed", "unavailable"]
"""How a program ended: by itself, with an exception or exit code, over the time, memory or output
limit, killed by something else, or not at all because no sandbox could take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    r"""What one program did.

    Example:
        >>> Execution(status="ok", stdout="4\n", stderr="", seconds=0.01).status
        'ok'
    """

    status: Status
    stdout: str
    """What it printed, cut at the output limit; bytes that are no UTF-8 are replaced."""
    stderr: str
    """Its errors, a traceback included; cut likewise."""
    seconds: float
    """Wall time of the program."""


class Executor(Protocol):
    """Runs Python programs, each in a state of its own."""

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        """Run programs, in parallel where it can; one result each, in order.

        Never raises for what a program does.
        """
        ...

    def close(self) -> None:
        """Stop every process it started."""
        ...


class ClosingExecutor(ABC):
    """An executor that `with` closes."""

    @abstractmethod
    def close(self) -> None:
        """Stop every process it started."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
