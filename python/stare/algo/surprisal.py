"""Log-probability, entropy and concentration of each position, in one chunked pass over logits.

Logits are the largest tensor of a training step. The naive `log_softmax` keeps a float32 copy of
all of them for backward, and an entropy next to it a second and third. Here forward works chunk by
chunk and keeps nothing but the logits themselves and H; backward recomputes each chunk and writes
its part of the gradient in the logits' dtype.

B rows, T positions a row, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stare.errors import ArgumentError

__all__ = ["TokenStatistics", "default_chunk", "logits_gradient", "token_statistics"]

_CPU_CHUNK = 1 << 17
"""Elements. Half a MiB in float32 stays in the second-level cache of one core: at V = 49,152 four
times as fast as one pass over everything, and 2^20 elements already lose half of that."""

_GPU_CHUNK = 1 << 26
"""Elements. 256 MiB in float32: few enough launches to hide, small beside the logits."""

_LOG_FLOOR = -1e4
"""exp() of this is 0 in every dtype; it stands for -inf so that 0 * ln 0 is 0 and not NaN."""


class TokenStatistics(NamedTuple):
    """What `token_statistics` returns; float32, or float64 for float64 logits."""

    logprobs_BT: Tensor
    """ln pi(target), nats; differentiable."""
    entropy_BT: Tensor
    """H = -sum pi ln pi, nats; differentiable."""
    concentration_BT: Tensor | None
    """C = sum pi^2 (s - H) <= 0 (`stare.algo.theory`); no gradient. None unless asked for."""


def token_statistics(
    logits_BTV: Tensor,
    targets_BT: Tensor,
    *,
    temperature: float = 1.0,
    chunk_tokens: int | None = None,
    want_concentration: bool = False,
) -> TokenStatistics:
    """Statistics of the distribution softmax(logits / temperature) at each position.

    Padding is treated like any other position: give it a valid target and mask the results.

    Args:
        logits_BTV: (..., V) float16, bfloat16, float32 or float64; may be a non-contiguous slice. A
            logit may be -inf (a forbidden token), not all of a position's.
        targets_BT: (...) integer token ids in [0, V).
        temperature: > 0; that of the sampler, so that these are the sampled policy's statistics.
        chunk_tokens: positions worked on at a time; None chooses by V and device. Results agree for
            all values.
        want_concentration: compute C as well.

    Returns:
        `TokenStatistics` of shape (...).

    Raises:
        ArgumentError: a shape, dtype or value is not as above. Target ids are checked on the CPU
            only: on CUDA the check would wait for the device, whose own assertion reports them.

    Example:
        >>> stats = token_statistics(torch.zeros(2, 3, 8), torch.zeros(2, 3, dtype=torch.long))
        >>> bool(torch.allclose(stats.entropy_BT, torch.tensor(8.0).log()))
        True
    """
    _check(logits_BTV, targets_BT, temperature, chunk_tokens)
    vocabulary = logits_BTV.shape[-1]
    if chunk_tokens is None:
        chunk_tokens = default_chunk(vocabulary, logits_BTV.device)
    logprobs, entropy, concentration = _TokenStatistics.apply(
        _as_rows(logits_BTV),
        targets_BT.long(),
        temperature,
        chunk_tokens,
        want_concentration,
    )
    shape = targets_BT.shape
    return TokenStatistics(
        logprobs.view(shape),
        entropy.view(shape),
        concentration.view(shape) if want_concentration else None,
    )


class _TokenStatistics(torch.autograd.Function):
    """(R, S, V) logits, R S targets -> (R, S) log-probabilities, H and C."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        targets: Tensor,
        temperature: float,
        chunk_tokens: int,
        want_concentration: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows, columns, _ = logits.shape
        targets = targets.reshape(rows, columns, 1)
        dtype = _accumulator(logits)
        logprobs = logits.new_empty(rows, columns, dtype=dtype)
        entropy = torch.empty_like(logprobs)
        concentration = torch.empty_like(logprobs) if want_concentration else logprobs.new_empty(0)
        for part in _chunks(rows, columns, chunk_tokens):
            log_pi = torch.log_softmax(_tempered(logits[part], temperature), dim=-1, dtype=dtype)
            logprobs[part] = log_pi.gather(-1, targets[part]).squeeze(-1)
            pi = log_pi.exp()
            log_pi.clamp_(min=_LOG_FLOOR)
            if want_concentration:
                pi_log_pi = log_pi.mul_(pi)
                h = -pi_log_pi.sum(-1)
                moment = pi_log_pi.mul_(pi).sum(-1)  # sum pi^2 ln pi
                concentration[part] = -moment - h * pi.square_().sum(-1)
            else:
                h = -pi.mul_(log_pi).sum(-1)
            entropy[part] = h
        concentration.clamp_(max=0.0)  # a uniform distribution rounds to either side
        ctx.save_for_backward(logits, targets, entropy)
        ctx.temperature, ctx.chunk_tokens = temperature, chunk_tokens
        ctx.mark_non_differentiable(concentration)
        ctx.set_materialize_grads(False)
        return logprobs, entropy, concentration

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_logprobs: Tensor | None, grad_entropy: Tensor | None, _: Tensor | None
    ) -> tuple[Tensor | None, None, None, None, None]:
        logits, targets, entropy = ctx.saved_tensors
        if grad_logprobs is None and grad_entropy is None:
            return None, None, None, None, None
        # A missing gradient of ln pi is rare (an entropy term alone): zeros keep one code path.
        grad = logits_gradient(
            logits,
            targets,
            entropy,
            torch.zeros_like(entropy) if grad_logprobs is None else grad_logprobs,
            grad_entropy,
            ctx.temperature,
            ctx.chunk_tokens,
        )
        return grad, None, None, None, None


def logits_gradient(
    logits: Tensor,
    targets: Tensor,
    entropy: Tensor,
    grad_logprobs: Tensor,
    grad_entropy: Tensor | None,
    temperature: float,
    chunk_tokens: int,
    *,
    in_place: bool = False,
) -> Tensor:
    """Gradient at the logits (R, S, V), in their dtype, of what `token_statistics` computes.

    Args:
        logits: (R, S, V).
        targets: (R, S, 1) int64.
        entropy: (R, S), of the same logits.
        grad_logprobs: (R, S).
        grad_entropy: (R, S), or None.
        temperature: as there.
        chunk_tokens: as there.
        in_place: the result takes the place of `logits`.
    """
    dtype = entropy.dtype
    grad = logits if in_place else torch.empty_like(logits, memory_format=torch.contiguous_format)
    rows, columns = entropy.shape
    g_logprobs = (grad_logprobs / temperature).unsqueeze(-1)
    g_entropy = (grad_entropy / temperature).unsqueeze(-1) if grad_entropy is not None else None
    for part in _chunks(rows, columns, chunk_tokens):
        scaled, out = _tempered(logits[part], temperature), grad[part]
        if out.dtype != dtype or in_place:
            out = out.new_empty(out.shape, dtype=dtype)
        if g_entropy is None:
            # d ln pi_a / dz_v = [v = a] - pi_v
            torch.softmax(scaled, dim=-1, dtype=dtype, out=out)
            out.mul_(-g_logprobs[part])
        else:
            # dH / dz_v = pi_v (s_v - H), so both together are -pi_v (g + g_H (ln pi_v + H))
            log_pi = torch.log_softmax(scaled, dim=-1, dtype=dtype)
            torch.exp(log_pi, out=out)
            bracket = log_pi.clamp_(min=_LOG_FLOOR).add_(entropy[part].unsqueeze(-1))
            out.mul_(bracket.mul_(g_entropy[part]).add_(g_logprobs[part]).neg_())
        out.scatter_add_(-1, targets[part], g_logprobs[part])
        if out.dtype != grad.dtype or in_place:
            grad[part] = out
    return grad


def default_chunk(vocabulary: int, device: torch.device) -> int:
    """Positions worked on at a time where the caller does not say."""
    return max(1, (_CPU_CHUNK if device.type == "cpu" else _GPU_CHUNK) // vocabulary)


def _chunks(rows: int, columns: int, tokens: int) -> Iterator[tuple[slice, slice]]:
    """Whole rows at a time where a chunk holds one, else pieces of a row."""
    if columns == 0:
        return
    step_rows, step_columns = max(1, tokens // columns), min(columns, tokens)
    for row in range(0, rows, step_rows):
        for column in range(0, columns, step_columns):
            yield slice(row, row + step_rows), slice(column, column + step_columns)


def _as_rows(logits: Tensor) -> Tensor:
    """(R, S, V) without a copy wherever strides allow: a slice `logits[:, :-1]` stays a slice."""
    vocabulary = logits.shape[-1]
    try:
        return logits.view(1, -1, vocabulary) if logits.numel() else logits.view(1, 0, vocabulary)
    except RuntimeError:
        return logits if logits.dim() == 3 else logits.reshape(1, -1, vocabulary)


def _tempered(logits: Tensor, temperature: float) -> Tensor:
    return logits if temperature == 1.0 else logits.to(_accumulator(logits)) / temperature


def _accumulator(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _check(logits: Tensor, targets: Tensor, temperature: float, chunk_tokens: int | None) -> None:
    if not logits.is_floating_point() or logits.dim() < 1 or logits.shape[-1] == 0:
        raise ArgumentError(
            "logits must be floating point of shape (..., V) with V > 0, "
            f"got {logits.dtype} {tuple(logits.shape)}"
        )
    if targets.shape != logits.shape[:-1]:
        raise ArgumentError(
            f"targets must have the shape of logits without V, {tuple(logits.shape[:-1])}, "
            f"got {tuple(targets.shape)}"
        )
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise ArgumentError(f"targets must be integer token ids, got {targets.dtype}")
    if targets.device != logits.device:
        raise ArgumentError(f"targets are on {targets.device}, logits on {logits.device}")
    if not (math.isfinite(temperature) and temperature > 0):
        raise ArgumentError(f"temperature must be > 0 and finite, got {temperature!r}")
    if chunk_tokens is not None and chunk_tokens < 1:
        raise ArgumentError(f"chunk_tokens must be >= 1, got {chunk_tokens!r}")
    if targets.device.type == "cpu" and targets.numel():
        low, high = (int(x) for x in torch.aminmax(targets))
        if low < 0 or high >= logits.shape[-1]:
            raise ArgumentError(
                f"targets must lie in [0, {logits.shape[-1]}), got {low} to {high}\n"
                "hint: give padding a valid id (0) and mask the results"
            )
