"""Whole runs on the tiny policy: resume is bit-exact, a kill loses at most one step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import ConfigError, DataError, RunError
from stare.train.checkpoint import CheckpointStore
from stare.train.cli import main
from stare.train.metrics import read_metrics
from stare.train.overrides import load_config
from stare.train.run import train

SMALL = [
    "rollout.prompts_per_step=4",
    "rollout.group_size=4",
    "eval.every=0",
    "optim.warmup_steps=2",
    "run.checkpoint_every=1",
]


def run(folder: Path, steps: int, *extra: str, resume: bool = False) -> None:
    train(load_config("demo-mod5", [*SMALL, f"run.steps={steps}", *extra]), folder, resume=resume)


def rows(folder: Path) -> list[dict[str, Any]]:
    """What a step computed, without what depends on the clock or the process."""
    volatile = ("time/", "speed/", "memory/")
    return [
        {k: v for k, v in row.items() if not k.startswith(volatile)}
        for row in read_metrics(folder / "metrics.jsonl").rows
    ]


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for key, x in value.items() for k, v in flat(x, f"{prefix}{key}.").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for i, x in enumerate(value) for k, v in flat(x, f"{prefix}{i}.").items()}
    return {prefix: value}


def assert_same_state(a: Path, b: Path) -> None:
    left, right = (CheckpointStore(p / "checkpoints").latest() for p in (a, b))
    assert left is not None
    assert right is not None
    assert left.step == right.step
    one, two = flat(left.state["model"]), flat(right.state["model"])
    one |= flat(left.state["learner"], "learner.")
    two |= flat(right.state["learner"], "learner.")
    assert one.keys() == two.keys()
    for key, value in one.items():
        same = torch.equal(value, two[key]) if torch.is_tensor(value) else value == two[key]
        assert same, key


def test_a_resumed_run_equals_the_uninterrupted_one(tmp_path: Path) -> None:
    run(tmp_path / "whole", 6)
    run(tmp_path / "parts", 2)
    run(tmp_path / "parts", 3, resume=True)
    run(tmp_path / "parts", 6, resume=True)
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    assert_same_state(tmp_path / "parts", tmp_path / "whole")


def test_the_same_seed_gives_the_same_run_and_another_does_not(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    run(tmp_path / "b", 2)
    run(tmp_path / "c", 2, "run.seed=1")
    assert rows(tmp_path / "a") == rows(tmp_path / "b")
    assert rows(tmp_path / "a") != rows(tmp_path / "c")


@pytest.mark.slow
def test_kill_9_loses_at_most_the_current_step(tmp_path: Path) -> None:
    run(tmp_path / "whole", 40)
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "stare.train.cli", "run", "demo-mod5", *SMALL]
    command += ["run.steps=40", f"run.out={folder}", "--resume"]
    kills = 0
    for _ in range(30):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ)
        begun = len(rows(folder)) if (folder / "metrics.jsonl").exists() else 0
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            done = len(rows(folder)) if (folder / "metrics.jsonl").exists() else 0
            if kills < 3 and done >= min(begun + 2, 39):
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.wait()
        seen = len(rows(folder))
        checkpoint = CheckpointStore(folder / "checkpoints").latest()
        assert checkpoint is not None
        assert seen - checkpoint.step <= 1, "more than the current step would be lost"
        if process.returncode == 0:
            break
    assert kills == 3
    assert rows(folder) == rows(tmp_path / "whole")
    assert_same_state(folder, tmp_path / "whole")


def test_a_torn_last_line_is_tolerated(tmp_path: Path) -> None:
    run(tmp_path / "a", 3)
    with (tmp_path / "a" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step":4,"entropy/ba')
    run(tmp_path / "a", 5, resume=True)
    history = read_metrics(tmp_path / "a" / "metrics.jsonl")
    assert [r["step"] for r in history.rows] == [1, 2, 3, 4, 5]
    assert history.torn == 1


def test_a_folder_with_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    run(tmp_path / "a", 2)
    before = (tmp_path / "a" / "metrics.jsonl").read_bytes()
    with pytest.raises(RunError, match="--resume"):
        run(tmp_path / "a", 2)
    with pytest.raises(RunError, match=r"run\.seed: 0 there, 5 here"):
        run(tmp_path / "a", 2, "run.seed=5", resume=True)
    assert (tmp_path / "a" / "metrics.jsonl").read_bytes() == before


def test_evaluation_does_not_disturb_training(tmp_path: Path) -> None:
    run(tmp_path / "plain", 3)
    run(tmp_path / "evaluated", 3, "eval.every=1", "eval.problems=3", "eval.n=4", "eval.ks=[1,4]")
    assert_same_state(tmp_path / "plain", tmp_path / "evaluated")
    last = read_metrics(tmp_path / "evaluated" / "metrics.jsonl").rows[-1]
    counts = json.loads((tmp_path / "evaluated" / "eval.json").read_text())
    assert last["eval/pass@1"] == pytest.approx(sum(counts["correct"]) / (4 * 3))
    assert last["eval/pass@4"] == pytest.approx(sum(c > 0 for c in counts["correct"]) / 3)


def test_a_failing_reward_marks_the_run_failed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="returned 1 rewards"):
        run(tmp_path / "a", 2, "reward.function=test_train_run:one_reward")
    status = json.loads((tmp_path / "a" / "run.json").read_text())
    assert status["status"] == "failed"
    assert "returned 1 rewards" in status["error"]


def one_reward(problems: object, completions: object) -> list[float]:
    return [1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "demo-mod5", "stare.varant=O1"], "stare.variant"),
        (["run", "demo-mod5", "optim.lr=-1"], "optim.lr"),
        (["run", "nonsense"], "unknown preset"),
        (["run", "demo-mod5", "reward.function=nowhere:fn"], "reward.function"),
        (["run", "demo-mod5", "run.device=cuda:9"], "run.device"),
        (["report", "does-not-exist"], "does-not-exist"),
    ],
)
def test_bad_arguments_exit_2_with_a_reason(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] == "run":
        arguments = [*arguments, f"run.out={tmp_path / 'x'}"]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_no_held_out_problems_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"problem": "1+1", "answer": "2"}\n')
    overrides = ["data.factory=none", f"data.path={tmp_path / 'd.jsonl'}", "eval.every=1"]
    with pytest.raises(ConfigError, match="no held-out problems"):
        train(load_config("demo-mod5", overrides), tmp_path / "r")
