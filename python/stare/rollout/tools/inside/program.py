"""Runs one program in a forked interpreter, and ends the process. Nothing here is trusted."""

from __future__ import annotations

import atexit
import linecache
import os
import resource
import signal
import sys
import threading
import traceback
import types
from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["OUT_OF_MEMORY", "run_program"]

NAME = "program.py"
OUT_OF_MEMORY = signal.SIGRTMAX - 1
"""The signal by which a program that ends with MemoryError ends itself."""
RESERVE = 32 << 20
"""Address space beyond the limit with which a MemoryError is reported."""


def run_program(
    source_fd: int, output_fd: int, error_fd: int, limits: Mapping[str, Any]
) -> NoReturn:
    """Run a source as `__main__` and end as `python program.py` would."""
    code = 1
    try:
        source = _take_over(source_fd, output_fd, error_fd)
        _limit(limits)
        code = _run(source)
    finally:
        os._exit(code)


def _take_over(source_fd: int, output_fd: int, error_fd: int) -> bytes:
    """Read the source; leave only the standard descriptors and default signal handlers."""
    size = os.fstat(source_fd).st_size
    source = b""
    while len(source) < size:
        source += os.pread(source_fd, size - len(source), len(source))
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output_fd, 1)
    os.dup2(error_fd, 2)
    os.closerange(3, 1 << 20)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(OUT_OF_MEMORY, signal.SIG_DFL)
    return source


def _limit(limits: Mapping[str, Any]) -> None:
    memory = limits["memory_bytes"]
    _set(resource.RLIMIT_AS, memory, memory + RESERVE)
    if limits["processes"] is not None:
        _set(resource.RLIMIT_NPROC, limits["processes"], limits["processes"])
    _set(resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"])
    _set(resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"])
    _set(resource.RLIMIT_CPU, limits["cpu_seconds"], limits["cpu_seconds"] + 1)
    _set(resource.RLIMIT_CORE, 0, 0)


def _set(kind: int, soft: int, hard: int) -> None:
    allowed = resource.getrlimit(kind)[1]
    if allowed != resource.RLIM_INFINITY:
        soft, hard = min(soft, allowed), min(hard, allowed)
    resource.setrlimit(kind, (soft, hard))


def _run(source: bytes) -> int:
    """Compile and execute; the exit code."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [NAME]
    try:
        try:
            text = source.decode("utf-8", "surrogatepass")
            linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
            exec(compile(text, NAME, "exec"), main.__dict__)
            code = 0
        except SystemExit as error:
            code = _exit_code(error)
        except MemoryError:
            _report()
            _flush()
            os.kill(os.getpid(), OUT_OF_MEMORY)
            raise
        except BaseException:
            _report()
            code = 1
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        _flush()
    except BaseException:  # of an exit handler, or of a standard output that was closed
        _report()
        return 1
    return code


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__):
        if stream is not None and not stream.closed:
            stream.flush()


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr, flush=True)
    return 1


def _report() -> None:
    """Print the exception that is being handled, without this module's frames."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    kind, value, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(kind, value, trace))
        # Past sys.stderr, which the program may have replaced or closed.
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except BaseException:  # the exception's own __str__ may do anything
        os.write(2, f"{getattr(kind, '__name__', 'exception')}\n".encode())
