"""A batch over the ranks: who trains on which rows, and how many forwards all of them make.

Every rank holds the same whole batch (token ids, masks and rewards: small beside the model), so
what needs all of it, such as advantages and counts, needs no message.

Shape suffixes: B responses of the whole batch, R of them on this rank, T response positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from stare.train.batch import Batch, micro_batches
from stare.train.parallel import Ranks

__all__ = ["OwnRows", "Part", "divide", "own_rows", "parts_of"]


class Part(NamedTuple):
    """One forward pass."""

    batch: Batch
    """Its rows."""
    rows: Tensor
    """Their numbers among the rank's rows."""
    counts: bool
    """False for a forward that only keeps this rank in step with the others: its mask is empty."""


class OwnRows(NamedTuple):
    """This rank's share of a batch."""

    batch: Batch
    """Its rows: all of them for one rank; for a rank without any, one row with an empty mask."""
    rows_R: Tensor
    """[R] int64: where they are in the whole batch; beyond its end for a row that counts not."""
    source_R: Tensor
    """[R] int64: the rows of the whole batch that hold their data."""
    where_B: Tensor
    """[B] int64: number among the rank's rows, or -1 for a row of another rank."""


def divide(tokens: Sequence[int], ranks: int) -> list[list[int]]:
    """Rows to ranks, with about as many tokens each: the longest first, to whoever has least.

    No rank gets more than 4/3 of the best possible maximum (Graham's bound). Ascending within a
    rank; the same on every machine.

    Example:
        >>> divide([5, 3, 3, 2, 2, 2], 2)
        [[0, 3, 5], [1, 2, 4]]
    """
    loads = [0] * ranks
    owned: list[list[int]] = [[] for _ in range(ranks)]
    for row in sorted(range(len(tokens)), key=lambda r: (-tokens[r], r)):
        rank = min(range(ranks), key=lambda r: (loads[r], r))
        owned[rank].append(row)
        loads[rank] += tokens[row]
    return [sorted(rows) for rows in owned]


def own_rows(batch: Batch, ranks: Ranks) -> OwnRows:
    """The rows of this rank, balanced by prompt + response tokens."""
    device = batch.mask_BT.device
    every = torch.arange(batch.size, device=device)
    if ranks.size == 1:
        return OwnRows(batch, every, every, every)
    tokens = batch.attention_mask_BL.sum(dim=1).tolist()
    mine = divide(tokens, ranks.size)[ranks.rank]
    where_B = torch.full_like(every, -1)
    if not mine:
        return OwnRows(
            _silent(batch.rows(every[:1])), every[:1] + batch.size + ranks.rank, every[:1], where_B
        )
    rows_R = torch.tensor(mine, device=device)
    where_B[rows_R] = torch.arange(len(mine), device=device)
    return OwnRows(batch.rows(rows_R), rows_R, rows_R, where_B)


def parts_of(
    batch: Batch, rows: Tensor, token_budget: int | None, ranks: Ranks, *, packed: bool = False
) -> list[Part]:
    """Micro-batches of this rank, padded to as many as the busiest rank has.

    Gathering weights and adding up gradients take all ranks, so each must make the same number of
    passes; those beyond a rank's own see one of its rows under an empty mask, and add nothing.
    """
    cut = micro_batches(batch, rows, token_budget, packed=packed)
    cut = [part for part in cut if part.numel()]
    parts = [Part(batch.rows(part), part, True) for part in cut]
    missing = int(ranks.largest(len(parts))) - len(parts)
    if missing:
        shortest = batch.attention_mask_BL.sum(dim=1).argmin()[None]
        silent = Part(_silent(batch.rows(shortest)), shortest, False)
        parts += [silent] * missing
    return parts


def _silent(batch: Batch) -> Batch:
    return replace(batch, mask_BT=torch.zeros_like(batch.mask_BT))
