"""What a back end is: it opens, answers requests one by one, and closes.

A response is a function of model, prompt, sampling and the request's seed, never of what else is
asked at the same time. Back ends that work in batches collect concurrent requests (`batching.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from stare.evals.prompts import Prompt
from stare.evals.records import Key

__all__ = ["Backend", "Request", "Response", "Sampling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to sample; every field is sent explicitly, so no default of a server counts."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    max_tokens: int = 3072
    stop: tuple[str, ...] = ()
    """Strings that end a response; kept at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One sample to make."""

    key: Key
    seed: int
    """In [0, 2^63)."""
    prompt: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a back end made of a request."""

    text: str
    finish_reason: Literal["stop", "length"]
    n_prompt_tokens: int | None = None
    n_tokens: int | None = None
    stop_hit: str | None = None
    logprob_sum: float | None = None
    seconds: float | None = None
    """Where the back end knows better than the clock (replay)."""
    seeded: bool = True
    """Whether the request's seed decided it."""
    attempts: int = 1


class Backend(Protocol):
    """A source of responses, used from one event loop."""

    @property
    def capacity(self) -> int:
        """Requests it wants at a time."""
        ...

    async def open(self) -> Mapping[str, Any]:
        """Load or connect; returns versions and whatever a reader should know.

        Raises:
            BackendError: it does not work.
        """
        ...

    async def generate(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            RequestError: this request is refused for good.
            BackendError: the back end is gone.
        """
        ...

    async def close(self) -> None:
        """Let go of everything, also in the middle of requests."""
        ...
