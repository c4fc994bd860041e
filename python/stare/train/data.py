"""Problems: read from JSONL, split, shuffled into a resumable stream, rendered into prompts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stare.chat import ChatTokenizer, render_chat, with_bos
from stare.errors import ArgumentError, ConfigError, DataError, RunError
from stare.types import Problem

__all__ = [
    "ProblemSource",
    "ProblemStream",
    "check_prompt_lengths",
    "load_problems",
    "render_prompts",
    "split",
]

PLACEHOLDER = "{problem}"


def load_problems(path: str | Path) -> list[Problem]:
    """Read a JSONL file, one `{"problem": ..., "answer": ..., "id"?: ..., ...extra}` a line.

    `answer` is one gold answer, a string or a number; a number keeps the digits it was written with
    (`1.50` stays "1.50"). A list of answers is refused: the training reward compares with one gold.
    A missing `id` becomes "<file stem>-<line number>". Blank lines are skipped.

    Raises:
        DataError: no such file, no problem in it, bad UTF-8 or JSON, a missing or empty field, a
            duplicate id; the message begins with file:line.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    problems: list[Problem] = []
    first_line: dict[str, int] = {}
    # Split on the newline byte alone: str.splitlines would also cut at U+2028 inside a string.
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        problem = _parse(line, where, default_id=f"{path.stem}-{number}")
        if problem.id in first_line:
            raise DataError(
                f"{where}: duplicate id {problem.id!r}, first used on line {first_line[problem.id]}"
            )
        first_line[problem.id] = number
        problems.append(problem)
    if not problems:
        raise DataError(f"{path}: no problems in the file\nhint: one JSON object a line")
    return problems


def _parse(line: bytes, where: str, *, default_id: str) -> Problem:
    try:
        text = line.decode("utf-8")
        record = json.loads(text, parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{where}: expected a JSON object, got {type(record).__name__}")
    for name in ("problem", "answer"):
        if record.get(name) is None:
            found = ", ".join(sorted(record)) or "none"
            raise DataError(f"{where}: field {name!r} is missing\nhint: fields found: {found}")
    question, answer, identity = record["problem"], record["answer"], record.get("id")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"{where}: field 'problem' must be a non-empty string, got {question!r}")
    if isinstance(answer, float):
        answer = json.loads(text, parse_float=str)["answer"]  # the digits as they were written
    if isinstance(answer, list):
        raise DataError(
            f"{where}: field 'answer' is a list of {len(answer)}; training needs one gold answer\n"
            "hint: keep one of them, or write it as one string"
        )
    if isinstance(answer, bool) or not isinstance(answer, (str, int)) or not str(answer).strip():
        raise DataError(f"{where}: field 'answer' must be a string or a number, got {answer!r}")
    if identity is None:
        identity = default_id
    elif isinstance(identity, bool) or not isinstance(identity, (str, int)) or identity == "":
        raise DataError(f"{where}: field 'id' must be a string or an integer, got {identity!r}")
    extra = {k: v for k, v in record.items() if k not in ("id", "problem", "answer")}
    return Problem(id=str(identity), problem=question, answer=str(answer), extra=extra)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def render_prompts(
    problems: Sequence[Problem],
    tokenizer: ChatTokenizer,
    template: str = PLACEHOLDER,
    chat_template: bool = True,
) -> list[str]:
    r"""Render each problem as the full text the policy continues.

    `template` holds `{problem}` once or more; other braces are left alone, so `\boxed{}` needs no
    escaping. With `chat_template` the result becomes one user turn plus the header of the answer.
    Without it, the beginning-of-sequence token is prepended where the tokenizer would add one: a
    sampler encodes prompts with `add_special_tokens=False`, so the text must be complete.

    Raises:
        ConfigError: the template lacks `{problem}`, or the tokenizer has no chat template.
    """
    if PLACEHOLDER not in template:
        raise ConfigError(f"the prompt template must contain {PLACEHOLDER}, got {template!r}")
    texts = [template.replace(PLACEHOLDER, problem.problem) for problem in problems]
    if not chat_template:
        return [with_bos(tokenizer, text) for text in texts]
    if not tokenizer.chat_template:
        raise ConfigError(
            "chat_template is true, but the tokenizer has no chat template\n"
            "hint: a base model takes plain text: chat_template=false"
        )
    return [render_chat(tokenizer, [{"role": "user", "content": text}]) for text in texts]


def check_prompt_lengths(
    problems: Sequence[Problem],
    prompts: Sequence[str],
    tokenizer: ChatTokenizer,
    max_prompt_tokens: int,
) -> list[int]:
    """Return the length of each prompt in tokens; call it before a run, not in the middle of one.

    Raises:
        DataError: prompts are longer than `max_prompt_tokens`; the message names the problems.
    """
    if len(problems) != len(prompts):
        raise ArgumentError(f"got {len(problems)} problems and {len(prompts)} prompts")
    if not prompts:
        return []
    encoded = tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
    lengths = [len(ids) for ids in encoded]
    long = [i for i, length in enumerate(lengths) if length > max_prompt_tokens]
    if long:
        named = ", ".join(f"{problems[i].id!r} ({lengths[i]} tokens)" for i in long[:5])
        more = f" and {len(long) - 5} more" if len(long) > 5 else ""
        raise DataError(
            f"the prompt of problem {named}{more} is longer than {max_prompt_tokens} tokens\n"
            "hint: raise the limit on prompt tokens (the model's context bounds it) "
            "or remove the problem"
        )
    return lengths


class ProblemSource(Protocol):
    """What a run draws problems from: endless, resumable by a JSON-able cursor."""

    def take(self, count: int) -> list[Problem]:
        """Draw the next `count` problems."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return the cursor."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Move to a cursor that `state_dict` returned."""
        ...


class ProblemStream:
    """An endless, resumable stream over a list of problems.

    Each epoch is one permutation, a function of (seed, epoch) alone, so the position is two
    integers. A draw may span the end of an epoch; every problem is drawn once an epoch.

    Example:
        >>> problems = [Problem(id=str(i), problem="?", answer="0") for i in range(3)]
        >>> stream = ProblemStream(problems, seed=1)
        >>> first = stream.take(2); cursor = stream.state_dict(); rest = stream.take(4)
        >>> again = ProblemStream(problems, seed=1); again.load_state_dict(cursor)
        >>> [p.id for p in again.take(4)] == [p.id for p in rest]
        True
    """

    def __init__(self, problems: Sequence[Problem], *, seed: int = 0, shuffle: bool = True) -> None:
        if not problems:
            raise DataError("no problems to draw from")
        self._problems = list(problems)
        self._seed = seed
        self._shuffle = shuffle
        self._epoch = 0
        self._index = 0
        self._order = self._permutation(0)

    def _permutation(self, epoch: int) -> list[int]:
        if not self._shuffle:
            return list(range(len(self._problems)))
        return permutation(len(self._problems), self._seed, epoch)

    def take(self, count: int) -> list[Problem]:
        """Draw the next `count` problems."""
        if count < 0:
            raise ArgumentError(f"cannot draw {count} problems")
        drawn: list[Problem] = []
        while len(drawn) < count:
            if self._index == len(self._order):
                self._epoch, self._index = self._epoch + 1, 0
                self._order = self._permutation(self._epoch)
            block = self._order[self._index : self._index + count - len(drawn)]
            drawn += [self._problems[i] for i in block]
            self._index += len(block)
        return drawn

    def state_dict(self) -> dict[str, Any]:
        """Return the cursor: JSON-able, small."""
        return {"epoch": self._epoch, "index": self._index, "size": len(self._problems)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Move to a cursor that `state_dict` returned.

        Raises:
            RunError: the cursor belongs to a data set of another size, or points outside of it.
        """
        size = len(self._problems)
        if "sets" in state:
            raise RunError(
                f"the data cursor is of a mix of {sorted(state['sets'])}, the data is one set\n"
                "hint: resume with the data the run began with"
            )
        if state["size"] != size:
            raise RunError(
                f"the data cursor belongs to {state['size']} problems, the data has {size}\n"
                "hint: resume with the data file the run began with"
            )
        if state["epoch"] < 0 or not 0 <= state["index"] <= size:
            raise RunError(f"the data cursor is out of range: {dict(state)}")
        self._epoch, self._index = state["epoch"], state["index"]
        self._order = self._permutation(self._epoch)


def split(
    problems: Sequence[Problem],
    *,
    count: int | None = None,
    fraction: float | None = None,
    seed: int = 0,
) -> tuple[list[Problem], list[Problem]]:
    """Split into (train, held-out), both in the order of the input.

    Give `count` or `fraction` (rounded to the nearest integer) of held-out problems.

    Raises:
        ArgumentError: both or neither are given, or a part would be negative or train empty.
    """
    if (count is None) == (fraction is None):
        raise ArgumentError("give either count or fraction of held-out problems")
    if fraction is not None:
        if not (math.isfinite(fraction) and 0 <= fraction < 1):
            raise ArgumentError(f"fraction must lie in [0, 1), got {fraction!r}")
        count = round(fraction * len(problems))
    assert count is not None
    if not 0 <= count < len(problems):
        raise ArgumentError(
            f"cannot hold out {count} of {len(problems)} problems: at least one must be left"
        )
    held = set(permutation(len(problems), seed, 0)[:count])
    train = [p for i, p in enumerate(problems) if i not in held]
    return train, [problems[i] for i in sorted(held)]


def permutation(size: int, seed: int, epoch: int) -> list[int]:
    """Return a permutation of range(size) that depends on (seed, epoch) only.

    Ranks raw Philox words: NumPy keeps raw streams stable between releases, unlike `permutation`.
    """
    key = np.array([seed % 2**64, epoch], dtype=np.uint64)
    words = np.random.Philox(key=key).random_raw(size)
    return [int(i) for i in np.argsort(words, kind="stable")]
