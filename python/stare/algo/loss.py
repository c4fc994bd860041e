"""The clipped surrogate of GRPO-ds with the released code's semantics, as pure functions.

Per token, with r = exp(clip(ln pi - ln pi_old, -20, 20)) and advantage A:

    A >= 0:  max(-A r, -A clip(r, 1 - low, 1 + high))
    A <  0:  the same, but at most -A c (dual clip)

The surrogate is positively homogeneous in A, which is what lets STARE be a transform of advantages:
w L(A) = L(w A) for w > 0. KL and entropy terms are added outside it and stay unweighted.

Every loss is divided by counts of the **global** batch (`Normalizer`): losses of micro-batches are
summed, not averaged, and their gradients add up to that of the whole batch. Under data-parallel
averaging of gradients over R ranks, multiply the loss by R.

    token-mean            sum of token losses / tokens
    seq-mean-token-mean   mean over sequences of the mean over their tokens
    seq-mean-token-sum    mean over sequences of the sum over their tokens
    constant-length       the same / max_length (Dr. GRPO; the released code sums over sequences,
                          which differs by a constant factor)

A sequence without a token under the mask is not counted.

Source: arXiv 2606.19236 section 2 and `compute_policy_loss_stare` of the released code.

B rows, T response tokens; what lies under a zero of the mask is never read and gets gradient 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from stare.algo.surrogate import (
    MAX_LOG_RATIO,
    clip_masks,
    clipped_surrogate,
    importance_weights,
    kl_estimate,
)
from stare.config import LossConfig
from stare.errors import ArgumentError

__all__ = ["Normalizer", "add_stats", "finish_stats", "loss_normalizer", "policy_loss"]


@dataclass(frozen=True, slots=True)
class Normalizer:
    """What token losses are divided by; counts of the global batch, which add over its parts.

    Example:
        >>> Normalizer(n_tokens=30, n_sequences=2) + Normalizer(n_tokens=12, n_sequences=1)
        Normalizer(n_tokens=42, n_sequences=3)
    """

    n_tokens: int
    """Tokens under the mask."""
    n_sequences: int
    """Rows with at least one token under the mask."""

    def __add__(self, other: Normalizer) -> Normalizer:
        return Normalizer(self.n_tokens + other.n_tokens, self.n_sequences + other.n_sequences)


def loss_normalizer(mask_BT: Tensor, config: LossConfig | None = None) -> Normalizer:
    """Counts of a batch. One transfer from the device; call it once per optimiser batch.

    Args:
        mask_BT: (B, T) non-zero on the tokens that count: the whole batch, or a part whose
            normalizers are then added (over ranks too).
        config: not needed by any aggregation so far; accepted so that callers need not care.

    Example:
        >>> loss_normalizer(torch.tensor([[1, 1, 0], [0, 0, 0]]))
        Normalizer(n_tokens=2, n_sequences=1)
    """
    keep = mask_BT != 0
    n_tokens, n_sequences = torch.stack([keep.sum(), keep.any(-1).sum()]).tolist()
    return Normalizer(n_tokens, n_sequences)


def policy_loss(
    logprobs_BT: Tensor,
    old_logprobs_BT: Tensor,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    *,
    config: LossConfig,
    normalizer: Normalizer | None = None,
    ref_logprobs_BT: Tensor | None = None,
    entropy_BT: Tensor | None = None,
    rollout_logprobs_BT: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch, or of a micro-batch of one.

    Args:
        logprobs_BT: (B, T) ln pi of the sampled tokens, nats; the gradient goes here.
        old_logprobs_BT: (B, T) the same under the policy before this batch's updates.
        advantages_BT: (B, T) or (B,), after reweighting.
        mask_BT: (B, T) non-zero on the tokens that count; rows are whole sequences.
        config: clipping, aggregation, KL, entropy and importance-sampling terms.
        normalizer: counts of the global batch; None takes those of the tensors given.
        ref_logprobs_BT: (B, T) under the reference policy; needed if `kl_coef > 0`, otherwise only
            reported.
        entropy_BT: (B, T) nats; needed if `entropy_coef > 0`, otherwise only reported.
        rollout_logprobs_BT: (B, T) as reported by the sampler; needed if `is_correction` is not
            "none", otherwise only reported.

    Returns:
        The scalar loss, and detached sums and counts on the device: add them over micro-batches
        (`add_stats`) and turn the total into metrics (`finish_stats`). With no token under the mask
        of the global batch, the loss and its gradient are 0.

    Raises:
        ArgumentError: a shape or device differs, or a tensor that `config` needs is missing.

    Example:
        >>> lp = torch.tensor([[-1.0, -2.0]], requires_grad=True)
        >>> loss, stats = policy_loss(
        ...     lp, lp.detach(), torch.tensor([0.5]), torch.ones(1, 2), config=LossConfig()
        ... )
        >>> loss.item(), finish_stats(stats)["loss/clip_high_frac"]
        (-0.5, 0.0)
    """
    keep = mask_BT != 0
    advantages = advantages_BT.unsqueeze(-1) if advantages_BT.dim() == 1 else advantages_BT
    if advantages.shape == (logprobs_BT.shape[0], 1):
        advantages = advantages.expand_as(logprobs_BT)
    _check(
        logprobs_BT,
        config,
        mask_BT=mask_BT,
        old_logprobs_BT=old_logprobs_BT,
        advantages_BT=advantages,
        ref_logprobs_BT=ref_logprobs_BT,
        entropy_BT=entropy_BT,
        rollout_logprobs_BT=rollout_logprobs_BT,
    )
    if normalizer is None:
        normalizer = loss_normalizer(mask_BT, config)

    # Masked entries are replaced before anything is computed from them: a NaN there would survive
    # a later multiplication by 0, in the loss or in its gradient.
    zero = logprobs_BT.new_zeros(())
    logprobs = torch.where(keep, logprobs_BT, zero)
    old = torch.where(keep, old_logprobs_BT.detach(), zero)
    advantages = torch.where(keep, advantages.detach(), zero)

    log_ratio = logprobs - old
    token_loss = clipped_surrogate(log_ratio, advantages, config)
    with torch.no_grad():
        high, low, dual = clip_masks(log_ratio, advantages, config)
        stats = {
            "n_tokens": keep.sum(),
            "clip_high": high.sum(),
            "clip_low": low.sum(),
            "clip_dual": dual.sum(),
            "kl_old": -log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).sum(),
        }

    if rollout_logprobs_BT is not None:
        drift = old - torch.where(keep, rollout_logprobs_BT.detach(), zero)
        stats["kl_rollout"] = -drift.sum()
        if config.is_correction != "none":
            weights = importance_weights(drift, config)
            token_loss = token_loss * weights
            stats["is_weight"] = torch.where(keep, weights, zero).sum()
            stats["is_capped"] = ((weights >= config.is_cap) & keep).sum()
    if ref_logprobs_BT is not None:
        reference = torch.where(keep, ref_logprobs_BT.detach(), zero)
        kl = kl_estimate(logprobs - reference, config.kl_estimator)
        stats["kl_ref"] = kl.detach().sum()
        if config.kl_coef > 0:
            token_loss = token_loss + config.kl_coef * kl
    if entropy_BT is not None:
        entropy = torch.where(keep, entropy_BT, zero)
        stats["entropy"] = entropy.detach().sum()
        if config.entropy_coef > 0:
            token_loss = token_loss - config.entropy_coef * entropy

    # Masked tokens are 0 in every term: A, the KL of equal log-probs, and H are.
    loss = _aggregate(token_loss, keep, config, normalizer)
    stats["loss"] = loss.detach()
    return loss, stats


def _aggregate(
    token_loss_BT: Tensor, keep_BT: Tensor, config: LossConfig, normalizer: Normalizer
) -> Tensor:
    """One number, as a sum over rows of something divided by a constant of the global batch."""
    if config.aggregation == "token-mean":
        return token_loss_BT.sum() / max(normalizer.n_tokens, 1)
    rows = token_loss_BT.sum(-1)
    if config.aggregation == "seq-mean-token-mean":
        rows = rows / keep_BT.sum(-1).clamp(min=1)
    elif config.aggregation == "constant-length":
        rows = rows / float(config.max_length or 1)
    return rows.sum() / max(normalizer.n_sequences, 1)


def add_stats(parts: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Add the stats of micro-batches (or ranks), which all hold the same keys."""
    total: dict[str, Tensor] = {}
    for part in parts:
        for key, value in part.items():
            total[key] = total[key] + value if key in total else value
    return total


_METRICS = {
    "clip_high": "loss/clip_high_frac",
    "clip_low": "loss/clip_low_frac",
    "clip_dual": "loss/clip_dual_frac",
    "kl_old": "kl/old",
    "kl_rollout": "kl/rollout",
    "kl_ref": "kl/ref",
    "entropy": "loss/entropy",
    "is_weight": "loss/is_weight",
    "is_capped": "loss/is_capped_frac",
}


def finish_stats(stats: dict[str, Tensor]) -> dict[str, float]:
    """Sums and counts to metrics, with one transfer from the device.

    Returns:
        `loss/total` (the sum of the micro-batch losses) and means over the tokens under the mask:
        `loss/clip_{low,high,dual}_frac`, `kl/old` and, for the tensors given, `kl/rollout`,
        `kl/ref`, `loss/entropy`, `loss/is_weight` and `loss/is_capped_frac`. `kl/old` and
        `kl/rollout` are k1 estimates of KL(old || current) and KL(rollout || old): unbiased, and
        below 0 at times. Without any token the means are 0.
    """
    values = torch.stack([value.double() for value in stats.values()]).tolist()
    sums = dict(zip(stats, values, strict=True))
    n = max(sums["n_tokens"], 1.0)
    means = {name: sums[key] / n for key, name in _METRICS.items() if key in sums}
    return {"loss/total": sums["loss"], **means}


def _check(logprobs: Tensor, config: LossConfig, **others: Tensor | None) -> None:
    if logprobs.dim() != 2:
        raise ArgumentError(f"logprobs_BT must be (B, T), got shape {tuple(logprobs.shape)}")
    needed = {
        "ref_logprobs_BT": (config.kl_coef > 0, f"kl_coef={config.kl_coef:g}"),
        "entropy_BT": (config.entropy_coef > 0, f"entropy_coef={config.entropy_coef:g}"),
        "rollout_logprobs_BT": (
            config.is_correction != "none",
            f"is_correction={config.is_correction!r}",
        ),
    }
    for name, tensor in others.items():
        if tensor is None:
            if name in needed and needed[name][0]:
                raise ArgumentError(f"{needed[name][1]} needs {name}, got None")
        elif tensor.shape != logprobs.shape:
            raise ArgumentError(
                f"{name} must have the shape of logprobs_BT {tuple(logprobs.shape)}, "
                f"got {tuple(tensor.shape)}"
            )
        elif tensor.device != logprobs.device:
            raise ArgumentError(f"{name} is on {tensor.device}, logprobs_BT on {logprobs.device}")
