"""A whole run with known results: the bundled benchmark, the mock back end, no network.

Sampled by one process, torn in the middle and taken up again, replayed, merged from shards, graded.
The mock decides by hashes which samples are right, so every figure is known in advance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stare.errors import StareError
from stare.evals.backends.mock import truth
from stare.evals.config import EvalConfig
from stare.evals.engine import generate
from stare.evals.merge import merge
from stare.evals.records import Sample
from stare.evals.session import Session, prepare
from stare.evals.store import RunFolder, sample_line

__all__ = ["EXPECTED", "Check", "selftest"]

BENCH, N = "mini", 4
ODDS = {"truncated": 0.05, "no_answer": 0.05}
AVERAGE = Fraction(59, 120)
EXPECTED: dict[str, int | Fraction] = {
    "samples": 120,
    "correct": 59,
    "avg@4": AVERAGE,
    "pass@4": Fraction(25, 30),
    "truncated": 5,
}
"""Exact figures of the run; they change with the mock or the seeds alone."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried."""

    name: str
    passed: bool
    found: str


def selftest(folder: Path) -> list[Check]:
    """Run everything inside an empty folder; one check a thing tried."""
    checks: list[Check] = []

    def check(name: str, passed: bool, found: object = "") -> None:
        checks.append(Check(name, passed, str(found)))

    steps: list[tuple[str, Callable[[], None]]] = []
    whole = _config()
    session = prepare(whole)
    main = RunFolder(folder / "whole")

    def sampled() -> None:
        made = generate(session, main, quiet=True)
        check("samples", made.complete and made.made == EXPECTED["samples"], made.made)

    def resumed() -> None:
        torn = RunFolder(folder / "torn")
        generate(session, torn, quiet=True)
        (_, path), *_ = torn.sample_files()
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        again = generate(session, torn, quiet=True)
        check("resume", 0 < again.made < N * 30 and _lines(torn) == _lines(main), again.made)

    def replayed() -> None:
        folder_of = RunFolder(folder / "replayed")
        config = _config(model=str(main.path), backend="replay", backend_args={})
        generate(prepare(config), folder_of, quiet=True)
        check("replay", _texts(folder_of) == _texts(main))

    def merged() -> None:
        parts = [folder / f"part{number}" for number in (1, 2)]
        for number, part in enumerate(parts, start=1):
            generate(prepare(_config(shard=f"{number}/2")), RunFolder(part), quiet=True)
        merge(parts, folder / "merged")
        check("shards", _lines(RunFolder(folder / "merged")) == _lines(main))

    def graded() -> None:
        figures, wrong = _figures(session, main)
        for name, value in EXPECTED.items():
            check(name, figures[name] == value, figures[name])
        check("grades", not wrong, wrong[:3])

    def reported() -> None:
        if find_spec("stare.evals.grading") is None or find_spec("stare.evals.results") is None:
            return
        import_module("stare.evals.grading").grade_run(main, "stare")
        results = import_module("stare.evals.results").build(main, ["stare"])
        value = _average(results)
        check("results", abs(value - float(AVERAGE)) < 1e-12, value)

    steps = [
        ("samples", sampled),
        ("resume", resumed),
        ("replay", replayed),
        ("shards", merged),
        ("grading", graded),
        ("results", reported),
    ]
    for name, step in steps:
        try:
            step()
        except (StareError, OSError, LookupError) as error:
            check(name, False, f"{type(error).__name__}: {error}")
    return checks


def _config(**changes: Any) -> EvalConfig:
    values: dict[str, Any] = {
        "model": "mock",
        "backend": "mock",
        "bench": f"{BENCH}:{N}",
        "backend_args": dict(ODDS),
    }
    return EvalConfig(**{**values, **changes})


def _lines(folder: RunFolder) -> list[dict[str, Any]]:
    """Samples as they are written, times aside."""
    rows = [sample_line(sample) for sample in folder.samples(BENCH)]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def _texts(folder: RunFolder) -> list[tuple[Any, ...]]:
    return [(sample.key, sample.text, sample.finish_reason) for sample in folder.samples(BENCH)]


def _figures(session: Session, folder: RunFolder) -> tuple[dict[str, Any], list[str]]:
    """Exact figures from the verifier's verdicts, and the samples it is wrong about."""
    from stare.passk import pass_at_k
    from stare.types import Verdict
    from stare.verify import grade_batch

    samples: list[Sample] = list(folder.samples(BENCH))
    golds = session.benchmarks[BENCH].golds
    grades = grade_batch(
        [sample.text for sample in samples], [list(golds[sample.problem_id]) for sample in samples]
    )
    right: Counter[str] = Counter()
    wrong = []
    for sample, grade in zip(samples, grades, strict=True):
        assert sample.seed is not None
        expected = truth(sample.key, sample.seed, **ODDS)
        correct = grade.verdict is Verdict.CORRECT
        right[sample.problem_id] += correct
        if correct != (expected == "correct"):
            wrong.append(f"{sample.problem_id}/{sample.sample}: {grade.verdict}, not {expected}")
    counts = [right[problem.id] for problem in session.benchmarks[BENCH].problems]
    passes = [Fraction(pass_at_k(N, count, N)).limit_denominator(1000) for count in counts]
    figures = {
        "samples": len(samples),
        "correct": sum(counts),
        "avg@4": Fraction(sum(counts), N * len(counts)),
        "pass@4": sum(passes, Fraction(0)) / len(counts),
        "truncated": sum(sample.finish_reason == "length" for sample in samples),
    }
    return figures, wrong


def _average(results: dict[str, Any]) -> float:
    """avg@n of the benchmark in a `results.json`."""
    entry = results["benchmarks"][BENCH]
    value = entry["avg@n"]
    return float(value["value"] if isinstance(value, dict) else value)
