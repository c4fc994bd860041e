from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stare.algo.advantages import (
    GroupStats,
    broadcast_advantages,
    group_advantages,
    group_stats,
)
from stare.errors import ArgumentError


@st.composite
def groups(draw):
    n = draw(st.integers(0, 30))
    reward = st.sampled_from([0.0, 1.0, 0.1, -2.5]) | st.floats(-10, 10)
    rewards = draw(st.lists(reward, min_size=n, max_size=n))
    ids = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    return rewards, ids


@given(groups(), st.sampled_from(["std", "none"]))
def test_equals_the_definition(batch, scale):
    rewards, ids = batch
    got = group_advantages(rewards, ids, scale=scale, eps=1e-6)
    for i, (reward, group) in enumerate(zip(rewards, ids, strict=True)):
        members = np.array([r for r, g in zip(rewards, ids, strict=True) if g == group])
        if len(members) == 1 or members.min() == members.max():
            assert got[i] == 0
            continue
        expected = reward - members.mean()
        if scale == "std":
            expected /= members.std(ddof=1) + 1e-6
        assert got[i] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(groups(), st.randoms(use_true_random=False))
def test_order_and_names_of_groups_do_not_matter(batch, random):
    rewards, ids = np.array(batch[0]), np.array(batch[1], int)
    expected = group_advantages(rewards, ids)
    order = random.sample(range(len(ids)), len(ids))
    named = [f"problem {i}" for i in ids[order]]
    np.testing.assert_allclose(
        group_advantages(rewards[order], named), expected[order], rtol=1e-9, atol=1e-9
    )


def test_equal_rewards_give_exactly_zero():
    # The mean of three times 0.1 is not 0.1 in floating point.
    assert group_advantages([0.1, 0.1, 0.1], [5, 5, 5]).tolist() == [0, 0, 0]


def test_groups_are_reported():
    rewards, ids = [1, 1, 0, 1, 5, 2, 2], ["a", "a", "b", "b", "c", "d", "d"]
    assert group_stats(rewards, ids) == GroupStats(groups=4, singletons=1, all_equal=2)
    assert group_stats([], []) == GroupStats(groups=0, singletons=0, all_equal=0)


def test_library_and_dtype_follow_the_rewards():
    assert group_advantages(np.array([1, 0], np.float32), [0, 0]).dtype == np.float32
    assert group_advantages(np.array([1, 0]), [0, 0]).dtype == np.float64
    tensor = group_advantages(torch.tensor([1.0, 0.0]), torch.tensor([3, 3]))
    assert tensor.dtype == torch.float32
    assert group_advantages(torch.tensor([1, 0]), [3, 3]).dtype == torch.float32
    half = group_advantages(torch.tensor([1.0, 0.0], dtype=torch.bfloat16), [3, 3])
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("rewards", "ids", "options", "message"),
    [
        ([1.0, None], [0, 0], {}, "reward 1 must be a number, got None\nhint: an undecided"),
        ([1.0, float("nan")], [0, 0], {}, "reward 1 must be finite, got NaN\nhint: an undecided"),
        ([1.0, 2.0], [0], {}, r"group_ids must have shape \(2,\), one for each reward, got \(1,\)"),
        ([[1.0, 2.0]], [[0, 0]], {}, r"rewards must have shape \(B,\), got \(1, 2\)"),
        (["x", "y"], [0, 0], {}, "rewards must be numbers"),
        ([1.0], [0], {"scale": "max"}, "scale must be 'std' or 'none', got 'max'"),
        ([1.0], [0], {"eps": -1.0}, "eps must be finite and at least 0, got -1"),
    ],
)
def test_bad_input_is_named(rewards, ids, options, message):
    with pytest.raises(ArgumentError, match=message):
        group_advantages(rewards, ids, **options)


def test_broadcast():
    mask = np.array([[1, 1, 0], [0, 1, 1]])
    expected = [[2.0, 2.0, 0.0], [0.0, -1.0, -1.0]]
    array = broadcast_advantages(np.array([2.0, -1.0], np.float32), mask)
    assert array.dtype == np.float32
    assert array.tolist() == expected
    tensor = broadcast_advantages(torch.tensor([2.0, -1.0]), torch.from_numpy(mask))
    assert tensor.tolist() == expected
    # A nan outside the mask does not leak.
    assert broadcast_advantages(np.array([np.nan]), np.zeros((1, 2))).tolist() == [[0, 0]]
    with pytest.raises(ArgumentError, match=r"advantages must have shape \(B,\)"):
        broadcast_advantages(np.ones(3), mask)


@pytest.mark.parametrize("ids", [["a", None], [1.0, float("nan")]])
def test_ids_that_cannot_be_told_apart_are_an_error(ids):
    with pytest.raises(ArgumentError, match="group"):
        group_advantages([1.0, 0.0], ids)
