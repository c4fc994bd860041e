"""The warm interpreter: forks for each program, and never sees a source or an output.

It talks to the trainer over a socket of messages: `run` with three descriptors (source, standard
output, standard error), `kill` for the program that runs; it answers each `run` with one JSON
object. The program inherits none of this.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

from . import linux, nest

__all__ = ["main"]


def main() -> None:
    """Serve until the trainer closes the socket. Settings come as JSON in the last argument."""
    settings = json.loads(sys.argv[-1])
    control = socket.socket(fileno=settings["fd"])
    control.set_inheritable(False)
    try:
        _prepare(settings)
    except BaseException as error:
        _answer(control, {"error": f"{type(error).__name__}: {error}"})
        return
    _answer(control, {"ready": True})
    while True:
        message, fds, _, _ = socket.recv_fds(control, 16, 3)
        if not message:
            return
        if message == b"run":
            _answer(control, _serve(control, (fds[0], fds[1], fds[2]), settings))
        # A `kill` that arrives here is for a program that had ended already.


def _answer(control: socket.socket, answer: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the trainer is gone: the next receive says so
        control.send(json.dumps(answer).encode())


def _prepare(settings: Mapping[str, Any]) -> None:
    linux.become_subreaper()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a trainer that ignores it hands that down
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    if settings["drop_root"]:
        linux.mount("proc", "/proc", flags)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this goes before the trainer
    if settings["drop_root"]:
        if not settings["nested"]:
            linux.mount("proc", "/proc", flags | linux.MS_RDONLY, "subset=pid")
        linux.drop_bounding_set()
        os.setgroups([])
        user = settings["user"]
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    linux.forbid_new_privileges()
    sys.path[:] = [path for path in sys.path if path not in ("", settings["home"])]
    sys.path += [path for path in settings["paths"] if path not in sys.path]
    os.umask(0o077)
    for name in ("linecache", "traceback", *settings["preload"]):
        importlib.import_module(name)
    # From here on no program may look into this process, not even in a sandbox of its own.
    linux.set_dumpable(False)
    gc.freeze()  # a collection in a fork would copy every page that holds an object
    for stream in (sys.stdout, sys.stderr):  # what is printed before a kill shall be seen
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _serve(
    control: socket.socket, fds: tuple[int, int, int], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Run one program to the end of all its processes; how it ended."""
    began = time.monotonic()
    report, report_end = os.pipe()
    try:
        init = nest.fork(settings)
        if init == 0:
            control.close()
            os.close(report)
            nest.run(report_end, fds, settings)
    except OSError as error:
        os.close(report)
        return {"kind": "failed", "reason": str(error)}
    finally:
        for fd in (*fds, report_end):
            os.close(fd)
    line, why = _await(control, report, began + settings["limits"]["wall_seconds"])
    os.close(report)
    _end_all(init, settings)
    kind, _, rest = line.partition(" ")
    if kind == "failed":
        return {"kind": "failed", "reason": rest}
    if why is None and kind in ("exit", "signal", "memory"):
        value, seconds = rest.split()
        return {"kind": kind, "value": int(value), "seconds": float(seconds)}
    return {"kind": why or "lost", "value": 0, "seconds": time.monotonic() - began}


def _await(control: socket.socket, report: int, deadline: float) -> tuple[str, str | None]:
    """The line that says how the program ended; or why it has to be killed."""
    text = b""
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select((control.fileno(), report), (), (), max(left, 0.0))
        if report in ready:
            got = os.read(report, 4096)
            text += got
            if not got or text.endswith(b"\n"):
                return text.decode("utf-8", "replace").strip(), None
        elif ready:
            # Nothing to receive means that the trainer is gone.
            return "", "killed" if control.recv(16) else "closed"
        elif left <= 0:
            return "", "timeout"


def _end_all(init: int, settings: Mapping[str, Any]) -> None:
    """Return when no process of the program is left."""
    os.kill(init, signal.SIGKILL)  # not waited for yet, so the number is still its own
    if settings["nested"]:  # the end of an init is the end of its namespace
        os.waitpid(init, 0)
        return
    while True:  # processes become this one's children as their parents end
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == os.getpid():
                found.append(int(name))
    return found
