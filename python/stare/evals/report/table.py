"""The score table of a run as text cells, for every format that has no charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stare.evals.stats.tables import Table, interval, percent

__all__ = ["agreement_table", "fit", "pass_table", "run_lines", "score_table", "warning_lines"]

_FIRST = (
    "benchmark",
    "n",
    "avg@n",
    "95 % problems",
    "± re-run",
    "pass@n",
    "maj@n",
    "cut %",
    "none %",
    "und. %",
    "tokens",
    "finished",
    "problems",
    "coverage",
    "± problems",
    "p95 tokens",
)
"""Columns, the most needed first: as many as fit are shown."""
_ORDER = (
    "benchmark",
    "problems",
    "n",
    "coverage",
    "avg@n",
    "95 % problems",
    "± re-run",
    "± problems",
    "pass@n",
    "maj@n",
    "cut %",
    "none %",
    "und. %",
    "finished",
    "tokens",
    "p95 tokens",
)
_MANY = 3
_SHARES = {
    "incomplete": "of the samples asked for are there; the scores are of those alone",
    "truncated": "cut off by the token limit before an answer was declared, counted as wrong",
    "no_answer": "declare no answer: check template and stop strings",
    "undecided": "undecided, counted as wrong",
}
"""Warnings whose value is a share -> what to say of several benchmarks at once."""
_SETTINGS = (
    "template",
    "system",
    "thinking",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "stop",
)
LEGEND = (
    "avg@n: mean share of correct samples, percent. 95 % problems: interval for problems like "
    "these. ± re-run, ± problems: standard errors of sampling again and of other such problems. "
    "cut: token limit before an answer; none: no answer declared; und.: undecided (these three "
    "count as wrong). finished: correct among responses that were not cut off. !: incomplete."
)


def score_table(results: Mapping[str, Any]) -> Table:
    """One row a benchmark, and the average last."""
    rows = [_row(name, one) for name, one in results["benchmarks"].items()]
    if (total := results["macro"]) is not None:
        rows.append(_average(total))
    return Table(_ORDER, tuple(tuple(row.get(name, "") for name in _ORDER) for row in rows))


def fit(table: Table, width: int) -> Table:
    """The columns most needed that fit in a width, in their order; never fewer than three."""
    chosen: list[str] = []
    room = width + 3
    for name in (one for one in _FIRST if one in table.header):
        at = table.header.index(name)
        room -= 3 + max(len(name), *(len(row[at]) for row in table.rows))
        if room < 0 and len(chosen) >= 3:
            break
        chosen.append(name)
    return table.columns(*(name for name in table.header if name in chosen))


def _row(name: str, one: Mapping[str, Any]) -> dict[str, str]:
    score, rates, tokens = one["avg@n"], one["rates"], one["tokens"]
    last = str(one["samples_a_problem"][0])
    return {
        "benchmark": name,
        "problems": str(one["problems"]),
        "n": str(one["n"]),
        "coverage": "" if one["complete"] else percent(one["coverage"]),
        "avg@n": number(score["value"]) + ("" if one["complete"] else "!"),
        "95 % problems": bounds(score["ci"]),
        "± re-run": number(score["se_sampling"]),
        "± problems": number(score["se_problems"]),
        "pass@n": number(one["pass@k"][last]["value"]),
        "maj@n": number(one["maj@k"][last]["value"]),
        "cut %": number(rates["truncated"]),
        "none %": number(rates["no_answer"]),
        "und. %": number(rates["undecided"] + rates["grader_timeout"] + rates["grader_error"]),
        "finished": number(one["finished"]["accuracy"]),
        "tokens": "?" if tokens["mean"] is None else f"{tokens['mean']:.0f}",
        "p95 tokens": "?" if tokens["p95"] is None else str(tokens["p95"]),
    }


def _average(total: Mapping[str, Any]) -> dict[str, str]:
    score = total["avg@n"]
    return {
        "benchmark": f"average of {len(total['benchmarks'])}",
        "problems": str(score["problems"]),
        "avg@n": number(score["value"]) + ("" if total["complete"] else "!"),
        "95 % problems": bounds(score["ci"]),
        "± re-run": number(score["se_sampling"]),
        "± problems": number(score["se_problems"]),
    }


def pass_table(results: Mapping[str, Any], metric: str = "pass@k") -> Table:
    """A metric at each k: one row a benchmark."""
    benches = results["benchmarks"]
    ks = sorted({int(k) for one in benches.values() for k in one[metric]})
    rows = tuple(
        (name, *(number((one[metric].get(str(k)) or {}).get("value")) for k in ks))
        for name, one in benches.items()
    )
    rows = tuple(tuple("" if cell == "?" else cell for cell in row) for row in rows)
    return Table((metric, *(str(k) for k in ks)), rows)


def agreement_table(results: Mapping[str, Any]) -> Table:
    """How the other graders differ from the first: one row a grader and benchmark."""
    first = results["grader"]
    rows = [
        (
            other,
            bench,
            str(one["samples"]),
            percent(one["a"] / one["samples"]),
            percent(one["b"] / one["samples"]),
            str(one["differ"]),
        )
        for other, found in results["agreement"].items()
        for bench, one in found["benchmarks"].items()
    ]
    header = ("grader", "benchmark", "samples", f"{first} %", "this %", "disagree")
    return Table(header, tuple(rows))


def warning_lines(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(level, words) of each warning; equal words of several benchmarks once.

    Shares of three benchmarks or more are put into one line: the table has the rest.
    """
    shares: dict[str, list[dict[str, Any]]] = {}
    for one in results["warnings"]:
        if one["code"] in _SHARES:
            shares.setdefault(one["code"], []).append(one)
    merged: dict[tuple[str, str], list[str]] = {}
    for one in results["warnings"]:
        words, bench = one["text"], one["bench"]
        if len(shares.get(one["code"], ())) >= _MANY:
            words, bench = _SHARES[one["code"]], f"{bench} {number(one['value'])} %"
        merged.setdefault((one["level"], words), []).append(bench)
    return [
        (level, f"{', '.join(filter(None, benches))}: {words}" if any(benches) else words)
        for (level, words), benches in merged.items()
    ]


def run_lines(results: Mapping[str, Any]) -> list[str]:
    """What the run is, in a few lines."""
    run = results["run"]
    head = [f"{name} {run[name]}" for name in ("model", "backend", "run_seed") if name in run]
    settings = _settings(run)
    others = [name for name in results["graders"] if name != results["grader"]]
    grader = f"graded by {results['grader']}" + (f", also {', '.join(others)}" if others else "")
    return [line for line in (", ".join(head), ", ".join(settings), grader) if line]


def _settings(run: Mapping[str, Any]) -> list[str]:
    """The settings that change scores, as words; hashes are left to the fingerprint."""
    named = {name.rpartition(".")[2]: value for name, value in run.get("determines", {}).items()}
    return [
        f"{name} {value}"
        for name in _SETTINGS
        if (value := named.get(name)) not in (None, "", [], {}) and len(str(value)) <= 60
    ]


def number(value: float | None) -> str:
    """A share in percent; a question mark where it is not known."""
    return percent(math.nan if value is None else value)


def bounds(value: Sequence[float | None]) -> str:
    """An interval of shares."""
    low, high = (math.nan if one is None else one for one in value)
    return interval((low, high), signed=False)
