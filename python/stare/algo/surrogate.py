"""Token-level pieces of the policy loss: elementwise, no masks, no reductions but where named.

Source: arXiv 2606.19236 section 2 and `compute_policy_loss_stare` of the released code.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from stare.config import LossConfig
from stare.errors import ArgumentError

__all__ = ["MAX_LOG_RATIO", "clip_masks", "clipped_surrogate", "importance_weights", "kl_estimate"]

MAX_LOG_RATIO = 20.0
"""exp() of it cannot overflow; beyond it the ratio is constant, without gradient, as released."""

_MAX_K3 = 10.0
"""The released code bounds the k3 estimate of a token's KL at this."""


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, config: LossConfig) -> Tensor:
    """The loss of each token, elementwise.

    Args:
        log_ratio: ln pi - ln pi_old, nats.
        advantages: A, of the same shape or broadcast.
        config: `clip_low`, `clip_high` and `dual_clip`.

    Returns:
        Token losses; the negated objective, so minimising it raises the objective.

    Example:
        >>> r = torch.tensor([2.0, 0.5, 20.0]).log()
        >>> loss = clipped_surrogate(r, torch.tensor([1.0, -1.0, -1.0]), LossConfig())
        >>> [round(x, 4) for x in loss.tolist()]
        [-1.28, 0.8, 10.0]
    """
    ratio = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    clipped = ratio.clamp(1.0 - config.clip_low, 1.0 + config.clip_high)
    loss = torch.maximum(-advantages * ratio, -advantages * clipped)
    if config.dual_clip is None:
        return loss
    bounded = torch.minimum(loss, -advantages * config.dual_clip)
    return torch.where(advantages < 0, bounded, loss)


def kl_estimate(log_ratio: Tensor, estimator: str) -> Tensor:
    """Per-token estimate of KL(pi || pi_ref) from tokens sampled from pi.

    Args:
        log_ratio: ln pi - ln pi_ref, nats.
        estimator: `k1`, `k2` or `k3` of J. Schulman, "Approximating KL divergence" (2020).

    Example:
        >>> [round(kl_estimate(torch.tensor(0.5), k).item(), 4) for k in ("k1", "k2", "k3")]
        [0.5, 0.125, 0.1065]
    """
    if estimator == "k1":
        return log_ratio
    if estimator == "k2":
        return 0.5 * log_ratio.square()
    if estimator == "k3":
        inverse = (-log_ratio).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
        # expm1: exp(x) - 1 - x cancels to nothing near 0, where on-policy tokens are.
        return (torch.expm1(inverse) - inverse).clamp(max=_MAX_K3)
    raise ArgumentError(f"estimator must be k1, k2 or k3, got {estimator!r}")


def importance_weights(log_ratio_BT: Tensor, config: LossConfig) -> Tensor:
    """Truncated importance weights min(pi_old / pi_rollout, cap), detached.

    Args:
        log_ratio_BT: (B, T) ln pi_old - ln pi_rollout: the trainer's view of the sampling policy
            less the sampler's own; 0 where masked.
        config: `is_correction` ("token", or "sequence" for one weight a row) and `is_cap`.
    """
    log_ratio = log_ratio_BT.detach()
    if config.is_correction == "sequence":
        log_ratio = log_ratio.sum(-1, keepdim=True).expand_as(log_ratio)
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp().clamp(max=config.is_cap)


def clip_masks(
    log_ratio: Tensor, advantages: Tensor, config: LossConfig
) -> tuple[Tensor, Tensor, Tensor]:
    """Where the upper clip, the lower clip and the dual clip are active: no gradient there.

    Args:
        log_ratio: ln pi - ln pi_old, nats.
        advantages: A, of the same shape.
        config: `clip_low`, `clip_high` and `dual_clip`.
    """
    ratio = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    high = (advantages > 0) & (ratio > 1.0 + config.clip_high)
    low = (advantages < 0) & (ratio < 1.0 - config.clip_low)
    cap = math.inf if config.dual_clip is None else config.dual_clip
    return high, low, (advantages < 0) & (ratio > cap)
