"""A pool of warm sandboxes."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from stare.errors import ConfigError, SandboxError

from . import bubblewrap
from .executor import ClosingExecutor, Execution
from .inside import seccomp
from .limits import Limits
from .worker import Worker

__all__ = ["SandboxPool"]

_log = logging.getLogger(__name__)

_Job = tuple[str, "Future[Execution]"]


class SandboxPool(ClosingExecutor):
    r"""Programs in bubblewrap sandboxes, one warm Python each. An `Executor`.

    Starts its sandboxes at once and tries each with an empty program, so that what is wrong with
    the machine shows before training starts.

    Args:
        limits: Of each program.
        workers: Programs at one time; None means one for each processor.
        preload: Modules that are imported once, before the first program.
        readonly: Further paths that programs may read.
        nested: Give each program namespaces of its own within a sandbox that lasts. Where the
            machine does not allow that (or with False) each program gets a sandbox of its own,
            which is as safe and much slower.
        unsafe: Run programs without any sandbox, with nothing but resource limits. They can then
            read, change and send whatever the trainer can.

    Raises:
        ConfigError: an argument is out of range.
        SandboxError: no sandbox can be made here; the message says what to do.

    Example:
        >>> with SandboxPool(workers=1) as pool:  # doctest: +SKIP
        ...     pool.run_many(["print(6 * 7)", "1 / 0"])[0].stdout
        '42\n'
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        workers: int | None = None,
        preload: Sequence[str] = (),
        readonly: Sequence[str] = (),
        nested: bool = True,
        unsafe: bool = False,
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers must be at least 1, got {workers}")
        if unsafe is not True and unsafe is not False:
            raise ConfigError(f"unsafe must be true or false, got {unsafe!r}")
        if unsafe:
            _log.warning("tools.unsafe: a policy's programs run without a sandbox")
        else:
            bubblewrap.find_bubblewrap()
            if seccomp.this_machine(nesting=True) is None:
                _log.warning("no system call filter for this processor: namespaces alone confine")
        self._limits = limits or Limits()
        self._preload, self._readonly = tuple(preload), tuple(readonly)
        self._unsafe, self.nested = unsafe, nested and not unsafe
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._lock = threading.Lock()
        self._start_all(workers or os.cpu_count() or 1)

    def _start_all(self, workers: int) -> None:
        self._start_one()  # alone: it finds out what the machine allows
        others = [self._spawn() for _ in range(workers - 1)]
        for started in others:
            self._started(started)

    def _start_one(self) -> None:
        try:
            self._started(self._spawn())
        except SandboxError as error:
            if not self.nested:
                raise
            self.nested = False
            try:
                self._started(self._spawn())
            except SandboxError:
                raise error from None
            _log.warning("each program gets a sandbox of its own, which is slow: %s", error)

    def _spawn(self) -> Future[None]:
        started: Future[None] = Future()
        thread = threading.Thread(
            target=self._work, args=(started, self.nested), name="stare-sandbox", daemon=True
        )
        thread.start()
        self._threads.append(thread)
        return started

    def _started(self, started: Future[None]) -> None:
        try:
            started.result()
        except SandboxError:
            self.close()
            self._closed, self._threads = False, []
            raise

    def _work(self, started: Future[None], nested: bool) -> None:
        worker = Worker(
            self._limits,
            preload=self._preload,
            readonly=self._readonly,
            unsafe=self._unsafe,
            nested=nested,
        )
        try:
            try:
                worker.start()
                probe = worker.run("")
                if probe.status != "ok":
                    raise bubblewrap.explain(f"an empty program ended with {probe}")
            except BaseException as error:
                started.set_exception(error)
                return
            started.set_result(None)
            while (job := self._jobs.get()) is not None:
                program, result = job
                if self._closed:
                    result.set_exception(SandboxError("the pool of sandboxes is closed"))
                    continue
                try:
                    result.set_result(worker.run(program))
                except BaseException as error:
                    result.set_exception(error)
        finally:
            worker.stop()

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        """Run programs, as many at one time as there are workers; one result each, in order.

        Raises:
            SandboxError: the pool is closed.
        """
        jobs: list[_Job] = [(program, Future()) for program in programs]
        with self._lock:
            if self._closed:
                raise SandboxError("the pool of sandboxes is closed")
            for job in jobs:
                self._jobs.put(job)
        return [result.result() for _, result in jobs]

    def close(self) -> None:
        """End every process of the pool. Programs that run are waited for, others are not run."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._jobs.put(None)
        for thread in self._threads:
            thread.join()
