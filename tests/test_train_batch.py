"""Padding and micro-batches keep every token where it belongs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stare.train.batch import Batch, make_batch, micro_batches
from stare.train.collect import Group
from stare.train.config import RolloutConfig
from stare.types import Completion, Problem

PAD = 9
lengths = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 7)), min_size=1, max_size=8)


def groups_of(shapes: list[tuple[int, int]], **kwargs: object) -> list[Group]:
    """One group a completion; token values say which row and column they are."""
    problem = Problem(id="p", problem="", answer="")
    return [
        Group(
            problem=problem,
            completions=[
                Completion(
                    prompt_ids=[100 * i + 10 + j for j in range(p)],
                    token_ids=[100 * i + 50 + j for j in range(t)],
                    text="",
                    finish_reason="stop",
                    **kwargs,  # type: ignore[arg-type]
                )
            ],
            rewards=[1.0],
        )
        for i, (p, t) in enumerate(shapes)
    ]


def tokens(batch: Batch, row: int) -> list[int]:
    return batch.input_ids_BL[row][batch.attention_mask_BL[row].bool()].tolist()


@given(lengths)
def test_padding_loses_no_token(shapes: list[tuple[int, int]]) -> None:
    groups = groups_of(shapes)
    batch = make_batch(groups, RolloutConfig(), pad_id=PAD)
    for row, group in enumerate(groups):
        c = group.completions[0]
        assert tokens(batch, row) == c.prompt_ids + c.token_ids
        assert batch.response_ids_BT[row][batch.mask_BT[row]].tolist() == c.token_ids
    width = batch.mask_BT.shape[1]
    assert torch.equal(batch.input_ids_BL[:, -width:], batch.response_ids_BT)


@given(lengths, st.integers(1, 60))
def test_micro_batches_are_a_partition_within_the_budget(
    shapes: list[tuple[int, int]], budget: int
) -> None:
    batch = make_batch(groups_of(shapes), RolloutConfig(), pad_id=PAD)
    parts = micro_batches(batch, torch.arange(batch.size), budget)
    assert sorted(torch.cat(parts).tolist()) == list(range(batch.size))
    for part in parts:
        piece = batch.rows(part)
        assert len(part) == 1 or piece.input_ids_BL.numel() <= budget
        for local, row in enumerate(part.tolist()):
            assert tokens(piece, local) == tokens(batch, row)
            width = piece.mask_BT.shape[1]
            assert torch.equal(piece.mask_BT[local], batch.mask_BT[row, :width])
            assert not batch.mask_BT[row, width:].any()


def test_truncated_responses_are_masked_or_penalised() -> None:
    problem = Problem(id="p", problem="", answer="")
    long = Completion(prompt_ids=[1], token_ids=[2] * 10, text="", finish_reason="length")
    short = Completion(prompt_ids=[1], token_ids=[2] * 4, text="", finish_reason="stop")
    group = Group(problem=problem, completions=[long, short], rewards=[1.0, 1.0])
    keep = make_batch([group], RolloutConfig(max_response_tokens=10), pad_id=PAD)
    assert keep.mask_BT.sum(dim=1).tolist() == [10, 4]
    mask = make_batch([group], RolloutConfig(max_response_tokens=10, truncation="mask"), pad_id=PAD)
    assert mask.mask_BT.sum(dim=1).tolist() == [0, 4]
    penalty = RolloutConfig(max_response_tokens=10, truncation="penalty", overlong_buffer=4)
    assert make_batch([group], penalty, pad_id=PAD).rewards_B.tolist() == [0.0, 1.0]


def test_tool_tokens_stay_out_of_the_loss() -> None:
    groups = groups_of([(2, 4)], loss_mask=[True, False, False, True])
    batch = make_batch(groups, RolloutConfig(), pad_id=PAD)
    assert batch.mask_BT.tolist() == [[True, False, False, True]]
    assert batch.attention_mask_BL.tolist() == [[1] * 6]


def test_an_empty_batch_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one completion"):
        make_batch([], RolloutConfig(), pad_id=PAD)
