"""Token statistics straight from hidden states: logits exist for a few hundred tokens at a time.

The logits of a micro-batch, and their gradient, are the peak of a training step wherever the
vocabulary is large: N V numbers against N H of the hidden states. Here forward computes the logits
of a chunk, takes what is wanted and drops them; backward computes them again. That is one more
product with the head's weight than keeping them.

N tokens, H hidden width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stare.algo.surprisal import (
    TokenStatistics,
    default_chunk,
    logits_gradient,
    token_statistics,
)
from stare.errors import ArgumentError

__all__ = ["head_statistics"]


def head_statistics(
    hidden_NH: Tensor,
    weight_VH: Tensor,
    targets_N: Tensor,
    *,
    bias_V: Tensor | None = None,
    temperature: float = 1.0,
    chunk_tokens: int = 256,
    want_concentration: bool = False,
) -> TokenStatistics:
    """`token_statistics(hidden @ weight.T + bias, targets)`, logits never all in memory.

    Under autocast products are made in its dtype, as a linear layer would make them.

    Args:
        hidden_NH: (..., H) output of the last block, after the final norm.
        weight_VH: (V, H) of the head.
        targets_N: (...) integer token ids in [0, V).
        bias_V: (V,) of the head, if it has one.
        temperature: > 0; that of the sampler.
        chunk_tokens: tokens whose logits exist at a time.
        want_concentration: compute C as well.

    Returns:
        `TokenStatistics` of shape (...); log-probs and entropy are differentiable with respect to
        hidden states, weight and bias.

    Raises:
        ArgumentError: a shape, dtype or value is not as above.

    Example:
        >>> hidden, weight = torch.randn(2, 3, 4), torch.randn(8, 4)
        >>> targets = torch.zeros(2, 3, dtype=torch.long)
        >>> got = head_statistics(hidden, weight, targets, chunk_tokens=2)
        >>> want = token_statistics(hidden @ weight.T, targets)
        >>> bool(torch.allclose(got.entropy_BT, want.entropy_BT, atol=1e-5))
        True
    """
    if chunk_tokens < 1:
        raise ArgumentError(f"chunk_tokens must be >= 1, got {chunk_tokens!r}")
    if weight_VH.dim() != 2 or hidden_NH.shape[-1:] != weight_VH.shape[1:]:
        raise ArgumentError(
            f"hidden must be (..., H) and weight (V, H), got {tuple(hidden_NH.shape)} and "
            f"{tuple(weight_VH.shape)}"
        )
    if targets_N.shape != hidden_NH.shape[:-1]:
        raise ArgumentError(
            f"targets must have the shape {tuple(hidden_NH.shape[:-1])} of hidden without H, "
            f"got {tuple(targets_N.shape)}"
        )
    logprobs, entropy, concentration = _HeadStatistics.apply(
        hidden_NH.reshape(-1, hidden_NH.shape[-1]),
        weight_VH,
        bias_V,
        targets_N.reshape(-1),
        temperature,
        chunk_tokens,
        want_concentration,
    )
    shape = targets_N.shape
    return TokenStatistics(
        logprobs.view(shape),
        entropy.view(shape),
        concentration.view(shape) if want_concentration else None,
    )


class _HeadStatistics(torch.autograd.Function):
    """(N, H), (V, H), (V) or None, N targets -> (N,) log-probabilities, H and C."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        temperature: float,
        chunk_tokens: int,
        want_concentration: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        device = hidden.device.type
        ctx.dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
        parts = []
        with torch.autocast(device, enabled=False):
            product = _Product(hidden, weight, bias, ctx.dtype)
            for start in range(0, len(targets), chunk_tokens):
                part = slice(start, start + chunk_tokens)
                parts.append(
                    token_statistics(
                        product.logits(part),
                        targets[part],
                        temperature=temperature,
                        want_concentration=want_concentration,
                    )
                )
        dtype = torch.float64 if product.dtype == torch.float64 else torch.float32
        empty = hidden.new_empty(0, dtype=dtype)
        logprobs = torch.cat([empty, *(part.logprobs_BT for part in parts)])
        entropy = torch.cat([empty, *(part.entropy_BT for part in parts)])
        found = [part.concentration_BT for part in parts if part.concentration_BT is not None]
        concentration = torch.cat([empty, *found])
        ctx.save_for_backward(hidden, weight, bias, targets, entropy)
        ctx.temperature, ctx.chunk_tokens = temperature, chunk_tokens
        ctx.mark_non_differentiable(concentration)
        ctx.set_materialize_grads(False)
        return logprobs, entropy, concentration

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_logprobs: Tensor | None, grad_entropy: Tensor | None, _: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None, None, None]:
        hidden, weight, bias, targets, entropy = ctx.saved_tensors
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        if grad_logprobs is None and grad_entropy is None:
            return None, None, None, None, None, None, None
        if grad_logprobs is None:
            grad_logprobs = torch.zeros_like(entropy)
        product = _Product(hidden, weight, bias, ctx.dtype)
        grad_hidden = torch.empty_like(hidden) if wants_hidden else None
        grad_weight = torch.zeros_like(weight) if wants_weight else None
        grad_bias = torch.zeros_like(bias) if wants_bias else None
        small = default_chunk(weight.shape[0], hidden.device)
        for start in range(0, len(targets), ctx.chunk_tokens):
            part = slice(start, start + ctx.chunk_tokens)
            slope = logits_gradient(
                product.logits(part).unsqueeze(0),
                targets[part].view(1, -1, 1),
                entropy[part].unsqueeze(0),
                grad_logprobs[part].unsqueeze(0),
                None if grad_entropy is None else grad_entropy[part].unsqueeze(0),
                ctx.temperature,
                small,
                in_place=True,
            )[0]
            if grad_hidden is not None:
                grad_hidden[part] = slope @ product.weight
            if grad_weight is not None:
                product.add_outer(grad_weight, slope, part)
            if grad_bias is not None:
                grad_bias += slope.sum(0, dtype=grad_bias.dtype)
        return grad_hidden, grad_weight, grad_bias, None, None, None, None


class _Product:
    """Logits of a chunk, in the dtype that autocast asks for."""

    def __init__(
        self, hidden: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None
    ) -> None:
        self.dtype = weight.dtype if dtype is None else dtype
        self.hidden = hidden
        self.weight = weight.to(self.dtype)
        self.bias = None if bias is None else bias.to(self.dtype)

    def logits(self, part: slice) -> Tensor:
        """(n, V)."""
        return torch.nn.functional.linear(self.hidden[part].to(self.dtype), self.weight, self.bias)

    def add_outer(self, total_VH: Tensor, slope_NV: Tensor, part: slice) -> None:
        """Add slope' hidden to the gradient of the weight, which stays in its own dtype."""
        rows = self.hidden[part].to(self.dtype)
        if total_VH.dtype == self.dtype:
            total_VH.addmm_(slope_NV.T, rows)
        else:
            total_VH += slope_NV.T @ rows
