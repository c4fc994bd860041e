"""`report.md`: the tables, for an issue, a README or a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stare.evals.report.table import (
    LEGEND,
    agreement_table,
    pass_table,
    run_lines,
    score_table,
    warning_lines,
)
from stare.evals.stats.tables import Table

__all__ = ["markdown_report"]


def markdown_report(results: Mapping[str, Any]) -> str:
    """The report as markdown."""
    parts = ["# stare-eval", "  \n".join(map(_escape, run_lines(results)))]
    warnings = [f"- **{level}**: {_escape(words)}" for level, words in warning_lines(results)]
    if warnings:
        parts.append("\n".join(warnings))
    parts += ["## Scores", _table(score_table(results).without_empty()), _escape(LEGEND)]
    for metric in ("pass@k", "maj@k", "pass^k"):
        table = pass_table(results, metric)
        if len(table.header) > 2:
            parts += [f"## {metric}", _table(table)]
    if results["agreement"]:
        parts += ["## Graders", _table(agreement_table(results))]
    if "fingerprint" in results["run"]:
        parts.append(f"Fingerprint of what decides the samples: `{results['run']['fingerprint']}`")
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    return Table(
        tuple(map(_escape, table.header)), tuple(tuple(map(_escape, row)) for row in table.rows)
    ).markdown()


def _escape(text: str) -> str:
    """Text that markdown shows as it is."""
    for sign in "\\`*_|<>[]":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")
