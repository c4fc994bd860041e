"""Nouns shared by training and evaluation: problems, completions, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

__all__ = ["Completion", "FinishReason", "Problem", "Verdict"]

FinishReason = Literal["stop", "length"]


class Verdict(str, Enum):
    """Outcome of comparing an answer with a gold one. Failing to decide is not a wrong answer."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One question with its gold answer."""

    id: str
    """Unique within its data set."""
    problem: str
    """The question as the policy sees it, before any chat template."""
    answer: str
    """The gold answer; never searched for, only compared with."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the data file carried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One sampled response.

    Example:
        >>> c = Completion(prompt_ids=[1, 2], token_ids=[7, 2], text="7", finish_reason="stop")
        >>> c.is_truncated
        False
    """

    prompt_ids: list[int]
    """[P] token ids of the rendered prompt; one list object shared by a group."""
    token_ids: list[int]
    """[T] sampled token ids, the end-of-sequence token included where one was sampled."""
    text: str
    """The response decoded without special tokens."""
    finish_reason: FinishReason
    """`length` when the token limit cut the response off."""
    logprobs: list[float] | None = None
    """[T] log-probability (nats) of each sampled token under the sampling distribution."""
    entropies: list[float] | None = None
    """[T] entropy (nats) of the distribution each token was sampled from."""
    loss_mask: list[bool] | None = None
    """[T] False on tokens that the policy did not produce (tool output); None means all True."""

    @property
    def is_truncated(self) -> bool:
        """Whether the token limit cut the response off."""
        return self.finish_reason == "length"
