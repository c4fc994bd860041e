"""What one GRPO update does to entropy, token by token and for a whole batch.

For a softmax policy whose logits take a policy-gradient step, the entropy at a position changes by
-eta A Phi(p), with p the probability of the sampled token,

    Phi(p) = p (ln p + H) + C,    C = sum_v pi_v^2 (s_v - H) <= 0,    s_v = -ln pi_v.

Phi has one root s* = H - W0(-C e^H) <= H (W0: Lambert's W): a token raises entropy when A > 0 and
its surprisal s > s*, or A < 0 and s < s*. Summed over a batch of N tokens,

    Lambda  =  1/N sum A Phi            net pressure that lowers entropy (> 0 in collapse)
    Gamma   = -1/N sum_{L+} A Phi       what the selected positive tokens push back
    Gamma-  =  1/N sum_{L-} A Phi       what the selected negative tokens add
    W*      =  1 + Lambda / Gamma       the amplification of L+ that balances the batch

Source: arXiv 2606.19236 section 3; docs/paper-map.md derives the closed forms of Phi, C and s*.
W* of a single batch is noise (-20 to +400 seen): pool at least 30 of them, see `PressurePool`.

Shapes: B rows, T tokens a row. Everything is elementwise: any shape, numpy or torch, any device.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stare.algo.pressure import EntropyPressure, PressurePool
from stare.errors import ArgumentError

__all__ = ["EntropyPressure", "PressurePool", "critical_surprisal", "entropy_pressure", "phi"]

Array: TypeAlias = "Tensor | NDArray[Any] | float"


def _lambert_w0(x: Tensor) -> Tensor:
    """Principal branch of Lambert's W for x >= 0: w e^w = x.

    Start: Winitzki's approximation, within 2 % for x >= 0. Then three steps of the
    Fritsch-Shafer-Crowley iteration (fourth order, relative, so tiny x keep all their digits).
    """
    log1p = torch.log1p(x)
    w = log1p * (1.0 - torch.log1p(log1p) / (2.0 + log1p))
    # 0/0 at x = 0, where w = 0 already is the answer.
    w_safe = torch.where(x > 0, w, torch.ones_like(w))
    x_safe = torch.where(x > 0, x, torch.ones_like(x))
    for _ in range(3):
        z = torch.log(x_safe / w_safe) - w_safe
        q = 2.0 * (1.0 + w_safe) * (1.0 + w_safe + 2.0 / 3.0 * z)
        w_safe = w_safe * (1.0 + z / (1.0 + w_safe) * (q - z) / (q - 2.0 * z))
    return torch.where(x > 0, w_safe, w)


def _phi_of_logprob(logprob: Tensor, entropy: Tensor, concentration: Tensor) -> Tensor:
    p = torch.exp(logprob)
    # p (ln p + H) -> 0 as p -> 0; the product itself would be 0 * -inf.
    inner = torch.where(p > 0, p * (logprob + entropy), torch.zeros_like(p))
    return inner + concentration


def phi(p: Array, entropy: Array, concentration: Array) -> Any:
    """Phi(p) = p (ln p + H) + C: minus the change of entropy per unit of eta * A.

    Args:
        p: probability of the sampled token, in [0, 1].
        entropy: H of its distribution, nats.
        concentration: C = sum pi^2 (s - H) of its distribution.

    Returns:
        The elementwise value, in the library, dtype (at least float32) and device of the input.

    Example:
        >>> pi = np.array([0.7, 0.2, 0.1])
        >>> h = -(pi * np.log(pi)).sum()
        >>> c = (pi**2 * (-np.log(pi) - h)).sum()
        >>> bool(abs((pi * phi(pi, h, c)).sum()) < 1e-15)  # E[Phi] = 0 under the policy
        True
    """
    (p_t, h, c), back = _tensors(p, entropy, concentration)
    return back(_phi_of_logprob(torch.log(p_t), h, c))


def critical_surprisal(entropy: Array, concentration: Array) -> Any:
    """s* = H - W0(-C e^H): the surprisal at which the effect on entropy changes sign, nats.

    Args:
        entropy: H, nats.
        concentration: C <= 0; rounding above 0 is read as 0 (then s* = H).

    Returns:
        The elementwise value, in the library, dtype (at least float32) and device of the input.

    Example:
        >>> float(critical_surprisal(0.5, 0.0))
        0.5
    """
    (h, c), back = _tensors(entropy, concentration)
    return back(h - _lambert_w0((-c).clamp_min(0.0) * torch.exp(h)))


def entropy_pressure(
    logprobs: Array,
    entropy: Array,
    concentration: Array,
    advantages: Array,
    mask: Array,
    *,
    selected: Array | None = None,
) -> EntropyPressure:
    """Lambda, Gamma and their kin for one batch.

    Args:
        logprobs: (B, T) log-probability of each sampled token under the policy to be updated, nats.
        entropy: (B, T) H of each position, nats.
        concentration: (B, T) C of each position (`token_statistics(..., want_concentration=True)`).
        advantages: (B, T) or (B,), before any reweighting.
        mask: (B, T), non-zero on the tokens the policy produced. What is under a zero is not read.
        selected: (B, T), non-zero on the tokens that are (or would be) reweighted, of either sign,
            such as `weights != 1`. None selects nothing; the `_exact` figures need no selection.

    Returns:
        Sums in float64, fetched from the device once.

    Raises:
        ArgumentError: shapes do not agree.
    """
    lp, h, c = (_tensor(x).detach() for x in (logprobs, entropy, concentration))
    adv, keep = _tensor(advantages).detach(), _tensor(mask) != 0
    if adv.dim() == lp.dim() - 1:
        adv = adv.unsqueeze(-1)
    try:
        adv = adv.expand(lp.shape)
    except RuntimeError:
        raise ArgumentError(
            f"advantages must be (B, T) or (B,) for logprobs {tuple(lp.shape)}, "
            f"got {tuple(_tensor(advantages).shape)}"
        ) from None
    chosen = torch.zeros_like(keep) if selected is None else _tensor(selected) != 0
    named = {"entropy": h, "concentration": c, "mask": keep, "selected": chosen}
    for name, value in named.items():
        if value.shape != lp.shape:
            raise ArgumentError(
                f"{name} must have the shape of logprobs {tuple(lp.shape)}, "
                f"got {tuple(value.shape)}"
            )
    zero = torch.zeros((), dtype=lp.dtype, device=lp.device)
    above = -lp > critical_surprisal(h, c)
    a_phi = torch.where(keep, adv * _phi_of_logprob(lp, h, c), zero).double()
    positive, negative = keep & (adv > 0), keep & (adv < 0)
    chosen_positive = positive & chosen
    sums = [
        keep.sum(),
        a_phi.sum(),
        (a_phi * chosen_positive).sum(),
        (a_phi * (negative & chosen)).sum(),
        (a_phi * (positive & above)).sum(),
        positive.sum(),
        (positive & above).sum(),
        chosen_positive.sum(),
        (chosen_positive & above).sum(),
    ]
    return EntropyPressure(*torch.stack([value.double() for value in sums]).tolist())


def _tensor(value: Array) -> Tensor:
    tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.asarray(value).copy())
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _tensors(*values: Array) -> tuple[list[Tensor], Any]:
    """Tensors to compute on, and the way back to the caller's library."""
    owner = next((value for value in values if isinstance(value, Tensor)), None)
    tensors = [_tensor(value) for value in values]
    if owner is None:
        return tensors, lambda result: result.numpy()[()]
    return [tensor.to(owner.device) for tensor in tensors], lambda result: result
