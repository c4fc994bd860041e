"""Counts of a graded run, as `compare` reads them: per benchmark and problem, c right of n."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import DataError

__all__ = ["BenchCounts", "load_counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCounts:
    """Samples and correct ones of each problem of a benchmark."""

    name: str
    ids: tuple[str, ...]
    n: tuple[int, ...]
    c: tuple[int, ...]

    def at(self, ids: list[str]) -> BenchCounts:
        """The counts of these problems, in this order."""
        where = {one: at for at, one in enumerate(self.ids)}
        places = [where[one] for one in ids]
        return BenchCounts(
            name=self.name,
            ids=tuple(ids),
            n=tuple(self.n[at] for at in places),
            c=tuple(self.c[at] for at in places),
        )


def load_counts(path: str | Path) -> dict[str, BenchCounts]:
    """Counts of a `results.json`, or of the run folder that holds it.

    It needs `benchmarks.<name>.per_problem`, a list of `{"id", "n", "c"}`; other fields are not
    looked at. Problems without a sample are left out, as nothing is known of them.

    Raises:
        DataError: not such a file; the message says where.
        OSError: the file cannot be read.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "results.json"
        if not file.is_file():
            raise DataError(f"{path} has no results.json\nhint: stare-eval report {path}")
    try:
        content = json.loads(file.read_bytes())
    except ValueError as error:
        raise DataError(f"{file}: not JSON: {error}") from None
    benchmarks = content.get("benchmarks") if isinstance(content, dict) else None
    if not isinstance(benchmarks, dict) or not benchmarks:
        raise DataError(f"{file}: no 'benchmarks' in it\nhint: it must be a results.json")
    return {name: _bench(name, entry, f"{file}: {name}") for name, entry in benchmarks.items()}


def _bench(name: str, entry: Any, where: str) -> BenchCounts:
    rows = entry.get("per_problem") if isinstance(entry, dict) else None
    if not isinstance(rows, list):
        raise DataError(f"{where}: 'per_problem' is missing: a list of {{id, n, c}}")
    found: dict[str, tuple[int, int]] = {}
    for at, row in enumerate(rows):
        problem, n, c = _row(row, f"{where}, problem {at}")
        if problem in found:
            raise DataError(f"{where}: problem {problem!r} is there twice")
        found[problem] = n, c
    drawn = {problem: counts for problem, counts in found.items() if counts[0]}
    return BenchCounts(
        name=name,
        ids=tuple(drawn),
        n=tuple(n for n, _ in drawn.values()),
        c=tuple(c for _, c in drawn.values()),
    )


def _row(row: Any, where: str) -> tuple[str, int, int]:
    if not isinstance(row, Mapping) or not row.keys() >= {"id", "n", "c"}:
        raise DataError(f"{where}: must have id, n and c, got {json.dumps(row)[:80]}")
    n, c = row["n"], row["c"]
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in (n, c)) or not 0 <= c <= n:
        raise DataError(f"{where}: n and c must be integers, 0 <= c <= n, got n={n!r}, c={c!r}")
    return str(row["id"]), n, c
