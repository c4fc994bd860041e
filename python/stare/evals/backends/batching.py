"""Blocking work under asyncio: in threads that nobody waits for, and in batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from stare.evals.backends.protocol import Request, Response

__all__ = ["MicroBatcher", "in_thread"]

T = TypeVar("T")
QUIET_S = 0.02
"""A batch that is not full starts when no request has come for so long."""


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a blocking function in a daemon thread.

    Unlike `asyncio.to_thread`, leaving the program does not wait for it: Ctrl-C ends at once.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: object) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        try:
            outcome, value = future.set_result, function(*arguments)
        except BaseException as error:
            _post(loop, settle, future.set_exception, error)
        else:
            _post(loop, settle, outcome, value)

    threading.Thread(target=work, daemon=True, name="stare-eval-call").start()
    return await future


def _post(loop: asyncio.AbstractEventLoop, *call: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(*call)


class MicroBatcher:
    """Collects concurrent requests into batches for a function that takes many at once.

    Args:
        run: responses to requests, in order; called in a thread, one call at a time.
        size: most requests of a batch.
    """

    def __init__(self, run: Callable[[Sequence[Request]], Sequence[Response]], size: int) -> None:
        self._run, self._size = run, size
        self._queue: list[tuple[Request, asyncio.Future[Response]]] = []
        self._server: asyncio.Task[None] | None = None

    async def submit(self, request: Request) -> Response:
        """Wait for the response to one request."""
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._queue.append((request, future))
        if self._server is None:
            self._server = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        while self._queue:
            waiting = 0
            while waiting < len(self._queue) < self._size:
                waiting = len(self._queue)
                await asyncio.sleep(QUIET_S)
            batch, self._queue = self._queue[: self._size], self._queue[self._size :]
            try:
                responses = await in_thread(self._run, [request for request, _ in batch])
                outcomes = zip(batch, responses, strict=True)
                settled = [(future.set_result, response) for (_, future), response in outcomes]
            except Exception as error:
                settled = [(future.set_exception, error) for _, future in batch]  # type: ignore[misc]
            for (_, future), (setter, value) in zip(batch, settled, strict=True):
                if not future.done():
                    setter(value)
        self._server = None
