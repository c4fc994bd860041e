"""verl's earlier trainers. Needs only `verl.trainer.ppo.ray_trainer`, so it runs on 0.6 to 0.9."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings

import numpy as np
import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    verl = pytest.importorskip("verl", reason="verl is not installed (make test-verl)")
    importlib.import_module("stare.integrations.verl")
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl import DataProto
    from verl.trainer.ppo import ray_trainer

from stare.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore")

B, T = 4, 6


def config(tmp_path=None, **stare):
    algorithm = {
        "adv_estimator": "grpo",
        "gamma": 1.0,
        "lam": 1.0,
        "norm_adv_by_std_in_grpo": True,
        "use_kl_in_reward": False,
    }
    trainer = {"default_local_dir": str(tmp_path), "resume_mode": "auto", "resume_from_path": None}
    actor = {"policy_loss": {"loss_mode": "vanilla"}}
    tree = {
        "algorithm": algorithm,
        "trainer": trainer,
        "actor_rollout_ref": {"actor": actor, "rollout": {"n": 2}},
    }
    if stare:
        tree["stare"] = stare
    return OmegaConf.create(tree)


@pytest.fixture(autouse=True)
def modules_as_they_were(monkeypatch):
    """The hook replaces functions of a module for the life of a process; here for a test's."""
    names = ["verl.trainer.ppo.ray_trainer", "verl.experimental.separation.ray_trainer"]
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for function in ("compute_advantage", "compute_data_metrics"):
            monkeypatch.setattr(module, function, getattr(module, function))


class Trainer(ray_trainer.RayPPOTrainer):
    """A recipe's trainer, which fills itself without calling verl's `__init__`."""

    def __init__(self, config):
        self.config = config
        self.global_steps = 3


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(B, T, dtype=torch.int64)
    mask[1, 4:] = 0
    rewards = torch.zeros(B, T)
    rewards[0, -1] = rewards[3, -1] = 1.0
    return DataProto(
        batch=TensorDict(
            {
                "responses": torch.zeros(B, T, dtype=torch.int64),
                "response_mask": mask,
                "token_level_rewards": rewards,
                "token_level_scores": rewards,
                "old_log_probs": -torch.rand(B, T, generator=generator) * 3,
            },
            batch_size=B,
        ),
        non_tensor_batch={"uid": np.array(["p", "p", "q", "q"], dtype=object)},
    )


def fit_advantages(module, trainer, data):
    """The call that `fit` makes, through the name it looks up."""
    algorithm = trainer.config.algorithm
    return module.compute_advantage(
        data,
        adv_estimator=algorithm.adv_estimator,
        gamma=algorithm.gamma,
        lam=algorithm.lam,
        num_repeat=2,
        norm_adv_by_std_in_grpo=algorithm.norm_adv_by_std_in_grpo,
        config=algorithm,
    )


def plain():
    data = fit_advantages(ray_trainer, Trainer(config()), batch())
    return data.batch["advantages"].clone()


def test_the_advantages_that_fit_gets_are_weighted():
    want = plain()
    trainer = Trainer(config(enabled=True, top_p_ratio=0.25, target_entropy=9.0))
    assert type(trainer).__name__ == "StareTrainer"
    given = batch()
    before = {name: given.batch[name].clone() for name in given.batch.keys()}  # noqa: SIM118
    data = fit_advantages(ray_trainer, trainer, given)
    surprisal = -data.batch["old_log_probs"]
    candidates = torch.nonzero(want.flatten() > 0).flatten()
    order = candidates[torch.argsort(-surprisal.flatten()[candidates], stable=True)]
    expected = want.clone().flatten()
    expected[order[: len(order) // 4]] *= 1.1
    assert torch.equal(data.batch["advantages"], expected.view(B, T))
    assert torch.equal(data.batch["returns"], want)
    for name, value in before.items():
        assert torch.equal(data.batch[name], value)


def test_metrics_arrive_with_verls_own(monkeypatch):
    monkeypatch.setattr(ray_trainer, "compute_data_metrics", lambda batch, use_critic: {"a": 1})
    trainer = Trainer(config(enabled=True, target_entropy=9.0))
    fit_advantages(ray_trainer, trainer, batch())
    metrics = ray_trainer.compute_data_metrics(batch=None, use_critic=False)
    assert metrics["a"] == 1
    assert metrics["stare/gate"] == 1.0
    assert metrics["stare/entropy_exact"] == 0.0
    assert ray_trainer.compute_data_metrics(batch=None, use_critic=False) == {"a": 1}


def test_the_entropies_that_fit_drops_decide_the_gate(monkeypatch):
    if not hasattr(ray_trainer.RayPPOTrainer, "_compute_old_log_prob"):
        pytest.skip("this version has no _compute_old_log_prob")
    entropys = torch.full((B, T), 0.25)
    output = DataProto(batch=TensorDict({"entropys": entropys}, batch_size=B))
    monkeypatch.setattr(
        ray_trainer.RayPPOTrainer, "_compute_old_log_prob", lambda self, batch: (output, 0.0)
    )
    monkeypatch.setattr(ray_trainer, "compute_data_metrics", dict)
    trainer = Trainer(config(enabled=True))
    result, _ = trainer._compute_old_log_prob(batch())
    result.batch.pop("entropys")
    fit_advantages(ray_trainer, trainer, batch())
    metrics = ray_trainer.compute_data_metrics()
    assert (metrics["stare/entropy"], metrics["stare/entropy_exact"]) == (0.25, 1.0)


def test_a_trainer_without_the_section_leaves_verl_alone():
    original = ray_trainer.compute_advantage
    assert type(Trainer(config())) is Trainer
    assert type(Trainer(config(enabled=False))) is Trainer
    assert ray_trainer.compute_advantage is original


def test_a_second_trainer_of_a_process_does_not_weigh_twice():
    want = fit_advantages(
        ray_trainer, Trainer(config(enabled=True, target_entropy=9.0)), batch()
    ).batch["advantages"]
    again = fit_advantages(
        ray_trainer, Trainer(config(enabled=True, target_entropy=9.0)), batch()
    ).batch["advantages"]
    assert torch.equal(want, again)


def test_microbatch_scope_is_refused():
    with pytest.raises(ConfigError, match=r"trainer\.use_v1=true"):
        Trainer(config(enabled=True, scope="microbatch"))


def test_the_controller_is_saved_beside_verls_checkpoint(tmp_path, monkeypatch):
    root = ray_trainer.RayPPOTrainer
    monkeypatch.setattr(root, "_save_checkpoint", lambda self: None)
    monkeypatch.setattr(root, "_load_checkpoint", lambda self: self.global_steps)
    settings = {"enabled": True, "adaptive": True, "target_entropy": 9.0}
    trainer = Trainer(config(tmp_path, **settings))
    fit_advantages(ray_trainer, trainer, batch())
    trainer._save_checkpoint()
    assert json.loads((tmp_path / "global_step_3/stare.json").read_text())["w"] > 1.1
    again = Trainer(config(tmp_path, **settings))
    assert again._load_checkpoint() == 3
    assert again.stare.controller.state_dict() == trainer.stare.controller.state_dict()


def test_the_separated_trainers_take_their_own_step():
    """The real `_fit_compute_advantage` of one-step-off and fully-async."""
    name = "verl.experimental.separation.ray_trainer"
    separation = pytest.importorskip(name, reason=f"this version has no {name}")

    class Separated(separation.SeparateRayPPOTrainer):
        def __init__(self, config):
            self.config = config
            self.metrics, self.timing_raw = {}, {}
            self.reward_tensor = batch().batch["token_level_rewards"]
            self.reward_extra_infos_dict = {}

    want = plain()
    trainer = Separated(config(enabled=True, top_p_ratio=0.25, target_entropy=9.0))
    given = batch()
    given.batch.pop("token_level_rewards")
    given.batch.pop("token_level_scores")
    got = trainer._fit_compute_advantage(given).batch["advantages"]
    changed = got != want
    assert int(changed.sum()) == int((want > 0).sum()) // 4
    assert torch.allclose(got[changed], want[changed] * 1.1)


def test_the_seams_are_where_they_were():
    code = ray_trainer.RayPPOTrainer.fit.__code__
    assert {"compute_advantage", "compute_data_metrics"} <= set(code.co_names)
    parameters = inspect.signature(ray_trainer.compute_advantage).parameters
    assert next(iter(parameters)) == "data"
