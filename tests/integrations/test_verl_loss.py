"""verl's own policy losses: which of them a weighted advantage means the weighted loss for."""

from __future__ import annotations

import json

import pytest
import torch
from verl_host import composed, nested, trainer_base

from stare.integrations.verl_loss import weights
from stare.integrations.verl_rules import LOSSES

from verl.trainer.ppo.core_algos import (  # isort: skip (verl_host skips where it is absent)
    POLICY_LOSS_REGISTRY,
    agg_loss,
    get_policy_loss_fn,
)
from verl.utils import tensordict_utils as tu  # isort: skip
from verl.utils.config import omega_conf_to_dataclass  # isort: skip
from verl.workers.utils import losses  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore")

B, T = 6, 40
EXACT = [name for name, caveat in LOSSES.items() if not caveat]
POLICY = "actor_rollout_ref.actor.policy_loss"


def actor(mode: str, *overrides: str):
    extra = [f"{POLICY}.loss_mode={mode}", *overrides]
    if mode == "dro":
        extra.append(f"{POLICY}.dro_beta=0.1")
    if mode in ("clip_cov", "kl_cov"):
        extra += [f"{POLICY}.{mode}_ratio=0.05", f"{POLICY}.clip_cov_lb=0.01"]
    config = omega_conf_to_dataclass(composed(*extra).actor_rollout_ref.actor)
    config.global_batch_info.update(
        dp_size=1, batch_num_tokens=None, global_batch_size=None, loss_scale_factor=None
    )
    return config


def inputs(seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    old = -torch.rand(B, T, generator=generator, dtype=torch.float64) * 3 - 0.01
    new = (old + 0.3 * torch.randn(B, T, generator=generator, dtype=torch.float64)).clamp(max=0.0)
    sign = torch.tensor([1.0, -1.0] * (B // 2), dtype=torch.float64)
    mask = torch.rand(B, T, generator=generator) > 0.1
    advantages = sign[:, None] * (0.5 + torch.arange(B, dtype=torch.float64)[:, None]) * mask
    omega = torch.ones(B, T, dtype=torch.float64)
    omega[torch.rand(B, T, generator=generator) < 0.1] = 1.5
    omega[torch.rand(B, T, generator=generator) < 0.1] = 0.7
    return old, new, advantages, mask, omega


def gradient(mode: str, old, new, advantages, mask, *overrides: str):
    torch.manual_seed(0)
    log_prob = new.clone().requires_grad_()
    loss, _ = get_policy_loss_fn(mode)(
        old_log_prob=old,
        log_prob=log_prob,
        advantages=advantages,
        response_mask=mask,
        loss_agg_mode="token-mean",
        config=actor(mode, *overrides),
        rollout_is_weights=None,
    )
    loss.backward()
    return log_prob.grad


def test_every_registered_loss_has_a_verdict():
    """A loss that verl adds must be looked at before STARE says it goes with it."""
    assert set(POLICY_LOSS_REGISTRY) == {*LOSSES, "geo_mean"}


@pytest.mark.parametrize("mode", EXACT)
def test_weighting_the_advantage_is_weighting_the_loss(mode):
    old, new, advantages, mask, omega = inputs()
    plain = gradient(mode, old, new, advantages, mask)
    weighted = gradient(mode, old, new, advantages * omega, mask)
    assert plain.abs().max() > 1e-4
    assert (weighted - omega * plain).abs().max() <= 1e-12


def test_the_other_kind_of_bypass_mode_too():
    old, new, advantages, mask, omega = inputs()
    kind = f"{POLICY}.rollout_correction.loss_type=reinforce"
    plain = gradient("bypass_mode", old, new, advantages, mask, "+" + kind)
    weighted = gradient("bypass_mode", old, new, advantages * omega, mask, "+" + kind)
    assert (weighted - omega * plain).abs().max() <= 1e-12


@pytest.mark.parametrize("mode", ["geo_mean", "dro", "clip_cov", "kl_cov"])
def test_the_losses_with_a_caveat_or_a_refusal_deserve_it(mode):
    old, new, advantages, mask, omega = inputs()
    if mode in ("clip_cov", "kl_cov"):  # exact as long as the weights do not change what they pick
        omega = torch.where(omega > 1.0, 8.0, omega)
    plain = gradient(mode, old, new, advantages, mask)
    weighted = gradient(mode, old, new, advantages * omega, mask)
    assert (weighted - omega * plain).abs().max() > 1e-6


# --- scope=microbatch: the released code's selection ---------------------------------------------


def golden(shared):
    return json.loads((shared / "golden/official_stare.json").read_text())["weights"]


def message(case):
    config = {
        "variant": case["variant"],
        "top_p_ratio": case["P"],
        "reweight_w": case["W"],
        "reweight_m": case["M"],
    }
    return {"on": case["gate_on"], "w": case["W"], "m": case["M"], "config": config}


def test_the_weights_are_those_of_the_released_code(shared):
    cases = golden(shared)
    assert len(cases) == 150
    for case in cases:
        omega = weights(
            message(case),
            torch.tensor(case["logprobs"]),
            torch.tensor(case["advantages"]),
            torch.tensor(case["mask"]),
        )
        assert torch.allclose(omega, torch.tensor(case["weights"]), rtol=0, atol=1e-6)


def micro_batch(old, new, advantages, mask, text=None):
    """One micro-batch as `ppo_loss` gets it: nested fields, log-probs of prompt and response."""
    prompt = 2
    lengths = [T - i for i in range(B)]
    cut = [list(range(n)) for n in lengths]

    def rows(tensor, dtype=torch.float64):
        return nested([tensor[i][c].tolist() for i, c in enumerate(cut)], dtype)

    # The model's output at position p scores token p + 1: response token t is scored at t + 1.
    parts = []
    for i, n in enumerate(lengths):
        parts.append(torch.cat([torch.tensor([-7.0]).double(), new[i][:n], torch.tensor([-8.0])]))
    log_probs = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    data = trainer_base.TensorDict(
        {
            "prompts": nested([[1.0] * prompt] * B),
            "responses": rows(old),
            "advantages": rows(advantages),
            "old_log_probs": rows(old),
            "response_mask": rows(mask, torch.int64),
        },
        batch_size=B,
    )
    tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=None, global_batch_size=None)
    if text is not None:
        tu.assign_non_tensor(data, stare=text)
    return {"log_probs": log_probs}, data


def test_real_ppo_loss_with_the_gate_equals_the_released_loss_with_omega(shared):
    """`vanilla` with omega inside, written out, against verl's `ppo_loss` with our hook."""
    old, new, advantages, mask, _ = inputs(3)
    for i in range(B):
        mask[i, T - i :] = False
    wanted = {"gate_on": True, "variant": "C2", "P": 0.1}
    case = next(c for c in golden(shared) if wanted.items() <= c.items())
    leaf = new.clone().requires_grad_()
    output, data = micro_batch(old, leaf, advantages, mask, json.dumps(message(case)))
    before = data["advantages"].values().clone()
    config = actor("vanilla", "actor_rollout_ref.actor.clip_ratio_c=10.0")
    loss, metrics = losses.ppo_loss(config, output, data)
    loss.backward()

    twin = new.clone().requires_grad_()
    omega = weights(message(case), twin, advantages, mask)
    assert set(omega.unique().tolist()) == {1.0, case["W"], case["M"]}
    ratio = (twin - old).exp()
    surrogate = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2))
    surrogate = torch.where(advantages < 0, torch.minimum(-advantages * 10.0, surrogate), surrogate)
    expected = agg_loss(omega * surrogate, mask, "token-mean", dp_size=1)
    expected.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert (leaf.grad - twin.grad).abs().max() <= 1e-12
    assert torch.equal(data["advantages"].values(), before)
    share = float((omega[mask] != 1.0).double().mean())
    assert metrics["stare/weighted_frac"].aggregate() == pytest.approx(share)


def test_without_a_message_ppo_loss_is_verls_own():
    old, new, advantages, mask, _ = inputs(1)
    for i in range(B):
        mask[i, T - i :] = False
    output, data = micro_batch(old, new, advantages, mask)
    ours, metrics = losses.ppo_loss(actor("vanilla"), output, data)
    theirs, _ = losses.ppo_loss.stare_original(actor("vanilla"), output, data)
    assert torch.equal(ours, theirs)
    assert "stare/weighted_frac" not in metrics


def test_the_workers_call_the_hooked_loss():
    from verl.trainer.distillation import losses as distillation
    from verl.workers import engine_workers

    assert engine_workers.ppo_loss is losses.ppo_loss
    assert distillation.ppo_loss is losses.ppo_loss
    assert hasattr(losses.ppo_loss, "stare_original")
