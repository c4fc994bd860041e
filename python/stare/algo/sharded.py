"""Selection over shards: `ShardedSelection`, and all its rounds in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stare.algo.plan import GateLike
from stare.algo.rules import Rule
from stare.algo.selection import ShardedSelection
from stare.algo.stats import ReweightStats
from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["ShardedSelection", "run", "token_weights_sharded"]


def run(shards: Sequence[ShardedSelection]) -> None:
    """Take shards that live in one process through all rounds."""
    while True:
        merged = ShardedSelection.merge([shard.message() for shard in shards])
        for shard in shards:
            # The shard at fault knows what is wrong; the others only that something is.
            if shard.failure is not None:
                raise shard.failure
        # Every shard must advance, so this is no `all` of a generator.
        done = [shard.advance(merged) for shard in shards]
        if all(done):
            return


def token_weights_sharded(
    shards: Sequence[tuple[Any, Any, Any]],
    *,
    config: StareConfig,
    gate: GateLike | bool | None = None,
    rows: Sequence[Any] | None = None,
    entropy: Sequence[Any] | None = None,
    concentration: Sequence[Any] | None = None,
    offsets: Sequence[Any] | None = None,
    rules: Sequence[Rule] | None = None,
    drop_nonfinite: bool = False,
    threads: int | None = None,
) -> tuple[list[Any], ReweightStats]:
    """Weights of shards in this process, chosen as if they were one batch.

    `shards` holds (logprobs, advantages, mask) of each; rows are numbered through unless `rows` is
    given. `rows`, `entropy`, `concentration` and `offsets` are lists with one entry a shard; the
    rest is as in `token_weights`.

    Example:
        >>> import numpy as np
        >>> one, two = np.array([[-0.1, -2.0]]), np.array([[-3.0]])
        >>> weights, stats = token_weights_sharded(
        ...     [(one, np.ones(1), None), (two, np.ones(1), None)],
        ...     config=StareConfig(top_p_ratio=0.4),
        ... )
        >>> [w.tolist() for w in weights], stats.selected
        ([[[1.0, 1.1]], [[1.1]]], (2,))
    """
    if not shards:
        raise ArgumentError("shards must not be empty")
    members: list[ShardedSelection] = []
    first = 0
    for i, (logprobs, advantages, mask) in enumerate(shards):
        member = ShardedSelection(
            logprobs,
            advantages,
            mask,
            config=config,
            gate=gate,
            rows=None if rows is None else rows[i],
            row_offset=first,
            entropy=None if entropy is None else entropy[i],
            concentration=None if concentration is None else concentration[i],
            offsets=None if offsets is None else offsets[i],
            rules=rules,
            drop_nonfinite=drop_nonfinite,
            threads=threads,
        )
        members.append(member)
        first += member._inputs.rows if member._inputs is not None else 0
    run(members)
    return [member.finish()[0] for member in members], members[0].finish()[1]
