"""From a row of any data set to a problem: field paths, wrappers, filters."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from stare.errors import DataError
from stare.train.sections_data import SourceConfig

__all__ = ["MISSING", "WrittenFloat", "answer_text", "describe", "matches", "resolve", "unwrapped"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""What `resolve` returns where there is nothing."""


class WrittenFloat(float):
    """A number that remembers how it was written: a gold of `1.50` stays "1.50".

    Example:
        >>> json.loads("[1.50]", parse_float=WrittenFloat)[0].text
        '1.50'
    """

    text: str

    def __new__(cls, text: str) -> WrittenFloat:  # noqa: D102
        value = super().__new__(cls, text)
        value.text = text
        return value


def resolve(row: Any, path: str) -> Any:
    """Follow a dotted path through objects and lists; `MISSING` where it leads nowhere.

    A key that has dots itself is found too: the longest name that is there wins.

    Example:
        >>> resolve({"prompt": [{"content": "2+2?"}]}, "prompt.0.content")
        '2+2?'
        >>> resolve({"rate": {"Qwen-1.5B": 7}}, "rate.Qwen-1.5B")
        7
    """
    if isinstance(row, Mapping):
        parts = path.split(".")
        for cut in range(len(parts), 0, -1):
            key = ".".join(parts[:cut])
            if key in row:
                rest = ".".join(parts[cut:])
                return resolve(row[key], rest) if rest else row[key]
        return MISSING
    if isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
        head, _, rest = path.partition(".")
        if not head.isdigit() or int(head) >= len(row):
            return MISSING
        return resolve(row[int(head)], rest) if rest else row[int(head)]
    return MISSING


def describe(row: Mapping[str, Any]) -> str:
    """Names of the fields of a row, one level deep, for messages."""
    names = []
    for key, value in row.items():
        inner = sorted(map(str, value)) if isinstance(value, Mapping) else []
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            inner = [f"0.{k}" for k in sorted(map(str, value[0]))]
        names += [f"{key}.{k}" for k in inner] or [str(key)]
    return ", ".join(names) or "none"


def unwrapped(text: str, source: SourceConfig) -> tuple[str, bool]:
    """The problem without the source's prompt prefix and suffix, and whether both were there.

    Example:
        >>> source = SourceConfig(path="d.jsonl", strip_prefix="Solve:", strip_suffix="Go!")
        >>> unwrapped("Solve: 2+2? Go!", source), unwrapped("2+2?", source)
        (('2+2?', True), ('2+2?', False))
    """
    bare, found = text.strip(), True
    for affix, has, cut in (
        (source.strip_prefix.strip(), str.startswith, str.removeprefix),
        (source.strip_suffix.strip(), str.endswith, str.removesuffix),
    ):
        if affix:
            found = found and has(bare, affix)
            bare = cut(bare, affix).strip()
    return bare, found


def answer_text(value: Any, source: SourceConfig) -> str | None:
    """The gold as text; None if the field holds no single answer.

    Example:
        >>> answer_text('["12"]', SourceConfig(path="d.jsonl", answer_format="list"))
        '12'
        >>> answer_text(12, SourceConfig(path="d.jsonl"))
        '12'
    """
    if source.answer_format == "list":
        if isinstance(value, str):
            value = _as_list(value)
        if not isinstance(value, (list, tuple)) or len(value) != 1:
            return None
        (value,) = value
    if isinstance(value, WrittenFloat):
        value = value.text
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value)
    if source.answer_format == "solution":
        from stare.verify import extract_answer

        text = extract_answer(text) or ""
    return text.strip() or None


def _as_list(text: str) -> Any:
    """A list written as JSON or as a Python literal."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


_BOUND = re.compile(r"(>=|<=|>|<|!=)\s*(.+)")


def matches(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether a row passes all filters: a value, a list of values, or a bound such as `">= 0.2"`.

    Raises:
        DataError: a bound that is no number, or a field that is not there.

    Example:
        >>> matches({"rate": "3/8", "n": 4}, {"rate": ["2/8", "3/8"], "n": "< 5"})
        True
    """
    for path, wanted in where.items():
        value = resolve(row, path)
        if value is MISSING:
            raise DataError(
                f"where: there is no field {path!r}\nhint: fields found: {describe(row)}"
            )
        if isinstance(wanted, list):
            passed = value in wanted
        elif isinstance(wanted, str) and (bound := _BOUND.fullmatch(wanted.strip())):
            passed = _compare(value, bound[1], bound[2])
        else:
            passed = value == wanted
        if not passed:
            return False
    return True


def _compare(value: Any, sign: str, bound: str) -> bool:
    if sign == "!=":
        return str(value) != bound
    try:
        left, right = float(value), float(bound)
    except (TypeError, ValueError):
        raise DataError(f"where: cannot compare {value!r} {sign} {bound!r} as numbers") from None
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[sign]
