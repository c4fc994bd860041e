r"""A back end without a model: answers that are right as often as it is told, from the seed alone.

For the self-test and for trying a pipeline. Whether a sample is right is `truth`, so its scores are
known exactly.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from stare.coerce import interval
from stare.errors import ConfigError
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.records import Key

__all__ = ["MockBackend", "truth"]

Outcome = Literal["correct", "incorrect", "no_answer", "truncated"]


def unit(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2.0**48


def truth(
    key: Key,
    seed: int,
    *,
    accuracy: float | None = None,
    truncated: float = 0.0,
    no_answer: float = 0.0,
) -> Outcome:
    """What the mock makes of a sample.

    Args:
        key: which sample.
        seed: its seed.
        accuracy: chance of being right; None gives every problem one of its own, from 0 to 1.
        truncated: chance of being cut off before an answer.
        no_answer: chance of ending without one.

    Example:
        >>> truth(Key("mini", "mini-arith", 0), 1, accuracy=1.0)
        'correct'
    """
    draw = unit(f"{seed}/outcome")
    if draw < truncated:
        return "truncated"
    if draw < truncated + no_answer:
        return "no_answer"
    chance = unit(f"{key.bench}/{key.problem_id}") if accuracy is None else accuracy
    return "correct" if unit(f"{seed}/answer") < chance else "incorrect"


class MockBackend:
    """A `Backend` that knows the golds.

    Args:
        config: for its concurrency.
        sampling: its token limit is what cut-off responses report.
        golds: (benchmark, problem id) -> gold.
        accuracy: see `truth`.
        truncated: see `truth`.
        no_answer: see `truth`.
        delay: seconds a sample takes.
    """

    def __init__(
        self,
        config: EvalConfig,
        sampling: Sampling,
        *,
        golds: Mapping[tuple[str, str], str],
        accuracy: float | None = None,
        truncated: float = 0.0,
        no_answer: float = 0.0,
        delay: float = 0.0,
    ) -> None:
        for name, value in (("truncated", truncated), ("no_answer", no_answer)):
            interval(f"backend_args.{name}", value, 0.0, 1.0)
        interval("backend_args.accuracy", accuracy, 0.0, 1.0)
        interval("backend_args.delay", delay, 0.0)
        self._golds, self._sampling, self._delay = golds, sampling, delay
        self._odds = {"accuracy": accuracy, "truncated": truncated, "no_answer": no_answer}
        self.capacity = config.concurrency

    async def open(self) -> Mapping[str, Any]:
        """Nothing to load."""
        return {"mock": "1"}

    async def generate(self, request: Request) -> Response:
        """Answer from the seed."""
        if self._delay:
            await asyncio.sleep(self._delay)
        key = request.key
        outcome = truth(key, request.seed, **self._odds)  # type: ignore[arg-type]
        gold = self._golds.get((key.bench, key.problem_id))
        if gold is None:
            raise ConfigError(f"mock has no gold for {key.bench}/{key.problem_id}")
        words = 20 + int(unit(f"{request.seed}/length") * 180)
        body = f"[mock {request.seed % 10**6:06}] " + "so " * words
        ends = {
            "correct": f"and the answer is \\boxed{{{gold}}}.",
            "incorrect": f"and the answer is \\boxed{{{_wrong(request.seed)}}}.",
            "no_answer": "and I cannot say.",
            "truncated": "and then",
        }
        cut = outcome == "truncated"
        return Response(
            text=body + ends[outcome],
            finish_reason="length" if cut else "stop",
            n_prompt_tokens=len(request.prompt.text.split()),
            n_tokens=self._sampling.max_tokens if cut else min(words, self._sampling.max_tokens),
        )

    async def close(self) -> None:
        """Nothing to close."""


def _wrong(seed: int) -> int:
    """An answer no problem has: a seven-digit prime-like odd number."""
    return 7_000_001 + 2 * int(unit(f"{seed}/wrong") * 3)
