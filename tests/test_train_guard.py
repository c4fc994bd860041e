"""Long runs: signals, stalled steps, NaN, a full disk, Prometheus. Nothing is lost in any case."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import ConfigError, RunError
from stare.train import learner as learner_module
from stare.train import run as run_module
from stare.train.checkpoint import CheckpointStore
from stare.train.cli import main
from stare.train.metrics import read_metrics
from stare.train.nan_guard import NanGuard
from stare.train.overrides import load_config
from stare.train.prometheus import PrometheusFile, PrometheusServer, exposition, parse_address
from stare.train.run import train
from stare.train.runfolder import read_status
from stare.train.signals import StopRequestedError
from stare.train.watchdog import STALLED_EXIT_CODE, Watchdog

SMALL = [
    "rollout.prompts_per_step=4",
    "rollout.group_size=4",
    "eval.every=0",
    "optim.warmup_steps=2",
]


def run(folder: Path, steps: int, *extra: str, resume: bool = False) -> None:
    train(load_config("demo-mod5", [*SMALL, f"run.steps={steps}", *extra]), folder, resume=resume)


def rows(folder: Path) -> list[dict[str, Any]]:
    volatile = ("time/", "speed/", "memory/")
    return [
        {k: v for k, v in row.items() if not k.startswith(volatile)}
        for row in read_metrics(folder / "metrics.jsonl").rows
    ]


def signal_in_step(monkeypatch: pytest.MonkeyPatch, step: int, *numbers: int) -> None:
    """While sampling for a step, the process gets these signals."""
    real, calls = run_module.collect, [0]

    def collect(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == step:
            for number in numbers:
                os.kill(os.getpid(), number)
                time.sleep(0.01)
        return real(*args, **kwargs)

    monkeypatch.setattr(run_module, "collect", collect)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_after_the_step_and_the_run_goes_on_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    run(tmp_path / "whole", 4)
    before = signal.getsignal(number)
    signal_in_step(monkeypatch, 2, number)
    with pytest.raises(StopRequestedError) as caught:
        run(tmp_path / "cut", 4, "run.checkpoint_every=0")
    assert caught.value.exit_code == code
    assert signal.getsignal(number) == before
    status = read_status(tmp_path / "cut")
    assert (status["status"], status["step"]) == ("interrupted", 2)
    assert CheckpointStore(tmp_path / "cut" / "checkpoints").steps() == [2]
    run(tmp_path / "cut", 4, "run.checkpoint_every=0", resume=True)
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole")


def test_a_second_signal_does_not_wait_for_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal_in_step(monkeypatch, 2, signal.SIGTERM, signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as caught:
        run(tmp_path / "r", 4)
    assert not isinstance(caught.value, StopRequestedError)
    assert len(rows(tmp_path / "r")) == 1


def test_the_command_exits_with_143(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signal_in_step(monkeypatch, 1, signal.SIGTERM)
    assert main(["run", "demo-mod5", *SMALL, f"run.out={tmp_path / 'r'}", "run.steps=3"]) == 143


def test_bad_steps_in_a_row_stop_the_run_and_leave_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "r", 1)
    good = CheckpointStore(tmp_path / "r" / "checkpoints").load(1)
    real = learner_module.policy_loss

    def poisoned(*args: Any, **kwargs: Any) -> Any:
        loss, stats = real(*args, **kwargs)
        return loss * math.nan, stats

    with monkeypatch.context() as patch:
        patch.setattr(learner_module, "policy_loss", poisoned)
        with pytest.raises(RunError, match="3 steps in a row up to step 4 had a non-finite"):
            run(tmp_path / "r", 9, "guard.max_bad_steps=3", resume=True)
    store = CheckpointStore(tmp_path / "r" / "checkpoints")
    bad = store.load(4)
    for name, value in good["model"].items():
        assert torch.equal(value, bad["model"][name]), name
    for key, state in good["learner"]["optimizer"]["state"].items():
        for name, value in state.items():
            assert torch.equal(value, bad["learner"]["optimizer"]["state"][key][name])
    assert [r.get("guard/bad_steps") for r in rows(tmp_path / "r")] == [None, 1, 2, 3]
    run(tmp_path / "r", 5, resume=True)
    assert read_status(tmp_path / "r")["status"] == "finished"


def test_a_good_step_starts_the_count_again() -> None:
    guard = NanGuard(2)
    bad, good = {"step": 1, "optim/grad_norm": math.inf}, {"step": 1, "optim/grad_norm": 0.0}
    assert [guard.count(row) for row in (bad, good, bad, bad)] == [1, 0, 1, 2]
    with pytest.raises(RunError, match=r"optim/grad_norm"):
        guard.check(bad)


HANGING = """
import sys, time
import stare.train.run as run
def hung_rollout(*args, **kwargs):
    time.sleep(60)
run.collect = hung_rollout
from stare.train.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_stalled_step_exits_with_75_and_leaves_the_stacks(tmp_path: Path) -> None:
    out = tmp_path / "r"
    command = ["run", "demo-mod5", *SMALL, f"run.out={out}", "guard.step_timeout_s=0.5"]
    done = subprocess.run(
        [sys.executable, "-c", HANGING, *command],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == STALLED_EXIT_CODE == 75, done.stderr
    assert "no progress for 0.5 s" in done.stderr
    assert "hung_rollout" in (out / "stalled-rank0.txt").read_text()
    assert read_status(out)["status"] == "stalled"
    run(out, 1000, "run.steps=1", resume=True)
    assert read_status(out)["status"] == "finished"


def test_the_watchdog_waits_as_long_as_there_is_progress(tmp_path: Path) -> None:
    left: list[int] = []
    gone = threading.Event()

    def leave(code: int) -> None:
        left.append(code)
        gone.set()

    with Watchdog(0.4, tmp_path / "stacks", lambda: None, leave) as watchdog:
        for _ in range(6):
            time.sleep(0.1)
            watchdog.beat()
        assert not left
        assert gone.wait(10)
    assert left == [75]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def fill(path: Path) -> None:
    """Write until the disk is full to the last page."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(small_disk: Path, tmp_path: Path) -> None:
    run(tmp_path / "whole", 4)
    out = small_disk / "r"
    run(out, 2)
    ballast = small_disk / "ballast"
    fill(ballast)
    with pytest.raises((RunError, OSError), match=r"could not be written|No space|disk full"):
        run(out, 4, resume=True)
    assert CheckpointStore(out / "checkpoints").latest() is not None
    ballast.unlink()
    run(out, 4, resume=True)
    assert rows(out) == rows(tmp_path / "whole")


def test_prometheus_file_and_server(tmp_path: Path) -> None:
    run(tmp_path / "r", 2, "run.prometheus=file")
    text = (tmp_path / "r" / "metrics.prom").read_text()
    assert "# TYPE stare_step gauge\nstare_step 2\n" in text
    assert "\nstare_entropy_batch 0." in text
    server = PrometheusServer("127.0.0.1", 0)
    server.write({"step": 7, "loss/total": math.nan, "reward/batch": None})
    url = f"http://127.0.0.1:{server.port}"
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        assert answer.read().decode().splitlines()[1::2] == ["stare_step 7", "stare_loss_total NaN"]
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{url}/other", timeout=10)
    assert caught.value.code == 404
    caught.value.close()
    with pytest.raises(RunError, match="cannot be used"):
        PrometheusServer("127.0.0.1", server.port)
    server.close()
    with pytest.raises(RunError, match="cannot be written"):
        PrometheusFile(tmp_path / "no" / "m.prom").write({"step": 1})
    assert exposition({"eval/pass@1": math.inf}).endswith("stare_eval_pass_1 +Inf\n")


@pytest.mark.parametrize("text", ["9400", ":9400", "host:port", "host:70000"])
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="prometheus must be"):
        parse_address(text)
