"""OpenRLHF's real experience maker, its GPU-only imports stubbed."""

from __future__ import annotations

import json
import math
import warnings
from types import SimpleNamespace

import pytest
import torch

from stare.errors import ConfigError
from stare.integrations import openrlhf as ours

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def maker_class():
    from stub_modules import stub

    stub("flash_attn", "deepspeed", "vllm", "bitsandbytes", "optree", "torchdata", "liger_kernel")
    ours.install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = "openrlhf.trainer.ppo_utils.experience_maker"
        return pytest.importorskip(name, reason="openrlhf is not installed").RemoteExperienceMaker


WIDTHS = (5, 3)


def maker(cls, **advantage):
    built = cls.__new__(cls)
    algo = SimpleNamespace(
        advantage=SimpleNamespace(
            **{"estimator": "group_norm", "gamma": 1.0, "lambd": 1.0, "no_std_norm": False}
            | advantage
        )
    )
    built.args = SimpleNamespace(
        algo=algo,
        actor=SimpleNamespace(policy_loss_type="ppo"),
        rollout=SimpleNamespace(n_samples_per_prompt=2),
        reward=SimpleNamespace(
            clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None
        ),
    )
    built.strategy = SimpleNamespace(args=built.args)
    built.advantage_estimator = built.args.algo.advantage.estimator
    built.kl_ctl = SimpleNamespace(value=0.0)
    return built


def experiences(seed=0):
    """Two micro-batches of different widths, two responses each."""
    from openrlhf.trainer.ppo_utils.experience import Experience

    generator = torch.Generator().manual_seed(seed)
    out = []
    for part, width in enumerate(WIDTHS):
        mask = torch.ones(2, width, dtype=torch.bool)
        mask[1, width - 1] = False
        out.append(
            Experience(
                index=[2 * part, 2 * part + 1],
                action_log_probs=-torch.rand(2, width, generator=generator) * 3,
                action_mask=mask,
                kl=torch.zeros(2, width),
                rewards=torch.tensor([1.0, 0.0]),
                info={},
            )
        )
    return out


SETTINGS = {"top_p_ratio": 0.25, "target_entropy": 9.0}


def test_the_real_step_is_followed_by_the_weights(maker_class, monkeypatch):
    monkeypatch.setenv("STARE_OPENRLHF", json.dumps(SETTINGS))
    plain = maker_class.compute_advantages_and_returns.stare_original(
        maker(maker_class), experiences()
    )
    got = maker(maker_class).compute_advantages_and_returns(experiences())
    cells = [
        (-float(e.action_log_probs[i, t]), part, i, t)
        for part, e in enumerate(plain)
        for i in range(2)
        for t in range(WIDTHS[part])
        if e.action_mask[i, t] and e.advantages[i, t] > 0
    ]
    want = [e.advantages.clone() for e in plain]
    for _, part, i, t in sorted(cells, reverse=True)[: math.ceil(len(cells) / 4)]:
        want[part][i, t] *= 1.1
    for part, e in enumerate(got):
        assert torch.allclose(e.advantages, want[part])
        assert torch.equal(e.returns, plain[part].returns)
        assert e.info["stare_gate"].tolist() == [1.0, 1.0]


def test_gspo_is_refused(maker_class, monkeypatch):
    monkeypatch.setenv("STARE_OPENRLHF", json.dumps(SETTINGS))
    built = maker(maker_class)
    built.args.actor.policy_loss_type = "gspo"
    with pytest.raises(ConfigError, match="policy_loss_type ppo"):
        built.compute_advantages_and_returns(experiences())


def test_the_command_line():
    config, theirs = ours.parse(["--stare.reweight_w", "1.05", "--stare.variant", "C2", "--", "-x"])
    assert (config.reweight_w, config.variant, theirs) == (1.05, "C2", ["-x"])
    with pytest.raises(ConfigError, match=r"did you mean stare\.top_p_ratio"):
        ours.parse(["--stare.top_p", "0.1", "--"])
    with pytest.raises(ConfigError, match=r"before --, got '-x'"):
        ours.parse(["-x", "--"])
    with pytest.raises(ConfigError, match="usage"):
        ours.parse(["--stare.variant", "C2"])
    with pytest.raises(ConfigError, match="gate batch"):
        ours.parse(["--stare.gate", "token", "--"])


def test_the_launcher_starts_ray_with_the_hook_and_hands_over(monkeypatch):
    calls = {}
    ray = pytest.importorskip("ray", reason="ray is not installed")
    monkeypatch.setattr(ray, "init", lambda **kwargs: calls.update(kwargs))
    monkeypatch.setattr(
        ours.runpy, "run_module", lambda name, **kwargs: calls.update(module=name, **kwargs)
    )
    monkeypatch.setattr(ours.sys, "argv", ["x"])
    ours.main(["--stare.target_entropy", "0.2", "--", "--a", "1"])
    environment = calls["runtime_env"]
    assert environment["worker_process_setup_hook"] == "stare.integrations.openrlhf.install"
    assert json.loads(environment["env_vars"]["STARE_OPENRLHF"])["target_entropy"] == 0.2
    assert (calls["module"], calls["run_name"]) == ("openrlhf.cli.train_ppo_ray", "__main__")
    assert ours.sys.argv[1:] == ["--a", "1"]
