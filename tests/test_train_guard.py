"""What stops a long run: a stalled step, numbers that are not finite, a full disk."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import guard_helpers
from stare.errors import ConfigError, RunError
from stare.train.checkpoint import CheckpointStore
from stare.train.cli import main
from stare.train.metrics import JsonlWriter
from stare.train.nan_guard import BadSteps
from stare.train.overrides import load_config
from stare.train.run import train
from stare.train.watchdog import STALLED
from test_train_run import SMALL, assert_same_state, rows

RUN = ["run", "demo-mod5", *SMALL, "rollout.max_refills=0", "run.steps=4"]


def status(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def gone(pid: int, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_a_stalled_step_ends_with_stacks_and_is_resumed(tmp_path: Path) -> None:
    run = [*RUN, "reward.function=guard_helpers:stalls"]
    guarded = [*run, f"run.out={tmp_path / 'run'}", "guard.step_timeout_s=4"]
    process = guard_helpers.start(guarded, STARE_TEST_STALL="1")
    _, said = process.communicate(timeout=100)
    assert process.returncode == STALLED == 75, said
    assert "no progress for 4 s in phase 'rollout'" in said
    assert (status(tmp_path / "run")["status"], status(tmp_path / "run")["step"]) == ("stalled", 3)
    (stacks,) = (tmp_path / "run").glob("stalled-*.txt")
    assert "guard_helpers.py" in stacks.read_text()
    assert "in stalls" in stacks.read_text()
    # As a supervisor would; the guard may change, since it alters no step.
    assert main([*run, f"run.out={tmp_path / 'run'}", "--resume"]) == 0
    assert main([*run, f"run.out={tmp_path / 'whole'}"]) == 0
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")
    assert_same_state(tmp_path / "run", tmp_path / "whole")


def test_a_busy_engine_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """Its link is not read while it generates, so a closed one would not tell it."""
    fake = Path(__file__).with_name("fake_vllm.py")
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "hang").touch()
    program = (
        "import sys\n"
        "from stare.rollout.vllm_engine import EngineProcess, Job\n"
        f"command = [sys.executable, {str(fake)!r}, {str(tmp_path)!r}]\n"
        f"engine = EngineProcess({{'model': {str(tmp_path)!r}}}, start_timeout_s=60,"
        " command=command)\n"
        "print(engine.pid, flush=True)\n"
        "engine.call('sample', [Job([1], 0, 1.0, 1.0, 4, (), ())], timeout_s=600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        env=guard_helpers.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    engine = int(parent.stdout.readline())
    deadline = time.monotonic() + 20
    while not (tmp_path / "grandchild").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    grandchild = int((tmp_path / "grandchild").read_text())
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert gone(engine)
    assert gone(grandchild)


def poisoned(config: Any, device: torch.device) -> Any:
    """The demo's policy; in training mode (never while it samples) its logits turn to NaN."""
    from stare.demo.policy import load_policy

    model, tokenizer = load_policy(config, device)
    original = model.forward

    def forward(*args: Any, **options: Any) -> Any:
        out = original(*args, **options)
        if not model.training:
            return out
        factor = float(os.environ.get("STARE_TEST_FACTOR", "1"))
        return dataclasses.replace(out, logits=out.logits * factor)

    model.forward = forward
    return model, tokenizer


POISONED = [*RUN, "model.factory=test_train_guard:poisoned", "run.steps=6"]


def test_steps_that_are_not_finite_are_skipped_counted_and_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARE_TEST_FACTOR", "nan")
    folder = tmp_path / "run"
    assert main([*POISONED, f"run.out={folder}", "guard.max_bad_steps=3"]) == 2
    said = capsys.readouterr().err
    assert "guard.max_bad_steps=3: 3 steps in a row" in said
    assert "step 1: loss/total = nan, optim/grad_norm = nan" in said
    assert [row["optim/bad_in_a_row"] for row in rows(folder)] == [1, 2, 3]
    assert [row["optim/skipped"] for row in rows(folder)] == [1, 1, 1]
    assert status(folder)["status"] == "failed"
    # The weights are those at the start, to the bit, and the run can go on.
    state = CheckpointStore(folder / "checkpoints").load(3)
    from stare.demo.policy import load_policy

    config = load_config("demo-mod5", [])
    torch.manual_seed(config.run.seed)
    fresh = load_policy(config.model, torch.device("cpu"))[0].state_dict()
    for name, value in fresh.items():
        assert torch.equal(state["model"][name], value), name
    assert state["learner"]["optimizer_steps"] == 0
    monkeypatch.setenv("STARE_TEST_FACTOR", "1")
    assert main([*POISONED, f"run.out={folder}", "--resume"]) == 0
    assert [row["optim/bad_in_a_row"] for row in rows(folder)] == [1, 2, 3, 0, 0, 0]
    trained = CheckpointStore(folder / "checkpoints").load(6)["model"]
    assert all(bool(value.isfinite().all()) for value in trained.values())
    assert any(not torch.equal(trained[name], value) for name, value in fresh.items())


def test_a_loss_that_is_not_finite_is_skipped_even_if_its_gradient_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infinite constant in the loss: no gradient shows it."""
    from stare.train import learner

    original = learner.policy_loss

    def infinite(*args: Any, **options: Any) -> Any:
        loss, stats = original(*args, **options)
        return loss + math.inf, stats | {"loss": stats["loss"] + math.inf}

    monkeypatch.setattr(learner, "policy_loss", infinite)
    config = load_config("demo-mod5", [*RUN[2:], "guard.max_bad_steps=2"])
    with pytest.raises(RunError, match="step 2: loss/total = inf\n"):
        train(config, tmp_path / "run")
    assert all(math.isfinite(row["optim/grad_norm"]) for row in rows(tmp_path / "run"))
    state = CheckpointStore(tmp_path / "run" / "checkpoints").load(2)
    assert state["learner"]["optimizer_steps"] == 0


def test_only_steps_in_a_row_count() -> None:
    bad = BadSteps(3)
    nan, fine = {"loss/total": math.nan}, {"loss/total": 0.5, "optim/grad_norm": 1.0}
    series = [nan, nan, fine, nan, {"reward/rollouts": 0.0}, {"optim/grad_norm": math.inf}]
    assert [bad.add(i, row) for i, row in enumerate(series)] == [1, 2, 0, 1, 1, 2]
    bad.check()
    assert bad.add(6, nan) == 3
    with pytest.raises(RunError, match="optim/grad_norm = inf"):
        bad.check()


def mounted(folder: Path, size: str) -> None:
    """A small file system at `folder`, or a reason to skip."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a file system of a few megabytes needs root on Linux")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"tmpfs cannot be mounted here: {done.stderr.strip()}")


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Any:
    folder = tmp_path / "disk"
    mounted(folder, "12m")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int) -> None:
    """Leave so many bytes."""
    room = os.statvfs(folder)
    with (folder / "ballast").open("wb") as file:
        file.write(b"\0" * (room.f_bavail * room.f_bsize - leave))


@pytest.mark.parametrize("leave", [0, 4096, 700_000])
def test_a_full_disk_loses_nothing(
    small_disk: Path, tmp_path: Path, leave: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """No byte left, room for metrics but not for a checkpoint, room for half a checkpoint."""
    whole, folder = tmp_path / "whole", small_disk / "run"
    assert main([*RUN, f"run.out={whole}"]) == 0
    assert main([*RUN, f"run.out={folder}", "run.steps=2"]) == 0
    metrics = (folder / "metrics.jsonl").read_bytes()
    fill(small_disk, leave)
    capsys.readouterr()
    assert main([*RUN, f"run.out={folder}", "--resume"]) == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said or "disk full" in said, said
    assert "Traceback" not in said
    assert (folder / "metrics.jsonl").read_bytes().startswith(metrics)
    assert CheckpointStore(folder / "checkpoints").steps()[-1] >= 2
    assert not [p.name for p in folder.rglob("*.tmp*")], "half files stay behind"
    (small_disk / "ballast").unlink()
    assert main([*RUN, f"run.out={folder}", "--resume"]) == 0
    assert rows(folder) == rows(whole)
    assert_same_state(folder, whole)


def test_metrics_on_a_full_device_are_an_error_with_a_reason() -> None:
    writer = JsonlWriter("/dev/full")
    with pytest.raises(RunError, match="No space left on device"):
        writer.write({"step": 1})
    writer.close()


@pytest.mark.parametrize(
    ("override", "match"),
    [
        ("guard.step_timeout_s=0", r"guard\.step_timeout_s must lie in"),
        ("guard.max_bad_steps=0", r"guard\.max_bad_steps must lie in|guard\.max_bad_steps"),
        ("run.prometheus=files", "must be 'file' or 'host:port'"),
        ("run.prometheus='localhost:99999'", "must be 'file' or 'host:port'"),
    ],
)
def test_bad_settings(override: str, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        load_config("demo-mod5", [override])
