"""An engine of vLLM in a process that can be killed (`stare.rollout.vllm_server`).

Parent and child talk over a socket pair: pickled (method, arguments) one way, (status, value) the
other. The child leads a process group, so that vLLM's own processes die with it. It ends by itself
when the parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from stare.errors import RunError

__all__ = ["EngineError", "EngineProcess", "Job", "Result"]

_COMMAND = (sys.executable, "-m", "stare.rollout.vllm_server")


class EngineError(RunError):
    """The engine died or took too long; it has been killed, and can be started again."""


class Job(NamedTuple):
    """One response to sample."""

    prompt_ids: list[int]
    seed: int
    temperature: float
    top_p: float
    max_tokens: int
    stop: tuple[str, ...]
    stop_ids: tuple[int, ...]
    """Tokens that end it; the engine itself knows only one."""


class Result(NamedTuple):
    """One sampled response."""

    token_ids: list[int]
    logprobs: list[float]
    """Of each token, nats, under the distribution it was drawn from."""
    text: str
    finish_reason: str
    """`stop` or `length`."""


class EngineProcess:
    """The child.

    Args:
        arguments: of `vllm.LLM`.
        start_timeout_s: longest wait for the engine to be ready.
        devices: the child's CUDA_VISIBLE_DEVICES; None leaves what is set.
        command: what is run; the number of the child's end of the socket pair is appended.

    Raises:
        RunError: the engine does not start, with vLLM's reason.
        EngineError: it died or took too long.
    """

    def __init__(
        self,
        arguments: Mapping[str, Any],
        *,
        start_timeout_s: float,
        devices: str | None = None,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        ours, theirs = socket.socketpair()
        environment = {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"} | os.environ
        if devices is not None:
            environment["CUDA_VISIBLE_DEVICES"] = devices
        # The engine has a world of its own, not the trainer's ranks.
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
            environment.pop(name, None)
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=environment,
                stdin=subprocess.DEVNULL,
                # vLLM prints to stdout what belongs on stderr; ours is for data.
                stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
            )
        self._link = Connection(ours.detach())
        try:
            self.version: str = self.call("start", dict(arguments), timeout_s=start_timeout_s)
        except RunError:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Of the child, which is also the number of its process group."""
        return self._process.pid

    def call(self, method: str, *arguments: Any, timeout_s: float) -> Any:
        """Ask the child and wait.

        Raises:
            RunError: what it was asked is not possible; the engine lives.
            EngineError: it died or took too long, and has been killed.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._link.send((method, arguments))
            while not self._link.poll(max(0.0, min(1.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"no answer to {method!r} within {timeout_s:g} s")
            status, value = self._link.recv()
        except (OSError, EOFError, TimeoutError) as error:
            hung = isinstance(error, TimeoutError)
            why = str(error) if hung else f"it died (exit code {self._exit_code()})"
            self.kill()
            raise EngineError(f"the vLLM engine failed in {method!r}: {why}") from error
        except BaseException:  # interrupted: the next answer would be to this question
            self.kill()
            raise
        if status == "refused":
            raise RunError(value)
        if status == "broken":
            self.kill()
            raise EngineError(f"the vLLM engine failed in {method!r}: {value}")
        return value

    def _exit_code(self) -> int | None:
        # The link closes a moment before the process has ended.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        return self._process.returncode

    def kill(self) -> None:
        """End the child and all its descendants in its group, now."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(OSError):  # closed already
            self._link.close()


def _has_descriptor(stream: Any) -> bool:
    try:
        stream.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    return True
