"""Sampling: what is missing in a folder is made, by one process or several, whatever dies."""

from __future__ import annotations

import asyncio
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stare.errors import DataError
from stare.evals.backends.create import create
from stare.evals.backends.protocol import Request
from stare.evals.crew import gpu_slices, run_crew, visible_gpus
from stare.evals.dispatch import Dispatcher
from stare.evals.files import timestamp
from stare.evals.manifest import Manifest, grown
from stare.evals.plan import missing, wanted
from stare.evals.progress import Progress
from stare.evals.prompts import prompt_row
from stare.evals.records import Key
from stare.evals.session import Session, with_session
from stare.evals.store import RunFolder
from stare.evals.worker import Done, Job, Recorder, request_of, serve

__all__ = ["Generated", "generate", "open_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What one call has made."""

    wanted: int
    """Samples asked for, in this shard."""
    before: int
    """Those that were there already."""
    made: int
    errors: tuple[tuple[Key, str], ...]
    """Refused requests; the next call tries them again."""
    tokens: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.before + self.made == self.wanted


def open_folder(folder: RunFolder, session: Session) -> Manifest:
    """Begin or go on with the run in a folder; the caller holds its lock.

    Raises:
        RunError: the folder holds a run with other settings; the keys that differ are named.
        DataError: it holds samples without a manifest.
    """
    manifest = session.manifest
    if folder.exists:
        manifest = grown(folder.manifest(), manifest, str(folder.path))
    elif folder.sample_files():
        raise DataError(
            f"{folder.path} holds samples but no manifest.json, so nobody knows whose they are\n"
            "hint: use another folder"
        )
    folder.write_manifest(manifest)
    folder.add_prompts(
        prompt_row(prompt, bench, problem) for (bench, problem), prompt in session.prompts.items()
    )
    return manifest


def generate(session: Session, folder: RunFolder, *, quiet: bool = False) -> Generated:
    """Make the samples that a folder lacks.

    Every sample is on its way to the disk before it counts, so this may be killed at any point and
    called again.

    Raises:
        FolderInUseError: another process writes the folder.
        RunError: the folder holds a run with other settings.
        BackendError: the back end does not work; what was made is kept.
        StorageError: the disk refuses; what was made is kept.
    """
    with folder.lock():
        manifest = open_folder(folder, session)
        keys = wanted(session.plans, session.shard)

        def recorded() -> set[Key]:
            return set().union(*(folder.keys(plan.bench) for plan in session.plans))

        todo = missing(keys, recorded())
        work = _Work(session, folder, todo, before=len(keys) - len(todo), quiet=quiet)
        began = time.monotonic()
        try:
            if todo:
                with work.progress:
                    work.run(recorded)
        finally:
            if todo:
                folder.write_manifest(with_session(manifest, work.entry(time.monotonic() - began)))
        return Generated(
            wanted=len(keys),
            before=len(keys) - len(todo),
            made=work.dispatcher.done,
            errors=tuple(work.dispatcher.errors),
            tokens=work.progress.tokens,
            seconds=time.monotonic() - began,
        )


class _Work:
    """The state of one call."""

    def __init__(
        self, session: Session, folder: RunFolder, todo: Sequence[Key], *, before: int, quiet: bool
    ) -> None:
        self.session, self.folder = session, folder
        self.dispatcher = Dispatcher(todo, session.config.workers)
        self.progress = Progress(len(todo), before, quiet=quiet)
        self.info: dict[str, Any] = {}
        self.started = timestamp()

    def run(self, recorded: Any) -> None:
        config = self.session.config
        workers = min(config.workers, self.dispatcher.total)
        local = config.backend in ("vllm", "transformers")
        if config.ray:
            from stare.evals.ray_crew import run_on_ray

            run_on_ray(
                [self._job(number, None) for number in range(workers)],
                self.dispatcher,
                self._request,
                self._ready,
                self._done,
                gpus=config.tp if local else 0,
                tick=self.progress.show,
            )
            return
        # Requests to servers have a limit of their own.
        stall_limit = None if config.backend == "openai" else config.stall_limit
        if config.workers == 1 and stall_limit is None:
            asyncio.run(self._run_here())
            return
        gpus = gpu_slices(config.workers, config.tp, visible_gpus() if local else ())
        run_crew(
            [self._job(number, gpus[number]) for number in range(workers)],
            self.dispatcher,
            self._request,
            recorded,
            self._ready,
            self._done,
            stall_limit=stall_limit,
            tick=self.progress.show,
        )

    async def _run_here(self) -> None:
        job = self._job(0, None)
        backend = create(job.config, job.sampling, job.golds)
        recorder = Recorder(self.folder, backend, job.label)

        def opened(info: Mapping[str, Any]) -> list[Request]:
            self._ready(info)
            return [self._request(key) for key in self.dispatcher.ready(0, backend.capacity)]

        def done(record: Done) -> list[Request]:
            self._done(record)
            keys = self.dispatcher.finish(0, record.key, record.error)
            return [self._request(key) for key in keys]

        ticking = asyncio.create_task(self._tick())
        try:
            await serve(backend, recorder, opened, done)
        finally:
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            self.progress.show()

    def _job(self, number: int, devices: tuple[str, ...] | None) -> Job:
        shard = self.session.shard
        part = "" if shard is None else f"s{shard.number}of{shard.of}-"
        return Job(
            folder=self.folder.path,
            config=self.session.config,
            sampling=self.session.sampling,
            golds=self.session.golds if self.session.config.backend == "mock" else {},
            label=f"{part}w{number}",
            devices=devices,
        )

    def _request(self, key: Key) -> Request:
        prompt = self.session.prompts[key.bench, key.problem_id]
        return request_of(self.session.config.seed, key, prompt)

    def _ready(self, info: Mapping[str, Any]) -> None:
        self.info |= info

    def _done(self, record: Done) -> None:
        self.progress.advance(record.n_tokens, record.error is not None)

    def entry(self, seconds: float) -> dict[str, Any]:
        """What the manifest says of this call."""
        return {
            "started": self.started,
            "seconds": round(seconds, 1),
            "made": self.dispatcher.done,
            "errors": len(self.dispatcher.errors),
            "workers": self.session.config.workers,
            "backend": self.info,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "host": socket.gethostname(),
        }
