"""`[compute]` changes how an update is computed, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from stare.errors import ConfigError, RunError
from stare.rollout.hf import TransformersSampler
from stare.rollout.sampler import SamplingParams
from stare.train.batch import Batch, make_batch, micro_batches
from stare.train.collect import Group
from stare.train.config import TrainConfig
from stare.train.forward import PolicyForward, compile_blocks
from stare.train.learner import Learner
from stare.train.optimizer import OffloadedAdamW
from stare.train.overrides import load_config
from stare.train.packing import pack
from stare.types import Problem
from tiny_llm import tiny_model, tiny_tokenizer

PROMPTS = ["1+2=", "what is 17-9?", "a", "3+3+3+3="]
ON = ("stare.controller=gate", "stare.target_relative=false", "stare.target_entropy=99")


def config(*overrides: str) -> TrainConfig:
    return load_config("demo-mod5", ["rollout.group_size=4", "rollout.temperature=0.9", *overrides])


def batch_of(model: Any, **changes: Any) -> Batch:
    """Sampled by the model, of many lengths; rewards alternate, so that every group is mixed."""
    sampler = TransformersSampler(model, tiny_tokenizer(), torch.device("cpu"))
    params = SamplingParams(n=4, max_tokens=14, seed=5, temperature=0.9)
    groups = [
        Group(
            problem=Problem(id=str(i), problem="", answer=""),
            completions=[replace(c, **changes) for c in members],
            rewards=[float((i + j) % 2) for j in range(4)],
        )
        for i, members in enumerate(sampler.sample(PROMPTS, params))
    ]
    return make_batch(groups, config().rollout, pad_id=0)


def updated(*overrides: str, steps: int = 2, **changes: Any) -> tuple[dict[str, Any], Any]:
    model = tiny_model()
    learner = Learner(model, config(*ON, "stare.reweight_w=2.0", *overrides), torch.device("cpu"))
    metrics: Any = None
    for _ in range(steps):
        metrics = learner.step(batch_of(model, **changes))
    return dict(model.state_dict()), metrics


CHUNKED = "compute.logit_chunk_tokens=7"
VARIANTS = {
    "chunks": (CHUNKED,),
    "one token a chunk": ("compute.logit_chunk_tokens=1",),
    "chunks, micro-batches": (CHUNKED, "optim.micro_batch_tokens=60"),
    "packed": (CHUNKED, "compute.packing=true"),
    "packed, micro-batches": (CHUNKED, "compute.packing=true", "optim.micro_batch_tokens=60"),
    "reuse": ("compute.reuse_rollout=true", "optim.micro_batch_tokens=60"),
    "all": (
        CHUNKED,
        "compute.packing=true",
        "compute.reuse_rollout=true",
        "compute.offload_optimizer=true",
        "optim.micro_batch_tokens=60",
    ),
}


@pytest.mark.parametrize("loss", ["", "loss.entropy_coef=0.05", "loss.kl_coef=0.1"])
@pytest.mark.parametrize("name", VARIANTS)
def test_an_update_is_the_same_however_it_is_computed(name: str, loss: str):
    extra = [loss] if loss else []
    want, plain = updated(*extra)
    got, metrics = updated(*extra, *VARIANTS[name])
    for key, value in want.items():
        torch.testing.assert_close(got[key], value, rtol=0, atol=3e-5)
    for key in ("entropy/batch", "optim/grad_norm", "stare/selected_frac", "loss/total"):
        assert metrics[key] == pytest.approx(plain[key], rel=1e-3, abs=1e-5), key


def test_offloading_is_adamw_to_the_bit():
    want, _ = updated()
    got, _ = updated("compute.offload_optimizer=true")
    assert all(torch.equal(got[k], v) for k, v in want.items())


def test_offloaded_state_goes_on_without_offloading_and_back():
    def half(state: Any, offload: bool, weights: Any) -> tuple[Any, Any]:
        model = tiny_model()
        model.load_state_dict(weights)
        learner = Learner(
            model, config(f"compute.offload_optimizer={str(offload).lower()}"), torch.device("cpu")
        )
        if state is not None:
            learner.load_state_dict(state)
        learner.step(batch_of(model))
        return learner.state_dict(), {k: v.clone() for k, v in model.state_dict().items()}

    ends = []
    for first, second in ((False, False), (True, False), (False, True), (True, True)):
        state, weights = half(None, first, tiny_model().state_dict())
        ends.append(half(state, second, weights)[1])
    assert all(torch.equal(ends[0][k], end[k]) for end in ends[1:] for k in end)


def test_offloaded_learning_rate_is_the_one_that_is_set():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = OffloadedAdamW([weight], lr=1.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    weight.grad = torch.ones(3)
    optimizer.step()
    assert torch.equal(weight, torch.ones(3))


def test_a_packed_sequence_does_not_see_its_neighbours():
    model = tiny_model()
    policy = PolicyForward(model, chunk_tokens=8)
    batch = batch_of(model)

    def statistics(batch: Batch) -> torch.Tensor:
        packed = pack(batch)
        stats = policy(
            packed.input_ids_1N, None, packed.position_ids_1N, packed.keep_K, packed.targets_1K
        )
        return packed.unpack(stats.logprobs_BT, batch.mask_BT.shape)

    before = statistics(batch)
    victim = 5
    ids = batch.input_ids_BL.clone()
    real = batch.attention_mask_BL[victim].bool()
    ids[victim, real] = (ids[victim, real] + 7) % 40 + 4
    width = batch.mask_BT.shape[1]
    after = statistics(replace(batch, input_ids_BL=ids, response_ids_BT=ids[:, -width:]))
    others = [row for row in range(batch.size) if row != victim]
    torch.testing.assert_close(after[others], before[others], rtol=0, atol=1e-5)
    assert not torch.allclose(after[victim], before[victim])


def test_packing_keeps_every_response_token_once():
    batch = batch_of(tiny_model())
    packed = pack(batch)
    width = batch.mask_BT.shape[1]
    real = batch.attention_mask_BL[:, -width:].bool()
    assert packed.targets_1K.shape[1] == int(real.sum())
    back = packed.unpack(packed.targets_1K.float() + 1, real.shape)
    assert torch.equal(back, torch.where(real, batch.response_ids_BT + 1, 0).float())
    assert packed.input_ids_1N.shape[1] == int(batch.attention_mask_BL.sum()) - batch.size


@pytest.mark.parametrize("budget", [10, 40, 60, 200])
def test_packed_micro_batches_hold_their_budget(budget: int):
    batch = batch_of(tiny_model())
    lengths = batch.attention_mask_BL.sum(1)
    cut = micro_batches(batch, torch.arange(batch.size), budget, packed=True)
    assert sorted(torch.cat(cut).tolist()) == list(range(batch.size))
    assert all(len(rows) == 1 or int(lengths[rows].sum()) <= budget for rows in cut)
    padded = micro_batches(batch, torch.arange(batch.size), budget)
    assert len(cut) <= len(padded)


def test_a_model_whose_logits_are_more_than_its_heads_product_is_refused():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50}
    capped = Gemma2ForCausalLM(
        Gemma2Config(**shape, **heads, final_logit_softcapping=0.5, initializer_range=0.5)
    )
    with pytest.raises(ConfigError, match="not its head's product"):
        PolicyForward(capped, chunk_tokens=8)
    PolicyForward(capped)  # whole logits are fine


def test_a_policy_without_a_named_head_is_refused():
    from stare.demo.policy import TinyPolicy

    with pytest.raises(ConfigError, match="logit_chunk_tokens unset"):
        Learner(TinyPolicy(seed=0), config(CHUNKED), torch.device("cpu"))
    with pytest.raises(ConfigError, match=r"compute\.compile=true finds no list of blocks"):
        compile_blocks(TinyPolicy(seed=0))


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        (("compute.reuse_rollout=true", "optim.epochs=2"), "several updates a batch"),
        (("compute.reuse_rollout=true", "rollout.top_p=0.9"), r"rollout\.top_p=0\.9"),
        (("compute.reuse_rollout=true", "stare.selector=critical"), "critical"),
        (("compute.packing=true",), r"compute\.logit_chunk_tokens=256"),
        (("compute.logit_chunk_tokens=0",), r"must lie in \[1, inf\), got 0"),
    ],
)
def test_contradictions_are_refused(overrides: tuple[str, ...], match: str):
    with pytest.raises(ConfigError, match=match):
        config(*overrides)


def test_reuse_needs_what_the_sampler_reports():
    cut = ("compute.reuse_rollout=true", "optim.micro_batch_tokens=60")
    with pytest.raises(RunError, match="reported no log-probs"):
        updated(*cut, logprobs=None)
    with pytest.raises(RunError, match="reported no entropies"):
        updated(*cut, "stare.gate=token", entropies=None)
    _, metrics = updated(*cut, entropies=None)  # the sampled surprisal stands in
    assert metrics["entropy/batch"] > 0
    assert "stare/lambda" not in metrics


def test_a_batch_that_teaches_nothing_leaves_no_gradient_for_the_next():
    model = tiny_model()
    learner = Learner(model, config(*ON, "loss.entropy_coef=0.05"), torch.device("cpu"))
    batch = batch_of(model)
    learner.step(replace(batch, rewards_B=torch.ones_like(batch.rewards_B)))
    assert all(p.grad is None for p in model.parameters())
