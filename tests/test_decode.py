from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stare.rollout.decode import draw_tokens, uniforms


def naive(
    logits: list[float], u: float, temperature: float, top_p: float
) -> tuple[int, float, float]:
    """Plain Python, float64, sort and walk."""
    z = [x / temperature for x in logits]
    top = max(z)
    total = math.fsum(math.exp(x - top) for x in z)
    p = [math.exp(x - top) / total for x in z]
    mass, floor = 0.0, 0.0
    for q in sorted(p, reverse=True):
        mass, floor = mass + q, q
        if mass >= top_p:
            break
    p = [q if q >= floor else 0.0 for q in p]
    total = math.fsum(p)
    p = [q / total for q in p]
    entropy = -math.fsum(q * math.log(q) for q in p if q > 0)
    target, below = u, 0.0
    for token, q in enumerate(p):
        below += q
        if below > target:
            return token, math.log(q), entropy
    raise AssertionError("u must be below the total")


@given(st.data())
def test_equals_the_naive_twin(data: st.DataObject) -> None:
    vocabulary = data.draw(st.sampled_from([1, 2, 7, 255, 256, 257, 1000]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    temperature = data.draw(st.sampled_from([0.5, 1.0, 2.0]))
    top_p = data.draw(st.sampled_from([1.0, 0.9, 0.3, 1e-3]))
    rng = np.random.default_rng(seed)
    logits = (rng.normal(size=(5, vocabulary)) * 3).astype(np.float32)
    us = rng.random(5)
    tokens, logprobs, entropy = draw_tokens(
        torch.from_numpy(logits), torch.from_numpy(us), temperature=temperature, top_p=top_p
    )
    for row in range(5):
        z, u = logits[row].tolist(), us[row]
        slow = naive(z, u, temperature, top_p)
        if int(tokens[row]) != slow[0]:  # only where u falls on an edge, up to float32 rounding
            around = (max(u - 3e-6, 0.0), min(u + 3e-6, 1 - 1e-9))
            assert int(tokens[row]) in {naive(z, v, temperature, top_p)[0] for v in around}
            continue
        assert float(logprobs[row]) == pytest.approx(slow[1], abs=1e-4)
        assert float(entropy[row]) == pytest.approx(slow[2], abs=1e-4)


@pytest.mark.parametrize("vocabulary", [3, 300, 1024])
def test_a_grid_of_uniforms_draws_each_token_in_proportion(vocabulary: int) -> None:
    logits = torch.randn(1, vocabulary, generator=torch.Generator().manual_seed(0))
    count = 20_000
    grid = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    tokens, _, _ = draw_tokens(logits.expand(count, -1), grid)
    expected = logits[0].double().softmax(-1) * count
    drawn = torch.bincount(tokens, minlength=vocabulary)
    # The grid points inside an interval of width p number p * count, give or take one.
    assert float((drawn - expected).abs().max()) <= 1.1


def test_banned_tokens_are_never_drawn_and_leave_the_entropy_finite() -> None:
    logits = torch.full((4, 600), -torch.inf)
    logits[:, 511] = 1.0
    logits[:, 599] = 1.0
    us = torch.tensor([0.0, 0.4999, 0.5001, 1.0 - 2.0**-48], dtype=torch.float64)
    tokens, logprobs, entropy = draw_tokens(logits, us)
    assert tokens.tolist() == [511, 511, 599, 599]
    torch.testing.assert_close(logprobs, torch.full((4,), -math.log(2)))
    torch.testing.assert_close(entropy, torch.full((4,), math.log(2)))


def test_a_nucleus_wider_than_the_first_look_is_found() -> None:
    flat = torch.zeros(2, 3000)
    _, logprobs, entropy = draw_tokens(
        flat, torch.tensor([0.1, 0.9], dtype=torch.float64), top_p=0.5
    )
    # All tokens tie, so all are kept.
    torch.testing.assert_close(entropy, torch.full((2,), math.log(3000)), atol=1e-4, rtol=0)
    torch.testing.assert_close(logprobs, torch.full((2,), -math.log(3000)), atol=1e-4, rtol=0)


def test_nan_logits_give_nan_not_a_crash() -> None:
    us = torch.tensor([0.5], dtype=torch.float64)
    for top_p in (1.0, 0.5):
        _, logprobs, _ = draw_tokens(torch.full((1, 700), torch.nan), us, top_p=top_p)
        assert bool(logprobs.isnan().all())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes_are_read_not_written(dtype: torch.dtype) -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(1)).to(dtype)
    copy = logits.clone()
    us = torch.tensor([0.2, 0.5, 0.8], dtype=torch.float64)
    tokens, logprobs, _ = draw_tokens(logits, us, temperature=0.5)
    assert torch.equal(logits, copy)
    expected = (logits.double() / 0.5).log_softmax(-1).gather(-1, tokens[:, None])[:, 0]
    torch.testing.assert_close(logprobs.double(), expected, atol=1e-4, rtol=0)


def test_uniforms_are_a_function_of_all_arguments() -> None:
    base = uniforms(1, [1, 2], 0, 0, 50)
    assert np.array_equal(base, uniforms(1, [1, 2], 0, 0, 50))
    assert np.array_equal(base[:20], uniforms(1, [1, 2], 0, 0, 20))
    others = [(2, [1, 2], 0, 0), (1, [12], 0, 0), (1, [1, 2], 1, 0), (1, [1, 2], 0, 1)]
    for seed, prompt, repeat, sample in others:
        assert not np.isin(uniforms(seed, prompt, repeat, sample, 50), base).any()
    many = np.concatenate([uniforms(0, [7], 0, k, 100) for k in range(100)])
    assert 0 <= many.min() <= many.max() < 1
    assert abs(many.mean() - 0.5) < 4 * math.sqrt(1 / 12 / many.size)
