"""Where `stare-eval data` keeps benchmarks, for those who only compare texts with them."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["HEADER", "data_folder"]

HEADER = "stare_benchmark"
"""Key of the first line of a stored benchmark, which is no problem."""


def data_folder(given: Path | None = None) -> Path:
    """The local store: `given`, else `$STARE_DATA`, else `~/.cache/stare/benchmarks`."""
    if given is not None:
        return given
    if named := os.environ.get("STARE_DATA"):
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "stare" / "benchmarks"
