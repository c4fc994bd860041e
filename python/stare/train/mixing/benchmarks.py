"""Texts of evaluation benchmarks, to compare training problems with. Never trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stare.benchmark_store import data_folder
from stare.errors import DataError
from stare.train.mixing.reading import json_rows, source_files

__all__ = ["BenchmarkProblem", "load_benchmarks"]

STORE = "store"


@dataclass(frozen=True, slots=True)
class BenchmarkProblem:
    """One problem of a benchmark."""

    bench: str
    id: str
    problem: str


def load_benchmarks(against: Sequence[str]) -> list[BenchmarkProblem]:
    """Read every benchmark of `data.against`.

    Args:
        against: `store` (every benchmark that `stare-eval data` has imported), and JSON(L) files,
            folders or globs with `problem` or `question`; a benchmark is named after its file.

    Raises:
        DataError: nothing there, or a row without a problem; the message says what to do.
    """
    problems: list[BenchmarkProblem] = []
    for entry in against:
        for path in _store() if entry == STORE else source_files(entry):
            problems += _read(path)
    return problems


def _store() -> list[Path]:
    folder = data_folder()
    found = sorted(p for p in folder.glob("*.jsonl") if not p.name.startswith("."))
    if not found:
        raise DataError(
            f"data.against names the benchmark store, and there is no benchmark in {folder}\n"
            "hint: stare-eval data fetch stare6 (or import FILE), data.against=[files], "
            'or data.contamination="off" to train unchecked'
        )
    return found


def _read(path: Path) -> list[BenchmarkProblem]:
    problems = []
    for number, (where, row) in enumerate(json_rows(path), start=1):
        text = row.get("problem", row.get("question"))
        if not isinstance(text, str) or not text.strip():
            found = ", ".join(sorted(row)) or "none"
            raise DataError(
                f"{where}: no field 'problem' or 'question'\nhint: fields found: {found}"
            )
        problems.append(BenchmarkProblem(path.stem, str(row.get("id", number)), text))
    if not problems:
        raise DataError(f"{path}: no problems in the file")
    return problems
