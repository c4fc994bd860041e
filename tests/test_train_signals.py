"""SIGTERM and SIGINT in real processes: the step is finished and saved, and nothing is lost."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import guard_helpers
from stare.train.checkpoint_sharded import read_model
from stare.train.cli import main
from stare.train.signals import StopSignals
from test_train_run import SMALL, assert_same_state, rows
from tiny_llm import tiny_model, tiny_tokenizer

STEPS = 5
RUN = ["run", "demo-mod5", *SMALL, "rollout.max_refills=0", f"run.steps={STEPS}"]
RUN += ["reward.function=guard_helpers:signalled", "run.checkpoint_every=0"]


def status(folder: Path) -> dict[str, object]:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals") / "whole"
    assert main([*RUN, f"run.out={folder}"]) == 0
    return folder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_step_is_finished_and_saved(
    number: signal.Signals, code: int, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run = [*RUN, f"run.out={folder}"]
    process = guard_helpers.start(run, STARE_TEST_SIGNAL=f"0:3:{int(number)}")
    _, said = process.communicate(timeout=120)
    assert process.returncode == code, said
    assert f"{number.name}: finishing the step" in said
    assert "Traceback" not in said
    assert [row["step"] for row in rows(folder)] == [1, 2, 3]
    assert (status(folder)["status"], status(folder)["step"]) == ("interrupted", 3)
    assert [p.name for p in (folder / "checkpoints").iterdir()] == ["step-000003"]
    assert main([*run, "--resume"]) == 0
    assert rows(folder) == rows(whole)
    assert_same_state(folder, whole)


def test_a_second_signal_ends_it_at_once(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = [*RUN, f"run.out={folder}"]
    began = time.monotonic()
    process = guard_helpers.start(run, STARE_TEST_SIGNAL="0:3:15:15")
    _, said = process.communicate(timeout=50)  # the reward sleeps for 60 s
    assert process.returncode == 143, said
    assert time.monotonic() - began < 50
    assert status(folder)["status"] == "interrupted"
    assert "second signal" in str(status(folder)["error"])
    assert main([*run, "--resume"]) == 0
    assert_same_state(folder, whole)


def test_the_second_signal_is_heard_while_the_main_thread_waits_in_c() -> None:
    program = (
        "import ctypes, os, threading, time\n"
        "from stare.train.signals import StopSignals\n"
        "def send():\n"
        "    for _ in range(2):\n"
        "        time.sleep(0.2)\n"
        "        os.kill(os.getpid(), 15)\n"
        "with StopSignals():\n"
        "    threading.Thread(target=send, daemon=True).start()\n"
        "    for _ in range(60): ctypes.CDLL(None).sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=guard_helpers.environment(),
        timeout=50,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 143, done.stderr


def test_handlers_are_given_back() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    threads = threading.active_count()
    with StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        deadline = time.monotonic() + 10
        while not signals.number and time.monotonic() < deadline:
            time.sleep(0.001)
        assert signals.number == signal.SIGTERM
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(-1) == -1


def test_outside_the_main_thread_nothing_is_caught() -> None:
    seen = []

    def work() -> None:
        with StopSignals() as signals:
            seen.append((signals.number, signal.getsignal(signal.SIGTERM)))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(0, before)]


def sharded(tmp_path: Path, folder: Path) -> list[str]:
    """A run of two ranks on a random language model."""
    if not (tmp_path / "model").exists():
        tiny_model(seed=1).save_pretrained(tmp_path / "model")
        tiny_tokenizer(chat=True).save_pretrained(tmp_path / "model")
        lines = (json.dumps({"problem": w, "answer": 0}) + "\n" for w in ("one", "two", "three"))
        (tmp_path / "data.jsonl").write_text("".join(lines))
    return [
        *("run", "smollm2", "model.factory=none", f"model.path={tmp_path / 'model'}"),
        *("model.dtype=float32", f"data.path={tmp_path / 'data.jsonl'}", f"run.out={folder}"),
        *("data.prompt_template='{problem} ='", "reward.function=guard_helpers:signalled"),
        *("rollout.max_response_tokens=6", "rollout.max_prompt_tokens=20"),
        *("rollout.prompts_per_step=2", "rollout.group_size=4", "rollout.max_refills=0"),
        *("rollout.dynamic_sampling=false", "rollout.over_sample=1.0"),
        *("eval.every=0", "run.steps=4", "run.checkpoint_every=0", "parallel.strategy=fsdp2"),
        "parallel.timeout_s=60",
    ]


def two_ranks(arguments: list[str], **more: str) -> list[tuple[int, str]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    meeting = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port} | more
    processes = [
        guard_helpers.start(arguments, RANK=str(r), LOCAL_RANK=str(r), **meeting) for r in range(2)
    ]
    said = [process.communicate(timeout=200)[1] for process in processes]
    return [(p.returncode, words) for p, words in zip(processes, said, strict=True)]


@pytest.mark.slow
def test_all_ranks_leave_after_the_same_step(tmp_path: Path) -> None:
    """One of two ranks is told; both save together, and the resumed run equals a whole one."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert [code for code, _ in two_ranks(sharded(tmp_path, whole))] == [0, 0]
    results = two_ranks(sharded(tmp_path, cut), STARE_TEST_SIGNAL="1:2:15")
    assert [code for code, _ in results] == [143, 143], results
    assert [p.name for p in (cut / "checkpoints").iterdir()] == ["step-000002"]
    assert status(cut)["status"] == "interrupted"
    assert [code for code, _ in two_ranks([*sharded(tmp_path, cut), "--resume"])] == [0, 0]
    assert rows(cut) == rows(whole)
    models = [tiny_model(seed=9), tiny_model(seed=10)]
    for folder, model in zip((whole, cut), models, strict=True):
        read_model(folder / "checkpoints/step-000004", model)
    for name, value in models[0].state_dict().items():
        assert torch.equal(value, models[1].state_dict()[name]), name


@pytest.mark.slow
def test_a_rank_that_is_dead_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Rank 1 is told to stop and then killed before it can agree: rank 0 says so and ends."""
    results = two_ranks(sharded(tmp_path, tmp_path / "run"), STARE_TEST_SIGNAL="1:2:15:9")
    assert results[1][0] == -signal.SIGKILL
    assert results[0][0] == 2, results
    assert "lost another one" in results[0][1]


@pytest.mark.slow
def test_nan_on_one_rank_is_skipped_by_all(tmp_path: Path) -> None:
    """The step after it generates and trains: no rank is left with half a pass."""
    folder = tmp_path / "run"
    run = [*sharded(tmp_path, folder), "reward.function=guard_helpers:poisons"]
    results = two_ranks([*run, "run.checkpoint_every=1", "run.keep_checkpoints=4"])
    assert [code for code, _ in results] == [0, 0], results
    assert [row["optim/bad_in_a_row"] for row in rows(folder)] == [0, 1, 0, 0]
    states = []
    for number in range(1, 5):
        model = tiny_model(seed=number)
        read_model(folder / f"checkpoints/step-{number:06d}", model)
        states.append(model.state_dict())
    changed = [
        any(not torch.equal(value, after[name]) for name, value in before.items())
        for before, after in itertools.pairwise(states)
    ]
    assert changed == [False, True, True]
