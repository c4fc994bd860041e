"""Engines and a worker program for the tests of the pool; workers import them by name."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def behave() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An engine that does what the job says."""

    def run(job: dict[str, Any]) -> dict[str, Any]:
        match job["do"]:
            case "echo":
                return {"value": job["value"], "pid": os.getpid()}
            case "sleep":
                time.sleep(job["seconds"])
                return {"pid": os.getpid()}
            case "hang":  # in C code, without the chance to run a signal handler
                return {"value": len(str(10 ** (10**9)))}
            case "hog":
                return {"value": len([bytearray(1 << 24) for _ in range(1 << 10)])}
            case "raise":
                raise ValueError("no")
            case "timeout":
                raise TimeoutError
            case "die":
                os._exit(1)
            case "die once":
                marker = Path(job["marker"])
                if not marker.exists():
                    marker.touch()
                    os._exit(1)
                return {"value": "second time"}
            case "print":
                print("chatter", flush=True)
                os.write(1, b"more chatter")
                return {"value": "quiet"}
        raise AssertionError(job)

    return run


def broken() -> None:
    """An engine that is not there."""
    raise ImportError("no engine here")


GARBAGE = {
    "text": b"Traceback (most recent call last):\n",
    "not json": struct.pack(">I", 3) + b"abc",
    "not an object": struct.pack(">I", 2) + b"[]",
    "another id": struct.pack(">I", 22) + b'{"id":77,"result": {}}',
    "no result": struct.pack(">I", 8) + b'{"id":1}',
    "cut short": struct.pack(">I", 50) + b'{"id":1, ',
}


def garbage_worker(kind: str) -> None:
    """A worker program that starts as it should and then answers a job with garbage."""
    ready = b'{"id": 0, "result": {}}'
    os.write(1, struct.pack(">I", len(ready)) + ready)
    for _ in range(2):  # settings, job
        size = struct.unpack(">I", _exactly(4))[0]
        _exactly(size)
    os.write(1, GARBAGE[kind])


def _exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


if __name__ == "__main__":
    garbage_worker(sys.argv[1])
