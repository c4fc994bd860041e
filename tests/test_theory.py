"""Phi, s* and the batch pressures against finite differences, scipy and plain loops."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw
from torch import Tensor

from stare.algo.surprisal import token_statistics
from stare.algo.theory import (
    EntropyPressure,
    PressurePool,
    critical_surprisal,
    entropy_pressure,
    phi,
)
from stare.errors import ArgumentError

SEEDS = st.integers(0, 2**31)
SCALES = st.sampled_from([0.1, 0.5, 1.0, 3.0, 10.0])
SIZES = st.integers(2, 40)


def distribution(seed: int, size: int, scale: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Logits, pi, H and C, by their definitions."""
    z = np.random.default_rng(seed).normal(size=size) * scale
    log_pi = z - np.logaddexp.reduce(z)
    pi = np.exp(log_pi)
    h = float(-(pi * log_pi).sum())
    return z, pi, h, float((pi**2 * (-log_pi - h)).sum())


def entropy_of(z: np.ndarray) -> float:
    log_pi = z - np.logaddexp.reduce(z)
    return float(-(np.exp(log_pi) * log_pi).sum())


@settings(deadline=None)
@given(SEEDS, SIZES, SCALES, st.sampled_from([-1.5, -1.0, 1.0, 2.0]))
def test_phi_is_the_finite_difference_of_entropy(
    seed: int, size: int, scale: float, advantage: float
) -> None:
    z, pi, h, c = distribution(seed, size, scale)
    for a in range(size):
        step = advantage * ((np.arange(size) == a) - pi)  # dz / d eta of one policy-gradient step
        eta = 1e-5
        difference = (entropy_of(z + eta * step) - entropy_of(z - eta * step)) / (2 * eta)
        predicted = -advantage * phi(float(pi[a]), h, c)
        assert difference == pytest.approx(predicted, abs=2e-9)
        if abs(predicted) > 1e-8:
            assert np.sign(difference) == np.sign(predicted)


@settings(deadline=None)
@given(SEEDS, SIZES, SCALES)
def test_phi_has_mean_zero_and_c_is_never_positive(seed: int, size: int, scale: float) -> None:
    _, pi, h, c = distribution(seed, size, scale)
    assert (pi * phi(pi, h, c)).sum() == pytest.approx(0.0, abs=1e-14)
    assert c <= 1e-16
    assert phi(np.array(0.0), h, c) == c


@settings(deadline=None)
@given(SEEDS, SIZES, SCALES)
def test_critical_surprisal_is_the_root_below_entropy(seed: int, size: int, scale: float) -> None:
    _, pi, h, c = distribution(seed, size, scale)
    s_star = float(critical_surprisal(h, c))
    assert -1e-15 <= s_star <= h
    assert phi(math.exp(-s_star), h, c) == pytest.approx(0.0, abs=1e-14)
    s = -np.log(pi)
    clear = np.abs(s - s_star) > 1e-6
    assert ((phi(pi, h, c) < 0) == (s > s_star))[clear].all()


def test_critical_surprisal_of_a_uniform_distribution_is_its_entropy() -> None:
    for size in (1, 2, 50_000):
        h = math.log(size)
        assert critical_surprisal(h, 0.0) == h
        assert critical_surprisal(h, 1e-17) == h  # rounding on the wrong side of 0


@settings(deadline=None)
@given(st.floats(0.0, 12.0), st.floats(-320.0, 5.0))
def test_lambert_w_equals_scipy(h: float, exponent: float) -> None:
    c = -(10.0**exponent)
    expected = h - float(lambertw(-c * math.exp(h)).real)
    assert critical_surprisal(h, c) == pytest.approx(expected, rel=1e-15, abs=4e-15)


def test_lambert_w_keeps_the_digits_of_tiny_arguments() -> None:
    c = -np.logspace(-300, 20, 5000)
    w = -critical_surprisal(np.zeros_like(c), c)  # H = 0: s* is -W0 itself
    np.testing.assert_allclose(w, lambertw(-c).real, rtol=1e-15)
    np.testing.assert_allclose(w * np.exp(w), -c, rtol=2e-14)


def test_library_dtype_and_shape_follow_the_input() -> None:
    h = torch.rand(3, 5) + 0.5
    c = -torch.rand(3, 5) * 0.1
    assert critical_surprisal(h, c).dtype == torch.float32
    assert critical_surprisal(h.half(), c.half()).dtype == torch.float32
    assert critical_surprisal(h.double(), c.double()).dtype == torch.float64
    got = critical_surprisal(h.numpy(), c.numpy())
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, critical_surprisal(h, c).numpy())
    torch.testing.assert_close(
        critical_surprisal(h, c).double(), critical_surprisal(h.double(), c.double())
    )
    p = torch.rand(3, 5)
    np.testing.assert_array_equal(phi(p.numpy(), h.numpy(), c.numpy()), phi(p, h, c).numpy())


def batch(seed: int, rows: int = 5, columns: int = 7) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, columns, 12, generator=g, dtype=torch.float64) * 2
    pi = logits.softmax(-1).view(-1, 12)
    targets = torch.multinomial(pi, 1, generator=g).view(rows, columns)
    stats = token_statistics(logits, targets, want_concentration=True)
    assert stats.concentration_BT is not None
    return {
        "logprobs": stats.logprobs_BT,
        "entropy": stats.entropy_BT,
        "concentration": stats.concentration_BT,
        "advantages": torch.randint(-1, 2, (rows, columns), generator=g).double()
        * torch.rand(rows, columns, generator=g).double(),
        "mask": torch.rand(rows, columns, generator=g) < 0.8,
        "selected": torch.rand(rows, columns, generator=g) < 0.4,
    }


def by_loops(b: dict[str, Tensor]) -> EntropyPressure:
    """One token at a time, as method.md section 6 says it."""
    total = dict.fromkeys(EntropyPressure.__dataclass_fields__, 0.0)
    flat = [b[k].reshape(-1).tolist() for k in b]
    for lp, h, c, a, keep, chosen in zip(*flat, strict=True):
        if not keep:
            continue
        p = math.exp(lp)
        effect = a * (p * (lp + h) + c)
        above = -lp > h - float(lambertw(-c * math.exp(h)).real)
        total["n"] += 1
        total["a_phi"] += effect
        if a > 0:
            total["n_pos"] += 1
            total["n_pos_above"] += above
            total["critical_pos"] += effect * above
            total["selected_pos"] += effect * chosen
            total["n_selected_pos"] += chosen
            total["n_selected_pos_above"] += chosen and above
        elif a < 0:
            total["selected_neg"] += effect * chosen
    return EntropyPressure(**total)


@settings(deadline=None)
@given(SEEDS)
def test_pressure_equals_the_loop_and_adds_over_any_split(seed: int) -> None:
    b = batch(seed)
    whole = entropy_pressure(**b)
    loop = by_loops(b)
    for name in EntropyPressure.__dataclass_fields__:
        assert getattr(whole, name) == pytest.approx(getattr(loop, name), rel=1e-12, abs=1e-14)
    parts = [entropy_pressure(**{k: v[i : i + 2] for k, v in b.items()}) for i in (0, 2, 4)]
    summed = sum(parts, EntropyPressure())
    assert summed.a_phi == pytest.approx(whole.a_phi, abs=1e-14)
    assert summed.n_pos_above == whole.n_pos_above
    as_numpy: dict[str, Any] = {k: v.numpy() for k, v in b.items()}
    assert entropy_pressure(**as_numpy) == whole


@settings(deadline=None)
@given(SEEDS)
def test_w_star_flips_the_sign_of_the_entropy_change(seed: int) -> None:
    b = batch(seed)
    b["selected"] = -b["logprobs"] > critical_surprisal(b["entropy"], b["concentration"])
    p = entropy_pressure(**b)
    if p.gamma <= 0:
        assert math.isnan(p.w_star)
        return
    for w in (p.w_star, p.w_star + 0.1, p.w_star - 0.1):
        weights = 1.0 + (w - 1.0) * (b["selected"] & (b["advantages"] > 0)).double()
        pressure = entropy_pressure(**{**b, "advantages": b["advantages"] * weights}).lambda_
        # the reweighted pressure is Lambda - (W - 1) Gamma
        assert pressure == pytest.approx((p.w_star - w) * p.gamma, abs=1e-12)


@settings(deadline=None)
@given(SEEDS, st.floats(0.05, 1.0))
def test_attenuating_the_negative_set_removes_its_share(seed: int, m: float) -> None:
    b = batch(seed)
    p = entropy_pressure(**b)
    weights = 1.0 + (m - 1.0) * (b["selected"] & (b["advantages"] < 0)).double()
    pressure = entropy_pressure(**{**b, "advantages": b["advantages"] * weights}).lambda_
    assert pressure == pytest.approx(p.lambda_ - (1 - m) * p.gamma_minus, abs=1e-12)


@settings(deadline=None)
@given(SEEDS)
def test_exact_selection_is_perfectly_aligned_and_pushes_back(seed: int) -> None:
    b = batch(seed)
    b["selected"] = -b["logprobs"] > critical_surprisal(b["entropy"], b["concentration"])
    p = entropy_pressure(**b)
    assert p.gamma == p.gamma_exact >= 0
    assert math.isnan(p.sel_in) or p.sel_in == 1.0
    assert p.base_in == p.n_selected_pos / p.n_pos


def test_what_is_masked_is_not_read() -> None:
    b = batch(3)
    clean = entropy_pressure(**b)
    for name in ("logprobs", "entropy", "concentration", "advantages"):
        b[name] = b[name].masked_fill(~b["mask"], math.nan)
    assert entropy_pressure(**b) == clean


def test_row_advantages_and_missing_selection() -> None:
    b = batch(4)
    b["advantages"] = torch.tensor([1.0, -1.0, 0.0, 0.5, 2.0]).double()
    wide = {**b, "advantages": b["advantages"].unsqueeze(1).expand(5, 7)}
    assert entropy_pressure(**b) == entropy_pressure(**wide)
    del b["selected"]
    p = entropy_pressure(**b)
    assert math.isnan(p.w_star)
    assert math.isnan(p.sel_in)
    assert p.w_star_exact > 0


@pytest.mark.parametrize("name", ["entropy", "concentration", "advantages", "mask", "selected"])
def test_shapes_that_do_not_agree_are_named(name: str) -> None:
    b = batch(5)
    b[name] = b[name][:3]
    with pytest.raises(ArgumentError, match=rf"{name} must .*got \(3, 7\)"):
        entropy_pressure(**b)


def test_empty_batch_has_no_pressure() -> None:
    empty = torch.zeros(0, 4)
    p = entropy_pressure(empty, empty, empty, empty, empty)
    assert p == EntropyPressure()
    assert math.isnan(p.lambda_)


@settings(deadline=None)
@given(st.lists(SEEDS, min_size=1, max_size=8), st.integers(1, 4))
def test_pool_is_the_sum_of_its_window_and_resumes_exactly(seeds: list[int], window: int) -> None:
    pool = PressurePool(window)
    batches = [EntropyPressure(*np.random.default_rng(s).normal(size=9)) for s in seeds]
    for b in batches:
        pool.add(b)
    assert pool.pooled == sum(batches[-window:], EntropyPressure())
    resumed = PressurePool(window)
    resumed.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    pool.add(batches[0])
    resumed.add(batches[0])
    assert resumed.pooled == pool.pooled
    assert len(resumed) == min(window, len(seeds) + 1)


def test_pool_refuses_what_is_not_its_state() -> None:
    with pytest.raises(ArgumentError, match="window must be >= 1"):
        PressurePool(0)
    for bad in ({}, {"batches": [[1.0]]}):
        with pytest.raises(ArgumentError, match="'batches'"):
            PressurePool().load_state_dict(bad)


def test_gradient_descent_sees_the_same_sign_as_the_pooled_pressure() -> None:
    """A tabular policy's own GRPO step: its entropy moves by -eta Lambda N to first order."""
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 8, 10, generator=g, dtype=torch.float64).requires_grad_()
    targets = torch.randint(10, (6, 8), generator=g)
    advantages = torch.randn(6, generator=g).double()
    stats = token_statistics(logits, targets, want_concentration=True)
    mask = torch.ones(6, 8)
    assert stats.concentration_BT is not None
    p = entropy_pressure(
        stats.logprobs_BT, stats.entropy_BT, stats.concentration_BT, advantages, mask
    )
    (stats.logprobs_BT * advantages.unsqueeze(1)).sum().backward()
    eta = 1e-5
    assert logits.grad is not None
    ahead = token_statistics(logits.detach() + eta * logits.grad, targets).entropy_BT
    behind = token_statistics(logits.detach() - eta * logits.grad, targets).entropy_BT
    slope = float((ahead - behind).sum()) / (2 * eta)
    assert slope == pytest.approx(-p.lambda_ * p.n, rel=1e-6)
