"""The worker process of the fallback: one job at a time, over pipes, until its input ends.

Run by path, not as a module: it starts without importing anything of `stare`, whatever the folder
and the main module of the parent. A message is its length (four bytes, big-endian) and that many
bytes of JSON. The first message holds the settings, and its reply says whether the engine could be
loaded; every other is a job, `{"id": .., ..}`, answered by `{"id": .., "result": {..}}` or
`{"id": .., "error": ".."}`.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

Job = dict[str, Any]
Engine = Callable[[Job], dict[str, Any]]

_HEADER = struct.Struct(">I")
_MIB = 1 << 20


def main() -> int:
    """Serve until the parent closes the pipe."""
    # Private copies of the pipes: what a library prints must not end up between two messages.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    settings = _receive(source)
    if settings is None:
        return 0
    sys.path[:] = settings["path"]
    _limit("RLIMIT_CORE", 0)
    try:
        module, _, factory = settings["engine"].partition(":")
        engine: Engine = getattr(import_module(module), factory)()
    except Exception as error:
        _send(sink, {"id": 0, "error": f"{type(error).__name__}: {error}"})
        return 1
    # After the imports: their size differs between machines, what jobs may add does not.
    _limit("RLIMIT_AS", _address_space() + settings["memory_mib"] * _MIB)
    _send(sink, {"id": 0, "result": {}})
    while (job := _receive(source)) is not None:
        # Ends a job that outlives the parent, also inside C code that no handler interrupts.
        _limit("RLIMIT_CPU", int(_cpu_seconds() + settings["deadline_s"]) + 2)
        _send(sink, {"id": job["id"], **_answer(engine, job)})
    return 0


def _answer(engine: Engine, job: Job) -> dict[str, Any]:
    try:
        return {"result": engine(job)}
    except MemoryError:
        return {"error": "memory"}
    except TimeoutError:
        return {"error": "timeout"}
    except Exception as error:
        return {"error": type(error).__name__}


def _receive(source: BinaryIO) -> dict[str, Any] | None:
    header = source.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    body = source.read(_HEADER.unpack(header)[0])
    message: dict[str, Any] = json.loads(body)
    return message


def _send(sink: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    sink.write(_HEADER.pack(len(body)) + body)
    sink.flush()


def _limit(name: str, value: int) -> None:
    """Lower a soft limit; a system that does not know it or refuses goes without."""
    try:
        import resource

        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (soft, hard))
    except (ImportError, AttributeError, ValueError, OSError):
        pass


def _address_space() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


if __name__ == "__main__":
    sys.exit(main())
