"""Workers on a Ray cluster, where Ray is installed: actors answer, this process writes.

Actors hold nothing but a back end, so a dead one loses only what it had in hand, and no machine but
this one needs the run folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stare.errors import ConfigError, MissingExtraError
from stare.evals.backends.create import create
from stare.evals.backends.protocol import Request
from stare.evals.dispatch import Dispatcher
from stare.evals.failures import BackendError, RequestError
from stare.evals.records import Key, Sample
from stare.evals.store import RunFolder, SampleWriter
from stare.evals.worker import Done, Job, refused, timed

__all__ = ["run_on_ray"]

POLL_S = 0.5


class Answerer:
    """An open back end inside an actor."""

    def __init__(self, job: Job) -> None:
        self._backend = create(job.config, job.sampling, job.golds)

    async def open(self) -> tuple[int, Mapping[str, Any]]:
        """Load the model; returns how many requests it takes at a time, and what it is."""
        info = await self._backend.open()
        return self._backend.capacity, dict(info)

    async def answer(self, request: Request) -> Sample:
        """The sample of one request."""
        try:
            return await timed(self._backend, request)
        except RequestError as error:
            return refused(request, str(error))


def run_on_ray(
    jobs: Sequence[Job],
    dispatcher: Dispatcher,
    request: Callable[[Key], Request],
    on_ready: Callable[[Mapping[str, Any]], None],
    on_done: Callable[[Done], None],
    *,
    gpus: int = 0,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Have every key of the dispatcher answered by actors, one a job.

    Joins the cluster of `RAY_ADDRESS`, or starts a local one.

    Args:
        jobs: what each actor needs to know; files are written under the first one's folder.
        dispatcher: the keys.
        request: the request of a key.
        on_ready: told what each back end says of itself.
        on_done: told of every recorded key.
        gpus: GPUs of an actor, if the cluster has any.
        tick: called twice a second or oftener.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster has GPUs, but not enough.
        BackendError: a back end does not work, or actors die again and again.
        StorageError: the disk refuses.
    """
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "--ray") from None
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False)
    needed, there = gpus * len(jobs), int(ray.cluster_resources().get("GPU", 0))
    if 0 < there < needed:
        raise ConfigError(f"{len(jobs)} workers need {needed} GPUs, the cluster has {there}")
    each = gpus if there else 0
    remote: Any = ray.remote(num_gpus=each, max_concurrency=1024)(Answerer)
    actors: dict[int, Any] = {}
    waiting: dict[Any, tuple[int, Key | None]] = {}
    writers: dict[str, SampleWriter] = {}
    folder = RunFolder(jobs[0].folder)

    def start(number: int) -> None:
        actors[number] = remote.remote(jobs[number])
        waiting[actors[number].open.remote()] = (number, None)

    def send(number: int, keys: Sequence[Key]) -> None:
        for key in keys:
            waiting[actors[number].answer.remote(request(key))] = (number, key)

    def bury(number: int, reason: str) -> None:
        for reference in [ref for ref, (owner, _) in waiting.items() if owner == number]:
            del waiting[reference]
        dispatcher.died(number, reason)
        start(number)
        for other in actors:
            send(other, dispatcher.top_up(other))

    def record(number: int, sample: Sample) -> None:
        if sample.bench not in writers:
            writers[sample.bench] = folder.writer(sample.bench, jobs[0].label)
        writers[sample.bench].write(sample)
        on_done(Done(sample.key, sample.n_tokens or 0, sample.error))
        send(number, dispatcher.finish(number, sample.key, sample.error))

    try:
        for number in range(len(jobs)):
            start(number)
        while not dispatcher.finished:
            tick()
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=POLL_S)
            for reference in ready:
                number, key = waiting.pop(reference)
                try:
                    value = ray.get(reference)
                except ray.exceptions.RayActorError as error:
                    bury(number, str(error).split("\n")[0])
                except ray.exceptions.RayTaskError as error:
                    raise BackendError(f"worker {number}: {error.cause}") from error
                else:
                    if key is None:
                        on_ready(value[1])
                        send(number, dispatcher.ready(number, value[0]))
                    else:
                        record(number, value)
    finally:
        for writer in writers.values():
            writer.close()
        for actor in actors.values():
            ray.kill(actor)
        if started:
            ray.shutdown()
