"""examples/trl_grpo.py, from the command line's side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="TRL is not installed: make test-trl")


def test_the_example_runs_end_to_end(root: Path, tmp_path: Path):
    script = str(root / "examples" / "trl_grpo.py")
    done = subprocess.run(
        [sys.executable, script, "--steps", "3", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    assert len(lines) == 3
    assert all("stare/selected_frac 0.1" in line for line in lines)
