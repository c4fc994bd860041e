"""The entropy that the gate reads where a trainer computes none: the sampled tokens' surprisal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from stare.errors import ArgumentError

__all__ = ["check_usable", "finite_mean", "sampled_entropy", "surprisal_sum"]


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


def finite_mean(entropy: torch.Tensor, mask: torch.Tensor) -> float:
    """Mean of a host's entropies inside the mask, nats, of those that are finite; NaN if none is.

    A host that takes 0 ln 0 for a token that cannot be has a NaN or two of them.

    Example:
        >>> finite_mean(torch.tensor([1.0, 3.0, math.nan, 9.0]), torch.tensor([1, 1, 1, 0]))
        2.0
    """
    values = entropy.detach().double()[mask != 0]
    values = values[torch.isfinite(values)]
    return float(values.mean()) if values.numel() else math.nan


def check_usable(
    logprobs: Sequence[torch.Tensor], masks: Sequence[torch.Tensor], name: str, hint: str
) -> None:
    """Refuse log-probs that are zero on every token: a host that did not compute them.

    Raises:
        ArgumentError: they are.

    Example:
        >>> check_usable([torch.zeros(2)], [torch.ones(2)], "log_probs", "hint: compute them")
        Traceback (most recent call last):
        ...
        stare.errors.ArgumentError: log_probs are zero for every token, so surprisal ranks nothing
        hint: compute them
    """
    chosen = [row[mask != 0] for row, mask in zip(logprobs, masks, strict=True)]
    if any(part.numel() for part in chosen) and not any(bool(part.any()) for part in chosen):
        raise ArgumentError(f"{name} are zero for every token, so surprisal ranks nothing\n{hint}")
