"""Recorded samples as a back end: what a run gave before, it gives again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from stare.errors import ConfigError, DataError
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.failures import BackendError, RequestError
from stare.evals.files import read_lines
from stare.evals.records import Key, Sample

__all__ = ["ReplayBackend"]


class ReplayBackend:
    """A `Backend` over a run folder, or one samples file; `model` is its path.

    Times and token counts are the recorded ones too. A seed is kept where it is the one asked for.
    """

    def __init__(self, config: EvalConfig, sampling: Sampling) -> None:
        self._path = Path(config.model)
        self._files: dict[Path, IO[bytes]] = {}
        self._places: dict[Key, tuple[Path, int]] = {}
        self.capacity = config.concurrency
        if not self._path.exists():
            raise ConfigError(f"replay: no run folder and no samples file {self._path}")

    async def open(self) -> Mapping[str, Any]:
        """Index the recording."""
        folder = self._path / "samples"
        paths = sorted(folder.glob("*.jsonl")) if self._path.is_dir() else [self._path]
        for path in paths:
            for offset, row in read_lines(path):
                try:
                    sample = Sample.from_json(row, f"{path}, byte {offset}")
                except DataError as error:
                    raise BackendError(f"replay: {error}") from error
                if sample.finish_reason in ("stop", "length"):
                    self._places.setdefault(sample.key, (path, offset))
        if not self._places:
            raise BackendError(f"replay: no samples in {self._path}")
        return {"replay": str(self._path), "recorded": len(self._places)}

    async def generate(self, request: Request) -> Response:
        """The recorded sample of the request's key."""
        place = self._places.get(request.key)
        if place is None:
            raise RequestError(f"{'/'.join(map(str, request.key))} is not in the recording")
        path, offset = place
        if path not in self._files:
            self._files[path] = path.open("rb")
        self._files[path].seek(offset)
        sample = Sample.from_json(json.loads(self._files[path].readline()), str(path))
        return Response(
            text=sample.text,
            finish_reason="length" if sample.finish_reason == "length" else "stop",
            n_prompt_tokens=sample.n_prompt_tokens,
            n_tokens=sample.n_tokens,
            stop_hit=sample.stop_hit,
            logprob_sum=sample.logprob_sum,
            seconds=sample.seconds,
            seeded=sample.seed == request.seed,
            attempts=sample.attempt,
        )

    async def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()
