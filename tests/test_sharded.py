"""The protocol of shards: what a message holds, and that bad input is known to all."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stare.algo.reweight import token_weights
from stare.algo.sharded import ShardedSelection, run, token_weights_sharded
from stare.config import StareConfig
from stare.errors import ArgumentError

CONFIG = StareConfig(variant="C2")


def batch(n_rows, n_columns, seed=0, decimals=1):
    """Values rounded so that the edges have ties."""
    rng = np.random.default_rng(seed)
    logprobs = -np.round(rng.exponential(1.0, (n_rows, n_columns)), decimals).astype(np.float32)
    return logprobs, rng.normal(size=n_rows), rng.random((n_rows, n_columns)) < 0.8


def rounds(shards):
    """Messages of all rounds."""
    messages = []
    done = False
    while not done:
        messages.append([shard.message() for shard in shards])
        merged = ShardedSelection.merge(messages[-1])
        (done,) = {shard.advance(merged) for shard in shards}
    return messages


@pytest.mark.parametrize("n_columns", [1, 50, 5000])
def test_wire_cost_does_not_depend_on_the_tokens(n_columns):
    logprobs, advantages, mask = batch(4, n_columns, decimals=6)
    messages = rounds([ShardedSelection(logprobs, advantages, mask, config=CONFIG)])
    assert all(m.nbytes == 8 * (24 + 2 * 256) for (m,) in messages)
    assert 1 + 4 <= len(messages) <= 1 + 4 + 8


def test_search_stops_when_a_bucket_is_taken_whole():
    # Every value is unique: four digits of a float32 key settle the edge, one round tallies.
    logprobs = -np.arange(1, 2001, dtype=np.float32).reshape(4, 500) / 64
    assert len(rounds([ShardedSelection(logprobs, np.ones(4), None, config=CONFIG)])) == 5
    half = torch.from_numpy(-np.arange(1, 301).reshape(3, 100) / 8).half()
    assert len(rounds([ShardedSelection(half, torch.ones(3), None, config=CONFIG)])) == 3


@pytest.mark.parametrize("ratio", [1e-9, 0.3, 1.0])
def test_ties_across_shards_go_to_the_lower_rows(ratio):
    config = StareConfig(variant="C4", top_p_ratio=ratio)
    logprobs, advantages = np.full((7, 300), -0.5), np.array([1, -1, 1, 1, -1, 1, -1.0])
    expected, stats = token_weights(logprobs, advantages, None, config=config)
    # Shards hold rows in no particular order; the global row numbers restore it.
    rows = [np.array([6, 0, 3]), np.array([], int), np.array([5, 1, 4, 2])]
    weights, sharded_stats = token_weights_sharded(
        [(logprobs[r], advantages[r], None) for r in rows], config=config, rows=rows
    )
    for part, r in zip(weights, rows, strict=True):
        np.testing.assert_array_equal(part, expected[r])
    assert sharded_stats == stats


@pytest.mark.parametrize("granularity", ["sample", "token"])
def test_gates_by_sample_and_token(granularity):
    logprobs, advantages, mask = batch(9, 40)
    entropy = np.random.default_rng(1).random((9, 40))
    config = StareConfig(variant="C2", gate=granularity, target_entropy=0.5)
    expected, stats = token_weights(logprobs, advantages, mask, config=config, entropy=entropy)
    assert 1 < stats.mean_weight < 1.05 or 0.95 < stats.mean_weight < 1
    weights, sharded_stats = token_weights_sharded(
        [(logprobs[a:b], advantages[a:b], mask[a:b]) for a, b in ((0, 2), (2, 9))],
        config=config,
        entropy=[entropy[:2], entropy[2:]],
    )
    np.testing.assert_array_equal(np.concatenate(weights), expected)
    assert sharded_stats == stats


def test_micro_batches_of_different_lengths():
    logprobs, advantages, mask = batch(6, 64)
    mask[:3, 20:] = False
    expected, stats = token_weights(logprobs, advantages, mask, config=CONFIG)
    weights, sharded_stats = token_weights_sharded(
        [
            (logprobs[:3, :20], advantages[:3], mask[:3, :20]),
            (logprobs[3:], advantages[3:], mask[3:]),
        ],
        config=CONFIG,
    )
    np.testing.assert_array_equal(weights[0], expected[:3, :20])
    np.testing.assert_array_equal(weights[1], expected[3:])
    assert sharded_stats == stats


def test_bad_input_of_one_shard_raises_on_all():
    logprobs, advantages, mask = batch(2, 8)
    poisoned = logprobs.copy()
    poisoned[1, 3], mask[1, 3] = np.nan, True
    good = ShardedSelection(logprobs, advantages, mask, config=CONFIG)
    bad = ShardedSelection(poisoned, np.ones(2), mask, config=CONFIG, row_offset=2)
    merged = ShardedSelection.merge([good.message(), bad.message()])
    with pytest.raises(ArgumentError, match=r"row 1, column 3 must be finite"):
        bad.advance(merged)
    with pytest.raises(ArgumentError, match=r"1 of 2 shards reported bad input"):
        good.advance(merged)
    # In one process the shard at fault speaks, wherever it stands.
    call = [(logprobs, advantages, mask), (poisoned, np.ones(2), mask)]
    with pytest.raises(ArgumentError, match=r"row 1, column 3 must be finite"):
        token_weights_sharded(call, config=CONFIG)
    with pytest.raises(ArgumentError, match="mask must have the shape"):
        token_weights_sharded([call[0], (logprobs, advantages, mask[:1])], config=CONFIG)


def test_bad_statistics_found_in_the_last_round_raise_on_all():
    logprobs = batch(2, 8)[0]
    config = StareConfig(selector="critical")
    numbers = np.ones((2, 8))
    shards = [
        ShardedSelection(
            logprobs, np.ones(2), None, config=config, entropy=h, concentration=-0.1 * numbers
        )
        for h in (numbers, numbers * np.nan)
    ]
    first = ShardedSelection.merge([shard.message() for shard in shards])
    assert [shard.advance(first) for shard in shards] == [False, False]
    last = ShardedSelection.merge([shard.message() for shard in shards])
    with pytest.raises(ArgumentError, match="1 of 2 shards"):
        shards[0].advance(last)
    with pytest.raises(ArgumentError, match="entropy at row 0, column 0 must be finite"):
        shards[1].advance(last)


def test_shards_must_agree():
    logprobs, advantages, mask = batch(2, 8)
    one = ShardedSelection(logprobs, advantages, mask, config=CONFIG)
    other = ShardedSelection(logprobs, advantages, mask, config=CONFIG, gate=False)
    merged = ShardedSelection.merge([one.message(), other.message()])
    for shard in (one, other):
        with pytest.raises(ArgumentError, match="shards differ in their config, gate or rules"):
            shard.advance(merged)
    wide = ShardedSelection(logprobs.astype(float), advantages, mask, config=CONFIG)
    with pytest.raises(ArgumentError, match="shards differ in the format of logprobs: f32, f64"):
        one.advance(ShardedSelection.merge([one.message(), wide.message()]))
    late = ShardedSelection(logprobs, advantages, mask, config=CONFIG)
    one.advance(ShardedSelection.merge([one.message(), late.message()]))
    with pytest.raises(ArgumentError, match="shards are out of step"):
        one.advance(ShardedSelection.merge([one.message(), late.message()]))
    with pytest.raises(ArgumentError, match="merged must have shape"):
        late.advance(np.zeros(3, np.int64))
    with pytest.raises(ArgumentError, match="finish called before"):
        late.finish()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0], "rows must have shape"),
        ([0, -1], "row numbers must lie in"),
        ([0, 2**31], "2\\*\\*31"),
    ],
)
def test_bad_row_numbers(rows, message):
    shard = ShardedSelection(*batch(2, 3), config=CONFIG, rows=rows)
    with pytest.raises(ArgumentError, match=message):
        run([shard])


def test_nothing_but_empty_shards():
    weights, stats = token_weights_sharded(
        [(np.zeros((0, 5)), np.zeros(0), None)] * 2, config=CONFIG
    )
    assert [w.shape for w in weights] == [(0, 5), (0, 5)]
    assert (stats.n_tokens, stats.selected, stats.mean_weight) == (0, (0, 0), 1)
    with pytest.raises(ArgumentError, match="shards must not be empty"):
        token_weights_sharded([], config=CONFIG)
