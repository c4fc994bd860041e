"""The verbs compare, power and passk: what they print and how they exit."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

from stare.errors import ArgumentError, DataError
from stare.evals.cli import compare, passk, power
from stare.evals.cli._show import show_table
from stare.evals.stats.power import MIXES
from stare.evals.stats.tables import Table
from stare.passk import pass_at_k


def call(*argv: object) -> int:
    """The verb's exit code, as `stare-eval` would call it."""
    parser = argparse.ArgumentParser(prog="stare-eval")
    commands = parser.add_subparsers(required=True)
    for verb in (compare, passk, power):
        verb.add(commands)
    args = parser.parse_args([str(one) for one in argv])
    return args.run(args)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two run folders: B is better by eight points on two benchmarks."""
    folder = tmp_path_factory.mktemp("runs")
    mix = MIXES["aime"]
    for name, seed, effect in (("A", 1, 0.0), ("B", 2, 0.08)):
        benchmarks = {}
        for at, (bench, size, n) in enumerate((("aime24", 30, 32), ("math500", 500, 4))):
            logits = np.random.default_rng(at).choice(mix.logits_G, size=size, p=mix.weights_G)
            p = 1 / (1 + np.exp(-logits - mix.shift(effect)))
            counts = np.random.default_rng([seed, at]).binomial(n, p)
            benchmarks[bench] = {
                "per_problem": [
                    {"id": f"{bench}-{i}", "n": n, "c": int(c)} for i, c in enumerate(counts)
                ]
            }
        if name == "B":
            del benchmarks["aime24"]["per_problem"][7]
        (folder / name).mkdir()
        (folder / name / "results.json").write_text(json.dumps({"benchmarks": benchmarks}))
    return folder


def test_compare_prints_what_differs(runs, capsys):
    assert call("compare", runs / "A", runs / "B") == 0
    out = capsys.readouterr().out
    assert "aime24" in out
    assert "mean of 2" in out
    assert "B is ahead of A by" in out
    assert "more than chance explains (p < 0.001, stratified z)" in out
    assert "warning: aime24: 1 problems only in A, left out: aime24-7" in out


def test_compare_as_json_and_markdown(runs, capsys):
    assert call("compare", runs / "A", runs / "B", "--json", "--fail-below", -0.02) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["benchmarks"]] == ["aime24", "math500"]
    assert found["average"]["delta"]["value"] > 0
    assert found["benchmarks"][0]["only_a"] == ["aime24-7"]
    assert found["gate"]["passed"] is True
    assert call("compare", runs / "A" / "results.json", runs / "B", "--markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 5
    assert len({line.count("|") for line in table}) == 1
    assert call("compare", runs / "A", runs / "B", "--bench", "math500", "--json") == 0
    assert json.loads(capsys.readouterr().out)["average"] is None


def test_the_gate(runs, capsys):
    better, worse = ("compare", runs / "A", runs / "B"), ("compare", runs / "B", runs / "A")
    assert call(*better, "--fail-below", 0) == 0
    assert call(*worse, "--fail-below", 0) == 1
    assert "gate failed: estimate of the difference is -0.0" in capsys.readouterr().err
    # A gate near the difference: re-sampling may hide either side of it.
    assert call(*better, "--fail-below", 0.075, "--gate", "upper") == 0
    assert call(*better, "--fail-below", 0.075, "--gate", "lower") == 1
    assert call(*worse, "--fail-below", -0.9, "--gate", "lower") == 0
    with pytest.raises(ArgumentError, match=r"hint: 2 points are 0\.02"):
        call(*better, "--fail-below", -2)


def test_a_gate_on_what_is_not_known_fails(tmp_path, capsys):
    rows = [{"id": str(i), "n": 1, "c": i % 2} for i in range(6)]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"benchmarks": {"x": {"per_problem": rows}}}))
    assert call("compare", file, file, "--fail-below", -0.5) == 0
    capsys.readouterr()
    assert call("compare", file, file, "--fail-below", -0.5, "--gate", "lower", "--json") == 1
    done = capsys.readouterr()
    assert json.loads(done.out)["gate"] == {
        "on": "lower",
        "value": None,
        "fail_below": -0.5,
        "passed": False,
    }
    assert "not known" in done.err


def test_compare_with_a_published_figure(runs, capsys):
    name = "paper:STARE-O1:Qwen2.5-Math-7B"
    assert call("compare", runs / "B", "--baseline", name) == 0
    out = capsys.readouterr().out
    assert "published: STARE-O1, Qwen2.5-Math-7B-Base (short-cot)" in out
    assert "44.2" in out
    assert "its own error is not published" in out
    assert "p these" not in out  # no test without the problems
    assert call("compare", runs / "B", "--baseline", name, "--json", "--fail-below", 0) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"]["scores"]["aime24"] == 0.442
    assert found["gate"]["passed"] is False
    with pytest.raises(DataError, match=r"hint: nearest are\n  paper:STARE-O1:Qwen2\.5-M"):
        call("compare", runs / "B", "--baseline", "paper:STARE:Qwen2.5-Math-7B")


def test_the_baseline_may_be_a_run(runs, capsys):
    assert call("compare", runs / "B", "--baseline", runs / "A", "--json") == 0
    one = json.loads(capsys.readouterr().out)
    assert call("compare", runs / "A", runs / "B", "--json") == 0
    assert json.loads(capsys.readouterr().out) == one


def test_compare_needs_two_runs_that_are_there(runs, tmp_path):
    with pytest.raises(ArgumentError, match="needs two runs, got 1"):
        call("compare", runs / "A")
    with pytest.raises(ArgumentError, match="needs two runs, got 3"):
        call("compare", runs / "A", runs / "B", "--baseline", "paper:x:y")
    with pytest.raises(DataError, match="none: No such file"):
        call("compare", runs / "A", tmp_path / "none")


def test_runs_that_were_made_otherwise_are_pointed_out(runs, tmp_path, capsys):
    folders = []
    for name, temperature, rows in (("A", 1.0, "1f"), ("B", 0.6, "2e")):
        folder = tmp_path / name
        folder.mkdir()
        folders.append(folder)
        (folder / "results.json").write_bytes((runs / name / "results.json").read_bytes())
        manifest = {
            "benchmarks": {"aime24": {"data": {"rows": rows}}, "math500": {"data": {"rows": "0"}}},
            "determines": {"model": name, "sampling": {"temperature": temperature, "top_p": 0.7}},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
    expected = [
        'aime24: not the same data: rows "1f" and "2e"',
        "settings differ: sampling.temperature 1.0 and 0.6",
    ]
    assert call("compare", *folders, "--json") == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == expected
    assert call("compare", *folders) == 0
    assert f"warning: {expected[0]}\nwarning: {expected[1]}\n" in capsys.readouterr().out
    assert call("compare", folders[0], folders[0], "--json") == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    (folders[0] / "manifest.json").write_text("{")
    assert call("compare", *folders, "--json") == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_power(runs, capsys):
    design = ("power", "--problems", 30, "--n", 32)
    assert call(*design, "--effect", ".04") == 0
    out = capsys.readouterr().out
    assert "43 problems at n = 32 find it in 80 %" in out
    assert call(*design, "--json", "--simulations", 0, "--mix", "beta:2,2") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["simulated"] is None
    assert found["mix"]["mean"] == pytest.approx(0.5)
    assert call(*design, "--effect", 0, "--mix", runs / "A", "--bench", "aime24", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problems_for_80_percent"] is None
    assert found["closed_form"]["like_these"] == pytest.approx(0.05, abs=0.01)
    assert call("power", "--problems", 30, "--n", 1, "--json", "--simulations", 10) == 0
    assert json.loads(capsys.readouterr().out)["simulated"]["these_z"] is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (["--mix", "beta:1"], ArgumentError, "beta:A,B with two numbers"),
        (["--mix", "nothing"], DataError, "neither aime, math500, beta:A,B nor a run"),
        (["--effect", "4"], ArgumentError, "four points are 0.04"),
        (["--simulations", "-1"], ArgumentError, "simulations"),
    ],
)
def test_power_refuses(options, error, message: str):
    with pytest.raises(error, match=message):
        call("power", "--problems", 30, "--n", 32, *options)


def test_power_like_a_run_needs_its_benchmark(runs):
    with pytest.raises(DataError, match="--bench must name one of the run's: aime24, math500"):
        call("power", "--problems", 30, "--n", 32, "--mix", runs / "A")


def test_passk_of_counts(capsys):
    assert call("passk", "-n", 32, "-c", 5, "-k", 1, 8, 33) == 0
    lines = capsys.readouterr().out.split()
    assert lines == [str(pass_at_k(32, 5, k)) for k in (1, 8, 33)]
    assert call("passk", "-n", 4, "-c", 1, "-k", 2, 5, "--json") == 0
    assert json.loads(capsys.readouterr().out)["pass@k"] == {"2": 0.5, "5": None}


def test_passk_of_a_run(runs, capsys):
    assert call("passk", runs / "A") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    ks = [row[1] for row in rows if row and row[0] == "aime24"]
    assert ks == ["1", "2", "4", "8", "16", "32"]
    assert call("passk", runs / "A", "-k", 8, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["aime24"]["8"]["ci"][0] < found["aime24"]["8"]["value"]
    assert found["math500"]["8"]["value"] is None  # four samples were drawn
    for wrong in (["-n", 4], [runs / "A", "-n", 4, "-c", 1, "-k", 1], []):
        with pytest.raises(ArgumentError, match="passk needs RUN, or all of"):
            call("passk", *wrong)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_wider_than_the_terminal_is_parted(width: int, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    header = ("name", *(f"column {i}" for i in range(10)))
    table = Table(header, (("x", *(f"{i}{i}{i}.{i}" for i in range(10))),))
    show_table(table)
    out = capsys.readouterr().out
    for i in range(10):
        assert f"{i}{i}{i}.{i}" in out  # nothing is cut short
