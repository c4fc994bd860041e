"""One decoding step: from logits to a token, its log-probability and an entropy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["draw_tokens", "uniforms"]

BLOCK = 256  # tokens of the vocabulary summed together when a distribution is inverted


def uniforms(
    seed: int, prompt_ids: Sequence[int], repeat: int, sample: int, count: int
) -> npt.NDArray[np.float64]:
    """Return the `count` uniforms in [0, 1) that one response consumes, one a token.

    A function of (seed, prompt, repeat, sample) alone, where `repeat` counts equal prompts in one
    call. So neither the order of the prompts nor the way they are batched changes a response.

    Counter-based: the key of a Philox generator is a hash of the arguments. Multiples of 2^-48, so
    that u * total < total holds in float64.
    """
    text = f"{seed}/{repeat}/{sample}/{','.join(map(str, prompt_ids))}"
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    words = np.random.Philox(key=np.frombuffer(digest, dtype="<u8")).random_raw(count)
    return np.asarray((words >> np.uint64(16)) * 2.0**-48, dtype=np.float64)


def draw_tokens(
    logits_BV: Tensor, uniforms_B: Tensor, *, temperature: float = 1.0, top_p: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw one token a row by inverting the cumulative distribution at the given uniforms.

    Args:
        logits_BV: (B, V) raw logits, any floating dtype.
        uniforms_B: (B,) float64 in [0, 1).
        temperature: Softmax temperature; 0 takes the most probable token.
        top_p: Nucleus mass: the most probable tokens whose mass first reaches it are kept. Tokens
            tied with the last one kept are kept too, so that the set does not depend on order.

    Returns:
        tokens_B (int64), logprobs_B and entropy_B (float32, nats) of the tempered, truncated and
        renormalised distribution that was drawn from. For greedy decoding, where that distribution
        is a point mass, they are those of the policy itself (temperature 1).
    """
    greedy = temperature == 0.0
    logp_BV = logits_BV.to(torch.float32, copy=True)
    if not greedy and temperature != 1.0:
        logp_BV /= temperature
    logp_BV -= torch.logsumexp(logp_BV, dim=-1, keepdim=True)
    # Finite, because 0 * -inf would turn the entropy into NaN where a model bans a token.
    logp_BV.clamp_(min=torch.finfo(torch.float32).min)
    p_BV = logp_BV.exp()
    if greedy:
        tokens_B = logp_BV.argmax(dim=-1)
    else:
        if top_p < 1.0:
            p_BV *= p_BV >= _nucleus_floor(p_BV, top_p)
        tokens_B = _invert_cdf(p_BV, uniforms_B)
    logprobs_B = logp_BV.gather(-1, tokens_B[:, None])[:, 0]
    entropy_B = -torch.linalg.vecdot(p_BV, logp_BV)
    if top_p < 1.0 and not greedy:
        mass_B = p_BV.sum(dim=-1)
        logprobs_B = logprobs_B - mass_B.log()
        entropy_B = entropy_B / mass_B + mass_B.log()
    return tokens_B, logprobs_B, entropy_B.clamp_(min=0.0)


def _invert_cdf(p_BV: Tensor, uniforms_B: Tensor) -> Tensor:
    """Return (B,): the first token whose cumulative mass exceeds uniform * total mass.

    Two levels, blocks of the vocabulary and then tokens of one block: a cumulative sum over the
    whole vocabulary in float64 costs as much as the model's own step.
    """
    batch, vocabulary = p_BV.shape
    whole = vocabulary // BLOCK
    block_BN = p_BV[:, : whole * BLOCK].view(batch, whole, BLOCK).sum(dim=-1)
    tail_B1 = p_BV[:, whole * BLOCK :].sum(dim=-1, keepdim=True)
    cdf_BN = torch.cat([block_BN, tail_B1], dim=-1).to(torch.float64).cumsum(dim=-1)
    target_B1 = uniforms_B[:, None] * cdf_BN[:, -1:]
    # right=True: the first block whose cumulative mass exceeds the target, so never one of mass 0.
    # The clamps act on NaN alone; the caller finds it in the log-probability.
    block_B1 = torch.searchsorted(cdf_BN, target_B1, right=True).clamp_(max=whole)
    below_B1 = torch.where(block_B1 > 0, cdf_BN.gather(-1, (block_B1 - 1).clamp_(min=0)), 0.0)
    share_B1 = (target_B1 - below_B1) / (cdf_BN.gather(-1, block_B1) - below_B1)
    index_BK = block_B1 * BLOCK + torch.arange(BLOCK, device=p_BV.device)
    inside_BK = p_BV.gather(-1, index_BK.clamp(max=vocabulary - 1)).to(torch.float64)
    inside_BK.masked_fill_(index_BK >= vocabulary, 0.0)
    cdf_BK = inside_BK.cumsum(dim=-1)
    # The share is below 1 but for rounding, which must not carry the target past the block's mass.
    target_B1 = share_B1.clamp_(min=0.0, max=1.0 - 2.0**-48) * cdf_BK[:, -1:]
    offset_B1 = torch.searchsorted(cdf_BK, target_B1, right=True).clamp_(max=BLOCK - 1)
    return (block_B1 * BLOCK + offset_B1)[:, 0].clamp_(max=vocabulary - 1)


def _nucleus_floor(p_BV: Tensor, top_p: float) -> Tensor:
    """Return (B, 1): the smallest probability inside each row's nucleus.

    A nucleus is usually a few tokens, and sorting the whole vocabulary costs more than the model's
    own step: look among the top k first, with k growing until every row reaches the mass.
    """
    k, vocabulary = 64, p_BV.shape[-1]
    while True:
        top_BK = p_BV.topk(min(k, vocabulary), dim=-1).values
        mass_BK = top_BK.cumsum(dim=-1, dtype=torch.float64)
        if k >= vocabulary or bool((mass_BK[:, -1] >= top_p).all()):
            break
        k *= 16
    # Rounding may leave the total a little under top_p; then the whole row is the nucleus.
    edge_B1 = (mass_BK < top_p).sum(dim=-1, keepdim=True).clamp_(max=top_BK.shape[-1] - 1)
    return top_BK.gather(-1, edge_B1)
