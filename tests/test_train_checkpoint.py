from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

from stare.errors import ArgumentError, RunError
from stare.train.checkpoint import CheckpointStore, rng_state, set_rng_state


def state(step: int) -> dict[str, object]:
    return {"model": {"w": torch.full((3, 4), float(step))}, "cursor": [step, None], "name": "x"}


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1.0)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": {"last_epoch": scheduler.last_epoch},
        "bf16": torch.ones(2, dtype=torch.bfloat16),
        "controller": {"w": 1.5, "entropy": float("nan"), "on": True},
        "rng": rng_state(),
        "cursor": (3, [1, 2]),
    }
    store = CheckpointStore(tmp_path, fsync=True)
    store.save(saved, 7)
    found = store.latest()
    assert found is not None
    assert (found.step, found.skipped) == (7, [])
    assert found.state["cursor"] == (3, [1, 2])
    assert found.state["bf16"].dtype == torch.bfloat16
    assert torch.equal(found.state["model"]["weight"], model.weight)
    other = torch.optim.AdamW(torch.nn.Linear(3, 2).parameters(), lr=0.1)
    other.load_state_dict(found.state["optimizer"])
    assert torch.equal(
        other.state_dict()["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"]
    )


def test_the_newest_are_kept_and_a_step_can_be_written_again(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=2)
    assert store.latest() is None
    for step in (1, 2, 30, 4):
        store.save(state(step), step)
    assert store.steps() == [4, 30]
    store.save({"again": 1}, 30)
    assert store.load(30) == {"again": 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000004", "step-000030"]
    with pytest.raises(ArgumentError, match="keep must be >= 1, got 0"):
        CheckpointStore(tmp_path, keep=0)


def truncate(path: Path) -> None:
    file = path / "state.pt"
    file.write_bytes(file.read_bytes()[:-5])


def flip(path: Path) -> None:
    file = path / "state.pt"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


def drop_state(path: Path) -> None:
    (path / "state.pt").unlink()


def drop_meta(path: Path) -> None:
    (path / "meta.json").unlink()


def garble_meta(path: Path) -> None:
    (path / "meta.json").write_text('{"size": ')


@pytest.mark.parametrize("damage", [truncate, flip, drop_state, drop_meta, garble_meta])
def test_a_damaged_checkpoint_is_reported_and_the_previous_one_used(
    tmp_path: Path, damage: object
) -> None:
    store = CheckpointStore(tmp_path)
    store.save(state(1), 1)
    store.save(state(2), 2)
    damage(store.path(2))  # type: ignore[operator]
    found = store.latest()
    assert found is not None
    assert found.step == 1
    assert torch.equal(found.state["model"]["w"], torch.ones(3, 4))
    assert len(found.skipped) == 1
    assert "step-000002" in found.skipped[0]
    assert (tmp_path / "damaged-step-000002").is_dir()
    store.save(state(2), 2)
    again = store.latest()
    assert again is not None
    assert (again.step, again.skipped) == (2, [])


def test_only_damaged_checkpoints_are_an_error_not_a_fresh_start(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    store.save(state(1), 1)
    flip(store.path(1))
    with pytest.raises(RunError, match="no intact checkpoint is left"):
        store.latest()


def test_leftovers_of_killed_writers_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmp-step-000009-1").mkdir()
    (tmp_path / ".tmp-step-000009-1" / "state.pt").write_bytes(b"half")
    store = CheckpointStore(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert store.latest() is None


def test_a_checkpoint_cannot_run_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "owned",))

    store = CheckpointStore(tmp_path / "c")
    store.save({}, 1)
    torch.save({"x": Evil()}, store.path(1) / "state.pt")
    data = (store.path(1) / "state.pt").read_bytes()
    meta = {"step": 1, "size": len(data), "crc32": zlib.crc32(data)}
    (store.path(1) / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(RunError, match="no intact checkpoint"):
        store.latest()
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("bad", [lambda: 0, np.float64(1), np.zeros(2), {1, 2}, Path()])
def test_what_could_not_be_loaded_again_is_refused_when_saved(tmp_path: Path, bad: object) -> None:
    store = CheckpointStore(tmp_path)
    store.save(state(1), 1)
    with pytest.raises(ArgumentError, match=r"state\['a'\]\[1\] must be a tensor, number"):
        store.save({"a": [1, bad]}, 2)
    assert store.steps() == [1]
    assert [p.name for p in tmp_path.iterdir()] == ["step-000001"]


def draw() -> list[float]:
    return [
        random.random(),
        random.gauss(0, 1),
        np.random.rand(),
        np.random.randn(),
        torch.rand(1).item(),
    ]


def test_generators_continue_where_they_were(tmp_path: Path) -> None:
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    draw()
    store = CheckpointStore(tmp_path)
    store.save({"rng": rng_state()}, 1)
    expected = [draw() for _ in range(3)]
    found = store.latest()
    assert found is not None
    set_rng_state(found.state["rng"])
    assert [draw() for _ in range(3)] == expected


@pytest.mark.slow
def test_kill_at_any_moment_leaves_an_intact_checkpoint(tmp_path: Path) -> None:
    code = (
        "import sys, torch; from stare.train.checkpoint import CheckpointStore\n"
        "store = CheckpointStore(sys.argv[1]); start = store.steps()[-1] if store.steps() else 0\n"
        "for step in range(start + 1, 10**6):\n"
        "    store.save({'w': torch.full((300_000,), float(step)), 'step': step}, step)\n"
        "    print(step, flush=True)\n"
    )
    done = 0
    for attempt in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        done = int(child.stdout.readline())
        time.sleep(0.05 + random.Random(attempt).random() * 0.2)
        child.kill()
        rest = child.stdout.read().split("\n")
        child.wait()
        child.stdout.close()
        done = max([done, *(int(s) for s in rest[:-1] if s)])
        found = CheckpointStore(tmp_path).latest()
        assert found is not None
        assert found.skipped == []
        assert found.step >= done  # what was reported as saved is there
        assert found.state["step"] == found.step
        assert bool((found.state["w"] == found.step).all())
        assert not list(tmp_path.glob(".tmp-*"))
