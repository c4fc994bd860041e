"""Sequences of a micro-batch behind each other in one row, without padding.

N tokens in all, K of them response tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from stare.train.batch import Batch

__all__ = ["Packed", "pack"]


@dataclass(frozen=True, slots=True)
class Packed:
    """One row of sequences, and the way back."""

    input_ids_1N: Tensor
    """[1, N] int64; the last token of each sequence predicts nothing and is left out."""
    position_ids_1N: Tensor
    """[1, N] int64; restarts at 0 with each sequence, by which attention tells them apart."""
    keep_K: Tensor
    """[K] int64: positions whose next token is a response token."""
    targets_1K: Tensor
    """[1, K] int64: those tokens."""
    rows_K: Tensor
    """[K] int64: their rows in the batch."""
    columns_K: Tensor
    """[K] int64: their columns in the response."""

    def unpack(self, values_1K: Tensor, shape: torch.Size) -> Tensor:
        """(B, T), zero where there is no token; differentiable."""
        padded = values_1K.new_zeros(shape)
        return padded.index_put((self.rows_K, self.columns_K), values_1K[0])


def pack(batch: Batch) -> Packed:
    """Pack the rows of a batch.

    Example:
        >>> from dataclasses import fields
        >>> ids = torch.tensor([[5, 6, 7, 8, 0], [0, 6, 9, 8, 7]])
        >>> mask = torch.tensor([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]])
        >>> batch = Batch(
        ...     input_ids_BL=ids, attention_mask_BL=mask, response_ids_BT=ids[:, 2:],
        ...     mask_BT=mask[:, 2:].bool(), rewards_B=torch.zeros(2), group_ids_B=torch.zeros(2),
        ...     sampled_logprobs_BT=None,
        ... )
        >>> packed = pack(batch)
        >>> packed.input_ids_1N.tolist(), packed.position_ids_1N.tolist()
        ([[5, 6, 7, 6, 9, 8]], [[0, 1, 2, 0, 1, 2]])
        >>> packed.targets_1K.tolist(), packed.columns_K.tolist()
        ([[7, 8, 9, 8, 7]], [0, 1, 0, 1, 2])
    """
    real_BL = batch.attention_mask_BL.bool()
    width = batch.mask_BT.shape[1]
    position_BL = real_BL.cumsum(dim=1) - 1
    lengths_B = real_BL.sum(dim=1, keepdim=True)
    fed_BL = real_BL & (position_BL < lengths_B - 1)
    # Where each fed token lands in the row.
    slot_BL = (fed_BL.flatten().cumsum(0) - 1).view_as(real_BL)
    answered_BT = real_BL[:, -width:]
    rows_K, columns_K = answered_BT.nonzero(as_tuple=True)
    first = real_BL.shape[1] - width
    # The token before a response token predicts it: the prompt's last real token is next to it.
    return Packed(
        input_ids_1N=batch.input_ids_BL[fed_BL].unsqueeze(0),
        position_ids_1N=position_BL[fed_BL].unsqueeze(0),
        keep_K=slot_BL[rows_K, first + columns_K - 1],
        targets_1K=batch.response_ids_BT[rows_K, columns_K].unsqueeze(0),
        rows_K=rows_K,
        columns_K=columns_K,
    )
