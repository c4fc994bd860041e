"""One update: cutting the batch differently changes nothing, and STARE off is plain GRPO."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from stare.demo.policy import TinyPolicy
from stare.demo.sampler import TinySampler
from stare.demo.vocab import Tokenizer
from stare.rollout.sampler import SamplingParams
from stare.train.batch import Batch, make_batch
from stare.train.collect import Group
from stare.train.config import TrainConfig
from stare.train.learner import Learner
from stare.train.overrides import load_config
from stare.types import Problem

PROMPTS = ["B 3 7 9 > 2 :", "B 1 2 3 > 0 :", "B 4 4 5 > 1 :", "B 2 9 11 > 3 :"]


def config(*overrides: str) -> TrainConfig:
    return load_config("demo-mod5", ["rollout.group_size=4", *overrides])


def policy() -> TinyPolicy:
    return TinyPolicy(seed=3)


def batch_of(model: TinyPolicy, run: TrainConfig) -> Batch:
    """Sampled by the model itself; rewards alternate, so that every group is mixed."""
    groups = TinySampler(model, Tokenizer()).sample(
        PROMPTS, SamplingParams(n=4, max_tokens=13, seed=1)
    )
    # Cut to different lengths: rows then differ, and sorting them by length is no identity.
    cut = [
        [
            replace(c, token_ids=c.token_ids[: 13 - (5 * i + 3 * j) % 9], logprobs=None)
            for j, c in enumerate(members)
        ]
        for i, members in enumerate(groups)
    ]
    graded = [
        Group(
            problem=Problem(id=str(i), problem="", answer=""),
            completions=members,
            rewards=[float((i + j) % 2) for j in range(len(members))],
        )
        for i, members in enumerate(cut)
    ]
    return make_batch(graded, run.rollout, pad_id=0)


def updated(*overrides: str, steps: int = 1) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    run = config(*overrides)
    model = policy()
    learner = Learner(model, run, torch.device("cpu"))
    metrics: dict[str, Any] = {}
    for _ in range(steps):
        metrics = learner.step(batch_of(model, run))
    return dict(model.state_dict()), metrics


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"])
@pytest.mark.parametrize("tokens", [20, 60, 140, 100_000])
def test_micro_batches_change_nothing(tokens: int, aggregation: str) -> None:
    same = (f"loss.aggregation={aggregation}", "stare.target_entropy=2.0", "stare.reweight_w=1.5")
    whole, whole_metrics = updated(*same)
    cut, cut_metrics = updated(*same, f"optim.micro_batch_tokens={tokens}")
    for name, value in whole.items():
        torch.testing.assert_close(cut[name], value, rtol=0, atol=2e-6)
    for metrics in (whole_metrics, cut_metrics):
        assert metrics["kl/old"] == pytest.approx(0.0, abs=1e-6), "on-policy: nothing has moved yet"
        assert metrics["loss/clip_high_frac"] == metrics["loss/clip_low_frac"] == 0.0
    for key in ("entropy/batch", "loss/total", "optim/grad_norm", "stare/selected_frac", "stare/w"):
        assert cut_metrics[key] == pytest.approx(whole_metrics[key], rel=1e-4, abs=1e-6), key


def test_disabled_equals_a_gate_that_stays_off() -> None:
    off, _ = updated("stare.enabled=false")
    closed, metrics = updated(
        "stare.controller=gate", "stare.target_relative=false", "stare.target_entropy=0.0"
    )
    assert metrics["stare/gate"] == 0
    assert all(torch.equal(off[k], closed[k]) for k in off)


def test_an_open_gate_changes_the_update() -> None:
    off, _ = updated("stare.enabled=false")
    on, metrics = updated("stare.gate=off", "stare.controller=gate", "stare.reweight_w=1.5")
    assert metrics["stare/gate"] == 1
    assert metrics["stare/w"] == 1.5
    assert any(not torch.equal(off[k], on[k]) for k in off)


def test_selected_share_is_the_quota() -> None:
    run = config("stare.gate=off", "stare.controller=gate")
    model = policy()
    batch = batch_of(model, run)
    metrics = Learner(model, run, torch.device("cpu")).step(batch)
    advantages_positive = batch.rewards_B == 1
    n_pos = int(batch.mask_BT[advantages_positive].sum())
    n_neg = int(batch.mask_BT[~advantages_positive].sum())
    quota = -(-n_pos // 10) + -(-n_neg // 10)
    assert metrics["stare/selected_frac"] == pytest.approx(quota / (n_pos + n_neg))


def test_a_batch_without_signal_moves_nothing() -> None:
    run = config()
    model = policy()
    batch = batch_of(model, run)
    learner = Learner(model, run, torch.device("cpu"))
    learner.step(batch)  # from now on the optimiser has momentum
    flat = Batch(
        **{f: getattr(batch, f) for f in batch.__dataclass_fields__}
        | {"rewards_B": torch.ones_like(batch.rewards_B)}
    )
    before = {k: v.clone() for k, v in model.state_dict().items()}
    metrics = learner.step(flat)
    assert metrics["optim/skipped"] == 1
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


@pytest.mark.parametrize("gate", ["sample", "token"])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_finer_gates_run_with_a_relative_target(gate: str, enabled: str) -> None:
    settings = (f"stare.gate={gate}", "stare.controller=gate", f"stare.enabled={enabled}")
    _, metrics = updated(*settings)
    assert metrics["stare/gamma"] != 0


def test_an_entropy_above_the_ceiling_is_counted() -> None:
    _, metrics = updated("stare.entropy_ceiling=0.001", steps=2)
    assert metrics["stare/alarms"] == 2


def test_several_mini_batches_and_epochs_step_that_often() -> None:
    run = config("optim.mini_batches=2", "optim.epochs=3", "optim.warmup_steps=100")
    model = policy()
    learner = Learner(model, run, torch.device("cpu"))
    learner.step(batch_of(model, run))
    assert learner.optimizer_steps == 6
    assert learner.controller.steps == 1, "the controller sees a batch once"


def test_a_nonfinite_gradient_is_skipped_and_counted() -> None:
    run = config()
    model = policy()
    batch = batch_of(model, run)
    learner = Learner(model, run, torch.device("cpu"))
    handle = model.head.weight.register_hook(lambda grad: grad * float("nan"))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    metrics = learner.step(batch)
    handle.remove()
    assert metrics["optim/skipped"] == 1
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_kl_to_the_reference_pulls_back() -> None:
    fast = ("optim.warmup_steps=0",)
    _, loose = updated("loss.kl_coef=1e-9", *fast, steps=12)
    _, tight = updated("loss.kl_coef=10.0", *fast, steps=12)
    assert 0 < tight["kl/ref"] < 0.25 * loose["kl/ref"]
