"""One worker process and the pipes to it. Every read and write has a deadline."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["OverrunError", "WorkerDiedError", "WorkerProcess"]

_HEADER = struct.Struct(">I")
_REPLY_BYTES = 1 << 20
_REAP_S = 5.0


class OverrunError(Exception):
    """The worker did not answer in time."""


class WorkerDiedError(Exception):
    """The worker has ended, or what it says is no reply."""


class WorkerProcess:
    """A process that answers one message at a time.

    Args:
        command: the worker program and its arguments; None for the one of this package.
        engine: `module:factory` of what answers the jobs.
        deadline_s: seconds of processor time a job may take should this process be gone.
        memory_mib: MiB it may take beyond what it has after start-up.
    """

    def __init__(
        self, command: Sequence[str] | None, *, engine: str, deadline_s: float, memory_mib: int
    ) -> None:
        if not hasattr(select, "poll"):
            raise OSError(f"worker processes are not supported on {sys.platform}")
        if command is None:
            if not sys.executable:
                raise OSError("sys.executable is not set, so there is no Python to start")
            command = [sys.executable, str(Path(__file__).with_name("_worker.py"))]
        self.jobs = 0
        """Jobs answered so far."""
        self._settings = {
            "path": sys.path,
            "engine": engine,
            "deadline_s": deadline_s,
            "memory_mib": memory_mib,
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self._process.poll() is None

    def wait_ready(self, seconds: float) -> str:
        """Send the settings; returns why the engine cannot be loaded, or nothing.

        Raises:
            OverrunError: not ready in time.
            WorkerDiedError: it ended.
        """
        return str(self._exchange(self._settings, 0, seconds).get("error", ""))

    def ask(self, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Hand over a job and wait for the reply, `seconds` from now at most.

        Raises:
            OverrunError: no reply in time.
            WorkerDiedError: it ended, or sent something else than the reply to this job.
        """
        number = self.jobs + 1
        message = self._exchange({**job, "id": number}, number, seconds)
        self.jobs = number
        return message

    def kill(self) -> None:
        """End it at once and reap it; again has no effect."""
        self._process.kill()
        try:
            self._process.wait(_REAP_S)
        except subprocess.TimeoutExpired:
            return  # in the kernel, uninterruptible: it goes when it can
        self._close_pipes()

    def abandon(self) -> None:
        """Let go of a process that belongs to the parent of this one."""
        self._process.returncode = 0
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _exchange(self, message: Mapping[str, Any], number: int, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        body = json.dumps(message).encode()
        try:
            self._write(_HEADER.pack(len(body)) + body, deadline)
            size = _HEADER.unpack(self._read(_HEADER.size, deadline))[0]
            if size > _REPLY_BYTES:
                raise WorkerDiedError("what it said is no reply")
            reply = json.loads(self._read(size, deadline))
        except (OSError, ValueError) as error:
            raise WorkerDiedError(f"the worker process is gone: {error}") from None
        if not isinstance(reply, dict) or reply.get("id") != number:
            raise WorkerDiedError("what it said is no reply to this job")
        if not isinstance(reply.get("result"), dict) and not isinstance(reply.get("error"), str):
            raise WorkerDiedError("what it said is no reply")
        return reply

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._to, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._to, view) :]
            except BlockingIOError:
                continue

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(self._from, select.POLLIN, deadline)
            try:
                piece = os.read(self._from, size - len(data))
            except BlockingIOError:
                continue
            if not piece:
                raise WorkerDiedError("the worker process ended")
            data += piece
        return bytes(data)

    @staticmethod
    def _wait(pipe: int, event: int, deadline: float) -> None:
        poll = select.poll()  # not select.select: a trainer may have more than 1,024 files open
        poll.register(pipe, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise OverrunError("no reply in time")
