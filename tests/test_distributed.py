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
    groups = {3: None, 2: dist.new_group([0, 1])}
    results = []
    with open(f"{folder}/rank{rank}", "rb") as file:
        calls = pickle.load(file)
    for ranks, arguments, options in calls:
        options = options | {"group": groups[ranks]}
        try:
            weights, stats = token_weights_distributed(*arguments, **options)
            logprobs, advantages, mask = arguments
            product, _ = reweight_distributed(advantages, logprobs, mask, **options)
            results.append((weights, product, stats))
        except ValueError as error:
            results.append(str(error))
    with open(f"{folder}/result{rank}", "wb") as file:
        pickle.dump(results, file)
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
            # Three imports of torch take minutes on a machine that is busy.
            _, errors = process.communicate(timeout=280)
            assert process.returncode == 0, errors.decode()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [pickle.loads((folder / f"result{rank}").read_bytes()) for rank in range(size)]


def batch(seed=0, rows=9, columns=30):
    rng = np.random.default_rng(seed)
    logprobs = -np.round(rng.exponential(1.0, (rows, columns)), 1)
    return logprobs, rng.choice([-1.0, 0.0, 1.0], rows), rng.random((rows, columns)) < 0.7


@pytest.mark.slow
def test_ranks_choose_what_one_process_chooses(tmp_path):
    """Groups of two ranks and of three, the second of which has no rows, in one set of processes.

    Of each: an ordinary batch, one of ties, one without tokens, bad input on one rank,
    settings that differ, and the ordinary batch again, as an error must leave the group in
    working order.
    """
    c2, c4 = StareConfig(variant="C2"), StareConfig(variant="C4", top_p_ratio=0.37)
    logprobs, advantages, mask = batch()
    ordinary = (logprobs, advantages, mask)
    batches = [
        (ordinary, c2),
        ((np.full_like(logprobs, -0.25), advantages, mask), c4),
        ((logprobs, advantages, np.zeros_like(mask)), c2),
    ]
    poisoned = logprobs.copy()
    poisoned[-1, 5] = np.nan
    splits = {2: [0, 4, 9], 3: [0, 3, 3, 9]}
    calls = [[], [], []]
    for size, bounds in splits.items():
        for rank, (i, j) in enumerate(pairwise(bounds)):
            good = tuple(a[i:j] for a in ordinary)
            of_rank = [
                (tuple(a[i:j] for a in whole), {"config": config}) for whole, config in batches
            ]
            of_rank.append(((poisoned[i:j], np.ones(j - i), None), {"config": c2}))
            # On rank 0: a wrong shape, other settings, a gate and offsets that are none.
            first = rank == 0
            of_rank.append(((logprobs[i:j], np.ones(j - i + first), None), {"config": c2}))
            of_rank.append((good, {"config": StareConfig() if first else c2}))
            of_rank.append((good, {"config": c2, "gate": 5 if first else None}))
            of_rank.append((good, {"config": c2, "offsets": 5 if first else None}))
            of_rank.append(of_rank[0])
            calls[rank] += [(size, *call) for call in of_rank]
    results = launch(tmp_path, calls)

    for size, bounds in splits.items():
        # The first two ranks made the calls of both groups, two's first.
        got = [of_rank[-9:] if size == 3 else of_rank[:9] for of_rank in results[:size]]
        for n, (whole, config) in [*enumerate(batches), (8, batches[0])]:
            expected, stats = token_weights(*whole, config=config)
            product, _ = reweight(whole[1], whole[0], whole[2], config=config)
            parts = [of_rank[n] for of_rank in got]
            np.testing.assert_array_equal(np.concatenate([w for w, _, _ in parts]), expected)
            np.testing.assert_array_equal(np.concatenate([p for _, p, _ in parts]), product)
            assert all(repr(s) == repr(stats) for _, _, s in parts)
        others = f"1 of {size} shards reported bad input"
        last = bounds[-1] - bounds[-2] - 1
        assert f"row {last}, column 5 must be finite" in got[-1][3]
        assert all(others in of_rank[3] for of_rank in got[:-1])
        assert "advantages must have the shape" in got[0][4]
        assert all(others in of_rank[4] for of_rank in got[1:])
        assert all("ranks differ in their config" in of_rank[5] for of_rank in got)
        assert "gate must be a GateState" in got[0][6]
        assert "has no len()" in got[0][7]
        refused = "rank 0 of the group reported bad arguments"
        assert all(refused in of_rank[n] for of_rank in got[1:] for n in (6, 7))


def test_without_a_group_the_error_says_so():
    from stare.algo.distributed import token_weights_distributed
    from stare.errors import ArgumentError

    with pytest.raises(ArgumentError, match=r"torch\.distributed is not initialised\nhint"):
        token_weights_distributed(*batch(), config=StareConfig())
