"""The ranks of a run: who they are, what they tell each other, how they fail together.

A run of one process is a `Ranks` of one, which says nothing to nobody: the training code is the
same for both. All messages between ranks here are small and go through gloo, from the CPU.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from stare.errors import ConfigError, RunError, StareError
from stare.train.config import TrainConfig
from stare.train.signals import Interrupted

__all__ = ["PeerError", "Ranks", "alone", "check_layout", "rank_from_environment", "start_ranks"]

T = TypeVar("T")

_LAUNCH = "hint: torchrun --nproc-per-node N -m stare.train.cli run ... parallel.strategy=fsdp2"


class PeerError(RunError):
    """Another rank failed and speaks for all: this one has nothing to add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process among the ranks of the run.

    Every method is collective: all ranks call it, in the same order. With one rank each is the
    identity.

    Example:
        >>> ranks = Ranks()
        >>> ranks.total([1.0, 2.0]), ranks.gather("me"), ranks.is_first
        ([1.0, 2.0], ['me'], True)
    """

    rank: int = 0
    """Number of this process."""
    size: int = 1
    """Number of processes."""
    local_rank: int = 0
    """Number of this process on its machine: the GPU it takes."""
    sharded: bool = False
    """Whether the policy is sharded (strategy fsdp2), over one rank or several."""

    @property
    def is_first(self) -> bool:
        """Whether this rank writes the files and the words."""
        return self.rank == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over the ranks, in float64."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(list(values), dtype=torch.float64)
        dist.all_reduce(sums)
        out: list[float] = sums.tolist()
        return out

    def largest(self, value: float) -> float:
        """The largest value of any rank."""
        if self.size == 1:
            return value
        held = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(held, op=dist.ReduceOp.MAX)
        return float(held)

    def gather(self, value: T) -> list[T]:
        """The value of every rank, by rank; anything that can be pickled."""
        if self.size == 1:
            return [value]
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, value)
        return everyone

    def together(self, work: Callable[[], T]) -> T:
        """Run `work` here, and go on only if it succeeded on every rank.

        Raises:
            RunError: on rank 0, what the first rank that failed has to say.
            PeerError: on the other ranks; an error that is none of ours (a bug) keeps its type
                and traceback on the rank where it happened.
        """
        kept: list[T] = []
        self.exchange(lambda: kept.append(work()))
        return kept[0]

    def exchange(self, work: Callable[[], T]) -> list[T]:
        """`together`, and the results of all ranks, which must be picklable."""
        if self.size == 1:
            return [work()]
        result: tuple[bool, Any]
        failure: Exception | None = None
        try:
            result = (True, work())
        except Exception as error:
            failure = error
            result = (False, f"{type(error).__name__}: {error}")
            if isinstance(error, StareError):
                result = (False, str(error))
        everyone = self.gather(result)
        failed = [r for r, (fine, _) in enumerate(everyone) if not fine]
        if failed:
            message = f"rank {failed[0]} of {self.size}: {everyone[failed[0]][1]}"
            if failure is not None and not isinstance(failure, StareError):
                raise failure
            raise (RunError if self.is_first else PeerError)(message) from failure
        results: list[Any] = [value for _, value in everyone]
        return results

    def first(self, work: Callable[[], T]) -> T:
        """Run `work` on rank 0 alone; its result on every rank.

        Raises:
            RunError: as `together`.
        """
        if self.size == 1:
            return work()
        results: list[Any] = self.exchange(lambda: work() if self.is_first else None)
        result: T = results[0]
        return result

    def agree(self, name: str, value: Hashable) -> None:
        """Make sure that a value is the same everywhere.

        Raises:
            RunError: it is not; the message names it and the ranks.
        """
        values = self.gather(value)
        others = [r for r, other in enumerate(values) if other != values[0]]
        if others:
            raise (RunError if self.is_first else PeerError)(
                f"ranks 0 and {others[0]} differ in {name}: {values[0]!r} and {values[others[0]]!r}"
            )

    def share(self, keys: Sequence[Hashable], work: Callable[[list[int]], list[T]]) -> list[T]:
        """Divide work items over the ranks and put the results together, in order, everywhere.

        Items with equal keys go to one rank, in order. So a sampler that numbers equal prompts
        (they must not get equal responses) numbers them as it would if it had them all, and what
        is sampled does not depend on the number of ranks.

        Args:
            keys: one for each item: the tokens of its prompt.
            work: indices of items to their results; not called on a rank that gets none.
        """
        if self.size == 1:
            return work(list(range(len(keys))))
        order: dict[Hashable, int] = {}
        for key in keys:
            order.setdefault(key, len(order) % self.size)
        owner = [order[key] for key in keys]
        mine = [i for i, rank in enumerate(owner) if rank == self.rank]
        parts = [iter(part) for part in self.exchange(lambda: work(mine) if mine else [])]
        return [next(parts[rank]) for rank in owner]


alone = Ranks()
"""The only rank of an ordinary run."""


def rank_from_environment(environment: Mapping[str, str] = os.environ) -> tuple[int, int, int]:
    """(rank, ranks, rank on this machine) as torchrun tells them; (0, 1, 0) without it.

    Raises:
        ConfigError: some of the variables are set and some are not, or they are no such numbers.

    Example:
        >>> rank_from_environment({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1"})
        (1, 4, 1)
    """
    names = ("RANK", "WORLD_SIZE")
    given = {name: environment[name] for name in names if name in environment}
    if not given:
        return 0, 1, 0
    try:
        rank, size = (int(given[name]) for name in names)
        local = int(environment.get("LOCAL_RANK", rank))
        sensible = 0 <= rank < size
    except (KeyError, ValueError):
        sensible = False
    if not sensible:
        raise ConfigError(
            f"RANK and WORLD_SIZE must both be set, with 0 <= RANK < WORLD_SIZE, got {given}\n"
            + _LAUNCH
        )
    return rank, size, local


def check_layout(config: TrainConfig, size: int) -> None:
    """Refuse a number of ranks that the configuration cannot use.

    Raises:
        ConfigError: the message says what is possible.
    """
    if config.parallel.strategy == "single":
        if size > 1:
            raise ConfigError(
                f"parallel.strategy='single' is one process, but WORLD_SIZE={size}: all ranks "
                "would do the same\nhint: parallel.strategy=fsdp2, or start it without torchrun"
            )
        return
    rollout, optim = config.rollout, config.optim
    if rollout.prompts_per_step < size:
        raise ConfigError(
            f"rollout.prompts_per_step={rollout.prompts_per_step} is less than the {size} ranks: "
            "some would have nothing to do\nhint: fewer ranks, or a larger batch"
        )
    sequences = rollout.prompts_per_step * rollout.group_size // optim.mini_batches
    if sequences < size:
        raise ConfigError(
            f"optim.mini_batches={optim.mini_batches} leaves {sequences} sequences for each "
            f"optimiser step, less than the {size} ranks\nhint: fewer ranks or mini-batches"
        )


@contextlib.contextmanager
def start_ranks(config: TrainConfig, device_type: str) -> Iterator[Ranks]:
    """Join the other ranks of the run, and leave them at the end.

    Raises:
        ConfigError: the number of ranks does not fit the configuration or the machine.
        RunError: another rank is lost, or did not answer within `parallel.timeout_s`.
    """
    rank, size, local_rank = rank_from_environment()
    check_layout(config, size)
    if config.parallel.strategy == "single":
        yield alone
        return
    here = int(os.environ.get("LOCAL_WORLD_SIZE", local_rank + 1))
    if device_type == "cuda" and here > torch.cuda.device_count():
        raise ConfigError(
            f"{here} ranks need a CUDA device each, there are {torch.cuda.device_count()}\n"
            "hint: --nproc-per-node must not exceed the GPUs"
        )
    if config.parallel.cpu_offload and device_type != "cuda":
        raise ConfigError("parallel.cpu_offload=true needs CUDA: on a CPU nothing can be offloaded")
    # Words between ranks travel through gloo whatever the device; shards through NCCL on CUDA.
    backend = "cpu:gloo,cuda:nccl" if device_type == "cuda" else "gloo"
    # Without torchrun one rank needs nobody to meet: its store is a table in memory.
    meeting: dict[str, Any] = {}
    if size == 1:
        meeting = {"store": torch._C._distributed_c10d.HashStore(), "rank": 0, "world_size": 1}
    clean = False
    try:
        dist.init_process_group(
            backend, timeout=timedelta(seconds=config.parallel.timeout_s), **meeting
        )
        yield Ranks(rank=rank, size=size, local_rank=local_rank, sharded=True)
        clean = True
    except Interrupted:  # all ranks leave together
        clean = True
        raise
    except (dist.DistError, RuntimeError) as error:
        if size == 1 or not _is_lost_peer(error):
            raise
        raise RunError(
            f"rank {rank} of {size} lost another one, or it did not answer within "
            f"parallel.timeout_s={config.parallel.timeout_s:g} ({_first_line(error)})\n"
            "hint: look for the first error of another rank; --resume continues from the last "
            "checkpoint"
        ) from error
    finally:
        # After an error NCCL may still wait for the others: the process ends without a farewell.
        if dist.is_initialized() and (clean or device_type == "cpu"):
            dist.destroy_process_group()


def _is_lost_peer(error: Exception) -> bool:
    """Whether the transport failed; gloo says so with a bare RuntimeError."""
    words = ("gloo", "connection", "timed out", "timeout", "socket", "broken pipe")
    return isinstance(error, dist.DistError) or (
        type(error) is RuntimeError and any(word in str(error).lower() for word in words)
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
