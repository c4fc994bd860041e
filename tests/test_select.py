"""Which tokens are selected: against the slow twin, in every form the input may take."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import selection_oracle as oracle
from stare.algo.arrays import prepare
from stare.algo.device import select_on_device
from stare.algo.plan import plan_for
from stare.algo.reweight import Rule, token_weights
from stare.algo.sharded import token_weights_sharded
from stare.config import StareConfig

CONFIG = StareConfig(variant="C2")
RATIOS = st.sampled_from([0.0, 1e-9, 0.07, 0.1, 0.5, 0.999, 1.0]) | st.floats(0, 1)
RULES = st.lists(
    st.builds(
        Rule,
        st.sampled_from([1, -1]),
        st.sampled_from(["high", "low"]),
        RATIOS,
        st.floats(0.25, 4.0),
    ),
    max_size=4,
).map(tuple)


@st.composite
def batches(draw):
    """(logprobs, advantages, mask), all (B, T), with many ties."""
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8))
    palette = draw(st.lists(st.floats(-30, 0, width=16), min_size=1, max_size=12))
    logprobs = draw(hnp.arrays(np.float32, shape, elements=st.sampled_from(palette)))
    advantages = draw(hnp.arrays(np.float32, shape, elements=st.sampled_from([-2.0, -0.0, 0.5])))
    mask = draw(hnp.arrays(np.bool_, shape))
    return logprobs, advantages, mask


def run(logprobs, advantages, mask, rules, **options):
    return token_weights(logprobs, advantages, mask, config=CONFIG, rules=rules, **options)


@given(batches(), RULES)
def test_equals_the_slow_twin(batch, rules):
    weights, stats = run(*batch, rules)
    np.testing.assert_array_equal(weights, np.array(oracle.weights(*batch, rules)))
    logprobs, _, mask = batch
    chosen = [oracle.select(*batch, rule) for rule in rules]
    assert stats.selected == tuple(len(tokens) for tokens in chosen)
    assert stats.n_tokens == mask.sum()
    for threshold, tokens in zip(stats.thresholds, chosen, strict=True):
        if tokens:
            assert threshold == -logprobs[tokens[-1]]
        else:
            assert np.isnan(threshold)
    if mask.any():
        assert stats.mean_weight == pytest.approx(weights[mask].mean(), rel=1e-6)


@given(batches(), RULES)
def test_device_path_on_the_cpu_equals_it_too(batch, rules):
    expected, stats = run(*batch, rules)
    inputs = prepare(*map(torch.from_numpy, batch))
    flat, device_stats = select_on_device(
        inputs, plan_for(CONFIG, None, rules), drop_nonfinite=False, wide=False
    )
    np.testing.assert_array_equal(flat.numpy().reshape(expected.shape), expected)
    assert repr(device_stats) == repr(stats)


@given(batches(), RULES, st.integers(0, 6), st.sampled_from([np.nan, 5.0, -np.inf]))
def test_padding_changes_nothing(batch, rules, columns, filler):
    logprobs, advantages, mask = batch
    expected, stats = run(*batch, rules)
    wide = [(0, 0), (0, columns)]
    padded, padded_stats = run(
        np.pad(logprobs, wide, constant_values=filler),
        np.pad(advantages, wide, constant_values=np.nan),
        np.pad(mask, wide),
        rules,
    )
    np.testing.assert_array_equal(padded[:, : expected.shape[1]], expected)
    assert (padded[:, expected.shape[1] :] == 1).all()
    assert repr(padded_stats) == repr(stats)


@given(batches(), RULES, st.randoms(use_true_random=False))
def test_row_order_changes_nothing_but_ties(batch, rules, random):
    logprobs, advantages, mask = batch
    # Steps of 1/64 below half-precision values: mostly distinct, and what is not is left out.
    distinct = logprobs - np.arange(logprobs.size, dtype=np.float32).reshape(logprobs.shape) / 64
    assume(len(np.unique(distinct[mask])) == mask.sum())
    order = random.sample(range(len(logprobs)), len(logprobs))
    expected, _ = run(distinct, advantages, mask, rules)
    permuted, _ = run(distinct[order], advantages[order], mask[order], rules)
    np.testing.assert_array_equal(permuted, expected[order])


@given(batches(), RULES)
def test_packed_and_ragged_rows_equal_padded_ones(batch, rules):
    mask = batch[2]
    lengths = [int(row.nonzero()[0][-1]) + 1 if row.any() else 0 for row in mask]
    rows = [tuple(a[i, :n] for a in batch) for i, n in enumerate(lengths)]
    expected, stats = run(*batch, rules)
    ragged, ragged_stats = run(*map(list, zip(*rows, strict=True)), rules)
    for i, n in enumerate(lengths):
        np.testing.assert_array_equal(ragged[i], expected[i, :n])
    assert repr(ragged_stats) == repr(stats)
    packed, packed_stats = run(
        *(np.concatenate(column) for column in zip(*rows, strict=True)),
        rules,
        offsets=np.cumsum([0, *lengths]),
    )
    np.testing.assert_array_equal(packed, np.concatenate(ragged))
    assert repr(packed_stats) == repr(stats)


@given(batches(), RULES, st.data())
def test_any_split_into_shards_selects_the_same_set(batch, rules, data):
    expected, stats = run(*batch, rules)
    rows = len(batch[0])
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=3)))
    bounds = [0, *cuts, rows]
    parts = [tuple(a[i:j] for a in batch) for i, j in pairwise(bounds)]
    weights, sharded_stats = token_weights_sharded(parts, config=CONFIG, rules=rules)
    np.testing.assert_array_equal(np.concatenate(weights), expected)
    assert repr(sharded_stats) == repr(stats)


@given(batches(), RULES)
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtypes_select_the_same_set(dtype, batch, rules):
    # Palette values are half-precision; bfloat16 rounds them, so all start from what it holds.
    logprobs, advantages, mask = (torch.from_numpy(a) for a in batch)
    logprobs = logprobs.to(torch.bfloat16).float().half().float()
    expected, _ = run(logprobs, advantages, mask, rules)
    kind = getattr(torch, dtype)
    assume(torch.equal(logprobs.to(kind).float(), logprobs))
    weights, _ = run(logprobs.to(kind), advantages.to(kind), mask, rules)
    assert weights.dtype == (torch.float64 if dtype == "float64" else torch.float32)
    torch.testing.assert_close(weights.float(), expected.float(), rtol=1e-7, atol=0)


@given(
    batches(), RULES, st.sampled_from(["uint8", "int32", "int64", "int16", "float16", "float32"])
)
def test_masks_of_any_dtype(batch, rules, dtype):
    logprobs, advantages, mask = batch
    expected, _ = run(*batch, rules)
    np.testing.assert_array_equal(run(logprobs, advantages, mask.astype(dtype), rules)[0], expected)


def large(n_rows=48, n_columns=8192, seed=0):
    """Enough tokens for several threads, with equal values at every edge."""
    rng = np.random.default_rng(seed)
    logprobs = -np.round(rng.exponential(1.0, (n_rows, n_columns)), 2).astype(np.float32)
    advantages = rng.integers(-1, 2, n_rows).astype(np.float32)
    mask = np.arange(n_columns) < rng.integers(0, n_columns + 1, n_rows)[:, None]
    return logprobs, advantages, mask


@pytest.mark.parametrize("per_row", [True, False])
def test_thread_count_changes_nothing(per_row):
    logprobs, advantages, mask = large()
    if not per_row:
        advantages = np.repeat(advantages[:, None], logprobs.shape[1], 1)
    expected, stats = token_weights(logprobs, advantages, mask, config=CONFIG, threads=1)
    assert min(stats.selected) > 1000
    for threads in (2, 3, 7):
        weights, again = token_weights(logprobs, advantages, mask, config=CONFIG, threads=threads)
        np.testing.assert_array_equal(weights, expected)
        assert again == stats


@pytest.mark.parametrize("ratio", [1e-9, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("value", [0.0, -0.7])
def test_all_ties_go_to_the_first_tokens(ratio, value):
    n = 300_000
    logprobs = np.full((3, n // 3), value, np.float32)
    weights, stats = token_weights(
        logprobs, np.ones(3), None, config=StareConfig(top_p_ratio=ratio), threads=2
    )
    k = oracle.quota(n, ratio)
    assert stats.selected == (k,)
    assert (weights.ravel()[:k] == np.float32(1.1)).all()
    assert (weights.ravel()[k:] == 1).all()


def test_quota_is_exact():
    def selected(n, ratio):
        config = StareConfig(top_p_ratio=ratio)
        return token_weights(np.full((1, n), -1.0), np.ones(1), None, config=config)[1].selected[0]

    assert selected(100, 0.07) == 7
    assert selected(101, 0.07) == 8
    assert selected(100, 1e-300) == 1
    assert selected(100, 0.0) == 0
    assert selected(0, 1.0) == 0
    assert selected(3, 1.0) == 3
