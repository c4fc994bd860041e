"""The protocol every back end implements. A caller never needs to know how generation runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stare.types import Completion

__all__ = ["Sampler", "SamplingParams"]


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


class Sampler(Protocol):
    """Anything that samples responses."""

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """Sample `params.n` responses for each fully rendered prompt, in the order given."""
        ...
