"""Write the reports of a run into its folder, each whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stare.errors import ArgumentError
from stare.evals.files import write_text
from stare.evals.results import RESULTS_FILE, write_results
from stare.evals.store import RunFolder

__all__ = ["FORMATS", "write_reports"]

FORMATS = {"json": RESULTS_FILE, "md": "report.md", "csv": "results.csv", "html": "report.html"}
"""Format -> file in the run folder."""


def write_reports(
    folder: RunFolder,
    results: Mapping[str, Any],
    formats: Sequence[str] = ("json", "md", "csv", "html"),
    *,
    texts: str = "all",
    texts_mb: float = 32.0,
    data_dir: Path | None = None,
) -> list[Path]:
    """Write `results` in each format.

    Args:
        folder: the run.
        results: of `results.build`.
        formats: names of `FORMATS`.
        texts: which responses the HTML page holds: `all`, `wrong` (all but the correct) or `none`.
        texts_mb: size of the page, about, at which further responses are left out.
        data_dir: where imported benchmarks are, for the problems' texts.

    Returns:
        The files, in the order of `formats`.

    Raises:
        ArgumentError: an unknown format.
    """
    for name in formats:
        if name not in FORMATS:
            raise ArgumentError(f"no format is named {name!r}\nhint: one of {', '.join(FORMATS)}")
    paths = []
    for name in dict.fromkeys(formats):
        path = folder.path / FORMATS[name]
        if name == "json":
            write_results(folder, results)
        elif name == "md":
            from stare.evals.report.markdown import markdown_report

            write_text(path, markdown_report(results))
        elif name == "csv":
            from stare.evals.report.csv_table import csv_report

            write_text(path, csv_report(results))
        else:
            from stare.evals.report.page import write_page

            write_page(folder, results, path, texts=texts, texts_mb=texts_mb, data_dir=data_dir)
        paths.append(path)
    return paths
