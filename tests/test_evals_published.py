"""The published table, and a run held against it."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from stare.errors import DataError
from stare.evals.stats.counts import BenchCounts
from stare.evals.stats.published import _table, compare_published, find_published

ROW = "paper:STARE-O1:Qwen2.5-Math-7B"


def bench(name: str, c, n: int) -> BenchCounts:
    c = tuple(int(one) for one in c)
    ids = tuple(f"{name}-{at}" for at in range(len(c)))
    return BenchCounts(name=name, ids=ids, n=(n,) * len(c), c=c)


def test_the_packaged_table_is_the_papers(shared):
    columns = {
        "aime24": "aime24",
        "aime25": "aime25",
        "amc23": "amc23",
        "math500": "math500",
        "minerva": "minerva_math",
        "olympiad": "olympiadbench",
    }
    with open(shared / "paper" / "table2.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    packaged = _table("paper-table2.json")["rows"]
    assert len(packaged) == len(rows) == 35
    for row, ours in zip(rows, packaged, strict=True):
        scores = {name: float(row[old]) for old, name in columns.items() if row[old]}
        assert ours["scores"] == scores
        assert ours.get("average") == (float(row["avg"]) if row["avg"] else None)
        assert (ours["scenario"], ours["model"], ours["method"], ours["source"]) == (
            row["scenario"],
            row["base_model"],
            row["method"],
            row["source"],
        )


def test_every_row_is_found_by_its_own_name():
    for row in _table("paper-table2.json")["rows"]:
        found = find_published(f"paper:{row['method']}:{row['model']}")
        assert (found.scenario, found.method, found.model) == (
            row["scenario"],
            row["method"],
            row["model"],
        )


@pytest.mark.parametrize(
    "name",
    [ROW, ROW + "-Base", "paper:stare-o1:qwen2.5-math-7b", "paper:STARE-O1:Qwen/Qwen2.5-Math-7B"],
)
def test_spelling_of_a_model_does_not_matter(name: str):
    row = find_published(name)
    assert row.model == "Qwen2.5-Math-7B-Base"
    assert row.scores["aime25"] == 0.238
    assert "authors of the paper" in row.origin


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("paper:STARE-01:Qwen2.5-Math-7B", "paper:STARE-O1:Qwen2.5-Math-7B-Base"),
        ("paper:STARE-O1:Qwen2.5-Math", "paper:STARE-O1:Qwen2.5-Math-7B-Base"),
        ("paper:DAPO", "paper:DAPO:Qwen2.5-32B-Base"),
        ("paper", "hint: nearest"),
        ("table:x:y", "hint: paper:METHOD:MODEL"),
    ],
)
def test_unknown_rows_offer_the_nearest(name: str, offered: str):
    with pytest.raises(DataError, match="hint") as error:
        find_published(name)
    assert offered in str(error.value)


def test_measured_against_published():
    generator = np.random.default_rng(0)
    run = {
        "aime24": bench("aime24", generator.binomial(32, 0.442, 30), 32),
        "math500": bench("math500", generator.binomial(4, 0.5, 500), 4),
        "gsm8k": bench("gsm8k", [1], 1),
    }
    found, warnings = compare_published(run, find_published(ROW))
    aime, maths, mean = found
    assert [one.name for one in found] == ["aime24", "math500", "mean of 2"]
    assert aime.difference == pytest.approx(aime.measured.value - 0.442)
    assert aime.band == pytest.approx(1.959964 * math.sqrt(2) * aime.measured.se_sampling)
    assert aime.reading == "within the band"
    assert maths.reading == "below the band"
    assert mean.published == pytest.approx((0.442 + 0.861) / 2)
    assert (aime.metric, maths.metric, mean.metric) == ("avg@32", "avg@4", "")
    assert "arXiv 2606.19236v1, table 2" in warnings[0]
    assert warnings[-1] == "published but not compared: aime25, amc23, minerva_math, olympiadbench"
    json.dumps([one.to_json() for one in found], allow_nan=False)


def test_both_olympiads_are_held_against_the_one_figure():
    run = {"olympiadbench674": bench("olympiadbench674", [1] * 674, 4)}
    found, warnings = compare_published(run, find_published(ROW))
    assert found[0].published == 0.447
    assert not any("problems measured" in one for one in warnings)


def test_what_limits_the_comparison_is_said():
    run = {"aime24": bench("aime24", [1, 0, 1], 1)}
    found, warnings = compare_published(run, find_published(ROW))
    assert found[0].reading == "not known: one sample a problem"
    assert "aime24: 3 problems measured, published is over 30" in warnings
    with pytest.raises(DataError, match="no benchmark in common"):
        compare_published({"gsm8k": bench("gsm8k", [1], 1)}, find_published(ROW))
    with pytest.raises(DataError, match="no published 'gsm8k'"):
        compare_published(
            run | {"gsm8k": bench("gsm8k", [1], 1)}, find_published(ROW), benches=["gsm8k"]
        )
    with pytest.raises(DataError, match="the run has no 'aime25'"):
        compare_published(run, find_published(ROW), benches=["aime25"])
