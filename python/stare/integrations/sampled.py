"""The entropy that the gate reads where a trainer computes none: the sampled tokens' surprisal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

__all__ = ["sampled_entropy", "surprisal_sum"]


def surprisal_sum(logprobs: torch.Tensor, mask: torch.Tensor) -> tuple[float, int]:
    """Sum and number of the usable surprisals inside the mask, for a mean over several shards."""
    surprisal = -logprobs.detach().double()[mask != 0]
    usable = torch.isfinite(surprisal) & (surprisal >= -1e-3)
    return float(surprisal[usable].sum()), int(usable.sum())


def sampled_entropy(logprobs: Sequence[torch.Tensor], masks: Sequence[torch.Tensor]) -> float:
    """Mean surprisal of the sampled tokens, nats; NaN if there is none.

    Unbiased for the mean entropy where sampling is neither truncated nor tempered; it reads low
    under top-p or top-k.

    Example:
        >>> sampled_entropy([torch.tensor([-1.0, -3.0, -9.0])], [torch.tensor([1, 1, 0])])
        2.0
    """
    sums = [surprisal_sum(row, mask) for row, mask in zip(logprobs, masks, strict=True)]
    count = sum(n for _, n in sums)
    return sum(total for total, _ in sums) / count if count else math.nan
