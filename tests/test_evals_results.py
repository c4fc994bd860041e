import json
import math
import random
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graded_runs import GOLDS, drawn_samples, make_run, sample
from stare.errors import ArgumentError, RunError
from stare.evals.grading import grade_run, read_grades
from stare.evals.results import RESULTS_FILE, build, dump, up_to_date, write_results
from stare.evals.run_facts import answered
from stare.evals.stats.counts import load_counts
from stare.evals.store import RunFolder


def codes(results):
    return {(one["bench"], one["code"]) for one in results["warnings"]}


def test_results_are_the_same_bytes_whatever_the_order_and_sharding(tmp_path):
    rows = drawn_samples(GOLDS, 8)
    texts = set()
    for workers in (1, 2, 7):
        random.Random(workers).shuffle(rows)
        folder = make_run(tmp_path / str(workers), GOLDS, rows, n=8, workers=workers)
        results = up_to_date(folder, ["stare", "integer"])
        write_results(folder, results)
        texts.add((folder.path / RESULTS_FILE).read_bytes())
        assert dump(results).encode() in texts
        assert build(folder, ["stare", "integer"]) == results
    assert len(texts) == 1


def by_hand(folder: RunFolder, bench: str) -> dict[str, float]:
    """The figures, worked out from the raw files sample by sample."""
    lines = (folder.path / "grades" / "stare.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    groups: dict[str, list[dict]] = {}
    for row in rows:
        if row["bench"] == bench:
            groups.setdefault(row["problem_id"], []).append(row)
    right = {p: [r["outcome"] == "correct" for r in g] for p, g in groups.items()}
    every = [r for g in groups.values() for r in g]

    def mean(values):
        return math.fsum(values) / len(values)

    def drawn(values, k, rule):
        draws = list(combinations(values, k))
        return sum(map(rule, draws)) / len(draws)

    def majority(p):
        votes: dict[str, int] = {}
        good = set()
        for row in groups[p]:
            key = row["answer_key"] or row["extracted"]
            if row["outcome"] == "correct":
                key = "the gold"
                good.add(key)
            if key is not None:
                votes[key] = votes.get(key, 0) + 1
        lead = [key for key in votes if votes[key] == max(votes.values())]
        return sum(key in good for key in lead) / len(lead) if lead else 0.0

    n = len(every) // len(groups)
    found = {
        "avg": mean([mean(one) for one in right.values()]),
        "pass@2": mean([drawn(one, 2, any) for one in right.values()]),
        "pass^2": mean([drawn(one, 2, all) for one in right.values()]),
        f"maj@{n}": mean([majority(p) for p in groups]),
        "tokens": mean([s.n_tokens for s in answered(folder, bench)]),
    }
    for name in ("truncated", "no_answer", "undecided"):
        found[name] = mean([r["outcome"] == name for r in every])
    stopped = {s.key for s in answered(folder, bench) if s.finish_reason == "stop"}
    grades = read_grades(folder, "stare")
    found["finished"] = mean([grades[key].outcome == "correct" for key in stopped])
    return found


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 4, 6]))
def test_figures_equal_a_slow_recomputation_from_the_raw_grades(tmp_path_factory, seed, n):
    path = tmp_path_factory.mktemp("run")
    folder = make_run(path, GOLDS, drawn_samples(GOLDS, n, seed), n=n)
    results = up_to_date(folder, ["stare"])
    for bench, one in results["benchmarks"].items():
        assert {
            "avg": one["avg@n"]["value"],
            "pass@2": one["pass@k"]["2"]["value"],
            "pass^2": one["pass^k"]["2"]["value"],
            f"maj@{n}": one["maj@k"][str(n)]["value"],
            "tokens": one["tokens"]["mean"],
            "truncated": one["rates"]["truncated"],
            "no_answer": one["rates"]["no_answer"],
            "undecided": one["rates"]["undecided"],
            "finished": one["finished"]["accuracy"],
        } == pytest.approx(by_hand(folder, bench), abs=1e-12)
        assert sum(one["outcomes"].values()) == one["samples"]
        assert one["avg@n"]["value"] == one["score_bounds"]["undecided_wrong"]
    scores = [one["avg@n"]["value"] for one in results["benchmarks"].values()]
    assert results["macro"]["avg@n"]["value"] == pytest.approx(sum(scores) / len(scores))


def test_compare_reads_them(tmp_path):
    folder = make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 4), n=4)
    results = up_to_date(folder)
    write_results(folder, results)
    counts = load_counts(folder.path)
    assert set(counts) == set(GOLDS)
    rows = results["benchmarks"]["sums"]["per_problem"]
    assert counts["sums"].ids == tuple(row["id"] for row in rows)
    assert counts["sums"].ids[:3] == ("sums-1", "sums-2", "sums-3")


def test_pass_at_k_stops_at_n(tmp_path):
    folder = make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 6), n=6)
    assert list(up_to_date(folder)["benchmarks"]["sums"]["pass@k"]) == ["1", "2", "4", "6"]


def test_missing_samples_are_neither_wrong_nor_right(tmp_path):
    rows = [sample("b", "p", at, r"\boxed{7}") for at in range(4)]
    rows += [sample("b", "q", at, r"\boxed{7}") for at in range(2)]
    folder = make_run(tmp_path / "run", {"b": {"p": "7", "q": "7", "r": "7"}}, rows, n=4)
    one = (results := up_to_date(folder))["benchmarks"]["b"]
    assert one["coverage"] == 0.5
    assert not one["complete"]
    assert one["avg@n"]["value"] == 1.0
    assert list(one["pass@k"]) == ["1", "2"]
    assert {("b", "incomplete"), ("b", "unequal")} <= codes(results)
    assert results["warnings"][0]["level"] == "error"


def test_a_benchmark_without_samples_is_named(tmp_path):
    golds = {"b": {"p": "7"}, "empty": {"q": "7"}}
    folder = make_run(tmp_path / "run", golds, [sample("b", "p", 0, r"\boxed{7}")], n=1)
    results = up_to_date(folder)
    assert ("empty", "absent") in codes(results)
    assert results["macro"] is None
    whole = make_run(tmp_path / "whole", GOLDS, drawn_samples(GOLDS, 2), n=2)
    assert up_to_date(whole)["macro"]["complete"]
    part = make_run(tmp_path / "part", {**GOLDS, **golds}, drawn_samples(GOLDS, 2), n=2)
    assert not up_to_date(part)["macro"]["complete"]


def test_warnings(tmp_path):
    texts = [(r"\boxed{7}", "stop")] * 6 + [("x", "length"), (r"\boxed{\int_0^1 f\,dx}", "stop")]
    rows = [sample("b", "p", at, text, finish) for at, (text, finish) in enumerate(texts)]
    rows += [sample("b", "q", at, r"\boxed{7}") for at in range(8)]
    rows[0] = replace(rows[0], seed=None)
    folder = make_run(tmp_path / "run", {"b": {"p": "7", "q": "7"}}, rows, n=8)
    results = up_to_date(folder)
    wanted = {"truncated", "undecided", "large_k", "unseeded", "repeated"}
    assert {code for _, code in codes(results)} == wanted
    texts = {one["code"]: one["text"] for one in results["warnings"]}
    assert "6.2 % were cut off" in texts["truncated"]
    assert "the score would be 93.8 %" in texts["undecided"]
    single = make_run(tmp_path / "single", {"b": {"p": "7"}}, rows[:1], n=1)
    assert ("b", "single") in codes(up_to_date(single))
    levels = [one["level"] for one in results["warnings"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


def test_tolerance_is_named(tmp_path):
    row = sample("minerva_math", "p", 0, r"\boxed{9.6}")
    folder = make_run(tmp_path / "run", {"minerva_math": {"p": "9.6"}}, [row], n=1)
    results = up_to_date(folder)
    assert results["benchmarks"]["minerva_math"]["settings"] == {"tolerance": "gold-digits"}
    assert ("minerva_math", "tolerance") in codes(results)


def test_grades_of_other_texts_are_refused_and_renewed(tmp_path):
    rows = [sample("b", "p", at, r"\boxed{8}") for at in range(2)]
    folder = make_run(tmp_path / "run", {"b": {"p": "7"}}, rows, n=2)
    assert up_to_date(folder)["benchmarks"]["b"]["outcomes"]["correct"] == 0
    path = folder.path / "samples" / "b.0.jsonl"
    path.write_text(path.read_text().replace("boxed{8}", "boxed{7}"))
    with pytest.raises(RunError, match="2 samples have no grade, or that of another text"):
        build(folder)
    assert up_to_date(folder)["benchmarks"]["b"]["outcomes"]["correct"] == 2


def test_a_grown_run_needs_only_the_new_grades(tmp_path):
    rows = drawn_samples(GOLDS, 4)
    first = [one for one in rows if one.sample < 2]
    folder = make_run(tmp_path / "run", GOLDS, first, n=2)
    grade_run(folder, "stare")
    for one in rows:
        if one.sample >= 2:
            with folder.writer(one.bench, "late") as writer:
                writer.write(one)
    summary = grade_run(folder, "stare")
    assert (summary.reused, summary.graded) == (len(first), len(rows) - len(first))


def test_several_graders(tmp_path):
    folder = make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 4), n=4)
    results = up_to_date(folder, ["integer", "stare"])
    assert results["grader"] == "integer"
    assert list(results["agreement"]) == ["stare"]
    assert results["benchmarks"]["halves"]["rates"]["undecided"] > 0.3
    assert up_to_date(folder)["grader"] == "stare"
    with pytest.raises(ArgumentError, match="must differ"):
        build(folder, ["stare", "stare"])
