"""What became of every row: counts by source and reason, duplicates, contamination, lengths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stare.train.mixing.answers import same_answer
from stare.train.mixing.benchmarks import BenchmarkProblem
from stare.train.mixing.duplicates import Match
from stare.train.mixing.files import write_text
from stare.train.sections_data import MixingFields
from stare.types import Problem

__all__ = ["EDGES", "DataReport", "SourceCounts", "histogram"]

EDGES = (0, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Lower edges of the bins of prompt lengths."""
_EXAMPLES = 3


@dataclass(slots=True)
class SourceCounts:
    """One source."""

    place: str
    """Path or Hub id."""
    rows: int = 0
    """Rows read."""
    kept: int = 0
    """Problems to train on."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> rows; with `kept` they add up to `rows`."""
    noted: dict[str, int] = field(default_factory=dict)
    """What was seen and changed nothing -> rows."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> the first few ids."""

    def count(self, reason: str, ids: Sequence[str]) -> None:
        """Count dropped rows."""
        self._add(self.dropped, reason, ids)

    def note(self, what: str, identity: str) -> None:
        """Count a row that is kept and worth a look."""
        self._add(self.noted, what, [identity])

    def _add(self, table: dict[str, int], reason: str, ids: Sequence[str]) -> None:
        table[reason] = table.get(reason, 0) + len(ids)
        kept = self.examples.setdefault(reason, [])
        kept += ids[: max(0, _EXAMPLES - len(kept))]


@dataclass(slots=True, kw_only=True)
class DataReport:
    """Counts and lists; written as `report.json` and three JSONL files."""

    settings: dict[str, Any]
    """Thresholds and switches."""
    sources: dict[str, SourceCounts] = field(default_factory=dict)
    benchmarks: dict[str, int] = field(default_factory=dict)
    """Benchmark -> problems compared with."""
    contamination: list[dict[str, Any]] = field(default_factory=list)
    """Training row, benchmark row, kind, similarity, removed or not; ids, no texts."""
    duplicates: list[dict[str, Any]] = field(default_factory=list)
    """Near repeats, and exact ones that come with another answer."""
    rejected: list[dict[str, str]] = field(default_factory=list)
    """Source, reason and id of every row dropped for its content."""
    lengths: dict[str, Any] = field(default_factory=dict)
    """Histogram of prompt lengths: unit, edges, counts by source."""

    @staticmethod
    def of(data: MixingFields) -> DataReport:
        """An empty report that says under which settings it was made."""
        names = ("dedup", "near_threshold", "shingle", "contamination", "contained", "answers")
        return DataReport(settings={n: getattr(data, n) for n in names})

    def drop(self, source: str, reason: str, ids: Sequence[str]) -> None:
        """Count rows as dropped, remember which."""
        self.sources[source].count(reason, ids)
        self.rejected += [{"source": source, "reason": reason, "id": i} for i in ids]

    def duplicate(
        self, source: str, problem: Problem, first: Problem, kind: str, similarity: float
    ) -> None:
        """Count a repeated problem; list it unless it is an exact copy with the same answer."""
        agree = same_answer(problem.answer, first.answer)
        reason = "near-duplicate" if kind == "near" else "duplicate"
        self.sources[source].count(reason if agree else f"{reason}, other answer", [problem.id])
        if kind == "near" or not agree:
            self.duplicates.append(
                {
                    "id": problem.id,
                    "repeats": first.id,
                    "kind": kind,
                    "similarity": round(similarity, 4),
                    "same_answer": agree,
                }
            )

    def contaminated(
        self, problem: Problem, bench: BenchmarkProblem, match: Match, *, removed: bool
    ) -> None:
        """List a training problem that is a benchmark problem."""
        self.contamination.append(
            {
                "id": problem.id,
                "benchmark": bench.bench,
                "benchmark_id": bench.id,
                "kind": match.kind,
                "similarity": round(match.similarity, 4),
                "removed": removed,
            }
        )

    def summary(self) -> dict[str, Any]:
        """Everything but the lists, as plain tables."""
        hits: dict[str, int] = {}
        for row in self.contamination:
            hits[row["benchmark"]] = hits.get(row["benchmark"], 0) + 1
        return {
            "format": 1,
            "settings": self.settings,
            "sources": {name: asdict(counts) for name, counts in self.sources.items()},
            "benchmarks": {
                name: {"problems": count, "training_rows": hits.get(name, 0)}
                for name, count in self.benchmarks.items()
            },
            "prompt_lengths": self.lengths,
        }

    def write(self, folder: Path) -> None:
        """Write `report.json`, `contamination.jsonl`, `duplicates.jsonl` and `dropped.jsonl`.

        Each is written under another name and renamed; equal data gives equal bytes.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "report.json", json.dumps(self.summary(), indent=2) + "\n")
        write_text(folder / "contamination.jsonl", _lines(self.contamination))
        write_text(folder / "duplicates.jsonl", _lines(self.duplicates))
        write_text(folder / "dropped.jsonl", _lines(self.rejected))


def histogram(lengths: Iterable[int]) -> list[int]:
    """Counts in the bins that begin at `EDGES`; the last is open.

    Example:
        >>> histogram([5, 40, 5000])
        [1, 1, 0, 0, 0, 0, 0, 0, 1]
    """
    counts = [0] * len(EDGES)
    for length in lengths:
        counts[sum(length >= edge for edge in EDGES) - 1] += 1
    return counts


def _lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
