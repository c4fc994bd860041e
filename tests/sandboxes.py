"""What the tests of the sandbox share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stare.errors import SandboxError
from stare.rollout.tools.limits import Limits
from stare.rollout.tools.pool import SandboxPool

LIMITS = Limits(wall_seconds=2, memory_mb=128, processes=16, output_kb=16, tmp_mb=8, file_mb=4)


def open_pool(limits: Limits = LIMITS, **kwargs) -> SandboxPool:
    """A pool, or a skipped test where the machine has no sandbox."""
    try:
        return SandboxPool(limits, **{"workers": 1, **kwargs})
    except SandboxError as error:
        pytest.skip(f"no sandbox on this machine: {error}")


def descendants(pid: int | None = None) -> set[int]:
    """Processes that this one started, theirs included."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    found, grown = {pid or os.getpid()}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found - {pid or os.getpid()}
