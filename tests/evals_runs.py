"""What tests of runs share: configurations of the mock back end, and what a folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stare.evals.config import EvalConfig
from stare.evals.store import RunFolder, sample_line

VARYING = ("seconds", "attempt")


def mock_config(bench: str = "mini:2", **changes: Any) -> EvalConfig:
    values: dict[str, Any] = {"model": "mock", "backend": "mock", "bench": bench, **changes}
    return EvalConfig(**values)


def content(folder: Path | RunFolder, bench: str = "mini") -> list[dict[str, Any]]:
    """Samples in order, without what the clock decides."""
    folder = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    rows = [sample_line(sample) for sample in folder.samples(bench)]
    return [{k: v for k, v in row.items() if k not in VARYING} for row in rows]


def whole_lines(folder: Path) -> int:
    """Lines of all samples files, torn ones too."""
    return sum(p.read_bytes().count(b"\n") for p in (folder / "samples").glob("*.jsonl"))
