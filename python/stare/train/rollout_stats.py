"""What rollouts look like by their length, and along their length. No tensors, numpy alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stare.train.collect import Group
from stare.types import Completion

__all__ = ["DECILES", "by_length", "by_position"]

DECILES = 10


def by_length(groups: Sequence[Group]) -> dict[str, float]:
    """Share, mean reward and truncated share of the responses in each bucket of lengths.

    Bucket `le_N` holds lengths from N/2 + 1 to N tokens, N a power of two (`le_1`: one token or
    none). An empty bucket has no entry.

    Args:
        groups: everything generated, before any selection.

    Example:
        >>> from stare.types import Completion, Problem
        >>> responses = [
        ...     Completion(prompt_ids=[1], token_ids=[1] * n, text="", finish_reason="stop")
        ...     for n in (3, 4, 7)
        ... ]
        >>> problem = Problem(id="p", problem="", answer="")
        >>> group = Group(problem=problem, completions=responses, rewards=[1.0, 0.0, 0.0])
        >>> stats = by_length([group])
        >>> stats["rollout/reward_le_4"], round(stats["rollout/share_le_8"], 3)
        (0.5, 0.333)
    """
    completions = [c for g in groups for c in g.completions]
    if not completions:
        return {}
    lengths = np.array([len(c.token_ids) for c in completions])
    rewards = np.array([r for g in groups for r in g.rewards], dtype=np.float64)
    truncated = np.array([c.is_truncated for c in completions], dtype=np.float64)
    # Exact: a float holds these integers, and frexp takes its exponent apart from the fraction.
    bucket = np.frexp(np.maximum(lengths, 1) - 1)[1]
    count = np.bincount(bucket)
    sums = [np.bincount(bucket, weights=values) for values in (rewards, truncated)]
    out: dict[str, float] = {}
    for k in np.flatnonzero(count):
        name = f"le_{1 << int(k)}"
        out[f"rollout/share_{name}"] = float(count[k] / len(completions))
        out[f"rollout/reward_{name}"] = float(sums[0][k] / count[k])
        out[f"rollout/truncated_{name}"] = float(sums[1][k] / count[k])
    return out


def by_position(groups: Sequence[Group]) -> dict[str, float]:
    """Mean entropy of the tokens in each tenth of their response; sampled surprisal without it.

    Token i of n is in tenth floor(10 i / n) + 1. Masked tokens (a tool's) count for the position
    and not for the mean. A tenth without a token has no entry; nothing has one where a sampler
    reports neither entropies nor log-probabilities.

    Args:
        groups: everything generated, before any selection.

    Example:
        >>> from stare.types import Completion, Problem
        >>> one = Completion(
        ...     prompt_ids=[1], token_ids=[1, 2], text="", finish_reason="stop",
        ...     logprobs=[-1.0, -0.5],
        ... )
        >>> problem = Problem(id="p", problem="", answer="")
        >>> by_position([Group(problem=problem, completions=[one], rewards=[1.0])])
        {'rollout/entropy_d1': 1.0, 'rollout/entropy_d6': 0.5}
    """
    total, count = np.zeros(DECILES), np.zeros(DECILES)
    # One response at a time: its arrays stay in the cache, which a copy of all would not.
    for c in (c for g in groups for c in g.completions):
        n = len(c.token_ids)
        values = _uncertainty(c)
        if len(values) != n:
            return {}
        tenth = np.arange(n) * DECILES // max(n, 1)
        if c.loss_mask is not None:
            kept = np.array(c.loss_mask, dtype=bool)
            values, tenth = values[kept], tenth[kept]
        total += np.bincount(tenth, weights=values, minlength=DECILES)
        count += np.bincount(tenth, minlength=DECILES)
    found = np.flatnonzero(count)
    return {f"rollout/entropy_d{k + 1}": float(total[k] / count[k]) for k in found}


def _uncertainty(c: Completion) -> npt.NDArray[np.float64]:
    if c.entropies:
        return np.array(c.entropies, dtype=np.float64)
    return -np.array(c.logprobs or [], dtype=np.float64)
