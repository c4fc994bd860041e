"""The report in the terminal: drawn by rich for its width, plain in pipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stare.evals.report.table import (
    LEGEND,
    agreement_table,
    fit,
    pass_table,
    run_lines,
    score_table,
    warning_lines,
)
from stare.evals.stats.tables import Table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_report", "show", "stdout_console"]

_PIPE_WIDTH = 160
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def stdout_console() -> Console:
    """A console on stdout; a pipe is as wide as `COLUMNS` says, or else wide enough."""
    import os

    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        console = Console(width=_PIPE_WIDTH, highlight=False)
    return console


def show(results: Mapping[str, Any], title: str = "") -> None:
    """Print a report to stdout."""
    print_report(results, stdout_console(), title)


def print_report(results: Mapping[str, Any], console: Console, title: str = "") -> None:
    """Print warnings, scores, pass@k and where graders differ."""
    from rich.text import Text

    for line in filter(None, (title, *run_lines(results))):
        console.print(Text(line), style="bold" if line == title else None)
    for level, words in warning_lines(results):
        console.print(Text(f"{level}: {words}"), style=_STYLES[level])
    tables = [
        _drawn(fit(score_table(results).without_empty(), console.width), bold_last=results["macro"])
    ]
    passes = pass_table(results)
    if len(passes.header) > 2:
        tables.append(_drawn(passes))
    if results["agreement"]:
        tables.append(_drawn(agreement_table(results), texts=2))
    for table in (*tables, Text(LEGEND, style="dim")):
        console.print()
        console.print(table)


def _drawn(table: Table, *, texts: int = 1, bold_last: object = None) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for at, name in enumerate(table.header):
        drawn.add_column(Text(name), justify="left" if at < texts else "right", no_wrap=True)
    for at, row in enumerate(table.rows):
        last = bold_last is not None and at == len(table.rows) - 1
        drawn.add_row(*map(Text, row), style="bold" if last else None)
    return drawn
