"""A pool of worker processes that can be killed, for work that may hang or eat all memory.

Each worker process has a thread here that hands it one job at a time and waits for the reply, with
a deadline that starts at the hand-over and not in the queue. A worker that overruns is killed, one
that dies or talks nonsense is replaced and its job tried once more; every job gets exactly one
reply. Threads and processes start with the first job. No signals, no fork, and nothing is asked of
the main module, so that it works from any thread and in any program.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Literal

from stare.verify._pool_config import PoolConfig
from stare.verify._process import OverrunError, WorkerDiedError, WorkerProcess

__all__ = ["PoolConfig", "Reply", "WorkerPool"]

Failure = Literal["timeout", "memory", "error", "crashed", "unavailable", "closed"]

Event = Literal["started", "killed", "crashed", "recycled"]
_Item = tuple[Future["Reply"], dict[str, Any]]

_ATTEMPTS = 2
_START_ATTEMPTS = 3
_RETRY_S = 60.0
_IDLE_S = 300.0
_JOIN_S = 5.0
_SLICE_S = 1.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one job: a result or a failure."""

    result: Mapping[str, Any] | None = None
    """The answer of the engine."""
    failure: Failure | None = None
    """`timeout`: killed, or stopped by itself; `memory`; `error`: the engine raised; `crashed`:
    two workers died of it; `unavailable`: no worker could be started; `closed`: the pool was."""
    detail: str = ""
    """More on the failure."""


class WorkerPool:
    """Runs jobs in worker processes.

    Args:
        engine: `module:factory` of the engine; a worker imports the module and calls the factory
            once, and what that returns with every job.
        config: sizes and limits.
        command: the worker program, to test with another one.
        on_event: told when a worker `started`, was `killed` for overrunning, `crashed` or was
            `recycled`; called from the pool's threads.
    """

    def __init__(
        self,
        engine: str,
        config: PoolConfig | None = None,
        *,
        command: Sequence[str] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.config = config or PoolConfig()
        self.unavailable = ""
        """Why no worker could be started last; empty once one could."""
        self._engine = engine
        self._command = command
        self._jobs: queue.Queue[_Item | None] = queue.Queue(self.config.queue)
        self._lock = threading.Lock()
        self._on_event = on_event
        self._threads: list[threading.Thread] = []
        self._running: set[WorkerProcess] = set()
        self._retry_at = 0.0
        self._closed = threading.Event()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are up."""
        with self._lock:
            return [worker.pid for worker in self._running]

    def run(self, jobs: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Run jobs and wait for all of them; replies are in order. Waiting releases the GIL."""
        futures: list[Future[Reply]] = []
        try:
            futures.extend(self.submit(job) for job in jobs)
            return [self._wait(future) for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def submit(self, job: Mapping[str, Any]) -> Future[Reply]:
        """Hand over one job; waits while the queue is full."""
        future: Future[Reply] = Future()
        self._start_threads()
        while not self._closed.is_set():
            try:
                self._jobs.put((future, dict(job)), timeout=_SLICE_S)
            except queue.Full:
                continue
            if self._closed.is_set():  # meanwhile: perhaps nobody looks at the queue any more
                self._drain()
            return future
        future.set_result(Reply(failure="closed"))
        return future

    def close(self) -> None:
        """Kill the workers and answer what is left with `closed`; again has no effect."""
        self._closed.set()
        with self._lock:
            threads, running = self._threads, list(self._running)
            self._threads = []
        self._drain()
        for worker in running:
            worker.kill()
        for _ in threads:
            self._wake()
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)
        self._drain()

    def abandon(self) -> None:
        """Forget the workers without touching them: they belong to the parent of this process."""
        for worker in self._running:
            worker.abandon()

    # --- the calling side ------------------------------------------------------------------------

    def _wait(self, future: Future[Reply]) -> Reply:
        """Wait for a reply; the driver threads bound it, and none is awaited that has ended."""
        while True:
            try:
                return future.result(timeout=_SLICE_S)
            except FutureTimeoutError:
                if not any(thread.is_alive() for thread in self._threads) and not future.done():
                    return Reply(failure="closed")

    def _start_threads(self) -> None:
        with self._lock:
            if self._threads or self._closed.is_set():
                return
            self._threads = [
                threading.Thread(target=self._drive, name=f"stare-verify-{i}", daemon=True)
                for i in range(self.config.workers)
            ]
            for thread in self._threads:
                thread.start()

    def _wake(self) -> None:
        """Let a thread that waits for a job look around; where the queue is full none waits."""
        with contextlib.suppress(queue.Full):
            self._jobs.put_nowait(None)

    def _drain(self) -> None:
        while True:
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return
            if item is None:
                continue
            future, _ = item
            if future.set_running_or_notify_cancel():
                future.set_result(Reply(failure="closed"))

    # --- one thread a worker ---------------------------------------------------------------------

    def _drive(self) -> None:
        worker: WorkerProcess | None = None
        while not self._closed.is_set():
            try:
                item = self._jobs.get(timeout=_IDLE_S)
            except queue.Empty:
                worker = self._retire(worker)
                continue
            if item is None:
                continue
            future, job = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker, reply = self._do(worker, job)
            except Exception as error:
                worker = self._retire(worker)
                reply = Reply(failure="error", detail=f"{type(error).__name__}: {error}")
            future.set_result(reply)
        self._retire(worker)

    def _do(
        self, worker: WorkerProcess | None, job: dict[str, Any]
    ) -> tuple[WorkerProcess | None, Reply]:
        """Run one job; returns the worker to go on with."""
        detail = ""
        for _ in range(_ATTEMPTS):
            if worker is not None and not worker.is_alive():
                worker = self._retire(worker)
            try:
                worker = worker or self._start()
                message = worker.ask(job, self.config.deadline_s)
            except _NoWorkerError as problem:
                failure: Failure = "closed" if self._closed.is_set() else "unavailable"
                return None, Reply(failure=failure, detail=str(problem))
            except OverrunError:
                self._tell("killed")
                return self._retire(worker), Reply(failure="timeout", detail="killed")
            except WorkerDiedError as death:
                worker, detail = self._retire(worker), str(death)
                if self._closed.is_set():
                    return None, Reply(failure="closed")
                self._tell("crashed")
                continue
            if message.get("error") == "memory" or worker.jobs >= self.config.jobs_per_worker:
                self._tell("recycled")
                worker = self._retire(worker)
            return worker, _reply(message)
        return None, Reply(failure="crashed", detail=detail)

    def _start(self) -> WorkerProcess:
        """Start a worker, in a few attempts.

        A machine under load may fail now and then, so the failure is remembered for a while only;
        an engine that cannot be loaded will not be there later either.
        """
        if self._closed.is_set() or time.monotonic() < self._retry_at:
            raise _NoWorkerError(self.unavailable)
        problem = ""
        for _ in range(_START_ATTEMPTS):
            worker = None
            try:
                worker = WorkerProcess(
                    self._command, engine=self._engine, deadline_s=self.config.deadline_s,
                    memory_mib=self.config.memory_mib,
                )  # fmt: skip
                with self._lock:
                    self._running.add(worker)
                problem = worker.wait_ready(self.config.start_s)
                wait = math.inf
            except (OSError, OverrunError, WorkerDiedError) as error:
                problem = f"a worker process does not start: {error or type(error).__name__}"
                wait = _RETRY_S
            if self._closed.is_set():
                self._retire(worker)
                raise _NoWorkerError("the pool is closed")
            if worker is not None and not problem:
                self.unavailable = ""
                self._tell("started")
                return worker
            self._retire(worker)
            if wait == math.inf:
                break
        self.unavailable, self._retry_at = problem, time.monotonic() + wait
        raise _NoWorkerError(problem)

    def _retire(self, worker: WorkerProcess | None) -> WorkerProcess | None:
        """End a worker, if there is one; returns the one to go on with: none."""
        if worker is not None:
            worker.kill()
            with self._lock:
                self._running.discard(worker)
        return None

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)


class _NoWorkerError(Exception):
    """No worker could be started."""


def _reply(message: Mapping[str, Any]) -> Reply:
    error = message.get("error")
    if error is None:
        return Reply(result=message["result"])
    if error in ("timeout", "memory"):
        return Reply(failure=error)
    return Reply(failure="error", detail=error)
