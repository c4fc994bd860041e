"""Statistics from hidden states equal those of the logits, values and gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stare.algo.head import head_statistics
from stare.algo.surprisal import token_statistics
from stare.errors import ArgumentError


def inputs(n: int, h: int, v: int, *, seed: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    hidden, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in ((n, h), (v, h), (v,))
    )
    targets = torch.randint(v, (n,), generator=generator)
    upstream = torch.randn(2, n, generator=generator, dtype=torch.float64).to(dtype)
    return hidden, weight, bias, targets, upstream


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    h=st.integers(1, 9),
    v=st.integers(2, 70),
    chunk=st.integers(1, 50),
    temperature=st.sampled_from([0.3, 1.0, 1.7]),
    with_bias=st.booleans(),
    grads=st.sampled_from(["logprobs", "entropy", "both"]),
    seed=st.integers(0, 10_000),
)
def test_equals_the_logits(n, h, v, chunk, temperature, with_bias, grads, seed):
    hidden, weight, bias, targets, upstream = inputs(n, h, v, seed=seed, dtype=torch.float64)
    leaves = [hidden, weight, *([bias] if with_bias else [])]
    options = {"temperature": temperature, "want_concentration": True}
    used = bias if with_bias else None
    logits = torch.nn.functional.linear(hidden, weight, used)
    want = token_statistics(logits, targets, **options)
    got = head_statistics(hidden, weight, targets, bias_V=used, chunk_tokens=chunk, **options)
    results = []
    for stats in (want, got):
        loss = torch.zeros((), dtype=torch.float64)
        if grads != "entropy":
            loss = loss + (stats.logprobs_BT * upstream[0]).sum()
        if grads != "logprobs":
            loss = loss + (stats.entropy_BT * upstream[1]).sum()
        results.append(torch.autograd.grad(loss, leaves))
    for a, b in zip(want, got, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-12, atol=1e-12)
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("leading", [(6,), (2, 3), (1, 2, 3)])
def test_any_leading_shape(leading: tuple[int, ...]):
    hidden, weight, _, targets, _ = inputs(6, 4, 9, seed=0, dtype=torch.float32)
    got = head_statistics(hidden.view(*leading, 4), weight, targets.view(leading), chunk_tokens=4)
    want = token_statistics(hidden @ weight.T, targets)
    assert got.logprobs_BT.shape == leading
    torch.testing.assert_close(got.logprobs_BT.flatten(), want.logprobs_BT)


def test_under_autocast_it_is_a_linear_layer_under_autocast():
    hidden, weight, _, targets, upstream = inputs(20, 16, 40, seed=1, dtype=torch.float32)
    results = []
    for fused in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if fused:
                stats = head_statistics(hidden, weight, targets, chunk_tokens=7)
            else:
                stats = token_statistics(torch.nn.functional.linear(hidden, weight), targets)
        loss = (stats.logprobs_BT * upstream[0].float()).sum()
        results.append((stats, torch.autograd.grad(loss, (hidden, weight))))
    (plain, plain_grads), (ours, our_grads) = results
    assert torch.equal(plain.logprobs_BT, ours.logprobs_BT)
    assert ours.logprobs_BT.dtype == torch.float32
    for a, b in zip(plain_grads, our_grads, strict=True):
        assert b.dtype == torch.float32
        torch.testing.assert_close(b, a, rtol=2e-2, atol=2e-2)


def test_only_what_is_wanted_gets_a_gradient():
    hidden, weight, _, targets, _ = inputs(5, 4, 9, seed=2, dtype=torch.float32)
    head_statistics(hidden.detach(), weight, targets, chunk_tokens=2).logprobs_BT.sum().backward()
    assert weight.grad is not None
    assert hidden.grad is None


def test_no_token_at_all():
    weight = torch.randn(9, 4, requires_grad=True)
    got = head_statistics(torch.zeros(0, 4), weight, torch.zeros(0, dtype=torch.long))
    got.logprobs_BT.sum().backward()
    assert got.entropy_BT.shape == (0,)
    assert not weight.grad.any()


@pytest.mark.parametrize(
    ("hidden", "weight", "targets", "chunk", "match"),
    [
        ((3, 4), (9, 5), (3,), 2, r"\(3, 4\) and \(9, 5\)"),
        ((3, 4), (9, 4), (4,), 2, r"targets must have the shape \(3,\)"),
        ((3, 4), (9, 4), (3,), 0, "chunk_tokens must be >= 1, got 0"),
    ],
)
def test_bad_arguments(hidden, weight, targets, chunk, match):
    with pytest.raises(ArgumentError, match=match):
        head_statistics(
            torch.zeros(hidden),
            torch.zeros(weight),
            torch.zeros(targets, dtype=torch.long),
            chunk_tokens=chunk,
        )


def test_targets_outside_the_vocabulary_are_named():
    with pytest.raises(ArgumentError, match=r"\[0, 9\)"):
        head_statistics(torch.zeros(3, 4), torch.zeros(9, 4), torch.full((3,), 9))
