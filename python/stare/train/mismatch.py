"""How far the sampler's log-probabilities are from the trainer's, for the same weights and tokens.

B responses, T positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from stare.train.parallel import Ranks, alone

__all__ = ["mismatch"]

_FAR = 0.6931471805599453
"""ln 2: a ratio outside [1/2, 2]."""


def mismatch(
    trainer_BT: Tensor, sampler_BT: Tensor, mask_BT: Tensor, ranks: Ranks = alone
) -> dict[str, float]:
    """Figures over the tokens under the mask, with r = exp(trainer - sampler) of each.

    Args:
        trainer_BT: log-probabilities by the trainer's forward, nats.
        sampler_BT: those that the sampler reported when it drew the tokens.
        mask_BT: tokens that count.
        ranks: processes that hold parts of the batch.

    Returns:
        `mean_abs` and `max_abs` of ln r, and `far_frac`, the share of tokens with r outside
        [1/2, 2]; nothing where no token counts. (`kl/rollout` comes with the loss.)

    Example:
        >>> one = torch.zeros(1, 2)
        >>> figures = mismatch(torch.tensor([[0.0, 1.0]]), one, one == 0)
        >>> figures["mismatch/mean_abs"], figures["mismatch/far_frac"]
        (0.5, 0.5)
    """
    log_r = (trainer_BT - sampler_BT).detach()[mask_BT].double()
    size = torch.cat([log_r.abs(), log_r.new_zeros(1)])  # a maximum needs something
    own = torch.stack([size.sum(), (size > _FAR).double().sum(), size.max()]).tolist()
    total, far, n = ranks.total([*own[:2], float(len(log_r))])
    if not n:
        return {}
    largest = ranks.largest(own[2])
    return {
        "mismatch/mean_abs": total / n,
        "mismatch/max_abs": largest,
        "mismatch/far_frac": far / n,
    }
