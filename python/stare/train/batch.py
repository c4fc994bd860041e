"""Graded groups to padded tensors, and micro-batches by token budget.

Shape suffixes: B responses, P prompt positions (left-padded), T response positions
(right-padded), L = P + T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from stare.train.collect import Group, overlong_penalty
from stare.train.config import RolloutConfig

__all__ = ["Batch", "make_batch", "micro_batches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Responses ready for the learner."""

    input_ids_BL: Tensor
    """[B, L] int64: prompt, then response."""
    attention_mask_BL: Tensor
    """[B, L] int64: 1 on real tokens."""
    response_ids_BT: Tensor
    """[B, T] int64: the last T columns of `input_ids_BL`."""
    mask_BT: Tensor
    """[B, T] bool: tokens the policy produced and the loss counts."""
    rewards_B: Tensor
    """[B] float32, length penalty included."""
    group_ids_B: Tensor
    """[B] int64."""
    sampled_logprobs_BT: Tensor | None
    """[B, T] float32 log-probabilities under the sampler, where it reports them."""
    sampled_entropy_BT: Tensor | None = None
    """[B, T] float32 entropies of what the sampler drew from, where it reports them."""

    @property
    def size(self) -> int:
        """Number of responses."""
        return self.mask_BT.shape[0]

    def rows(self, index: Tensor) -> Batch:
        """The given rows, with padding that no row of them needs cut away."""
        attention = self.attention_mask_BL[index]
        width = self.mask_BT.shape[1]
        prompt_width = attention.shape[1] - width
        used = attention.any(dim=0)
        first = int(used[:prompt_width].int().argmax()) if prompt_width else 0
        last = prompt_width + max(1, int(used[prompt_width:].sum()))
        t = last - prompt_width
        sampled, entropy = self.sampled_logprobs_BT, self.sampled_entropy_BT
        return Batch(
            input_ids_BL=self.input_ids_BL[index, first:last],
            attention_mask_BL=attention[:, first:last],
            response_ids_BT=self.response_ids_BT[index, :t],
            mask_BT=self.mask_BT[index, :t],
            rewards_B=self.rewards_B[index],
            group_ids_B=self.group_ids_B[index],
            sampled_logprobs_BT=None if sampled is None else sampled[index, :t],
            sampled_entropy_BT=None if entropy is None else entropy[index, :t],
        )

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        sampled, entropy = self.sampled_logprobs_BT, self.sampled_entropy_BT
        return Batch(
            input_ids_BL=self.input_ids_BL.to(device),
            attention_mask_BL=self.attention_mask_BL.to(device),
            response_ids_BT=self.response_ids_BT.to(device),
            mask_BT=self.mask_BT.to(device),
            rewards_B=self.rewards_B.to(device),
            group_ids_B=self.group_ids_B.to(device),
            sampled_logprobs_BT=None if sampled is None else sampled.to(device),
            sampled_entropy_BT=None if entropy is None else entropy.to(device),
        )


def _pad(
    rows: Sequence[Sequence[float]], width: int, fill: float, *, left: bool = False
) -> list[list[float]]:
    if left:
        return [[fill] * (width - len(r)) + list(r) for r in rows]
    return [list(r) + [fill] * (width - len(r)) for r in rows]


def make_batch(groups: Sequence[Group], config: RolloutConfig, *, pad_id: int) -> Batch:
    """Pad the responses of all groups into one batch, in order.

    Truncated responses are kept, masked out of the loss, or penalised (`config.truncation`). A
    masked response still counts in its group's mean and standard deviation.

    Raises:
        ValueError: `groups` is empty.
    """
    completions = [c for g in groups for c in g.completions]
    if not completions:
        raise ValueError("a batch needs at least one completion, got no groups")
    rewards = [r for g in groups for r in g.rewards]
    if config.truncation == "penalty":
        rewards = [
            r + overlong_penalty(len(c.token_ids), config)
            for r, c in zip(rewards, completions, strict=True)
        ]
    responses = [c.token_ids for c in completions]
    prompts = [c.prompt_ids for c in completions]
    width_t = max(1, max(map(len, responses)))
    width_p = max(1, max(map(len, prompts)))
    masks = [
        [0] * len(c.token_ids)
        if config.truncation == "mask" and c.is_truncated
        else [int(m) for m in c.loss_mask]
        if c.loss_mask is not None
        else [1] * len(c.token_ids)
        for c in completions
    ]
    response_ids = torch.tensor(_pad(responses, width_t, pad_id), dtype=torch.int64)
    prompt_ids = torch.tensor(_pad(prompts, width_p, pad_id, left=True), dtype=torch.int64)
    real_t = torch.tensor(_pad([[1] * len(r) for r in responses], width_t, 0), dtype=torch.int64)
    real_p = torch.tensor(
        _pad([[1] * len(p) for p in prompts], width_p, 0, left=True), dtype=torch.int64
    )
    group_ids = [i for i, g in enumerate(groups) for _ in g.completions]
    return Batch(
        input_ids_BL=torch.cat([prompt_ids, response_ids], dim=1),
        attention_mask_BL=torch.cat([real_p, real_t], dim=1),
        response_ids_BT=response_ids,
        mask_BT=torch.tensor(_pad(masks, width_t, 0), dtype=torch.bool),
        rewards_B=torch.tensor(rewards, dtype=torch.float32),
        group_ids_B=torch.tensor(group_ids, dtype=torch.int64),
        sampled_logprobs_BT=_reported([c.logprobs for c in completions], width_t),
        sampled_entropy_BT=_reported([c.entropies for c in completions], width_t),
    )


def _reported(values: Sequence[list[float] | None], width: int) -> Tensor | None:
    """(B, width), or None if the sampler left out any row."""
    rows = [row for row in values if row is not None]
    if len(rows) != len(values):
        return None
    return torch.tensor(_pad(rows, width, 0.0), dtype=torch.float32)


def micro_batches(
    batch: Batch, rows: Tensor, token_budget: int | None, *, packed: bool = False
) -> list[Tensor]:
    """Split rows into runs whose size stays within the budget.

    Rows are sorted by length first, so little of a micro-batch is padding. A single row longer
    than the budget gets a micro-batch of its own.

    Args:
        batch: the batch the rows belong to.
        rows: [R] int64 row indices.
        token_budget: most tokens (rows x longest row, padding included) per micro-batch; None for
            one.
        packed: there will be no padding: the size is the sum of lengths.

    Returns:
        Row indices, one tensor per micro-batch.
    """
    if token_budget is None:
        return [rows]
    width_t = batch.mask_BT.shape[1]
    attention = batch.attention_mask_BL[rows]
    lengths_t = attention[:, -width_t:].sum(dim=1)
    lengths_p = attention[:, :-width_t].sum(dim=1)
    order = torch.argsort(lengths_p + lengths_t, stable=True)
    cuts: list[int] = []
    start, longest_p, longest_t, total = 0, 0, 0, 0
    for i, (p, t) in enumerate(
        zip(lengths_p[order].tolist(), lengths_t[order].tolist(), strict=True)
    ):
        longest_p, longest_t, total = max(longest_p, p), max(longest_t, t), total + p + t
        size = total if packed else (longest_p + longest_t) * (i - start + 1)
        if i > start and size > token_budget:
            cuts.append(i)
            start, longest_p, longest_t, total = i, p, t, p + t
    return [part for part in torch.tensor_split(rows[order], cuts) if part.numel()]
