r"""Samples as other harnesses write them, read row by row into one shape.

=========  =====================================================================================
lm-eval    `samples_<task>_<time>.jsonl` of `--log_samples`: one row a problem and filter, its
           responses in `resps`, its verdict under the name of each metric
lighteval  details in Parquet (or JSONL): `doc`, `model_response`, `metric`; before 0.10
           `full_prompt`, `predictions`, `gold`, `metrics`
verl       `<step>.jsonl` of `validation_data_dir`: one row a response, `input`, `output`, `gts`,
           `score`, and what the reward function adds, such as `acc`
plain      one row a response: a text, a gold, and what else there is
=========  =====================================================================================
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stare.errors import ArgumentError, DataError

__all__ = ["FORMATS", "Recorded", "Response", "read_recorded"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One recorded response."""

    text: str
    finish_reason: str | None = None
    """None where the format does not say."""
    n_tokens: int | None = None
    verdict: float | None = None
    """What the harness made of it, where it says so for each response."""


@dataclass(slots=True, kw_only=True)
class Recorded:
    """One problem with its responses."""

    id: str
    problem: str
    golds: tuple[str, ...]
    responses: list[Response] = field(default_factory=list)
    verdict: float | None = None
    """What the harness made of the problem, where it gives one figure for all its responses."""

    @property
    def score(self) -> float | None:
        """The harness's own figure for the problem; None if it has none."""
        if self.verdict is not None:
            return self.verdict
        verdicts = [one.verdict for one in self.responses if one.verdict is not None]
        return sum(verdicts) / len(verdicts) if len(verdicts) == len(self.responses) else None


def read_recorded(
    rows: Sequence[Row], form: str, metric: str | None = None
) -> tuple[list[Recorded], str]:
    """Problems of a harness's rows, and the name of its verdict column.

    Args:
        rows: of its files.
        form: name of one of `FORMATS`.
        metric: the verdict column; None takes the first of the usual ones that is there.

    Raises:
        ArgumentError: no such format, or the rows have no such column.
        DataError: the rows are not of that format; the fields that were found are named.
    """
    if form not in FORMATS:
        raise ArgumentError(f"no format is named {form!r}\nhint: one of {', '.join(FORMATS)}")
    if not rows:
        raise DataError("there are no rows")
    found = FORMATS[form](rows, metric)
    empty = [one.id for one in found[0] if not one.responses]
    if empty:
        raise DataError(f"problem {empty[0]!r} has no response")
    return found


def _lm_eval(rows: Sequence[Row], metric: str | None) -> tuple[list[Recorded], str]:
    _need(rows[0], ("doc_id", "resps", "target"), "lm-eval")
    filters = list(dict.fromkeys(str(row.get("filter", "none")) for row in rows))
    column = _column(rows[0], metric, ("exact_match", "math_verify", "acc", *_named(rows[0])))
    found: dict[str, Recorded] = {}
    for at, row in enumerate(rows):
        if str(row.get("filter", "none")) != filters[0]:
            continue  # the same responses, read in another way
        key = str(row["doc_id"])
        if key in found:
            raise DataError(f"row {at}: doc_id {key} is there twice for filter {filters[0]!r}")
        texts = [text for texts in _list(row["resps"]) for text in _list(texts)]
        found[key] = Recorded(
            id=key,
            problem=_lm_eval_prompt(row),
            golds=(str(row["target"]),),
            responses=[Response(text=str(text)) for text in texts],
            verdict=_number(row.get(column)),
        )
    return list(found.values()), column


def _named(row: Row) -> list[str]:
    return [str(name) for name in row.get("metrics") or () if name in row]


def _lm_eval_prompt(row: Row) -> str:
    arguments: Any = row.get("arguments")
    while isinstance(arguments, (list, Mapping)) and arguments:
        arguments = next(iter(arguments.values() if isinstance(arguments, Mapping) else arguments))
    return arguments if isinstance(arguments, str) else str(row.get("doc", ""))


def _lighteval(rows: Sequence[Row], metric: str | None) -> tuple[list[Recorded], str]:
    if "model_response" in rows[0]:
        _need(rows[0], ("doc", "metric", "model_response"), "lighteval")
        return _lighteval_now(rows, metric)
    _need(rows[0], ("predictions", "gold", "metrics"), "lighteval")
    column = _column(_table(rows[0]["metrics"]), metric, tuple(_table(rows[0]["metrics"])))
    found = [
        Recorded(
            id=str(at),
            problem=str(row.get("full_prompt") or row.get("example") or ""),
            golds=tuple(map(str, _list(row["gold"]))),
            responses=[Response(text=str(text)) for text in _list(row["predictions"])],
            verdict=_number(_table(row["metrics"]).get(column)),
        )
        for at, row in enumerate(rows)
    ]
    return found, column


def _lighteval_now(rows: Sequence[Row], metric: str | None) -> tuple[list[Recorded], str]:
    metrics = _table(rows[0]["metric"])
    column = _column(metrics, metric, tuple(metrics))
    found = []
    for at, row in enumerate(rows):
        doc, reply = _table(row["doc"]), _table(row["model_response"])
        choices, places = _list(doc.get("choices")), _list(doc.get("gold_index"))
        if not places or not all(isinstance(p, int) and p < len(choices) for p in places):
            raise DataError(f"row {at}: gold_index {places} does not fit {len(choices)} choices")
        lengths = [len(_list(one)) for one in _list(reply.get("output_tokens"))]
        texts = _list(reply.get("text"))
        tokens = lengths if len(lengths) == len(texts) else [None] * len(texts)
        found.append(
            Recorded(
                id=str(doc.get("id") or at),
                problem=str(doc.get("query", "")),
                golds=tuple(str(choices[place]) for place in places),
                responses=[
                    Response(text=str(text), n_tokens=n or None)
                    for text, n in zip(texts, tokens, strict=True)
                ],
                verdict=_number(_table(row["metric"]).get(column)),
            )
        )
    return found, column


def _verl(rows: Sequence[Row], metric: str | None) -> tuple[list[Recorded], str]:
    _need(rows[0], ("input", "output", "score"), "verl")
    golds = next((name for name in ("gts", "ground_truth", "gt") if name in rows[0]), None)
    if golds is None:
        raise DataError(_unlike("verl", ("gts",), rows[0]))
    column = _column(rows[0], metric, ("acc", "score"))
    found: dict[tuple[str, str], Recorded] = {}
    for row in rows:
        gold = tuple(map(str, _list(row[golds])))
        key = (str(row["input"]), str(gold))
        one = found.setdefault(
            key, Recorded(id=str(len(found)), problem=str(row["input"]), golds=gold)
        )
        verdict = _number(row.get(column))
        if column == "score" and verdict is not None:
            verdict = float(verdict > 0)  # some reward functions give -1 for wrong
        one.responses.append(Response(text=str(row["output"]), verdict=verdict))
    return list(found.values()), column


_PLAIN = {
    "text": ("completion", "text", "response", "output", "generation"),
    "golds": ("golds", "gold", "answer", "expected_answer", "ground_truth", "target"),
    "id": ("problem_id", "id", "idx", "question_id"),
    "problem": ("problem", "question", "prompt", "input"),
    "finish": ("finish_reason", "stop_reason"),
    "tokens": ("n_tokens", "num_tokens", "completion_tokens", "num_generated_tokens"),
}
"""What may be in a plain row -> the names it goes by, the first that is there is taken."""
_VERDICTS = ("correct", "is_correct", "acc", "score", "verdict")


def _plain(rows: Sequence[Row], metric: str | None) -> tuple[list[Recorded], str]:
    names = {
        what: next((n for n in any_of if n in rows[0]), None) for what, any_of in _PLAIN.items()
    }
    text, golds = names["text"], names["golds"]
    if text is None or golds is None:
        raise DataError(_unlike("plain", ("completion", "gold"), rows[0]))
    column = _column(rows[0], metric, _VERDICTS)
    key = names["id"] or names["problem"]
    if key is None:
        raise DataError(_unlike("plain", ("problem_id",), rows[0]))
    found: dict[str, Recorded] = {}
    for at, row in enumerate(rows):
        missing = [name for name in (text, golds, key) if name not in row]
        if missing:
            raise DataError(f"row {at} has no {missing[0]!r}, the first one does")
        name = str(row[key]) if names["id"] else str(len(found))
        place = str(row[key])
        one = found.setdefault(
            place,
            Recorded(
                id=name,
                problem=str(row.get(names["problem"] or "", "")),
                golds=tuple(map(str, _list(row[golds]))),
            ),
        )
        finish, tokens = row.get(names["finish"] or ""), row.get(names["tokens"] or "")
        one.responses.append(
            Response(
                text=str(row[text]),
                finish_reason=None if finish is None else str(finish),
                n_tokens=tokens if isinstance(tokens, int) else None,
                verdict=_number(row.get(column)),
            )
        )
    return list(found.values()), column


def _need(row: Row, names: tuple[str, ...], form: str) -> None:
    if not row.keys() >= set(names):
        raise DataError(_unlike(form, names, row))


def _unlike(form: str, names: tuple[str, ...], row: Row) -> str:
    missing = ", ".join(name for name in names if name not in row)
    return (
        f"not samples of {form}: no {missing}; the first row has {', '.join(map(str, row))}\n"
        f"hint: --from one of {', '.join(FORMATS)}"
    )


def _column(row: Row, metric: str | None, usual: tuple[str, ...]) -> str:
    """The verdict column: `metric`, or the first usual one that is there; empty if none is."""
    if metric is not None and metric not in row:
        raise ArgumentError(
            f"there is no column {metric!r} of verdicts\nhint: there are {', '.join(map(str, row))}"
        )
    return metric or next((n for n in usual if _number(row.get(n)) is not None), "")


_WORDS = {"correct": 1.0, "true": 1.0, "incorrect": 0.0, "wrong": 0.0, "false": 0.0}


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return _WORDS.get(value.lower())
    return float(value) if isinstance(value, (bool, int, float)) else None


def _list(value: Any) -> list[Any]:
    """A list, also if it was written as text; one value becomes a list of it."""
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]":
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return [value]
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def _table(value: Any) -> dict[str, Any]:
    """A table, also if it was written as text."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            value = None
    return dict(value) if isinstance(value, Mapping) else {}


FORMATS: dict[str, Callable[[Sequence[Row], str | None], tuple[list[Recorded], str]]] = {
    "lm-eval": _lm_eval,
    "lighteval": _lighteval,
    "verl": _verl,
    "plain": _plain,
}
"""Name -> reader of rows."""
