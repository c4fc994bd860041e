"""The protocol every back end implements. A caller never needs to know how generation runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from stare.types import Completion

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "EngineSampler",
    "Sampler",
    "SamplingParams",
    "StatisticsSource",
    "TokenSampler",
    "WeightReceiver",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to sample."""

    n: int = 1
    """Responses per prompt."""
    temperature: float = 1.0
    """Softmax temperature; 0 means greedy."""
    top_p: float = 1.0
    """Nucleus mass; 1 keeps the whole distribution."""
    max_tokens: int = 1024
    """Token limit of a response."""
    seed: int = 0
    """The result is a pure function of weights, prompts and this seed."""
    stop: tuple[str, ...] = ()
    """A response ends with the token that completes one of these texts; the text is kept."""


class Sampler(Protocol):
    """Anything that samples responses."""

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """Sample `params.n` responses for each fully rendered prompt, in the order given."""
        ...


@runtime_checkable
class TokenSampler(Protocol):
    """A sampler that continues token ids: turns of a tool dialogue, responses cut into pieces."""

    def sample_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]],
    ) -> list[list[Completion]]:
        """Sample one response for each seed of each prompt, in the order given.

        Args:
            prompts: Token ids, taken as they are.
            params: How to sample; `n` and `seed` are not read.
            seeds: One for each response of each prompt. A response is a function of (weights,
                prompt, `params`, its seed), whatever else is sampled in the same call.
        """
        ...


@runtime_checkable
class EngineSampler(Protocol):
    """A sampler with an engine beside the trainer."""

    restarts: int
    """Engines that died or hung so far, and were replaced."""

    def release(self) -> None:
        """Called before an update: give memory back, if the engine can."""
        ...

    def close(self) -> None:
        """Stop the engine."""
        ...


@runtime_checkable
class StatisticsSource(Protocol):
    """A sampler that counts what happened in its responses."""

    def take_statistics(self, total: Callable[[list[float]], list[float]]) -> dict[str, float]:
        """What happened since the last call, by metric key.

        Args:
            total: Adds each of some counts up over the ranks of a run.
        """
        ...


@runtime_checkable
class WeightReceiver(Protocol):
    """A sampler with weights of its own, which the trainer sends after each update."""

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], *, version: int) -> None:
        """Take the policy's weights.

        Args:
            weights: (name in the model's `state_dict`, full tensor) pairs, each valid only until
                the next one is asked for.
            version: Optimiser steps behind these weights.
        """
        ...
