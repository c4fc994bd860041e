"""Files that survive being killed: atomic JSON, append-only lines, a lock.

A line is handed to the system in one write and is either there with its newline or torn. Torn lines
are skipped by readers, and the next writer begins on a new line, so a file needs no repair.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from stare.evals.failures import FolderInUseError, StorageError

__all__ = [
    "AppendLog",
    "FolderLock",
    "dump_line",
    "read_lines",
    "storage_error",
    "write_json",
    "write_text",
]


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it: whole, or as it was.

    Raises:
        StorageError: the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise storage_error(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write JSON, whole or not at all. Equal values give equal bytes: keys are sorted."""
    write_text(
        path,
        json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n",
    )


def dump_line(row: Mapping[str, Any]) -> bytes:
    """One line of JSON with its newline; lone surrogates survive as escapes."""
    try:
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The (offset, JSON object) of every whole line; torn ones are left out.

    A part of an object is never valid JSON, so a torn line cannot be taken for a whole one.
    """
    offset = 0
    with path.open("rb") as file:
        for line in file:
            start, offset = offset, offset + len(line)
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield start, row


class AppendLog:
    """A file that only grows, one JSON object a line; a context manager.

    Every line reaches the system before `write` returns: a killed process loses nothing.

    Raises:
        StorageError: the disk refuses; the message says that nothing before is lost.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise storage_error(path, error) from error
        size = os.fstat(self._file).st_size
        self._torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one object."""
        line = dump_line(row)
        if self._torn:
            line = b"\n" + line
        try:
            written = os.write(self._file, line)
            self._torn = written != len(line)
            while written < len(line):
                written += os.write(self._file, line[written:])
            self._torn = False
        except OSError as error:
            raise storage_error(self.path, error) from error

    def close(self) -> None:
        """Close the file, its contents on the disk."""
        if self._file < 0:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            raise storage_error(self.path, error) from error
        finally:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> AppendLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def storage_error(path: Path, error: OSError) -> StorageError:
    """The error that names the file, and says that the command can be run again."""
    return StorageError(
        f"cannot write {path}: {error.strerror or error}\n"
        "hint: what was written before is kept; make room and run the same command again"
    )


class FolderLock:
    """Says that a process writes a folder; a context manager.

    The file holds process id, start time and host. A lock whose process has ended is taken over. It
    is never deleted, and is changed only under flock, so two processes cannot both take it.

    Raises:
        FolderInUseError: a living process holds it, or one of another host, which cannot be asked.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.lock"
        self._held = False

    def __enter__(self) -> FolderLock:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        me = _identity(os.getpid())
        with self.path.open("a+", encoding="utf-8") as file:
            _flock(file)
            file.seek(0)
            holder = _parse(file.read())
            if holder and holder != me and _lives(holder):
                raise FolderInUseError(
                    f"{self.path.parent} is being written by process {holder['pid']} "
                    f"on {holder['host']}\nhint: wait for it, or end it"
                    + ("" if holder["host"] == me["host"] else f"; if it is dead, rm {self.path}")
                )
            file.truncate(0)
            json.dump(me, file)
        self._held = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._held:
            return
        self._held = False
        with self.path.open("a+", encoding="utf-8") as file:
            _flock(file)
            file.seek(0)
            if _parse(file.read()) == _identity(os.getpid()):
                file.truncate(0)


def _flock(file: Any) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)


def _parse(text: str) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except ValueError:  # empty: free; cut short: its writer was killed while taking it
        return None
    return row if isinstance(row, dict) and {"pid", "host", "started"} <= row.keys() else None


def _identity(pid: int) -> dict[str, Any]:
    return {"pid": pid, "host": socket.gethostname(), "started": _start_time(pid)}


def _lives(holder: Mapping[str, Any]) -> bool:
    if holder["host"] != socket.gethostname():
        return True
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # Process ids are given out again: the start time tells whether it is the same one.
    return bool(_start_time(int(holder["pid"])) == holder["started"])


def _start_time(pid: int) -> str | None:
    """When the process started, in the system's own units; None where it cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def timestamp() -> str:
    """Now, in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
