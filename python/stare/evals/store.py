"""STUB of w/evrun's store, to be replaced by it: a run folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stare.evals.records import Key, Sample

__all__ = ["RunFolder"]


class RunFolder:
    """A run folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def manifest(self) -> dict[str, Any]:
        """The manifest."""
        file = self.path / "manifest.json"
        return json.loads(file.read_text("utf-8")) if file.is_file() else {}

    def prompts(self) -> Mapping[str, str]:
        """Prompts by hash."""
        file = self.path / "prompts.jsonl"
        if not file.is_file():
            return {}
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line]
        return {row["sha"]: row["text"] for row in rows}

    def benches(self) -> list[str]:
        """Names of the benchmarks with samples."""
        return sorted({p.name.split(".")[0] for p in (self.path / "samples").glob("*.jsonl")})

    def samples(self, bench: str) -> Iterator[Sample]:
        """Samples, each key once."""
        seen: set[Key] = set()
        for file in sorted((self.path / "samples").glob(f"{bench}.*.jsonl")):
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if not line.endswith(b"\n"):
                        continue
                    sample = Sample.from_json(json.loads(line), f"{file}:{number}")
                    if sample.key not in seen and sample.finish_reason != "error":
                        seen.add(sample.key)
                        yield sample
