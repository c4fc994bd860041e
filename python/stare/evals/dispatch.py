"""Who samples what: a queue of keys, what each worker holds, and what to do when one dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from stare.evals.failures import BackendError
from stare.evals.records import Key

__all__ = ["Dispatcher"]

MAX_DEATHS = 3
"""Deaths of a worker in a row, without a sample in between, after which the run ends."""
MAX_REFUSALS = 32
"""Refused requests in a row after which the back end counts as broken."""


@dataclass(slots=True)
class _Holder:
    capacity: int = 0
    keys: dict[Key, None] = field(default_factory=dict)
    deaths: int = 0


class Dispatcher:
    """Hands out keys, takes them back from the dead, counts. No input or output.

    Args:
        keys: in the order in which they are handed out.
        workers: how many share them.

    Example:
        >>> d = Dispatcher([Key("b", "x", 0), Key("b", "x", 1), Key("b", "x", 2)])
        >>> first = d.ready(0, 2)
        >>> d.died(0)
        >>> [key.sample for key in d.ready(1, 9)]
        [0, 1, 2]
    """

    def __init__(self, keys: Sequence[Key], workers: int = 1) -> None:
        # A worker that opens first must not take all of a small run.
        self._share = max(1, -(-len(keys) // workers))
        self._waiting = deque(keys)
        self._holders: dict[int, _Holder] = {}
        self._refused_in_a_row = 0
        self.total = len(keys)
        self.done = 0
        self.errors: list[tuple[Key, str]] = []

    @property
    def finished(self) -> bool:
        """Whether every key came back, as a sample or as an error."""
        return self.done + len(self.errors) == self.total

    @property
    def idle(self) -> bool:
        """Whether nothing is left to hand out."""
        return not self._waiting

    def ready(self, worker: int, capacity: int) -> list[Key]:
        """A worker has opened its back end and takes `capacity` keys at a time."""
        holder = self._holders.setdefault(worker, _Holder())
        holder.capacity = min(capacity, self._share)
        return self._fill(holder)

    def finish(self, worker: int, key: Key, error: str | None) -> list[Key]:
        """A worker has recorded a key; returns what it gets next.

        Raises:
            BackendError: too many refusals in a row.
        """
        holder = self._holders[worker]
        if holder.keys.pop(key, True) is not None:
            return []  # of a life before: it was handed out again
        holder.deaths = 0
        if error is None:
            self.done += 1
            self._refused_in_a_row = 0
        else:
            self.errors.append((key, error))
            self._refused_in_a_row += 1
            if self._refused_in_a_row >= MAX_REFUSALS:
                raise BackendError(
                    f"the back end refused {MAX_REFUSALS} requests in a row, the last with: {error}"
                )
        return self._fill(holder)

    def top_up(self, worker: int) -> list[Key]:
        """What a worker with room gets, after keys came back."""
        return self._fill(self._holders.setdefault(worker, _Holder()))

    def holds(self, worker: int) -> bool:
        """Whether a worker has keys to answer."""
        return worker in self._holders and bool(self._holders[worker].keys)

    def died(self, worker: int, reason: str = "") -> None:
        """A worker has ended unasked: what it held is handed out again, first of all.

        Raises:
            BackendError: it dies again and again.
        """
        holder = self._holders.setdefault(worker, _Holder())
        self._waiting.extendleft(reversed(holder.keys))
        held = list(holder.keys)[:3]
        holder.keys.clear()
        holder.capacity = 0
        holder.deaths += 1
        if holder.deaths >= MAX_DEATHS:
            names = ", ".join(f"{key.bench}/{key.problem_id}/{key.sample}" for key in held)
            raise BackendError(
                f"worker {worker} died {holder.deaths} times without a sample"
                + (f"; it held {names}" if names else "")
                + (f"; it said: {reason}" if reason else "")
            )

    def drop(self, done: set[Key]) -> None:
        """Count keys that are recorded already, though their worker did not live to say so."""
        before = len(self._waiting)
        self._waiting = deque(key for key in self._waiting if key not in done)
        self.done += before - len(self._waiting)

    def _fill(self, holder: _Holder) -> list[Key]:
        count = min(holder.capacity - len(holder.keys), len(self._waiting))
        keys = [self._waiting.popleft() for _ in range(count)]
        holder.keys |= dict.fromkeys(keys)
        return keys
