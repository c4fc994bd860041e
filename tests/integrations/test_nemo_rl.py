"""NeMo-RL's real GRPO estimator, followed by the weights; its trainer module is not imported."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest
import torch

from stare import StareConfig
from stare.errors import ArgumentError, ConfigError
from stare.integrations import nemo_rl as ours

pytestmark = pytest.mark.filterwarnings("ignore")

CONFIG = StareConfig(top_p_ratio=0.25, target_entropy=9.0)


@pytest.fixture(scope="module")
def estimator():
    from stub_modules import stub

    stub(
        "megatron",
        "nemo_automodel",
        "ray",
        "vllm",
        "decord",
        "nv_one_logger",
        "pynvml",
        "matplotlib",
        "swanlab",
        "mlflow",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = "nemo_rl.algorithms.advantage_estimator"
        module = pytest.importorskip(name, reason="nemo-rl is not installed")
    return module.GRPOAdvantageEstimator(module.AdvEstimatorConfig(), None)


def batch():
    generator = torch.Generator().manual_seed(0)
    logprobs = -torch.rand(4, 8, generator=generator) * 3
    logprobs[:, 0] = 0.0
    mask = torch.ones(4, 8)
    mask[:, :3] = 0  # the prompt
    mask[2, 6:] = 0
    return {
        "prompt_ids": torch.tensor([[7], [7], [8], [8]]),
        "rewards": torch.tensor([1.0, 0.0, 1.0, 0.0]),
        "mask": mask,
        "repeated_batch": {},
        "logprobs_policy": logprobs,
        "logprobs_reference": None,
    }


def test_the_real_estimator_is_followed_by_the_weights(estimator):
    given = batch()
    plain = estimator.compute_advantage(**given)
    weighing = ours.Weighing(estimator, CONFIG)
    got = weighing.compute_advantage(**given)
    where = torch.nonzero((given["mask"] > 0) & (plain > 0))
    surprisal = -given["logprobs_policy"][where[:, 0], where[:, 1]]
    top = where[surprisal.argsort(descending=True, stable=True)][: len(where) // 4]
    want = plain.clone()
    want[top[:, 0], top[:, 1]] *= 1.1
    assert torch.allclose(got, want)
    assert int((got != plain).sum()) == len(top) == 2
    assert weighing.last_metrics["stare/gate"] == 1.0
    assert weighing.normalize_rewards is True


def test_zero_log_probs_name_the_flag(estimator):
    given = batch()
    given["logprobs_policy"] = torch.zeros(4, 8)
    with pytest.raises(ArgumentError, match="force_on_policy_ratio=false"):
        ours.Weighing(estimator, CONFIG).compute_advantage(**given)


def config(section=None, **loss):
    return SimpleNamespace(
        grpo=SimpleNamespace(adv_estimator=SimpleNamespace(name="grpo", stare=section)),
        loss_fn=SimpleNamespace(**loss),
    )


def test_the_factory_is_followed_where_the_section_asks_for_it():
    module = SimpleNamespace(_create_advantage_estimator=lambda master_config: "plain")
    ours._hook(module)
    with pytest.raises(ConfigError, match=r"\+\+grpo\.adv_estimator\.stare\.target_entropy"):
        module._create_advantage_estimator(config())
    built = module._create_advantage_estimator(config({"reweight_w": 1.05}))
    assert built.controller.config.reweight_w == 1.05
    with pytest.raises(ConfigError, match=r"did you mean grpo\.adv_estimator\.stare\.variant"):
        module._create_advantage_estimator(config({"varient": "O1"}))
    with pytest.raises(ConfigError, match="force_on_policy_ratio=false"):
        module._create_advantage_estimator(config({}, force_on_policy_ratio=True))
    with pytest.raises(ConfigError, match="sequence_level_importance_ratios=false"):
        module._create_advantage_estimator(config({}, sequence_level_importance_ratios=True))
