"""token_statistics against the naive log_softmax: values, gradients, memory, bad input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from stare.algo.surprisal import TokenStatistics, token_statistics
from stare.errors import ArgumentError


def naive(logits: Tensor, targets: Tensor, temperature: float = 1.0) -> TokenStatistics:
    """The obvious twin: everything at once, in float32 or wider."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    log_pi = torch.log_softmax(wide / temperature, dim=-1)
    pi = log_pi.exp()
    entropy = -(pi * log_pi.clamp_min(-1e30)).sum(-1)
    surprisal = -log_pi.clamp_min(-1e30)
    concentration = (pi**2 * (surprisal - entropy.unsqueeze(-1))).sum(-1)
    return TokenStatistics(
        log_pi.gather(-1, targets.unsqueeze(-1)).squeeze(-1), entropy, concentration.detach()
    )


def case(
    *shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 3.0
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype)
    return logits, torch.randint(shape[-1], shape[:-1], generator=generator)


def gradient(
    function: Any, logits: Tensor, targets: Tensor, weights: tuple[Tensor, Tensor], **kwargs: Any
) -> Tensor:
    leaf = logits.detach().clone().requires_grad_()
    stats = function(leaf, targets, **kwargs)
    (stats.logprobs_BT * weights[0] + stats.entropy_BT * weights[1]).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.dtype == logits.dtype
    return leaf.grad


@settings(deadline=None)
@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 7),
    vocabulary=st.integers(1, 40),
    chunk=st.one_of(st.none(), st.integers(1, 40)),
    temperature=st.sampled_from([1.0, 0.6, 1.7]),
    scale=st.sampled_from([0.0, 1.0, 30.0]),
    seed=st.integers(0, 2**31),
)
def test_values_and_gradients_equal_the_naive_version_for_any_chunk(
    rows: int, columns: int, vocabulary: int, chunk: int | None, temperature: float, scale: float,
    seed: int,
) -> None:  # fmt: skip
    shape = (rows, columns, vocabulary)
    logits, targets = case(*shape, dtype=torch.float64, seed=seed, scale=scale)
    got = token_statistics(
        logits, targets, temperature=temperature, chunk_tokens=chunk, want_concentration=True
    )
    want = naive(logits, targets, temperature)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)
    assert bool((got.entropy_BT >= 0).all())
    assert bool((got.concentration_BT <= 0).all())
    weights = (torch.randn(rows, columns).double(), torch.randn(rows, columns).double())
    torch.testing.assert_close(
        gradient(
            token_statistics, logits, targets, weights, temperature=temperature, chunk_tokens=chunk
        ),
        gradient(naive, logits, targets, weights, temperature=temperature),
        rtol=1e-10,
        atol=1e-12,
    )


def test_gradcheck_of_both_outputs() -> None:
    logits, targets = case(2, 3, 7, dtype=torch.float64)
    logits.requires_grad_()
    for temperature in (1.0, 0.7):
        assert torch.autograd.gradcheck(
            lambda z, t=temperature: token_statistics(z, targets, temperature=t)[:2],
            (logits,),
        )


@pytest.mark.parametrize("outputs", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("chunk", [1, 5, None])
def test_low_precision_logits_are_computed_in_float32(
    dtype: torch.dtype, chunk: int | None, outputs: tuple[float, float]
) -> None:
    logits, targets = case(4, 6, 300, dtype=dtype)
    got = token_statistics(logits, targets, chunk_tokens=chunk, want_concentration=True)
    want = naive(logits.double(), targets)
    for a, b in zip(got, want, strict=True):
        assert a is not None
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=1e-5, atol=1e-5)
    weights = (torch.full((4, 6), outputs[0]), torch.full((4, 6), outputs[1]))
    # Both round the exact gradient once to the logits' dtype.
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(
        gradient(token_statistics, logits, targets, weights, chunk_tokens=chunk),
        gradient(naive, logits, targets, weights),
        rtol=2 * eps,
        atol=1e-6,
    )


def test_one_output_alone_has_the_right_gradient() -> None:
    logits, targets = case(3, 4, 11, dtype=torch.float64)
    for name in ("logprobs_BT", "entropy_BT"):
        grads = []
        for function in (token_statistics, naive):
            leaf = logits.clone().requires_grad_()
            getattr(function(leaf, targets), name).square().sum().backward()
            grads.append(leaf.grad)
        torch.testing.assert_close(*grads, rtol=1e-11, atol=1e-13)


def test_autocast_changes_nothing() -> None:
    logits, targets = case(3, 5, 40, dtype=torch.bfloat16)
    ones = (torch.ones(3, 5), torch.ones(3, 5))
    plain = token_statistics(logits, targets, want_concentration=True)
    grad = gradient(token_statistics, logits, targets, ones)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = token_statistics(logits, targets, want_concentration=True)
        cast_grad = gradient(token_statistics, logits, targets, ones)
    for a, b in zip(cast, plain, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(cast_grad, grad)


def test_concentration_carries_no_gradient() -> None:
    logits, targets = case(2, 2, 5)
    stats = token_statistics(logits.requires_grad_(), targets, want_concentration=True)
    assert stats.logprobs_BT.requires_grad
    assert stats.entropy_BT.requires_grad
    assert stats.concentration_BT is not None
    assert not stats.concentration_BT.requires_grad


@pytest.mark.parametrize("chunk", [1, 3, 4, 9, 100, None])
def test_shapes_and_strides(chunk: int | None) -> None:
    logits, targets = case(2, 3, 5, 13, dtype=torch.float64)
    views = [
        (logits, targets),
        (logits[0, 0], targets[0, 0]),
        (logits[0, 0, 0], targets[0, 0, 0]),
        (logits[0, :, :-1], targets[0, :, :-1]),  # the usual shift by one
        (logits[0].transpose(0, 1), targets[0].transpose(0, 1)),
        (logits[..., ::2], targets // 2),
        (logits[:, :, 1:], targets[:, :, 1:]),
        (logits[0, 0, 0].expand(3, 4, 13), targets[:1, 0, :4].expand(3, 4)),
        (logits[:0], targets[:0]),
        (logits[0, :, :0], targets[0, :, :0]),
    ]
    for z, a in views:
        before = z.clone()
        got, want = token_statistics(z, a, chunk_tokens=chunk), naive(z, a)
        assert got.logprobs_BT.shape == a.shape
        assert got.concentration_BT is None
        torch.testing.assert_close(got.logprobs_BT, want.logprobs_BT)
        torch.testing.assert_close(got.entropy_BT, want.entropy_BT)
        assert torch.equal(z, before)
        weights = (torch.ones(a.shape).double(), torch.ones(a.shape).double())
        torch.testing.assert_close(
            gradient(token_statistics, z, a, weights, chunk_tokens=chunk),
            gradient(naive, z, a, weights),
        )


def test_forbidden_tokens_have_no_weight_and_a_forbidden_target_is_minus_infinity() -> None:
    logits, targets = case(3, 4, 9, dtype=torch.float64)
    logits[..., 2] = -torch.inf
    targets.fill_(5)
    targets[0, 0] = 2
    got = token_statistics(logits, targets, want_concentration=True)
    assert got.logprobs_BT[0, 0] == -torch.inf
    keep = [0, 1, 3, 4, 5, 6, 7, 8]
    want = naive(logits[..., keep], torch.full_like(targets, 4))
    torch.testing.assert_close(got.logprobs_BT[1:], want.logprobs_BT[1:])
    torch.testing.assert_close(got.entropy_BT, want.entropy_BT)
    torch.testing.assert_close(got.concentration_BT, want.concentration_BT)
    ones = (torch.ones(3, 4).double(), torch.ones(3, 4).double())
    grad = gradient(token_statistics, logits, targets, ones)
    assert bool(torch.isfinite(grad).all())
    assert bool((grad[1:, :, 2] == 0).all())


class Allocations(TorchDispatchMode):
    """The operations that made a storage larger than a limit, with its bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.large: list[tuple[str, int]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        known = {
            a.untyped_storage().data_ptr()
            for a in (*args, *(kwargs or {}).values())
            if isinstance(a, Tensor)
        }
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in known and storage.nbytes() > self.limit:
                    self.large.append((str(func), storage.nbytes()))
        return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nothing_as_large_as_the_logits_is_made_but_the_gradient(dtype: torch.dtype) -> None:
    logits, targets = case(4, 64, 512, dtype=dtype)
    logits = logits[:, :-1].requires_grad_()  # and a slice is not copied either
    limit = 8 * 512 * 4  # a chunk of 8 positions in float32
    with Allocations(limit) as seen:
        stats = token_statistics(logits, targets[:, :-1], chunk_tokens=8, want_concentration=True)
    assert seen.large == []
    loss = stats.logprobs_BT.sum() + stats.entropy_BT.sum()
    with Allocations(limit) as seen:
        loss.backward()
    assert [size for _, size in seen.large] == [4 * 63 * 512 * logits.element_size()]


def test_nonfinite_logits_are_not_hidden() -> None:
    logits, targets = case(1, 2, 6)
    logits[0, 1, 3] = torch.nan
    stats = token_statistics(logits, targets, want_concentration=True)
    for value in stats:
        assert value is not None
        assert torch.isnan(value).tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets_BT": torch.zeros(2, 2, dtype=torch.long)}, r"\(2, 3\), got \(2, 2\)"),
        ({"targets_BT": torch.zeros(2, 3)}, "integer token ids, got torch.float32"),
        ({"targets_BT": torch.full((2, 3), -100)}, r"\[0, 5\), got -100 to -100\nhint"),
        ({"targets_BT": torch.full((2, 3), 5)}, "got 5 to 5"),
        ({"logits_BTV": torch.zeros(2, 3, 5, dtype=torch.long)}, "floating point"),
        ({"logits_BTV": torch.zeros(2, 3, 0)}, "V > 0"),
        ({"temperature": 0.0}, "temperature must be > 0"),
        ({"temperature": float("inf")}, "finite, got inf"),
        ({"chunk_tokens": 0}, "chunk_tokens must be >= 1, got 0"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    good = {"logits_BTV": torch.zeros(2, 3, 5), "targets_BT": torch.zeros(2, 3, dtype=torch.long)}
    with pytest.raises(ArgumentError, match=message):
        token_statistics(**{**good, **change})


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cuda_equals_cpu(dtype: torch.dtype) -> None:
    logits, targets = case(4, 33, 1000, dtype=dtype)
    got = token_statistics(logits.cuda(), targets.cuda(), chunk_tokens=50, want_concentration=True)
    want = token_statistics(logits, targets, want_concentration=True)
    for a, b in zip(got, want, strict=True):
        assert a is not None
        torch.testing.assert_close(a.cpu(), b, rtol=1e-5, atol=1e-5)
