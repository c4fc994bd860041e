"""One worker: it opens a back end, answers keys, and writes each sample before it says so."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from stare.errors import StareError
from stare.evals.backends.create import create
from stare.evals.backends.protocol import Backend, Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.failures import RequestError
from stare.evals.records import Key, Sample, sample_seed
from stare.evals.store import RunFolder, SampleWriter

__all__ = ["Done", "Job", "Recorder", "serve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker process needs to know."""

    folder: Path
    config: EvalConfig
    sampling: Sampling
    golds: Mapping[tuple[str, str], str]
    """For the mock back end alone."""
    label: str
    """Part of the names of its files."""
    devices: tuple[str, ...] | None = None
    """GPUs it sees; None leaves them as they are."""


class Done(NamedTuple):
    """A key is recorded."""

    key: Key
    n_tokens: int
    error: str | None


class Recorder:
    """Answers requests through a back end and appends the samples.

    Args:
        folder: the run folder.
        backend: open.
        label: part of the names of the files.
    """

    def __init__(self, folder: RunFolder, backend: Backend, label: str) -> None:
        self._folder, self._backend, self._label = folder, backend, label
        self._writers: dict[str, SampleWriter] = {}

    async def handle(self, request: Request) -> Done:
        """Answer and record one request; a refusal is recorded as an error.

        Raises:
            BackendError: the back end is gone; nothing is recorded.
            StorageError: the disk refuses.
        """
        try:
            sample = await timed(self._backend, request)
        except RequestError as error:
            sample = refused(request, str(error))
        bench = request.key.bench
        if bench not in self._writers:
            self._writers[bench] = self._folder.writer(bench, self._label)
        self._writers[bench].write(sample)
        return Done(request.key, sample.n_tokens or 0, sample.error)

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()


async def timed(backend: Backend, request: Request) -> Sample:
    """The sample of a request.

    Raises:
        RequestError: the request is refused for good.
        BackendError: the back end is gone.
    """
    start = time.monotonic()
    response = await backend.generate(request)
    return sampled(request, response, time.monotonic() - start)


def sampled(request: Request, response: Response, seconds: float) -> Sample:
    """The record of a response."""
    key = request.key
    return Sample(
        bench=key.bench,
        problem_id=key.problem_id,
        sample=key.sample,
        seed=request.seed if response.seeded else None,
        prompt_sha=request.prompt.sha,
        text=response.text,
        finish_reason=response.finish_reason,
        n_prompt_tokens=response.n_prompt_tokens,
        n_tokens=response.n_tokens,
        stop_hit=response.stop_hit,
        logprob_sum=response.logprob_sum,
        seconds=round(seconds, 3) if response.seconds is None else response.seconds,
        attempt=response.attempts,
    )


def refused(request: Request, reason: str) -> Sample:
    """The record of a request that was refused."""
    key = request.key
    return Sample(
        bench=key.bench,
        problem_id=key.problem_id,
        sample=key.sample,
        seed=request.seed,
        prompt_sha=request.prompt.sha,
        text="",
        finish_reason="error",
        error=reason,
    )


async def serve(
    backend: Backend,
    recorder: Recorder,
    opened: Callable[[Mapping[str, Any]], Sequence[Request]],
    done: Callable[[Done], Sequence[Request]],
    arrivals: asyncio.Queue[Request | None] | None = None,
) -> None:
    """Open the back end and answer requests until there are no more.

    Args:
        backend: not yet open; closed at the end, whatever happens.
        recorder: over the same back end.
        opened: told what the back end said of itself; returns the first requests.
        done: told of every recorded key; returns further requests.
        arrivals: further requests, from another process; None in it is the end. Without a queue,
            the end is when nothing is left to do.
    """
    tasks: set[asyncio.Task[Any]] = set()
    try:
        info = await backend.open()
        for request in opened(info):
            tasks.add(asyncio.create_task(recorder.handle(request)))
        arrival = None if arrivals is None else asyncio.create_task(arrivals.get())
        while tasks or arrival is not None:
            waiting = tasks if arrival is None else {*tasks, arrival}
            finished, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                if task is arrival:
                    assert arrivals is not None
                    arrived = arrival.result()
                    if arrived is None:
                        return
                    tasks.add(asyncio.create_task(recorder.handle(arrived)))
                    arrival = asyncio.create_task(arrivals.get())
                    continue
                tasks.discard(task)
                for request in done(task.result()):
                    tasks.add(asyncio.create_task(recorder.handle(request)))
    finally:
        for task in tasks:
            task.cancel()
        await backend.close()
        recorder.close()


def child_main(connection: Connection, job: Job) -> None:
    """A worker process: keys and prompts come in through the pipe, what is recorded goes out.

    It ends when the pipe closes, so it does not outlive the process that started it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent decides
    if job.devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(job.devices)
    try:
        asyncio.run(_child(connection, job))
    except BaseException as error:
        fatal = isinstance(error, (StareError, OSError))
        words = str(error) if fatal else f"{type(error).__name__}: {error}"
        with suppress(OSError):
            connection.send(("failed", words, getattr(error, "exit_code", 4 if fatal else None)))
        # Threads of a broken back end must not keep the process.
        connection.close()
        os._exit(1)
    os._exit(0)


async def _child(connection: Connection, job: Job) -> None:
    arrivals: asyncio.Queue[Request | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        while True:
            try:
                requests = connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the parent is gone; every finished sample is on its way to the disk
            for request in requests:
                loop.call_soon_threadsafe(arrivals.put_nowait, request)

    def opened(info: Mapping[str, Any]) -> Sequence[Request]:
        connection.send(("ready", backend.capacity, dict(info)))
        return ()

    def done(record: Done) -> Sequence[Request]:
        connection.send(("done", *record))
        return ()

    backend = create(job.config, job.sampling, job.golds)
    recorder = Recorder(RunFolder(job.folder), backend, job.label)
    threading.Thread(target=listen, daemon=True, name="stare-eval-listen").start()
    await serve(backend, recorder, opened, done, arrivals)


def request_of(run_seed: int, key: Key, prompt: Any) -> Request:
    """The request of a key."""
    return Request(key=key, seed=sample_seed(run_seed, key), prompt=prompt)
