"""`results.csv`: one row a benchmark, metric and k; fractions, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["csv_report"]

_HEADER = (
    "benchmark",
    "metric",
    "k",
    "value",
    "se_sampling",
    "se_problems",
    "ci_low",
    "ci_high",
    "problems",
    "n",
)


def csv_report(results: Mapping[str, Any]) -> str:
    """The figures in long form; an empty cell where one is not known."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    for name, one in results["benchmarks"].items():
        writer.writerows((name, *row, one["problems"], one["n"]) for row in _rows(one))
    if (total := results["macro"]) is not None:
        writer.writerow(("average", *_estimate("avg@n", "", total["avg@n"]), "", ""))
    return out.getvalue()


def _rows(one: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    yield _estimate("avg@n", str(one["n"]), one["avg@n"])
    for metric in ("pass@k", "pass^k", "maj@k"):
        for k, value in one[metric].items():
            yield _estimate(metric, k, value)
    for tau, values in one["g_pass@k"].items():
        for k, value in values.items():
            yield f"g_pass@k, tau {tau}", k, value, "", "", "", ""
    for k, value in one["mg_pass@k"].items():
        yield "mg_pass@k", k, value, "", "", "", ""
    for name, value in {
        "coverage": one["coverage"],
        **{f"rate {outcome}": share for outcome, share in one["rates"].items()},
        "finished accuracy": one["finished"]["accuracy"],
        "tokens mean": one["tokens"]["mean"],
        "tokens p50": one["tokens"]["p50"],
        "tokens p95": one["tokens"]["p95"],
    }.items():
        yield name, "", "" if value is None else value, "", "", "", ""


def _estimate(metric: str, k: str, one: Mapping[str, Any]) -> tuple[Any, ...]:
    values = (one["value"], one["se_sampling"], one["se_problems"], *one["ci"])
    return metric, k, *("" if value is None else value for value in values)
