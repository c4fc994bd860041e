"""An endless, resumable stream over several sets, each in its share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from stare.errors import ArgumentError, DataError, RunError
from stare.seeds import derive_seed
from stare.train.data import ProblemStream
from stare.types import Problem

__all__ = ["MixedStream"]


class MixedStream:
    """Draws from several sets by weight, in an order that depends on nothing but the draws so far.

    The next problem comes from the set that is furthest behind its share. So of any n problems from
    the start, a set of share w has fewer than w n + 1 and more than w n - (K - 1), for K sets: the
    mix holds in every batch, not only on average. Within a set the order is that of
    `ProblemStream`: one permutation an epoch, every problem once.

    Args:
        sets: name -> problems.
        weights: name -> weight > 0, relative; None: the number of problems.
        seed: of the permutations.
        shuffle: false keeps the order of each set.

    Raises:
        DataError: there is no set, or a set has no problems.
        ArgumentError: weights for other sets, or one that is not positive and finite.

    Example:
        >>> def some(s): return [Problem(id=f"{s}{i}", problem="?", answer="0") for i in "012"]
        >>> stream = MixedStream({"a": some("a"), "b": some("b")}, {"a": 3, "b": 1}, seed=1)
        >>> [p.id[0] for p in stream.take(8)]
        ['a', 'a', 'b', 'a', 'a', 'a', 'b', 'a']
    """

    def __init__(
        self,
        sets: Mapping[str, Sequence[Problem]],
        weights: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        if not sets:
            raise DataError("no data sets to draw from")
        for name, problems in sets.items():
            if not problems:
                raise DataError(f"no problems to draw from in {name!r}")
        weights = weights or {name: len(problems) for name, problems in sets.items()}
        if set(weights) != set(sets):
            raise ArgumentError(f"weights are for {sorted(weights)}, the sets are {sorted(sets)}")
        for name, weight in weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise ArgumentError(f"the weight of {name!r} must be > 0 and finite, got {weight}")
        total = math.fsum(weights.values())
        self._share = {name: weights[name] / total for name in sets}
        self._size = {name: len(problems) for name, problems in sets.items()}
        self._streams = {
            name: ProblemStream(problems, seed=derive_seed(seed, "mix", name), shuffle=shuffle)
            for name, problems in sets.items()
        }
        self._drawn = dict.fromkeys(sets, 0)
        self._digest = _digest(sets, self._share, seed, shuffle)

    @property
    def drawn(self) -> dict[str, int]:
        """Problems drawn from each set so far."""
        return dict(self._drawn)

    def take(self, count: int) -> list[Problem]:
        """Draw the next `count` problems."""
        if count < 0:
            raise ArgumentError(f"cannot draw {count} problems")
        drawn = []
        for _ in range(count):
            position = sum(self._drawn.values()) + 1
            # max() keeps the first of equals: the order of the configuration.
            name = max(self._share, key=lambda n: self._share[n] * position - self._drawn[n])
            self._drawn[name] += 1
            drawn += self._streams[name].take(1)
        return drawn

    def state_dict(self) -> dict[str, Any]:
        """Return the cursor: JSON-able, small."""
        return {
            "digest": self._digest,
            "sets": {name: stream.state_dict() for name, stream in self._streams.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Move to a cursor that `state_dict` returned.

        Raises:
            RunError: the cursor belongs to other problems, weights or seeds.
        """
        sets = state.get("sets")
        if not isinstance(sets, Mapping):
            raise RunError(
                f"the data cursor is of a single set (keys {sorted(map(str, state))}), the data is "
                "a mix\nhint: resume with the data the run began with"
            )
        if set(sets) != set(self._streams):
            raise RunError(
                f"the data cursor belongs to the sets {sorted(sets)}, the data has "
                f"{sorted(self._streams)}\nhint: resume with the data the run began with"
            )
        for name, cursor in sets.items():
            if cursor["size"] != self._size[name]:
                raise RunError(
                    f"the data cursor belongs to {cursor['size']} problems of {name!r}, the data "
                    f"has {self._size[name]}\nhint: resume with the data the run began with"
                )
        if state.get("digest") != self._digest:
            raise RunError(
                "the data cursor belongs to other problems, weights or another seed\n"
                "hint: a file changed under the run; resume with the data it began with"
            )
        for name, stream in self._streams.items():
            stream.load_state_dict(sets[name])
            # An epoch is complete only when the next begins: index may equal the size.
            self._drawn[name] = sets[name]["epoch"] * self._size[name] + sets[name]["index"]


def _digest(
    sets: Mapping[str, Sequence[Problem]], share: Mapping[str, float], seed: int, shuffle: bool
) -> str:
    """Hash of everything the order of the draws depends on."""
    digest = hashlib.blake2b(repr((share, seed, shuffle)).encode(), digest_size=16)
    for name, problems in sets.items():
        digest.update(repr((name, len(problems))).encode())
        for p in problems:
            digest.update(repr((p.id, p.problem, p.answer)).encode("utf-8", "replace"))
    return digest.hexdigest()
