"""The trainer's end of one sandbox: hands it programs, reads what they print, within limits."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

from stare.errors import SandboxError

from . import bubblewrap
from .executor import Execution, Status
from .inside import seccomp
from .limits import Limits

__all__ = ["Worker"]

START_SECONDS = 60.0
GRACE_SECONDS = 5.0
"""How long after the wall limit a sandbox may take to say that it ended a program."""
CHUNK = 1 << 16


class Worker:
    """One sandbox process. Every method belongs to the thread that made the object.

    (The kernel kills the sandbox when the thread that started it ends.)
    """

    def __init__(
        self,
        limits: Limits,
        *,
        preload: Sequence[str] = (),
        readonly: Sequence[str] = (),
        unsafe: bool = False,
        nested: bool = True,
    ) -> None:
        self._limits = limits
        self._preload = tuple(preload)
        self._readonly = tuple(readonly)
        self._unsafe = unsafe
        self._nested = nested
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._scratch = ""

    def start(self) -> None:
        """Start the sandbox and wait until its interpreter is warm.

        Raises:
            SandboxError: it cannot start; the message says why and what to do.
        """
        try:
            self._start(None if self._unsafe else bubblewrap.find_bubblewrap())
        except BaseException:
            self.stop()
            raise

    def _start(self, program: str | None) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        if self._unsafe:
            self._scratch = tempfile.mkdtemp(prefix="stare-unsafe-")
        configuration = bubblewrap.settings(
            self._limits,
            fd=theirs.fileno(),
            preload=self._preload,
            unsafe=self._unsafe,
            nested=self._nested,
            scratch=self._scratch,
        )
        with tempfile.TemporaryFile() as errors, contextlib.ExitStack() as stack, theirs:
            fds = [theirs.fileno()]

            def hand_over(content: bytes) -> int:
                fd = _memory_file(content)
                stack.callback(os.close, fd)
                fds.append(fd)
                return fd

            rules = None if self._unsafe else seccomp.this_machine(nesting=True)
            words, arguments = bubblewrap.command(
                configuration,
                readonly=self._readonly,
                filter_fd=None if rules is None else hand_over(rules),
            )
            if program is not None:
                arguments_fd = hand_over("\0".join([*arguments, ""]).encode())
                words = [program, "--args", str(arguments_fd), "--", *words]
            try:
                self._process = subprocess.Popen(
                    words,
                    env=bubblewrap.ENVIRONMENT,
                    cwd="/",
                    pass_fds=fds,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,  # Ctrl-C is for the trainer
                )
            except OSError as error:
                raise bubblewrap.explain(str(error)) from None
            theirs.close()
            answer = self._receive(START_SECONDS)
            if answer is None or "error" in answer:
                raise bubblewrap.explain(answer["error"] if answer else _tail(errors))

    def stop(self) -> None:
        """End the sandbox and every process in it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            if self._unsafe:  # let it end what it started, which nothing else would
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(GRACE_SECONDS)
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = ""

    def run(self, program: str) -> Execution:
        """Run one program; starts a sandbox where none is up. Never raises for what it does."""
        source = program.encode("utf-8", "surrogatepass")
        if len(source) > self._limits.source_kb << 10:
            reason = (
                f"the source has {len(source):,} bytes, the limit is {self._limits.source_kb} KiB\n"
            )
            return Execution(status="error", stdout="", stderr=reason, seconds=0.0)
        if self._control is None:
            try:
                self.start()
            except SandboxError as error:
                return Execution(status="unavailable", stdout="", stderr=f"{error}\n", seconds=0.0)
        try:
            result = self._run(source)
        except BaseException:  # of this process: whatever the sandbox says now is not expected
            self.stop()
            raise
        if not self._nested and not self._unsafe:
            self.stop()  # without namespaces of their own two programs never share a sandbox
        return result

    def _run(self, source: bytes) -> Execution:
        assert self._control is not None
        began = time.monotonic()
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        source_fd = _memory_file(source)
        streams = {output: bytearray(), errors: bytearray()}
        try:
            try:
                socket.send_fds(self._control, [b"run"], [source_fd, output_end, errors_end])
            except OSError:
                answer = None
            else:
                for fd in (source_fd, output_end, errors_end):
                    os.close(fd)
                source_fd = output_end = errors_end = -1
                answer = self._follow(streams, began)
        finally:
            for fd in (source_fd, output_end, errors_end, output, errors):
                if fd >= 0:
                    os.close(fd)
        if self._unsafe and self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            os.makedirs(self._scratch, exist_ok=True)
        seconds = time.monotonic() - began
        if answer is None:  # the sandbox is gone, or does not answer: the next program gets another
            self.stop()
            late = seconds > self._limits.wall_seconds
            answer = {"kind": "timeout" if late else "lost", "value": 0, "seconds": seconds}
        return self._execution(answer, streams[output], streams[errors])

    def _follow(self, streams: dict[int, bytearray], began: float) -> dict[str, Any] | None:
        """Read both streams and the answer. None where the sandbox failed."""
        assert self._control is not None
        limit = self._limits.output_kb << 10
        deadline = began + self._limits.wall_seconds + GRACE_SECONDS
        waiting = select.poll()
        for fd in (*streams, self._control.fileno()):
            waiting.register(fd, select.POLLIN)
        left = set(streams)
        answer: dict[str, Any] | None = None
        told = False
        while answer is None or left:
            # Once it has answered, all writers are dead, and what they wrote is in the pipes.
            rest = deadline - time.monotonic() if answer is None else 0.0
            if rest < 0:
                return None
            ready = waiting.poll(rest * 1000)
            if not ready and answer is not None:
                break
            for fd, _ in ready:
                if fd in streams:
                    got = os.read(fd, CHUNK)
                    streams[fd] += got[: limit + 1 - len(streams[fd])]
                    if not got or len(streams[fd]) > limit:
                        waiting.unregister(fd)
                        left.discard(fd)
                    if len(streams[fd]) > limit and not told and answer is None:
                        told = True
                        with contextlib.suppress(OSError):  # if it is gone, the next poll says so
                            self._control.send(b"kill")
                else:
                    answer = self._receive(0)
                    if answer is None:
                        return None
                    waiting.unregister(fd)
        return answer

    def _receive(self, timeout: float) -> dict[str, Any] | None:
        assert self._control is not None
        waiting = select.poll()  # select knows no descriptor beyond 1,023
        waiting.register(self._control, select.POLLIN)
        if not waiting.poll(timeout * 1000):
            return None
        try:
            answer = json.loads(self._control.recv(1 << 16))
        except (OSError, ValueError, RecursionError):  # it is gone, or a program speaks for it
            return None
        return answer if isinstance(answer, dict) else None

    def _execution(self, answer: dict[str, Any], output: bytearray, errors: bytearray) -> Execution:
        limit = self._limits.output_kb << 10
        # Nothing is taken for granted: in a sandbox of its own a program might speak for it.
        kind, value = answer.get("kind"), answer.get("value")
        seconds = answer.get("seconds")
        note = ""
        status: Status
        if len(output) > limit or len(errors) > limit:
            status = "output"
        elif kind == "exit":
            status = "ok" if value == 0 else "error"
        elif kind == "timeout":
            status = "timeout"
        elif kind == "memory":
            status = "memory"
        elif kind == "signal" and value == signal.SIGXCPU:
            status = "timeout"
        elif kind == "failed":
            status, note = "unavailable", f"{answer.get('reason')}\n"
        else:
            status = "killed"
            if kind == "signal" and isinstance(value, int):
                note = f"killed by {_signal_name(value)}\n"
        return Execution(
            status=status,
            stdout=_text(output, limit),
            stderr=_text(errors, limit) + note,
            seconds=seconds if isinstance(seconds, float) else 0.0,
        )


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("stare")
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _text(data: bytearray, limit: int) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(bytes(data[:limit]), final=len(data) <= limit)


def _tail(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 2000))
    return errors.read().decode("utf-8", "replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
