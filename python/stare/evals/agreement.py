"""Where two graders differ about the same samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stare.evals.grading import natural
from stare.evals.records import GradeRow, Key

__all__ = ["Disagreement", "agreement", "disagreements"]


class Disagreement(NamedTuple):
    """A sample that one grader calls correct and the other does not."""

    key: Key
    a: GradeRow
    b: GradeRow


def disagreements(
    a: Mapping[Key, GradeRow], b: Mapping[Key, GradeRow]
) -> Iterator[Disagreement]:
    """Samples that count as correct for one grader only, in order."""
    both = [
        key
        for key in a.keys() & b.keys()
        if (a[key].outcome == "correct") != (b[key].outcome == "correct")
    ]
    for key in sorted(both, key=lambda k: (k.bench, natural(k.problem_id), k)):
        yield Disagreement(key, a[key], b[key])


def agreement(a: Mapping[Key, GradeRow], b: Mapping[Key, GradeRow]) -> dict[str, Any]:
    """Counts of the outcomes side by side.

    Returns:
        `samples` graded by both; `differ`: correct for one only; `opposed`: correct for one,
        incorrect for the other; `matrix`: outcome of a -> outcome of b -> samples; `benchmarks`:
        correct by a, correct by b, differing, of each.
    """
    matrix: dict[str, Counter[str]] = {}
    benches: dict[str, Counter[str]] = {}
    for key in a.keys() & b.keys():
        one, other = a[key].outcome, b[key].outcome
        matrix.setdefault(one, Counter())[other] += 1
        counts = benches.setdefault(key.bench, Counter(samples=0, a=0, b=0, differ=0))
        counts["samples"] += 1
        counts["a"] += one == "correct"
        counts["b"] += other == "correct"
        counts["differ"] += (one == "correct") != (other == "correct")
    opposed = sum(
        row.get(other, 0)
        for one, other in (("correct", "incorrect"), ("incorrect", "correct"))
        if (row := matrix.get(one)) is not None
    )
    return {
        "samples": sum(one["samples"] for one in benches.values()),
        "differ": sum(one["differ"] for one in benches.values()),
        "opposed": opposed,
        "matrix": {name: dict(row) for name, row in matrix.items()},
        "benchmarks": {name: dict(one) for name, one in benches.items()},
    }
