"""What is taken over the whole batch while each rank holds some of its rows.

Shape suffixes: R rows of this rank, T response positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stare.algo.gate import GateState
from stare.algo.reweight import token_weights
from stare.algo.rules import Rule
from stare.algo.stats import ReweightStats
from stare.algo.surprisal import TokenStatistics
from stare.config import StareConfig
from stare.errors import RunError
from stare.train.batch import Batch
from stare.train.parallel import Ranks
from stare.train.parallel_batch import OwnRows

__all__ = ["Scores", "mean_over_ranks", "minority", "select_weights", "stats_over_ranks"]


class Scores(NamedTuple):
    """Statistics of the policy before the update, without a graph; each [R, T]."""

    logprobs_BT: Tensor
    entropy_BT: Tensor
    concentration_BT: Tensor | None
    """None where the sampler reported the rest."""
    is_reported: bool = False
    """By the sampler, not by a forward of the learner."""

    @staticmethod
    def reported(batch: Batch, need_entropy: bool) -> Scores:
        """What the sampler said; without entropies of its own, the sampled surprisal.

        Raises:
            RunError: it did not say what is needed.
        """
        logprobs_BT, entropy_BT = batch.sampled_logprobs_BT, batch.sampled_entropy_BT
        for value, name, needed in (
            (logprobs_BT, "log-probs", True),
            (entropy_BT, "entropies, which the gate needs,", need_entropy),
        ):
            if value is None and needed:
                raise RunError(
                    f"compute.reuse_rollout=true, but the sampler reported no {name}\n"
                    "hint: compute.reuse_rollout=false"
                )
        assert logprobs_BT is not None
        if entropy_BT is None:
            entropy_BT = -logprobs_BT
        return Scores(logprobs_BT, entropy_BT, None, is_reported=True)

    @staticmethod
    def of(stats: TokenStatistics) -> Scores:
        """Those of a forward pass, cut off its graph."""
        assert stats.concentration_BT is not None, "the learner always asks for it"
        return Scores(
            stats.logprobs_BT.detach(), stats.entropy_BT.detach(), stats.concentration_BT.detach()
        )


def select_weights(
    own: OwnRows,
    scores: Scores,
    advantages_R: Tensor,
    config: StareConfig,
    ranks: Ranks,
    *,
    gate: GateState | None = None,
    rules: Sequence[Rule] | None = None,
) -> tuple[Tensor, ReweightStats]:
    """`token_weights` of the rank's rows, chosen over the whole batch; all ranks call it.

    Returns:
        ([R, T] weights, counts over the whole batch).
    """
    arrays = (scores.logprobs_BT, advantages_R, own.batch.mask_BT)
    options: dict[str, Any] = {
        "config": config,
        "gate": gate,
        "rules": rules,
        "entropy": scores.entropy_BT,
        "concentration": scores.concentration_BT,
    }
    if ranks.size == 1:
        return token_weights(*arrays, **options)
    from stare.algo.distributed import token_weights_distributed

    return token_weights_distributed(*arrays, rows=own.rows_R.cpu().numpy(), **options)


def minority(
    own: OwnRows, scores: Scores, advantages_R: Tensor, config: StareConfig, ranks: Ranks
) -> Tensor:
    """L+ and L-: the high-surprisal sets, whether or not the gate or the variant uses them."""
    rules = [Rule(sign, "high", config.top_p_ratio, 2.0) for sign in (1, -1)]
    always = replace(config, gate="off")
    weights_RT, _ = select_weights(own, scores, advantages_R, always, ranks, rules=rules)
    selected: Tensor = weights_RT != 1
    return selected


def mean_over_ranks(values_RT: Tensor, mask_RT: Tensor, ranks: Ranks) -> float:
    """Mean over the tokens of all ranks; NaN without any."""
    here = [float(values_RT[mask_RT].double().sum()), float(mask_RT.sum())]
    total, count = ranks.total(here)
    return total / count if count else math.nan


def stats_over_ranks(stats: dict[str, Tensor], ranks: Ranks) -> dict[str, Tensor]:
    """Sums and counts of `policy_loss`, added up over the ranks."""
    if ranks.size == 1:
        return stats
    values = torch.stack([value.double() for value in stats.values()]).tolist()
    sums = torch.tensor(ranks.total(values), dtype=torch.float64)
    return dict(zip(stats, sums, strict=True))
