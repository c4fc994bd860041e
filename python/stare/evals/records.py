"""What is written down: one line a sample, one line a grade, and the keys that join them.

A sample is one response to one problem of one benchmark. Its key is `(bench, problem_id, sample)`
and its seed a hash of the key and the run's seed, so nothing depends on order, sharding, resuming
or on how many samples were asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from stare.errors import DataError

__all__ = [
    "SCHEMA",
    "FinishReason",
    "GradeRow",
    "Key",
    "Outcome",
    "Sample",
    "sample_seed",
    "text_hash",
]

SCHEMA = 1
"""Version of the files; a reader refuses others."""

FinishReason = Literal["stop", "length", "abort", "error"]
"""`stop`: the model ended it. `length`: the token limit did. `abort`: the server dropped it.
`error`: there is no response, `error` says why; the unit is tried again by the next run."""

Outcome = Literal[
    "correct",
    "incorrect",
    "no_answer",
    "truncated",
    "undecided",
    "grader_timeout",
    "grader_error",
]
"""What a grader made of a sample. `truncated`: the token limit cut it off before an answer was
declared. Only `correct` and `incorrect` are proofs; how the others count is the report's choice and
shown beside every score."""


class Key(NamedTuple):
    """Which sample."""

    bench: str
    problem_id: str
    sample: int


def sample_seed(run_seed: int, key: Key) -> int:
    """Seed of a sample: 63 bits of SHA-256 over the run's seed and the key.

    Example:
        >>> a = sample_seed(0, Key("aime24", "aime24-60", 0))
        >>> a == sample_seed(0, Key("aime24", "aime24-60", 0)), a < 2**63
        (True, True)
    """
    text = "\x1f".join([str(run_seed), key.bench, key.problem_id, str(key.sample)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def text_hash(text: str) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of `samples/<bench>.<worker>.jsonl`."""

    bench: str
    problem_id: str
    sample: int
    """0, 1, ..., n - 1."""
    seed: int | None = None
    """What the back end was given; None if it cannot be seeded."""
    prompt_sha: str
    """`text_hash` of the rendered prompt; the prompt is in `prompts.jsonl`."""
    text: str
    """The response, special tokens left out; thinking included."""
    finish_reason: FinishReason
    n_prompt_tokens: int | None = None
    n_tokens: int | None = None
    """Sampled tokens; None if the back end does not say."""
    stop_hit: str | None = None
    """The stop string that ended it."""
    logprob_sum: float | None = None
    """Nats, under the sampling distribution."""
    seconds: float | None = None
    """From dispatch to the last token."""
    attempt: int = 1
    """1 for the first try."""
    error: str | None = None

    @property
    def key(self) -> Key:
        """Which sample."""
        return Key(self.bench, self.problem_id, self.sample)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; absent fields left out."""
        fields = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return {"v": SCHEMA, **{name: value for name, value in fields if value is not None}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], where: str) -> Sample:
        """The sample of a JSON object.

        Raises:
            DataError: another schema, a missing or unknown field; the message starts with `where`.
        """
        return cls(**_fields(cls, row, where))


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRow:
    """One line of `grades/<grader>.jsonl`."""

    bench: str
    problem_id: str
    sample: int
    text_sha: str
    """`text_hash` of the graded text: a changed text is graded again."""
    outcome: Outcome
    extracted: str | None
    """The answer found."""
    answer_key: str | None
    """Canonical key: equal answers have equal keys. What maj@k votes with."""
    reason: str
    by: str
    """The engine that decided."""

    @property
    def key(self) -> Key:
        """Which sample."""
        return Key(self.bench, self.problem_id, self.sample)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {"v": SCHEMA, **{name: getattr(self, name) for name in self.__dataclass_fields__}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], where: str) -> GradeRow:
        """The grade of a JSON object.

        Raises:
            DataError: another schema, a missing or unknown field; the message starts with `where`.
        """
        return cls(**_fields(cls, row, where))


def _fields(kind: type[Any], row: Mapping[str, Any], where: str) -> dict[str, Any]:
    if row.get("v") != SCHEMA:
        raise DataError(
            f"{where}: schema {row.get('v')!r} is not {SCHEMA}, the one this version reads"
        )
    fields = {name: value for name, value in row.items() if name != "v"}
    unknown = sorted(fields.keys() - kind.__dataclass_fields__.keys())
    if unknown:
        raise DataError(f"{where}: unknown fields {', '.join(unknown)}")
    try:
        kind(**fields)
    except TypeError as error:
        raise DataError(f"{where}: {error}") from None
    return fields
