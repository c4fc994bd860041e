"""`results.json`: grades and samples of a run to every figure a report shows.

A function of samples, grades and settings alone: the same bytes whatever the order or sharding of
the samples, the number of workers, the machine and the day.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stare.errors import ArgumentError, RunError
from stare.evals.agreement import agreement
from stare.evals.files import write_json
from stare.evals.graders import DEFAULT_GRADER, grader_named
from stare.evals.grading import (
    StaleGradesError,
    Tick,
    grade_run,
    grade_settings,
    graders_of,
    read_grades,
)
from stare.evals.records import GradeRow, Key
from stare.evals.run_facts import RunFacts, benches_of, run_facts
from stare.evals.stats.errors import (
    Estimate,
    estimate,
    jsonable,
    macro_estimate,
    metric_variance,
    rate_variance,
)
from stare.evals.stats.metrics import (
    curve,
    g_pass_at_k,
    macro,
    mg_pass_at_k,
    pass_at_k,
    pass_pow_k,
    rate,
    score_bounds,
    usual_ks,
)
from stare.evals.stats.voting import ballot, maj_at_k, maj_variance
from stare.evals.store import RunFolder
from stare.evals.tally import ProblemTally, outcome_counts, sample_facts, tally
from stare.evals.warnings import warnings_of

__all__ = ["RESULTS_FILE", "SCHEMA", "build", "dump", "up_to_date", "write_results"]

SCHEMA = 1
RESULTS_FILE = "results.json"
_TAUS = ("0.25", "0.5", "0.75", "1")


def build(folder: RunFolder, graders: Sequence[str] = ()) -> dict[str, Any]:
    """All results of a graded run.

    Args:
        folder: the run, its grades up to date.
        graders: names; the first one's grades make the scores, the others are held against it.
            Empty: all that the run has been graded by.

    Returns:
        Plain JSON values; None where a figure is undefined.

    Raises:
        RunError: there are no samples; `StaleGradesError`: no grades, or not of these texts.
        DataError: a file is damaged.
    """
    names = list(graders) or graders_of(folder) or [DEFAULT_GRADER]
    if len(set(names)) != len(names):
        raise ArgumentError(f"graders must differ, got {', '.join(names)}")
    grades = {name: read_grades(folder, name) for name in names}
    facts = run_facts(folder)
    if not benches_of(folder):
        raise RunError(f"{folder.path} has no samples\nhint: stare-eval run, or convert")
    settings = grade_settings(folder, names[0])
    benches, scores = {}, {}
    for bench in benches_of(folder):
        problems = tally(folder, bench, sample_facts(folder, bench), grades[names[0]])
        benches[bench] = _bench(bench, problems, facts, settings.get(bench, {}))
        scores[bench] = problems
    results = {
        "v": SCHEMA,
        "run": dict(facts.run),
        "grader": names[0],
        "graders": {name: _grader(name, grade_settings(folder, name)) for name in names},
        "benchmarks": benches,
        "macro": _macro(scores, benches, facts),
        "agreement": _agreement(names, grades),
        "warnings": warnings_of(benches, facts),
    }
    return {name: jsonable(value) for name, value in results.items()}


def up_to_date(
    folder: RunFolder,
    graders: Sequence[str] = (),
    *,
    data_dir: Path | None = None,
    threads: int = 0,
    tick: Tick = lambda rows: None,
) -> dict[str, Any]:
    """The results of a run; what is not graded yet, or changed since, is graded first.

    Args:
        folder: the run.
        graders: as in `build`; empty: those the run has been graded by, else the default one.
        data_dir: where imported benchmarks are; not looked at if all is graded.
        threads: as in `stare.verify.grade_batch`.
        tick: told of progress in samples.
    """
    names = list(graders) or graders_of(folder) or [DEFAULT_GRADER]
    try:
        return build(folder, names)
    except StaleGradesError:
        for name in names:
            grade_run(folder, name, data_dir=data_dir, threads=threads, tick=tick)
        return build(folder, names)


def dump(results: Mapping[str, Any]) -> str:
    """The text of `results.json`: keys sorted, the shortest digits of each number."""
    text = json.dumps(results, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return text + "\n"


def write_results(folder: RunFolder, results: Mapping[str, Any]) -> None:
    """Write `results.json`, whole or not at all."""
    write_json(folder.path / RESULTS_FILE, results)


def _grader(name: str, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    versions = sorted({one["version"] for one in settings.values()}, key=str)
    about = grader_named(name).about
    return {"version": versions[0] if len(versions) == 1 else versions, "about": about}


def _bench(
    bench: str, problems: list[ProblemTally], facts: RunFacts, settings: Mapping[str, Any]
) -> dict[str, Any]:
    c, n = [one.c for one in problems], [one.n for one in problems]
    wanted_n = facts.n.get(bench, max(n))
    wanted = facts.problems.get(bench, len(problems)) * wanted_n
    samples = sum(n)
    counts = outcome_counts(problems)
    low, high = score_bounds(c, [one.count("undecided") for one in problems], n)
    ks = usual_ks(min(n))
    return {
        "n": wanted_n,
        "problems": len(problems),
        "samples": samples,
        "coverage": min(1.0, samples / wanted),
        "complete": samples >= wanted and len(set(n)) == 1,
        "samples_a_problem": [min(n), max(n)],
        "avg@n": _estimate(estimate(rate(c, n), rate_variance(c, n))),
        "pass@k": {str(k): _at_k(pass_at_k, c, n, k) for k in ks},
        "pass^k": {str(k): _at_k(pass_pow_k, c, n, k) for k in ks},
        "maj@k": _majority(problems, ks),
        "g_pass@k": {tau: {str(k): macro(g_pass_at_k(c, n, k, tau)) for k in ks} for tau in _TAUS},
        "mg_pass@k": {str(k): value for k, value in curve(mg_pass_at_k, c, n, ks).items()},
        "outcomes": counts,
        "rates": {name: count / samples for name, count in counts.items()},
        "score_bounds": {"undecided_wrong": low, "undecided_correct": high},
        "finished": _finished(problems),
        "tokens": _tokens(problems),
        "unseeded": sum(not fact.seeded for one in problems for fact in one.facts),
        "aborted": sum(fact.finish_reason == "abort" for one in problems for fact in one.facts),
        "repeated": _repeated(problems),
        "settings": {"tolerance": settings.get("tolerance")},
        "data": {
            name: value
            for name, value in facts.data.get(bench, {}).items()
            if name in ("rows", "sha256", "golds_sha256", "identity", "gold")
        },
        "per_problem": [_problem(one) for one in problems],
    }


def _estimate(one: Estimate) -> dict[str, Any]:
    return one.to_json()


def _at_k(metric: Any, c: list[int], n: list[int], k: int) -> dict[str, Any]:
    return _estimate(estimate(metric(c, n, k), metric_variance(metric, c, n, k)))


def _majority(problems: list[ProblemTally], ks: tuple[int, ...]) -> dict[str, Any]:
    ballots = [ballot(*one.votes()) for one in problems]
    return {str(k): _estimate(estimate(maj_at_k(ballots, k), maj_variance(ballots, k))) for k in ks}


def _finished(problems: list[ProblemTally]) -> dict[str, Any]:
    """Accuracy of the responses that the model ended itself, pooled over problems."""
    rows = [
        row.outcome == "correct"
        for one in problems
        for fact, row in zip(one.facts, one.grades, strict=True)
        if fact.finish_reason == "stop"
    ]
    return {"samples": len(rows), "accuracy": sum(rows) / len(rows) if rows else None}


def _tokens(problems: list[ProblemTally]) -> dict[str, Any]:
    known = sorted(
        fact.n_tokens for one in problems for fact in one.facts if fact.n_tokens is not None
    )
    if not known:
        return {"known": 0, "mean": None, "p50": None, "p95": None, "max": None}
    return {
        "known": len(known),
        "mean": sum(known) / len(known),
        "p50": _quantile(known, 0.5),
        "p95": _quantile(known, 0.95),
        "max": known[-1],
    }


def _quantile(ordered: list[int], share: float) -> int:
    """The smallest value that this share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _repeated(problems: list[ProblemTally]) -> int:
    """Problems with several samples whose texts are all the same."""
    return sum(one.n > 1 and len({fact.sha for fact in one.facts}) == 1 for one in problems)


def _problem(one: ProblemTally) -> dict[str, Any]:
    tokens = [fact.n_tokens for fact in one.facts if fact.n_tokens is not None]
    return {
        "id": one.id,
        "n": one.n,
        "c": one.c,
        "no_answer": one.count("no_answer"),
        "truncated": one.count("truncated"),
        "undecided": one.count("undecided"),
        "failed": one.count("grader_timeout") + one.count("grader_error"),
        "tokens": sum(tokens) / len(tokens) if tokens else None,
    }


def _macro(
    scores: Mapping[str, list[ProblemTally]], benches: Mapping[str, Any], facts: RunFacts
) -> dict[str, Any] | None:
    """The average over benchmarks; None for a single one."""
    if len(scores) < 2:
        return None
    counts = {
        bench: ([one.c for one in problems], [one.n for one in problems])
        for bench, problems in scores.items()
    }
    total = macro_estimate(
        {bench: rate(*one) for bench, one in counts.items()},
        {bench: rate_variance(*one) for bench, one in counts.items()},
    )
    whole = all(bench in benches and benches[bench]["complete"] for bench in {*facts.n, *scores})
    return {"benchmarks": sorted(scores), "complete": whole, "avg@n": _estimate(total)}


def _agreement(names: list[str], grades: Mapping[str, Mapping[Key, GradeRow]]) -> dict[str, Any]:
    return {name: agreement(grades[names[0]], grades[name]) for name in names[1:]}
