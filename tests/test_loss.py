"""The policy loss against a per-token loop, and its invariances."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stare.algo.loss import (
    Normalizer,
    add_stats,
    finish_stats,
    loss_normalizer,
    policy_loss,
)
from stare.algo.surrogate import clipped_surrogate, importance_weights, kl_estimate
from stare.config import LossConfig
from stare.errors import ArgumentError

AGGREGATIONS = ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "constant-length"]
SEEDS = st.integers(0, 2**31)


def config_of(aggregation: str, **more: Any) -> LossConfig:
    length = {"max_length": 9} if aggregation == "constant-length" else {}
    return LossConfig(aggregation=aggregation, **length, **more)  # type: ignore[arg-type]


CONFIGS = st.builds(
    config_of,
    st.sampled_from(AGGREGATIONS),
    dual_clip=st.sampled_from([None, 3.0, 10.0]),
    kl_coef=st.sampled_from([0.0, 0.1]),
    kl_estimator=st.sampled_from(["k1", "k2", "k3"]),
    entropy_coef=st.sampled_from([0.0, 0.01]),
    is_correction=st.sampled_from(["none", "token", "sequence"]),
)


def batch(seed: int, rows: int = 11, columns: int = 7, spread: float = 0.7) -> dict[str, Tensor]:
    """A float64 batch with ragged rows, one of them without any token."""
    g = torch.Generator().manual_seed(seed)

    def noise(scale: float) -> Tensor:
        return torch.randn(rows, columns, generator=g, dtype=torch.float64) * scale

    old = -noise(1.0).abs()
    lengths = torch.randint(0, columns + 1, (rows, 1), generator=g)
    lengths[0], lengths[1] = 0, columns
    return {
        "logprobs_BT": old + noise(spread),
        "old_logprobs_BT": old,
        "advantages_BT": noise(1.0),
        "mask_BT": torch.arange(columns) < lengths,
        "ref_logprobs_BT": old + noise(spread),
        "entropy_BT": noise(1.0).abs(),
        "rollout_logprobs_BT": old + noise(0.1),
    }


def loop_loss(b: dict[str, Tensor], config: LossConfig) -> float:
    """One token after the other in Python floats, with the released code's case distinctions."""
    rows = []
    for i in range(len(b["mask_BT"])):
        kept = [t for t in range(b["mask_BT"].shape[1]) if b["mask_BT"][i, t]]
        drift = [float(b["old_logprobs_BT"][i, t] - b["rollout_logprobs_BT"][i, t]) for t in kept]
        losses = []
        for position, t in enumerate(kept):
            new, old, a, ref, h = (
                float(b[k][i, t])
                for k in (
                    "logprobs_BT",
                    "old_logprobs_BT",
                    "advantages_BT",
                    "ref_logprobs_BT",
                    "entropy_BT",
                )
            )
            r = math.exp(min(max(new - old, -20.0), 20.0))
            loss = max(-a * r, -a * min(max(r, 1 - config.clip_low), 1 + config.clip_high))
            if a < 0 and config.dual_clip is not None:
                loss = min(loss, -a * config.dual_clip)
            if config.is_correction == "token":
                loss *= min(math.exp(drift[position]), config.is_cap)
            elif config.is_correction == "sequence":
                loss *= min(math.exp(sum(drift)), config.is_cap)
            d = ref - new
            kl = {"k1": -d, "k2": d * d / 2, "k3": min(math.exp(d) - d - 1, 10.0)}
            losses.append(loss + config.kl_coef * kl[config.kl_estimator] - config.entropy_coef * h)
        if losses:
            rows.append(losses)
    total = sum(map(sum, rows))
    if config.aggregation == "token-mean":
        return total / sum(map(len, rows))
    if config.aggregation == "seq-mean-token-mean":
        return sum(sum(row) / len(row) for row in rows) / len(rows)
    if config.aggregation == "seq-mean-token-sum":
        return total / len(rows)
    return total / len(rows) / (config.max_length or 0)


@settings(deadline=None)
@given(SEEDS, CONFIGS)
def test_equals_the_loop(seed: int, config: LossConfig) -> None:
    b = batch(seed)
    loss, stats = policy_loss(**b, config=config)
    assert loss.item() == pytest.approx(loop_loss(b, config), rel=1e-11, abs=1e-12)
    assert finish_stats(stats)["loss/total"] == loss.item()


def gradients(
    b: dict[str, Tensor], config: LossConfig, pieces: int
) -> tuple[Tensor, Tensor, dict[str, float]]:
    """Gradients of log-probs and entropy accumulated over micro-batches, and the metrics."""
    logprobs = b["logprobs_BT"].clone().requires_grad_()
    entropy = b["entropy_BT"].clone().requires_grad_()
    normalizer = loss_normalizer(b["mask_BT"], config)
    parts = []
    for rows in torch.arange(len(logprobs)).chunk(pieces):
        part = {k: v[rows] for k, v in b.items()}
        part |= {"logprobs_BT": logprobs[rows], "entropy_BT": entropy[rows]}
        loss, stats = policy_loss(**part, config=config, normalizer=normalizer)
        loss.backward()
        parts.append(stats)
    assert logprobs.grad is not None
    grad_entropy = torch.zeros_like(entropy) if entropy.grad is None else entropy.grad
    return logprobs.grad, grad_entropy, finish_stats(add_stats(parts))


@settings(deadline=None)
@given(SEEDS, CONFIGS, st.sampled_from([torch.float32, torch.float64]))
def test_micro_batches_change_nothing(seed: int, config: LossConfig, dtype: torch.dtype) -> None:
    b = batch(seed)
    b = {k: v.to(dtype) if v.is_floating_point() else v for k, v in b.items()}
    whole = gradients(b, config, 1)
    for pieces in (2, 7):
        split = gradients(b, config, pieces)
        torch.testing.assert_close(split[0], whole[0], rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(split[1], whole[1], rtol=1e-6, atol=1e-6)
        assert split[2].keys() == whole[2].keys()
        for name, value in whole[2].items():
            assert split[2][name] == pytest.approx(value, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_micro_batch_gradients_for_each_aggregation(aggregation: str, pieces: int) -> None:
    b = batch(0, rows=21)
    config = config_of(aggregation)
    expected = b["logprobs_BT"].clone().requires_grad_()
    policy_loss(**{**b, "logprobs_BT": expected}, config=config)[0].backward()
    grad, _, _ = gradients(b, config, pieces)
    assert expected.grad is not None
    assert float(grad.abs().max()) > 1e-3
    torch.testing.assert_close(grad, expected.grad, rtol=1e-12, atol=1e-15)


@settings(deadline=None)
@given(SEEDS, st.sampled_from([None, 3.0, 10.0]))
def test_surrogate_is_positively_homogeneous_in_the_advantage(
    seed: int, dual_clip: float | None
) -> None:
    g = torch.Generator().manual_seed(seed)
    config = LossConfig(dual_clip=dual_clip)
    log_ratio = (torch.randn(400, generator=g).double() * 1.5).requires_grad_()
    advantages = torch.randn(400, generator=g).double()
    advantages[::9] = 0.0
    w = torch.rand(400, generator=g).double() * 3 + 1e-3
    outside = w * clipped_surrogate(log_ratio, advantages, config)
    inside = clipped_surrogate(log_ratio, w * advantages, config)
    torch.testing.assert_close(outside, inside, rtol=1e-13, atol=0.0)
    a, b = (torch.autograd.grad(x.sum(), log_ratio)[0] for x in (outside, inside))
    torch.testing.assert_close(a, b, rtol=1e-13, atol=0.0)


@settings(deadline=None)
@given(SEEDS, CONFIGS)
def test_masked_positions_are_never_read(seed: int, config: LossConfig) -> None:
    b = batch(seed)
    clean = gradients(b, config, 1)
    for poison in (math.nan, math.inf, -math.inf):
        dirty = {
            k: v if k == "mask_BT" else v.masked_fill(~b["mask_BT"], poison) for k, v in b.items()
        }
        loss, grad_entropy, metrics = gradients(dirty, config, 2)
        torch.testing.assert_close(loss, clean[0], rtol=1e-12, atol=1e-15)
        torch.testing.assert_close(grad_entropy, clean[1], rtol=1e-12, atol=1e-15)
        assert bool((loss[~b["mask_BT"]] == 0).all())
        assert metrics == pytest.approx(clean[2], rel=1e-12, abs=1e-15)


def test_released_code_semantics_by_hand() -> None:
    """Expected values worked out on paper: clip-higher, dual clip, the bound of the log-ratio."""
    config = LossConfig(clip_low=0.2, clip_high=0.28, dual_clip=10.0)
    cases = [  # ratio, advantage, loss, d loss / d log-ratio
        (1.0, 2.0, -2.0, -2.0),
        (1.5, 2.0, -2.56, 0.0),  # clipped above
        (0.5, 2.0, -1.0, -1.0),  # a good token that became rare is pulled back
        (1.5, -2.0, 3.0, 3.0),
        (0.5, -2.0, 1.6, 0.0),  # clipped below
        (50.0, -2.0, 20.0, 0.0),  # dual clip: c |A|
        (50.0, 2.0, -2.56, 0.0),
        (0.7, 0.0, 0.0, 0.0),
    ]
    for ratio, advantage, loss, slope in cases:
        x = torch.tensor(ratio, dtype=torch.float64).log().requires_grad_()
        got = clipped_surrogate(x, torch.tensor(advantage, dtype=torch.float64), config)
        got.backward()
        assert got.item() == pytest.approx(loss, abs=1e-12)
        assert x.grad is not None
        assert x.grad.item() == pytest.approx(slope, abs=1e-12)
    for far in (25.0, 1e6, -25.0, -1e6):
        x = torch.tensor(far, requires_grad=True)
        loss_far = clipped_surrogate(x, torch.tensor(-1.0), LossConfig(dual_clip=None))
        loss_far.backward()
        assert math.isfinite(loss_far.item())
        assert x.grad is not None
        assert x.grad.item() == 0.0


def test_on_policy_gradient_is_the_policy_gradient() -> None:
    b = batch(1)
    logprobs = b["old_logprobs_BT"].clone().requires_grad_()
    policy_loss(logprobs, logprobs.detach(), b["advantages_BT"], b["mask_BT"], config=LossConfig())[
        0
    ].backward()
    expected = -b["advantages_BT"] * b["mask_BT"] / b["mask_BT"].sum()
    torch.testing.assert_close(logprobs.grad, expected)


def test_clip_fractions_and_divergences_by_hand() -> None:
    ratio = torch.tensor([[2.0, 2.0, 0.5, 0.5, 99.0, 1.1]], dtype=torch.float64)
    advantages = torch.tensor([[1.0, -1.0, 1.0, -1.0, -1.0, 1.0]], dtype=torch.float64)
    old = torch.full_like(ratio, -3.0)
    _, stats = policy_loss(
        old + ratio.log(),
        old,
        advantages,
        torch.ones_like(ratio),
        config=LossConfig(is_correction="token", is_cap=2.0),
        rollout_logprobs_BT=old - torch.tensor([[0.0, 5.0, 0.1, 0.0, 0.0, 0.0]]),
        ref_logprobs_BT=old,
        entropy_BT=torch.full_like(ratio, 0.25),
    )
    metrics = finish_stats(stats)
    assert metrics["loss/clip_high_frac"] == pytest.approx(1 / 6)
    assert metrics["loss/clip_low_frac"] == pytest.approx(1 / 6)
    assert metrics["loss/clip_dual_frac"] == pytest.approx(1 / 6)
    assert metrics["kl/old"] == pytest.approx(-float(ratio.log().mean()))
    assert metrics["kl/rollout"] == pytest.approx(-5.1 / 6)
    assert metrics["loss/is_capped_frac"] == pytest.approx(1 / 6)
    assert metrics["loss/is_weight"] == pytest.approx((4 + 2 + math.exp(0.1)) / 6)
    assert metrics["loss/entropy"] == pytest.approx(0.25)
    assert all(not value.requires_grad for value in stats.values())


@settings(deadline=None)
@given(SEEDS)
def test_clip_fractions_count_the_tokens_without_gradient(seed: int) -> None:
    b = batch(seed, spread=2.0)
    for name in ("ref_logprobs_BT", "entropy_BT", "rollout_logprobs_BT"):
        del b[name]
    logprobs = b["logprobs_BT"].clone().requires_grad_()
    config = LossConfig(dual_clip=3.0)
    loss, stats = policy_loss(**{**b, "logprobs_BT": logprobs}, config=config)
    loss.backward()
    assert logprobs.grad is not None
    still = int(((logprobs.grad == 0) & b["mask_BT"]).sum())
    assert still == sum(int(stats[k]) for k in ("clip_high", "clip_low", "clip_dual"))


def test_k3_keeps_its_digits_near_zero() -> None:
    x = torch.tensor([1e-4, -1e-4, 1e-3])
    torch.testing.assert_close(kl_estimate(x, "k3"), x**2 / 2 - x**3 / 6, rtol=1e-3, atol=0.0)
    assert kl_estimate(torch.tensor(-1e6), "k3").item() == 10.0


def test_sequence_weight_is_one_number_a_row() -> None:
    drift = torch.tensor([[0.1, 0.2, 0.0], [3.0, -1.0, 0.0]], dtype=torch.float64)
    weights = importance_weights(drift, LossConfig(is_correction="sequence", is_cap=2.0))
    torch.testing.assert_close(weights, torch.tensor([[math.exp(0.3)] * 3, [2.0] * 3]).double())


def test_rows_without_tokens_and_empty_batches() -> None:
    b = batch(2)
    normalizer = loss_normalizer(b["mask_BT"])
    kept = b["mask_BT"].any(-1)
    assert normalizer == Normalizer(int(b["mask_BT"].sum()), int(kept.sum()))
    for aggregation in AGGREGATIONS:
        config = config_of(aggregation)
        full, _ = policy_loss(**b, config=config)
        dropped, _ = policy_loss(**{k: v[kept] for k, v in b.items()}, config=config)
        assert full.item() == pytest.approx(dropped.item(), rel=1e-14)
        leaf = b["logprobs_BT"].clone().requires_grad_()
        nothing = {**b, "logprobs_BT": leaf, "mask_BT": torch.zeros_like(b["mask_BT"])}
        loss, stats = policy_loss(**nothing, config=config)
        loss.backward()
        assert loss.item() == 0.0
        assert leaf.grad is not None
        assert not leaf.grad.any()
        assert set(finish_stats(stats).values()) == {0.0}


def test_normalizers_of_parts_add_up() -> None:
    mask = batch(3)["mask_BT"]
    parts = [loss_normalizer(part) for part in mask.split(3)]
    assert sum(parts[1:], parts[0]) == loss_normalizer(mask)


def test_row_advantages_equal_broadcast_ones() -> None:
    b = batch(4)
    b["advantages_BT"] = b["advantages_BT"][:, 0]
    want = policy_loss(
        **{**b, "advantages_BT": b["advantages_BT"].unsqueeze(1).expand(11, 7)},
        config=LossConfig(),
    )[0]
    for shape in (b["advantages_BT"], b["advantages_BT"].unsqueeze(1)):
        assert policy_loss(**{**b, "advantages_BT": shape}, config=LossConfig())[0] == want


@pytest.mark.parametrize(
    ("change", "config", "message"),
    [
        ({"ref_logprobs_BT": None}, {"kl_coef": 0.1}, "kl_coef=0.1 needs ref_logprobs_BT"),
        ({"entropy_BT": None}, {"entropy_coef": 0.1}, "entropy_coef=0.1 needs entropy_BT"),
        (
            {"rollout_logprobs_BT": None},
            {"is_correction": "token"},
            "is_correction='token' needs rollout_logprobs_BT",
        ),
        ({"mask_BT": torch.ones(11, 6)}, {}, r"mask_BT .*\(11, 7\), got \(11, 6\)"),
        ({"advantages_BT": torch.ones(7)}, {}, r"advantages_BT .*got \(7, 1\)"),
        ({"old_logprobs_BT": torch.zeros(1, 7)}, {}, r"old_logprobs_BT .*got \(1, 7\)"),
        ({"logprobs_BT": torch.zeros(7)}, {}, r"must be \(B, T\), got shape \(7,\)"),
        ({"entropy_BT": torch.zeros(11, 7, device="meta")}, {}, "entropy_BT is on meta"),
    ],
)
def test_bad_arguments_are_named(
    change: dict[str, Any], config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        policy_loss(**{**batch(5), **change}, config=LossConfig(**config))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_equals_cpu() -> None:
    b = batch(6)
    config = LossConfig(kl_coef=0.1, entropy_coef=0.01, is_correction="sequence")
    want = gradients(b, config, 2)
    got = gradients({k: v.cuda() for k, v in b.items()}, config, 2)
    torch.testing.assert_close(got[0].cpu(), want[0])
    assert got[2] == pytest.approx(want[2], rel=1e-10, abs=1e-12)
