"""Where two graders differ about the same samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stare.evals.grading import natural
from stare.evals.records import GradeRow, Key

__all__ = ["Disagreement", "agreement", "disagreements"]


_UNKNOWN = frozenset({"undecided", "grader_timeout", "grader_error"})


class Disagreement(NamedTuple):
    """A sample that is correct for one grader and not for the other, both having decided."""

    key: Key
    a: GradeRow
    b: GradeRow


def disagreements(a: Mapping[Key, GradeRow], b: Mapping[Key, GradeRow]) -> Iterator[Disagreement]:
    """Samples that are correct for one grader only, in order; undecided is no disagreement."""
    both = [key for key in a.keys() & b.keys() if _differ(a[key], b[key])]
    for key in sorted(both, key=lambda k: (k.bench, natural(k.problem_id), k)):
        yield Disagreement(key, a[key], b[key])


def _differ(a: GradeRow, b: GradeRow) -> bool:
    return (a.outcome == "correct") != (b.outcome == "correct") and not (
        _UNKNOWN & {a.outcome, b.outcome}
    )


def agreement(a: Mapping[Key, GradeRow], b: Mapping[Key, GradeRow]) -> dict[str, Any]:
    """Counts of the outcomes side by side.

    Returns:
        `samples` graded by both; `differ`: correct for one only, both having decided; `matrix`:
        outcome of a -> outcome of b -> samples; `benchmarks`: samples, correct by a, correct by b
        and differing of each.
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
        counts["differ"] += _differ(a[key], b[key])
    return {
        "samples": sum(one["samples"] for one in benches.values()),
        "differ": sum(one["differ"] for one in benches.values()),
        "matrix": {name: dict(row) for name, row in matrix.items()},
        "benchmarks": {name: dict(one) for name, one in benches.items()},
    }
