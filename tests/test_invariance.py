"""The claim of bench/invariance.py: our set does not depend on how the batch is cut."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from test_examples import load


@pytest.fixture(scope="module")
def bench(root: Path) -> ModuleType:
    return load(root / "bench" / "invariance.py")


@pytest.mark.parametrize("decimals", [1, 6])
def test_ours_is_the_same_set_for_every_cut(bench: ModuleType, decimals: int):
    batch = bench.synthetic_batch(rows=64, longest=128, seed=1)
    batch = batch._replace(logprobs=np.round(batch.logprobs, decimals))  # one decimal: many ties
    table = bench.compare(batch, (1, 3, 16), (10**9, 1000, 200, bench.ONE_SEQUENCE))
    assert len(table) == 12
    assert [row.ours for row in table] == [1.0] * 12
    assert table[0].per_piece == 1.0
    assert all(row.per_piece < 0.95 for row in table[1:])


def test_the_demo_batch(bench: ModuleType):
    pytest.importorskip("torch")
    batch = bench.demo_batch(problems=8)
    table = bench.compare(batch, (2,), bench.budgets_of(batch))
    assert {row.ours for row in table} == {1.0}


def test_a_cut_loses_no_row(bench: ModuleType):
    lengths = np.random.default_rng(0).integers(1, 50, 40)
    pieces = bench.cut(lengths, 3, 60)
    assert sorted(np.concatenate(pieces)) == list(range(40))
    assert all(len(piece) == 1 or lengths[piece].sum() <= 60 for piece in pieces)
