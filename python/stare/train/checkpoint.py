"""Checkpoints: a folder per step, complete or absent.

``checkpoints/step-000123/`` holds `state.pt` (torch, loaded with `weights_only=True`, so it can
run no code) and `meta.json` (step, size, CRC-32). The folder is written under a temporary name and
renamed; `kill -9` at any moment leaves the previous checkpoint and at most one temporary folder,
which the next start removes. Checkpoints of a sharded policy have one more folder beside these, see
`checkpoint_sharded.py`.
"""

from __future__ import annotations

import os
import random
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from stare.errors import ArgumentError, RunError
from stare.train.checkpoint_files import read_meta, read_state
from stare.train.runfolder import write_json

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "rng_state",
    "set_rng_state",
]

_TMP = ".tmp-"
_PLAIN = (bool, int, float, str, bytes, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint that was read and found intact."""

    step: int
    """Training steps done when it was written."""
    state: dict[str, Any]
    """What `save` was given."""
    path: Path
    """Its folder."""
    skipped: list[str] = field(default_factory=list)
    """One message for each newer checkpoint that was damaged; empty in the ordinary case."""


class _Checksummed:
    """A file that keeps the CRC-32 of what is written: no second pass, no copy in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.crc, self.size = file, 0, 0
        self.refused: OSError | None = None
        """Why the disk took no more; torch tells it as a RuntimeError about positions."""

    def write(self, data: bytes) -> int:
        self.crc = zlib.crc32(data, self.crc)
        self.size += len(data)
        try:
            return self.file.write(data)
        except OSError as error:
            self.refused = error
            raise

    def flush(self) -> None:
        self.file.flush()


class CheckpointStore:
    """The `checkpoints/` folder of a run.

    Args:
        folder: Made if it is not there. Leftovers of killed processes are removed, so only the
            process that holds the run folder's lock may open a store.
        keep: Newest checkpoints kept.
        fsync: Flush to the disk before the rename (a power cut then loses nothing either).
    """

    def __init__(self, folder: str | Path, *, keep: int = 2, fsync: bool = False) -> None:
        if keep < 1:
            raise ArgumentError(f"keep must be >= 1, got {keep}")
        self.folder, self.keep, self.fsync = Path(folder), keep, fsync
        self.folder.mkdir(parents=True, exist_ok=True)
        for leftover in self.folder.glob(f"{_TMP}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def path(self, step: int) -> Path:
        """Folder of a step."""
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, ascending."""
        names = (p.name[5:] for p in self.folder.glob("step-*") if p.is_dir())
        return sorted(int(n) for n in names if n.isdigit())

    def save(self, state: Mapping[str, Any], step: int) -> Path:
        """Write a checkpoint atomically, then drop all but the newest `keep`.

        Args:
            state: Tensors, numbers, strings, None, lists, tuples and dicts of these.
            step: Training steps done.

        Raises:
            ArgumentError: the state holds anything else (it could not be loaded again safely).
            RunError: the disk refuses (full, read-only). Existing checkpoints are untouched.
        """
        return self.commit(self.stage(step), state, step)

    def stage(self, step: int) -> Path:
        """Make the temporary folder that `commit` turns into the checkpoint of a step.

        Raises:
            RunError: the disk refuses.
        """
        temporary = self.folder / f"{_TMP}step-{step:06d}-{os.getpid()}"
        try:
            temporary.mkdir()
        except OSError as error:
            raise RunError(f"checkpoint of step {step} could not be written: {error}") from error
        return temporary

    def commit(
        self,
        temporary: Path,
        state: Mapping[str, Any],
        step: int,
        more: Mapping[str, Any] | None = None,
    ) -> Path:
        """The second half of `save`; `more` goes into `meta.json`."""
        try:
            _check_plain(state, "state")
            with (temporary / "state.pt").open("wb") as raw:
                out = _Checksummed(raw)
                try:
                    torch.save(dict(state), out)  # type: ignore[arg-type]
                except RuntimeError:
                    if out.refused is None:
                        raise
                    raise out.refused from None
                if self.fsync:
                    raw.flush()
                    os.fsync(raw.fileno())
            meta = {"format": 1, "step": step, "size": out.size, "crc32": out.crc, **(more or {})}
            write_json(temporary / "meta.json", meta, fsync=self.fsync)
            target = self.path(step)
            if target.exists():
                self._remove(target)
            temporary.rename(target)
            if self.fsync:
                _fsync_folder(self.folder)
        except (OSError, ArgumentError) as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if isinstance(error, ArgumentError):
                raise
            raise RunError(f"checkpoint of step {step} could not be written: {error}") from error
        for old in self.steps()[: -self.keep]:
            self._remove(self.path(old))
        return target

    def _remove(self, path: Path) -> None:
        # Renamed first: a kill in the middle must not leave half a checkpoint under a valid name.
        doomed = self.folder / f"{_TMP}old-{path.name}-{os.getpid()}"
        path.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def set_aside(self, step: int) -> None:
        """Rename a damaged checkpoint to `damaged-step-...`, for inspection."""
        aside = self.folder / f"damaged-{self.path(step).name}"
        shutil.rmtree(aside, ignore_errors=True)
        self.path(step).rename(aside)

    def load(self, step: int, *, device: str | torch.device = "cpu") -> dict[str, Any]:
        """Read one checkpoint.

        Raises:
            RunError: it is missing, incomplete or damaged; the message says which.
        """
        return read_state(self.path(step), device=device)

    def latest(self, *, device: str | torch.device = "cpu") -> Checkpoint | None:
        """The newest intact checkpoint, or None where there is none at all.

        A damaged newer one is renamed to `damaged-step-...` (kept for inspection) and reported in
        `Checkpoint.skipped`.

        Raises:
            RunError: there are checkpoints and every one is damaged.
        """
        skipped: list[str] = []
        for step in reversed(self.steps()):
            try:
                sharded = "shards" in read_meta(self.path(step))
                state = {} if sharded else self.load(step, device=device)
            except RunError as error:
                skipped.append(str(error))
                self.set_aside(step)
                continue
            if sharded:
                raise RunError(
                    f"checkpoint {self.path(step)} is of a sharded policy\n"
                    "hint: parallel.strategy=fsdp2 resumes it, on one rank too; `stare-train "
                    "export` makes a Hugging Face folder of it"
                )
            return Checkpoint(step=step, state=state, path=self.path(step), skipped=skipped)
        if skipped:
            raise RunError("no intact checkpoint is left:\n" + "\n".join(f"  {s}" for s in skipped))
        return None


def _check_plain(value: object, name: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_plain(key, f"{name} key")
            _check_plain(inner, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            _check_plain(inner, f"{name}[{index}]")
    elif not isinstance(value, torch.Tensor) and type(value) not in _PLAIN:
        raise ArgumentError(
            f"{name} must be a tensor, number, string, None, list, tuple or dict, "
            f"got {type(value).__name__}"
        )


def _fsync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rng_state() -> dict[str, Any]:
    """State of the global generators of Python, numpy and torch (every CUDA device included)."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, internal, gauss_next = random.getstate()
    return {
        "python": [version, torch.tensor(internal, dtype=torch.int64), gauss_next],
        "numpy": [
            str(kind),
            torch.from_numpy(np.asarray(keys).astype(np.int64)),
            int(position),
            int(has_gauss),
            float(gauss),
        ],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Restore what `rng_state` returned.

    CUDA states are restored only where the number of devices is the same; a run moved to other
    hardware is not bit-exact anyway.
    """
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal.tolist()), gauss_next))
    kind, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, gauss))
    torch.set_rng_state(state["torch"].cpu())
    if state["cuda"] and torch.cuda.device_count() == len(state["cuda"]):
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda"]])
