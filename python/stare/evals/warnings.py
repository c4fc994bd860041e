"""What limits the figures of a run, as data: shown first in every report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stare.evals.run_facts import RunFacts

__all__ = ["TRUNCATION_LIMIT", "warnings_of"]

TRUNCATION_LIMIT = 0.05
_NO_ANSWER_LIMIT = 0.2
_UNDECIDED_LIMIT = 0.005
_LEVELS = ("error", "warning", "note")
Row = dict[str, Any]


def warnings_of(benches: Mapping[str, Row], facts: RunFacts) -> list[Row]:
    """Warnings, the gravest first: each has `level`, `code`, `bench`, `value` and `text`.

    `error`: the score is not what it is called. `warning`: it may mislead. `note`: good to know.
    """
    found = [
        {"level": level, "code": code, "bench": bench, "value": value, "text": text}
        for bench, result in benches.items()
        for code, (level, check) in _CHECKS.items()
        for value, text in check(result)
    ]
    absent = [bench for bench in facts.n if bench not in benches]
    for bench in absent:
        text = "no sample yet: it is in no average"
        found.append({"level": "error", "code": "absent", "bench": bench, "value": 0, "text": text})
    if facts.shard is not None:
        text = f"this is shard {facts.shard}: put the shards together with stare-eval merge"
        found.append({"level": "error", "code": "shard", "bench": "", "value": 0, "text": text})
    if facts.run.get("determines", {}).get("finish_reason") == "not recorded":
        text = "the samples do not say how they ended: cut-off responses cannot be told apart"
        found.append({"level": "warning", "code": "finish", "bench": "", "value": 0, "text": text})
    return sorted(found, key=lambda one: (_LEVELS.index(one["level"]), one["bench"], one["code"]))


Found = Iterator[tuple[float, str]]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _incomplete(one: Row) -> Found:
    if one["coverage"] < 1.0:
        yield (
            one["coverage"],
            f"incomplete: {_percent(one['coverage'])} of the samples asked for are there; the "
            "score is of those alone",
        )


def _unequal(one: Row) -> Found:
    low, high = one["samples_a_problem"]
    if low != high:
        yield low, f"problems have {low} to {high} samples; pass@k stops at {low}"


def _truncated(one: Row) -> Found:
    share = one["rates"]["truncated"]
    if share > TRUNCATION_LIMIT:
        finished = one["finished"]["accuracy"]
        score = "" if finished is None else f"; of the finished {_percent(finished)} are correct"
        yield (
            share,
            f"{_percent(share)} were cut off by the token limit before they declared an answer "
            f"and count as wrong{score}",
        )


def _no_answer(one: Row) -> Found:
    share = one["rates"]["no_answer"]
    if share > _NO_ANSWER_LIMIT:
        yield share, f"{_percent(share)} declare no answer: check template and stop strings"


def _undecided(one: Row) -> Found:
    share = one["rates"]["undecided"]
    if share > _UNDECIDED_LIMIT:
        best = one["score_bounds"]["undecided_correct"]
        yield (
            share,
            f"{_percent(share)} undecided, counted as wrong; were all of them correct, the score "
            f"would be {_percent(best)}",
        )


def _failed(outcome: str, words: str) -> Callable[[Row], Found]:
    def check(one: Row) -> Found:
        count = one["outcomes"][outcome]
        if count:
            yield count, f"{count} samples {words}; they count as wrong"

    return check


def _single(one: Row) -> Found:
    if one["n"] == 1:
        yield 1, "one sample a problem: how much a second run would differ is not known"


def _large_k(one: Row) -> Found:
    n = one["samples_a_problem"][0]
    if n > 1:
        yield n // 2, f"pass@k for k > {n // 2} rests on few draws: n is {n}"


def _unseeded(one: Row) -> Found:
    if one["unseeded"]:
        yield one["unseeded"], f"{one['unseeded']} samples were drawn without a seed"


def _aborted(one: Row) -> Found:
    if one["aborted"]:
        yield one["aborted"], f"{one['aborted']} responses were dropped by the server half-way"


def _repeated(one: Row) -> Found:
    if one["repeated"]:
        yield (
            one["repeated"],
            f"all samples of {one['repeated']} of {one['problems']} problems are the same text: "
            "temperature 0, a server that ignores seeds, or a model that has collapsed",
        )


def _tolerance(one: Row) -> Found:
    tolerance = one["settings"]["tolerance"]
    if tolerance == "gold-digits":
        yield 0, "decimal golds: an answer that rounds to the digits of the gold is correct"
    elif tolerance is not None:
        yield tolerance, f"decimal golds: an answer within {tolerance:g} (relative) is correct"


def _identity(one: Row) -> Found:
    identity = one["data"].get("identity")
    if identity == "golds":
        yield 0, "the golds are the pinned ones, the texts of the problems differ from them"
    elif identity == "custom":
        yield 0, "a benchmark of your own: no pinned hash vouches for it"


_CHECKS: dict[str, tuple[str, Callable[[Row], Found]]] = {
    "incomplete": ("error", _incomplete),
    "unequal": ("warning", _unequal),
    "truncated": ("warning", _truncated),
    "no_answer": ("warning", _no_answer),
    "undecided": ("warning", _undecided),
    "grader_timeout": ("warning", _failed("grader_timeout", "made the grader run out of time")),
    "grader_error": ("warning", _failed("grader_error", "made the grader fail")),
    "aborted": ("warning", _aborted),
    "repeated": ("warning", _repeated),
    "single": ("warning", _single),
    "unseeded": ("note", _unseeded),
    "large_k": ("note", _large_k),
    "tolerance": ("note", _tolerance),
    "data": ("note", _identity),
}
