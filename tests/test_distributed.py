"""Real gloo groups of two and three processes against a single call."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from stare.algo.reweight import reweight, token_weights
from stare.config import StareConfig

WORKER = textwrap.dedent(
    """
    import pickle, sys
    import torch
    import torch.distributed as dist
    from stare.algo.distributed import reweight_distributed, token_weights_distributed

    rank, size, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=size
    )
    results = []
    for arguments, options in pickle.load(open(f"{folder}/rank{rank}", "rb")):
        try:
            weights, stats = token_weights_distributed(*arguments, **options)
            logprobs, advantages, mask = arguments
            product, _ = reweight_distributed(advantages, logprobs, mask, **options)
            results.append((weights, product, stats))
        except ValueError as error:
            results.append(str(error))
    pickle.dump(results, open(f"{folder}/result{rank}", "wb"))
    dist.barrier()
    dist.destroy_process_group()
    """
)


def launch(folder: Path, calls_of_ranks):
    """Every rank makes its calls in order; results by rank."""
    size = len(calls_of_ranks)
    for rank, calls in enumerate(calls_of_ranks):
        (folder / f"rank{rank}").write_bytes(pickle.dumps(calls))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(size), str(folder)],
            env=os.environ | {"OMP_NUM_THREADS": "1", "STARE_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
        )
        for rank in range(size)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors.decode()
    finally:
        for process in processes:
            process.kill()
    return [pickle.loads((folder / f"result{rank}").read_bytes()) for rank in range(size)]


def batch(seed=0, rows=9, columns=30):
    rng = np.random.default_rng(seed)
    logprobs = -np.round(rng.exponential(1.0, (rows, columns)), 1)
    return logprobs, rng.choice([-1.0, 0.0, 1.0], rows), rng.random((rows, columns)) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [[0, 4, 9], [0, 3, 3, 9]])
def test_ranks_choose_what_one_process_chooses(tmp_path, bounds):
    """Three ranks: the second has no rows. Then ties, an empty batch, and errors, in one group."""
    size = len(bounds) - 1
    c2, c4 = StareConfig(variant="C2"), StareConfig(variant="C4", top_p_ratio=0.37)
    logprobs, advantages, mask = batch()
    ties = (np.full_like(logprobs, -0.25), advantages, mask)
    empty = (logprobs, advantages, np.zeros_like(mask))
    batches = [((logprobs, advantages, mask), c2), (ties, c4), (empty, c2)]
    calls = [
        [(tuple(a[i:j] for a in whole), {"config": config}) for whole, config in batches]
        for i, j in pairwise(bounds)
    ]
    poisoned = logprobs.copy()
    poisoned[-1, 5] = np.nan
    for rank, (i, j) in enumerate(pairwise(bounds)):
        part = (poisoned[i:j], np.ones(j - i), None)
        calls[rank].append((part, {"config": c2}))
        # A wrong shape on rank 0, after which the group must still work.
        calls[rank].append(((logprobs[i:j], np.ones(j - i + (rank == 0)), None), {"config": c2}))
        # Settings that differ between ranks, then a gate and offsets that are none, on rank 0 only.
        part = (logprobs[i:j], advantages[i:j], mask[i:j])
        calls[rank].append((part, {"config": c2 if rank else StareConfig()}))
        calls[rank].append((part, {"config": c2, "gate": None if rank else 5}))
        calls[rank].append((part, {"config": c2, "offsets": None if rank else 5}))
        calls[rank].append(calls[rank][0])
    results = launch(tmp_path, calls)

    for n, (whole, config) in [*enumerate(batches), (8, batches[0])]:
        expected, stats = token_weights(*whole, config=config)
        product, _ = reweight(whole[1], whole[0], whole[2], config=config)
        got = [results[rank][n] for rank in range(size)]
        np.testing.assert_array_equal(np.concatenate([w for w, _, _ in got]), expected)
        np.testing.assert_array_equal(np.concatenate([p for _, p, _ in got]), product)
        assert all(repr(s) == repr(stats) for _, _, s in got)
    last = bounds[-1] - bounds[-2] - 1
    assert f"row {last}, column 5 must be finite" in results[-1][3]
    assert "advantages must have the shape" in results[0][4]
    for rank in range(size):
        if rank != size - 1:
            assert f"1 of {size} shards reported bad input" in results[rank][3]
        if rank != 0:
            assert f"1 of {size} shards reported bad input" in results[rank][4]
        assert "ranks differ in their config" in results[rank][5]
        others = "rank 0 of the group reported bad arguments"
        assert ("gate must be a GateState" if rank == 0 else others) in results[rank][6]
        assert ("len()" if rank == 0 else others) in results[rank][7]


def test_without_a_group_the_error_says_so():
    from stare.algo.distributed import token_weights_distributed
    from stare.errors import ArgumentError

    with pytest.raises(ArgumentError, match=r"torch\.distributed is not initialised\nhint"):
        token_weights_distributed(*batch(), config=StareConfig())
