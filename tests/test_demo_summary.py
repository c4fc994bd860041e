"""The demo's table and words come from the run folders, whatever they hold."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from stare.demo.__main__ import main
from stare.demo.arms import ARMS, FULL, QUICK, Run
from stare.demo.export import export
from stare.demo.runner import is_finished, last_row
from stare.demo.summary import ArmSummary, markdown_table, rich_table, summarise, words
from stare.errors import RunError
from stare.passk import pass_at_k
from stare.train.config import to_dict
from stare.train.overrides import load_config


def fake_run(root: Path, arm: str, seed: int, *, entropy: float, correct: list[int]) -> Run:
    """A run folder of 100 steps whose entropy is constant after step 60."""
    run = Run(
        name=f"mod5-{arm}-s{seed}",
        preset="demo-mod5",
        arm=ARMS[arm],
        seed=seed,
        settings={"run.steps": 100},
    )
    folder = root / run.name
    folder.mkdir(parents=True)
    lines = [{"step": 0, "eval/pass@1": 0.1}]
    for step in range(1, 101):
        value = 0.3 if step <= 60 else entropy
        row = {"step": step, "entropy/batch": value, "entropy/rollouts": value / 2}
        more = {"entropy/target": 0.2, "groups/kept": 7, "stare/w": 1.5, "length/mean": 13.0}
        lines.append(row | more)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    counts = {"step": 100, "problem_ids": ["a", "b", "c", "d"], "n": 32, "correct": correct}
    (folder / "eval.json").write_text(json.dumps(counts | {"greedy": [c > 16 for c in correct]}))
    config = to_dict(load_config(run.preset, [*run.overrides(), f"run.out={folder}"]))
    (folder / "config.json").write_text(json.dumps({"config": config}))
    status = {"status": "finished", "step": 100}
    (folder / "run.json").write_text(json.dumps(status))
    return run


def rows_of(root: Path, *runs: Run) -> list[ArmSummary]:
    return summarise(list(runs), {r.name: root / r.name for r in runs})


def test_means_over_seeds_and_the_band(tmp_path: Path) -> None:
    runs = [
        fake_run(tmp_path, "stare-pi", 0, entropy=0.21, correct=[32, 16, 0, 1]),
        fake_run(tmp_path, "stare-pi", 1, entropy=0.25, correct=[0, 16, 0, 1]),
    ]
    (row,) = rows_of(tmp_path, *runs)
    assert row.seeds == 2
    assert row.in_band == pytest.approx(0.5), "0.21 is within 10 % of 0.2, 0.25 is not"
    assert row.entropy == pytest.approx((0.21 + 0.25) / 4)
    assert (row.groups, row.w) == (7, 1.5)
    expected = sum(pass_at_k(32, c, 8) for c in (32, 16, 0, 1, 0, 16, 0, 1)) / 8
    assert row.scores["pass@8"].mean == pytest.approx(expected)
    assert row.scores["pass@8"].low <= expected <= row.scores["pass@8"].high
    assert row.scores["greedy"].mean == pytest.approx(1 / 8)


def test_words_claim_nothing_where_intervals_overlap(tmp_path: Path) -> None:
    base = fake_run(tmp_path, "grpo-ds", 0, entropy=0.02, correct=[16, 16, 15, 17])
    ours = fake_run(tmp_path, "stare-pi", 0, entropy=0.2, correct=[17, 17, 16, 16])
    said = words(rows_of(tmp_path, base, ours))
    assert "pass@1 is 0.02 above GRPO-ds (0.52 against 0.50; the intervals overlap" in said
    assert "GRPO-ds ends at 5% of the target entropy" in said


def test_words_say_when_ours_is_worse(tmp_path: Path) -> None:
    base = fake_run(tmp_path, "grpo-ds", 0, entropy=0.02, correct=[32, 32, 31, 32])
    ours = fake_run(tmp_path, "stare-pi", 0, entropy=0.2, correct=[2, 1, 0, 1])
    assert "pass@1 is 0.96 below GRPO-ds" in words(rows_of(tmp_path, base, ours))
    assert "the intervals are apart" in words(rows_of(tmp_path, base, ours))


def test_a_run_shorter_than_the_settling_time_claims_no_band(tmp_path: Path) -> None:
    arms = ("grpo-ds", "stare-pi")
    runs = [fake_run(tmp_path, arm, 0, entropy=0.2, correct=[1, 2, 3, 4]) for arm in arms]
    for run in runs:
        path = tmp_path / run.name / "metrics.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:51]))
    rows = rows_of(tmp_path, *runs)
    assert "nan" not in markdown_table(rows) + words(rows)


def test_words_need_both_arms(tmp_path: Path) -> None:
    base = fake_run(tmp_path, "grpo-ds", 0, entropy=0.02, correct=[1, 1, 1, 1])
    assert words(rows_of(tmp_path, base)) == ""


def test_both_tables_hold_the_same_cells(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, fake_run(tmp_path, "grpo-ds", 0, entropy=0.02, correct=[3, 1, 4, 1]))
    markdown = markdown_table(rows).splitlines()
    assert len(markdown[-1].split("|")) == len(markdown[2].split("|"))
    assert rich_table(rows).row_count == len(markdown[2].split("|")) - 3
    assert "GRPO-ds (no STARE)" in markdown[-1]


def test_runs_on_other_problems_are_not_pooled(tmp_path: Path) -> None:
    runs = [fake_run(tmp_path, "grpo-ds", s, entropy=0.1, correct=[1, 1, 1, 1]) for s in (0, 1)]
    path = tmp_path / runs[1].name / "eval.json"
    path.write_text(path.read_text().replace('"d"', '"e"'))
    with pytest.raises(RunError, match="different problems"):
        rows_of(tmp_path, *runs)


def test_every_arm_of_every_plan_is_a_valid_configuration() -> None:
    for run in (*QUICK.runs(), *FULL.runs()):
        config = load_config(run.preset, run.overrides())
        assert config.run.seed == run.seed
        assert config.run.steps == run.settings["run.steps"]
    names = [run.name for run in FULL.runs()]
    assert len(set(names)) == len(names) == 3 * 6 * 3


def test_a_finished_run_is_known_by_its_length(tmp_path: Path) -> None:
    run = fake_run(tmp_path, "grpo-ds", 0, entropy=0.1, correct=[1, 1, 1, 1])
    longer = Run(**{**{f: getattr(run, f) for f in run.__slots__}, "settings": {"run.steps": 200}})
    assert is_finished(tmp_path / run.name, run)
    assert not is_finished(tmp_path / run.name, longer)
    assert not is_finished(tmp_path / "nothing", run)
    other = Run(**{**{f: getattr(run, f) for f in run.__slots__}, "arm": ARMS["stare-o1"]})
    assert not is_finished(tmp_path / run.name, other), "other settings are another run"


def test_last_row_skips_a_line_that_is_being_written(tmp_path: Path) -> None:
    assert last_row(tmp_path) == {}
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2}\n{"step": 3, "entro')
    assert last_row(tmp_path) == {"step": 2}


def test_export_is_deterministic_and_tells_no_paths(tmp_path: Path) -> None:
    runs = [fake_run(tmp_path / "runs", "grpo-ds", s, entropy=0.1, correct=[1] * 4) for s in (0, 1)]
    first, second = tmp_path / "a", tmp_path / "b"
    assert export(tmp_path / "runs", first) == [r.name for r in runs]
    export(tmp_path / "runs", second)
    for name in ("metrics.csv.gz", "evals.json", "configs.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
        assert str(tmp_path).encode() not in (first / name).read_bytes()
    text = gzip.decompress((first / "metrics.csv.gz").read_bytes()).decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert len(table) == 2 * 101
    assert table[100]["entropy/batch"] == "0.1"


def test_bad_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--workers", "0"])
    assert "--workers must be >= 1, got 0" in capsys.readouterr().err
