"""Four responses of 4,096 tokens through sampler and learner; memory by length."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "long_answers.py"


def step(tokens: int, mode: str, *more: str) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), "--tokens", str(tokens), "--mode", mode, *more]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(SCRIPT.parents[1] / "python"),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.slow
def test_sampled_long_answers_are_learnt_from() -> None:
    """Chunked head and packing, one sequence in a forward."""
    row = step(4096, "packed", "--sample")
    assert row["lengths"] == [4096] * 4
    metrics = row["metrics"]
    assert metrics["stare/n_tokens"] == 4 * 4096
    assert metrics["optim/skipped"] == 0
    assert math.isfinite(metrics["loss/total"])
    assert 0 < metrics["optim/grad_norm"] < math.inf
    # The sampler's cache and the packed forward agree to the last of 4,096 tokens.
    assert metrics["mismatch/max_abs"] < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["padded", "padded, whole batch"])
def test_memory_grows_about_linearly(mode: str) -> None:
    """From 2,048 to 8,192 tokens a quadratic part would grow sixteen times, a linear one four."""
    short, long = (step(tokens, mode) for tokens in (2048, 8192))
    growth = [row["peak_mb"] - row["before_mb"] for row in (short, long)]
    assert growth[0] > 10, "or nothing was measured"
    assert growth[1] < 6 * growth[0], growth
