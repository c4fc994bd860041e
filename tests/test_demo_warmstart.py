"""The warm-start script: clean demonstrations, deterministic training, weights as recorded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stare.demo.policy import DATA, TinyPolicy, load_policy, load_weights  # noqa: E402
from stare.demo.tasks import TASKS, Task, split_pairs  # noqa: E402
from stare.demo.verifier import verify_tokens  # noqa: E402
from stare.demo.warmstart import (  # noqa: E402
    RECIPES,
    Demonstrations,
    Recipe,
    main,
    start_metrics,
    train,
)

ANYTHING = Task("anything", lambda w, t: w >= 0, range(1), poses=lambda w, t: w >= 0)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_demonstrations_are_valid_and_never_held_out(name: str) -> None:
    task = TASKS[name]
    ids = Demonstrations(task, 0.5).draw(4000, np.random.default_rng(0))
    numbers, targets, responses = ids[:, 1:4], ids[:, 5], ids[:, 7:]
    assert verify_tokens(responses, numbers, targets, ANYTHING).all()
    shown = {(tuple(sorted(n)), t) for n, t in zip(numbers.tolist(), targets.tolist(), strict=True)}
    for split in ("pair", "numbers"):
        assert not shown & set(split_pairs(task, split)[1])  # type: ignore[arg-type]
    assert len({tuple(n) for n in numbers.tolist()} - {n for n, _ in shown}) > 100  # any order


@pytest.mark.parametrize(
    ("share", "low", "high"), [(0.0, 0.15, 0.25), (0.5, 0.55, 0.65), (1, 1, 1)]
)
def test_the_share_of_right_demonstrations(share: float, low: float, high: float) -> None:
    task = TASKS["mod5"]
    ids = Demonstrations(task, share).draw(4000, np.random.default_rng(1))
    assert low <= verify_tokens(ids[:, 7:], ids[:, 1:4], ids[:, 5], task).mean() <= high


def test_training_is_deterministic_and_learns() -> None:
    recipe = Recipe(steps=12, lr=4e-3, right_share=0.3, batch_size=32, warmup=2)
    policies = [TinyPolicy(seed=0), TinyPolicy(seed=0), TinyPolicy(seed=0)]
    for policy, seed in zip(policies, (0, 0, 1), strict=True):
        train(policy, TASKS["exact"], recipe, seed)
    a, b, other = ([p.detach() for p in policy.parameters()] for policy in policies)
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    assert not all(torch.equal(x, y) for x, y in zip(a, other, strict=True))
    batch = Demonstrations(TASKS["exact"], 0.3).draw(64, np.random.default_rng(9))
    ids = torch.from_numpy(batch)
    losses = []
    for policy in (TinyPolicy(seed=0), policies[0]):
        logits = policy(ids[:, :-1], logits_to_keep=13).logits.detach()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 7:].flatten())
        losses.append(float(loss))
    assert losses[1] < 0.9 * losses[0]


def test_the_script_writes_weights_and_their_record(tmp_path: Path) -> None:
    out = tmp_path / "mod5.safetensors"
    start = DATA / "exact.safetensors"
    arguments = ["--task", "mod5", "--out", str(out), "--start", str(start), "--steps", "1"]
    assert main(arguments) == 0
    record = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert record["stages"] == ["mod5"]
    assert record["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert record["command"].startswith("python -m stare.demo.warmstart --task mod5")
    policy = TinyPolicy()
    load_weights(policy, out)
    assert record["start"] == start_metrics(policy, TASKS["mod5"])


@pytest.mark.parametrize("name", sorted(TASKS))
def test_shipped_weights_are_as_recorded(name: str) -> None:
    """Within what another BLAS can change; the whole set stays under 1 MB."""
    record = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    policy, _ = load_policy(SimpleNamespace(init=name), "cpu")
    assert start_metrics(policy, TASKS[name]) == pytest.approx(record["start"], abs=0.03)
    shipped = (DATA / f"{name}.safetensors").read_bytes()
    assert record["sha256"] == hashlib.sha256(shipped).hexdigest()
    assert record["start"]["entropy"] == pytest.approx(0.31, abs=0.02)
    assert record["start"]["pass@32"] > 0.9
    assert sum(f.stat().st_size for f in DATA.iterdir()) < 1_000_000
    assert name in RECIPES
