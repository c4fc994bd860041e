"""Several worker processes: started, fed, watched, replaced when they die."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from stare.errors import ConfigError
from stare.evals.backends.protocol import Request
from stare.evals.dispatch import Dispatcher
from stare.evals.failures import BackendError, StorageError
from stare.evals.records import Key
from stare.evals.worker import Done, Job, child_main

__all__ = ["gpu_slices", "run_crew", "visible_gpus"]

POLL_S = 0.5
CLOSE_S = 20.0


@dataclass(slots=True)
class _Member:
    process: Any
    connection: Connection
    last_sign: float = field(default_factory=time.monotonic)
    words: str = ""


def visible_gpus(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Names of the GPUs this process may use, without loading a driver library."""
    named = environment.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return tuple(one.strip() for one in named.split(",") if one.strip() not in ("", "-1"))
    folder = Path("/proc/driver/nvidia/gpus")
    return tuple(str(i) for i in range(len(list(folder.iterdir())))) if folder.is_dir() else ()


def gpu_slices(workers: int, each: int, gpus: Sequence[str]) -> list[tuple[str, ...]] | list[None]:
    """The GPUs of each worker, none shared; None where there are no GPUs at all.

    Raises:
        ConfigError: there are some, but not enough.

    Example:
        >>> gpu_slices(2, 2, ["0", "1", "2", "3"])
        [('0', '1'), ('2', '3')]
    """
    if not gpus:
        return [None] * workers
    if workers * each > len(gpus):
        raise ConfigError(
            f"{workers} workers with {each} GPUs each need {workers * each}, there are {len(gpus)}"
        )
    return [tuple(gpus[i * each : (i + 1) * each]) for i in range(workers)]


def run_crew(
    jobs: Sequence[Job],
    dispatcher: Dispatcher,
    request: Callable[[Key], Request],
    recorded: Callable[[], set[Key]],
    on_ready: Callable[[Mapping[str, Any]], None],
    on_done: Callable[[Done], None],
    *,
    stall_limit: float | None = None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Have every key of the dispatcher answered by processes, one a job.

    Args:
        jobs: what each worker needs to know.
        dispatcher: the keys.
        request: the request of a key.
        recorded: keys that are in the folder; asked after a death.
        on_ready: told what each back end says of itself.
        on_done: told of every recorded key.
        stall_limit: seconds without a sample after which a worker that has work is replaced.
        tick: called twice a second or oftener.

    Raises:
        BackendError: a back end does not work, or workers die again and again.
        StorageError: the disk refuses.
    """
    crew: dict[int, _Member] = {}

    def send(number: int, keys: Iterable[Key]) -> None:
        requests = [request(key) for key in keys]
        if requests:
            with suppress(OSError):  # a death is noticed when its pipe is read
                crew[number].connection.send(requests)

    def bury(number: int) -> None:
        member = crew.pop(number)
        member.connection.close()
        member.process.join(CLOSE_S)
        dispatcher.died(number, member.words)
        dispatcher.drop(recorded())
        if not dispatcher.finished:
            crew[number] = _start(jobs[number], number)
        for other in crew:
            send(other, dispatcher.top_up(other))

    def hear(number: int) -> None:
        member = crew[number]
        try:
            kind, *rest = member.connection.recv()
        except (EOFError, OSError):
            bury(number)
            return
        member.last_sign = time.monotonic()
        if kind == "ready":
            capacity, info = rest
            on_ready(info)
            send(number, dispatcher.ready(number, capacity))
        elif kind == "done":
            record = Done(Key(*rest[0]), rest[1], rest[2])
            on_done(record)
            send(number, dispatcher.finish(number, record.key, record.error))
        else:
            member.words, code = rest
            if code is not None:
                raise (StorageError if code == 1 else BackendError)(member.words)

    try:
        for number, job in enumerate(jobs):
            crew[number] = _start(job, number)
        while not dispatcher.finished:
            tick()
            numbers = {member.connection: number for number, member in crew.items()}
            for connection in wait(list(numbers), timeout=POLL_S):
                hear(numbers[connection])  # type: ignore[index]
            for number, member in crew.items():
                silent = time.monotonic() - member.last_sign
                if stall_limit and silent > stall_limit and dispatcher.holds(number):
                    member.words = f"no sample in {silent:.0f} s"
                    member.process.kill()
                    member.last_sign = time.monotonic()
        for member in crew.values():
            with suppress(OSError):
                member.connection.send([None])  # the end: close the back end in order
        deadline = time.monotonic() + CLOSE_S
        for member in crew.values():
            member.process.join(max(0.0, deadline - time.monotonic()))
    finally:
        for member in crew.values():
            member.connection.close()
        for member in crew.values():
            member.process.join(1.0)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()


def _start(job: Job, number: int) -> _Member:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=child_main, args=(theirs, job), name=f"stare-eval-worker-{number}"
    )
    process.start()
    theirs.close()
    return _Member(process, ours)
