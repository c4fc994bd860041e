r"""From rows as mirrors write them to problems and golds: fields, gold treatment, instructions.

Two meanings of a list of golds, told apart by the manifest's treatment:

- step `list` (OlympiadBench): the list is *one* answer with several parts (`["$69$,$84$"]` asks for
  both numbers); its elements are joined with commas;
- step `alternatives` (Minerva's mirrors), and any benchmark of your own: the elements are golds
  *any* of which is right, as in `stare-eval grade`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stare.errors import DataError
from stare.evals.data.normalise import integer_text

__all__ = ["INSTRUCTIONS", "STEPS", "AdaptedRow", "Fields", "adapt", "clean_golds"]

INSTRUCTIONS: tuple[str, ...] = (
    "Please reason step by step, and put your final answer within \\boxed{}.",
    "Let's think step by step and output the final answer within \\boxed{}.",
    "Remember to put your final answer within \\boxed{}.",
    "Put your final answer within \\boxed{}.",
)
"""Instructions that some mirrors write into every problem. A prompt template adds its own, so one
at the end of every problem is removed, and that is reported."""

_PROBLEM_FIELDS = (
    "problem",
    "question",
    "Problem",
    "Question",
    "origin_prompt",
    "query",
    "prompt",
)
_GOLD_FIELDS = (
    "answer",
    "expected_answer",
    "Answer",
    "final_answer",
    "gold_answer",
    "ground_truth",
    "gold",
    "reward_model",
    "solution",
)
_ID_FIELDS = ("id", "unique_id", "ID", "problem_id", "problem_idx", "idx")
_DROPPED = ("solution", "Solution", "reference_solution", "url", "prompt", "reward_model")
"""Fields not carried over: worked solutions do not belong next to a model under test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Names of the fields of a row; None: found by the usual names."""

    problem: str | None = None
    gold: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedRow:
    """A row in our terms."""

    id: str | None
    problem: str
    golds: tuple[str, ...]
    """One gold; several only where any of them is right."""
    extra: Mapping[str, Any] = field(default_factory=dict)


def adapt(
    rows: Sequence[Mapping[str, Any]],
    steps: Sequence[str],
    fields: Fields = Fields(),
) -> tuple[list[AdaptedRow], list[str]]:
    r"""Rows in our terms, and notes on what was done to them.

    Args:
        rows: as read.
        steps: names of `STEPS`.
        fields: field names where the usual ones do not fit.

    Raises:
        DataError: a row has no problem or no gold; the message names the row and its fields.

    Example:
        >>> rows, _ = adapt([{"question": "1 + 1?", "answer": 2.0}], ["integer"])
        >>> rows[0].problem, rows[0].golds
        ('1 + 1?', ('2',))
    """
    adapted = [_adapt_row(row, steps, fields, number) for number, row in enumerate(rows, start=1)]
    instruction = _common_instruction([row.problem for row in adapted])
    if instruction is None:
        return adapted, []
    bare = [
        AdaptedRow(
            id=row.id,
            problem=row.problem.rstrip().removesuffix(instruction).rstrip(),
            golds=row.golds,
            extra=row.extra,
        )
        for row in adapted
    ]
    return bare, [f"every problem ended in {instruction!r}: removed, templates add their own"]


def _adapt_row(
    row: Mapping[str, Any], steps: Sequence[str], fields: Fields, number: int
) -> AdaptedRow:
    problem_name = _find(row, fields.problem, _PROBLEM_FIELDS, "problem", number)
    problem = _problem_text(row[problem_name])
    if not problem.strip():
        raise DataError(f"row {number}: the problem (field {problem_name!r}) is empty")
    context = row.get("context")
    if isinstance(context, str) and context.strip():
        problem = f"{context.strip()}\n{problem}"
    gold_name = _find(row, fields.gold, _GOLD_FIELDS, "gold answer", number)
    value = row[gold_name]
    if gold_name == "reward_model" and isinstance(value, Mapping):
        value = value.get("ground_truth")
    applied = ("unbox", *steps) if gold_name == "solution" and "hashes" not in steps else steps
    golds = clean_golds(value, applied)
    if not golds:
        raise DataError(f"row {number}: the gold answer (field {gold_name!r}) is empty: {value!r}")
    identity = next((row[name] for name in _ID_FIELDS if row.get(name) not in (None, "")), None)
    used = {problem_name, gold_name, *_ID_FIELDS, *_DROPPED, "golds", *_PROBLEM_FIELDS}
    extra = {key: item for key, item in row.items() if key not in used and _is_json(item)}
    return AdaptedRow(
        id=None if identity is None else str(identity), problem=problem, golds=golds, extra=extra
    )


def _find(
    row: Mapping[str, Any], given: str | None, usual: Sequence[str], what: str, number: int
) -> str:
    for name in (given,) if given is not None else usual:
        if name is not None and row.get(name) is not None:
            return name
    found = ", ".join(sorted(map(str, row))) or "none"
    wanted = repr(given) if given is not None else f"any of {', '.join(usual)}"
    raise DataError(
        f"row {number}: no field with the {what} ({wanted}); fields found: {found}\n"
        "hint: name the fields: --problem-field NAME --gold-field NAME"
    )


def _problem_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and value:  # a chat: the user's last turn
        turns = [m for m in value if isinstance(m, Mapping) and m.get("role") == "user"]
        if turns and isinstance(turns[-1].get("content"), str):
            return str(turns[-1]["content"])
    raise DataError(f"a problem must be text or a chat with a user's turn, got {value!r:.80}")


def clean_golds(value: Any, steps: Sequence[str]) -> tuple[str, ...]:
    r"""Golds of a row after the treatment `steps`; empty if nothing is left.

    Example:
        >>> clean_golds(["$69$,$84$"], ["list", "dollars"])
        ('69,84',)
        >>> clean_golds(["9.6\n", "9.6"], ["alternatives"])
        ('9.6',)
        >>> clean_golds("so it is \\boxed{\\frac{1}{2}}.", ["unbox"])
        ('\\frac{1}{2}',)
        >>> clean_golds("5 * 2 = 10\n#### 1,000", ["hashes", "integer"])
        ('1000',)
    """
    items = value if isinstance(value, list) else [value]
    if "list" in steps:
        if isinstance(value, str) and (listed := _listed(value)) is not None:
            items = listed
        items = [",".join(_plain(item) for item in items)]
    cleaned: list[str] = []
    for item in items:
        text = _plain(item)
        for step in steps:
            text = STEPS[step](text)
        if text.strip():
            cleaned.append(text.strip())
    return tuple(dict.fromkeys(cleaned))


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _listed(text: str) -> list[Any] | None:
    """A list that a CSV file or a careless export wrote as text: all of its elements are texts."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return value
    return None


def _unbox(text: str) -> str:
    start = text.rfind("\\boxed{")
    if start < 0:
        return text
    depth = 0
    for at in range(start + len("\\boxed"), len(text)):
        if text[at] == "{" and text[at - 1] != "\\":
            depth += 1
        elif text[at] == "}" and text[at - 1] != "\\":
            depth -= 1
            if depth == 0:
                return text[start + len("\\boxed{") : at]
    return text


def _hashes(text: str) -> str:
    return text.rpartition("####")[2].strip()


_BETWEEN = re.compile(r"[\d\s,;.+-]*")


def _dollars(text: str) -> str:
    """Drop `$` signs that only mark mathematics; keep them where words stand between."""
    outside = text.split("$")[0::2]
    if text.count("$") % 2 == 0 and not all(_BETWEEN.fullmatch(piece) for piece in outside):
        return text
    return text.replace("$", "")


def _integer(text: str) -> str:
    value = integer_text(text)
    return text if value is None else value


def _same(text: str) -> str:
    return text


STEPS: Mapping[str, Callable[[str], str]] = {
    "alternatives": _same,
    "list": _same,
    "hashes": _hashes,
    "unbox": _unbox,
    "dollars": _dollars,
    "integer": _integer,
}
"""Gold treatments. `list` and `alternatives` say what a list means (see above), the others map one
gold: text after `####`; content of the last `\\boxed{}`; no `$`; canonical integer."""


def _common_instruction(problems: Sequence[str]) -> str | None:
    for instruction in INSTRUCTIONS:
        if problems and all(text.rstrip().endswith(instruction) for text in problems):
            return instruction
    return None


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, bool)):
        return value is not None
    return isinstance(value, float) and value == value
