"""Namespaces of its own for each program, and the little init process that watches over it.

The zygote forks the init into new namespaces: process 1 of a process namespace, whose end is the
end of every process in it. The init mounts a /tmp and a /proc, gives up its capabilities, installs
the filter, forks the program, and tells the zygote through a pipe how the program ended. Only its
own program could attack it, and what it tells is about that program and no other.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from . import linux, seccomp
from .program import OUT_OF_MEMORY, run_program

__all__ = ["fork", "run"]

WATCH_SECONDS = 0.02
NAMESPACES = linux.CLONE_NEWUSER | linux.CLONE_NEWPID | linux.CLONE_NEWNS | linux.CLONE_NEWIPC
HIDDEN = linux.MS_NOSUID | linux.MS_NODEV


def fork(settings: Mapping[str, Any]) -> int:
    """Fork the process that is to call `run`: its pid, or 0 in it."""
    return linux.fork_into(NAMESPACES) if settings["nested"] else os.fork()


def run(report_fd: int, program_fds: tuple[int, int, int], settings: Mapping[str, Any]) -> NoReturn:
    """In the forked process: be the init, and run the program. Never returns.

    `report_fd` gets one line: `exit CODE SECONDS`, `signal NUMBER SECONDS`, `memory 0 SECONDS` or
    `failed REASON`.
    """
    try:
        if settings["nested"]:
            linux.set_dumpable(True)  # or the files below would belong to root
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{settings['user']} {settings['user']} 1")
            _write("/proc/self/gid_map", f"{settings['user']} {settings['user']} 1")
            _furnish(settings)
        _init(report_fd, program_fds, settings)
    except BaseException as error:
        _tell(report_fd, f"failed {type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _tell(report_fd: int, line: str) -> None:
    os.write(report_fd, line.replace("\n", " ").encode("utf-8", "replace")[:2000] + b"\n")


def _furnish(settings: Mapping[str, Any]) -> None:
    """An empty /tmp and /dev/shm, and a /proc that shows this namespace's processes only."""
    size = settings["limits"]["tmp_bytes"]
    for target, share in (("/tmp", size), ("/dev/shm", size // 4)):
        options = f"mode=1777,size={share},nr_inodes={settings['limits']['tmp_files']}"
        linux.mount("tmpfs", target, HIDDEN, options)
    linux.mount("proc", "/proc", HIDDEN | linux.MS_RDONLY | linux.MS_NOEXEC, "subset=pid")


def _init(
    report_fd: int, program_fds: tuple[int, int, int], settings: Mapping[str, Any]
) -> NoReturn:
    linux.become_subreaper()
    # A signal to a process group reaches its members in every namespace, so the program's is new.
    os.setsid()
    if settings["nested"]:
        linux.drop_capabilities()
    else:
        linux.die_with_parent()
    if settings["filter"]:
        seccomp.install(bytes.fromhex(settings["filter"]))
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
    os.chdir("/tmp" if not settings["unsafe"] else settings["scratch"])
    began = time.monotonic()
    program = os.fork()
    if program == 0:
        os.setsid()
        linux.set_dumpable(True)
        run_program(*program_fds, settings["limits"])
    linux.set_dumpable(False)
    for fd in program_fds:
        os.close(fd)
    kind, value = _watch(program, settings)
    _tell(report_fd, f"{kind} {value} {time.monotonic() - began:.6f}")
    os._exit(0)


def _watch(program: int, settings: Mapping[str, Any]) -> tuple[str, int]:
    """Reap what ends until the program does, or until all processes hold too much memory."""
    while True:
        signal.sigtimedwait((signal.SIGCHLD,), WATCH_SECONDS)
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == program:
                if os.WIFEXITED(status):
                    return "exit", os.WEXITSTATUS(status)
                number = os.WTERMSIG(status)
                return ("memory", 0) if number == OUT_OF_MEMORY else ("signal", number)
            if pid == 0:
                break
        if not settings["unsafe"] and _too_much_memory(settings["limits"]["memory_bytes"]):
            return "memory", 0


def _too_much_memory(limit: int) -> bool:
    """Whether the processes in sight hold more than `limit` bytes beyond what files back."""
    # What a fork shares with its parent counts for both in the number that is cheap to get.
    if _sum(_resident) <= limit:
        return False
    return _sum(_proportional) > limit


def _sum(measure: Callable[[str], int]) -> int:
    held = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has just ended
                held += measure(name)
    return held


def _resident(pid: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        kinds = ("RssAnon:", "RssShmem:")
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith(kinds))


def _proportional(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Pss:"))
    except PermissionError:  # a process may make itself unreadable
        return _resident(pid)
