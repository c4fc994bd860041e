"""Checkpoints of a sharded policy, by torch.distributed.checkpoint (DCP).

Beside `state.pt` and `meta.json` (see `checkpoint.py`) a folder ``step-000123/shards/`` holds the
weights and the optimiser's moments, each rank's shards in a file written by that rank. `meta.json`
lists every file with its size and CRC-32 and is written last; then rank 0 renames the folder. So a
checkpoint is complete or absent, whichever rank is killed when. DCP reads shards into any layout: a
run continues on another number of ranks.

Only tensors go into the shards, and DCP's index (a pickle) is read by an unpickler that knows
nothing but its own classes: like `state.pt`, a checkpoint can run no code.
"""

from __future__ import annotations

import pickle
import shutil
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from stare.errors import RunError
from stare.train.checkpoint import Checkpoint, CheckpointStore
from stare.train.checkpoint_files import check_file, checksum, read_meta, read_state
from stare.train.parallel import Ranks

__all__ = ["ShardedCheckpoints", "model_tensors", "optimizer_tensors", "read_model"]

_SHARDS = "shards"
_KNOWN = {
    "torch.distributed.checkpoint.metadata": {
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    },
    "torch.distributed.checkpoint.filesystem": {"_StorageInfo"},
    "torch.serialization": {"_get_layout"},
    "pathlib": {"Path", "PosixPath", "PurePosixPath"},
}


class ShardedCheckpoints:
    """The `checkpoints/` folder of a run whose policy is sharded; every method is collective.

    Args:
        folder: as for `CheckpointStore`, which rank 0 keeps.
        ranks: all of them.
        keep: newest checkpoints kept.
        fsync: flush to the disk before the rename.
    """

    def __init__(self, folder: Path, ranks: Ranks, *, keep: int = 2, fsync: bool = False) -> None:
        self._folder, self._ranks, self._fsync = folder, ranks, fsync
        self._store = CheckpointStore(folder, keep=keep, fsync=fsync) if ranks.is_first else None

    def save(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any], step: int) -> None:
        """Write a checkpoint atomically.

        Args:
            tensors: sharded (`DTensor`) or the same on every rank.
            plain: the rest, the same on every rank; what `CheckpointStore.save` takes.
            step: training steps done.

        Raises:
            RunError: a rank's disk refuses. Existing checkpoints are untouched.
        """
        ranks, store = self._ranks, self._store
        temporary = ranks.first(lambda: store.stage(step) if store else Path())
        shards = temporary / _SHARDS
        try:
            ranks.together(lambda: self._write(tensors, shards))
            sums = ranks.exchange(lambda: self._sums_of_own_files(shards))
            files = {name: list(pair) for part in sums for name, pair in sorted(part.items())}
            more = {_SHARDS: files, "ranks": ranks.size}
            ranks.first(lambda: store.commit(temporary, plain, step, more) if store else Path())
        except Exception:
            if store:
                shutil.rmtree(temporary, ignore_errors=True)
            raise

    def _write(self, tensors: Mapping[str, Tensor], shards: Path) -> None:
        writer = FileSystemWriter(shards, single_file_per_rank=True, sync_files=self._fsync)
        try:
            save(dict(tensors), storage_writer=writer)
        except CheckpointException as error:
            raise RunError(f"checkpoint {shards.parent} could not be written: {error}") from error

    def _sums_of_own_files(self, shards: Path) -> dict[str, tuple[int, int]]:
        ranks = self._ranks
        own = sorted(shards.glob(f"__{ranks.rank}_*")) + [shards / ".metadata"] * ranks.is_first
        return {path.name: checksum(path) for path in own}

    def latest(self) -> Checkpoint | None:
        """The newest intact checkpoint, its plain part read; None where there is none at all.

        Damaged ones are renamed and reported, as by `CheckpointStore.latest`.

        Raises:
            RunError: there are checkpoints and every one is damaged, or the newest is of a policy
                that was not sharded.
        """
        ranks, store = self._ranks, self._store
        skipped: list[str] = []
        for step in reversed(ranks.first(lambda: store.steps() if store else [])):
            path = self._folder / f"step-{step:06d}"
            found = [wrong for wrong in ranks.gather(self._damage(path)) if wrong]
            if found:
                skipped.append(found[0])
                ranks.first(partial(store.set_aside, step) if store else _nothing)
                continue
            state = ranks.together(partial(read_state, path))
            return Checkpoint(step=step, state=state, path=path, skipped=skipped)
        if skipped:
            raise RunError("no intact checkpoint is left:\n" + "\n".join(f"  {s}" for s in skipped))
        return None

    def _damage(self, path: Path) -> str | None:
        """What is wrong with this rank's share of the files, if anything."""
        try:
            meta = read_meta(path)
            files = meta.get(_SHARDS)
            if files is None:
                return None  # `read_into` refuses it: it is intact, and must stay where it is
            for number, (name, want) in enumerate(sorted(files.items())):
                if number % self._ranks.size == self._ranks.rank:
                    check_file(path / _SHARDS / name, want)
            if self._ranks.is_first:
                check_file(path / "state.pt", (meta["size"], meta["crc32"]))
        except (RunError, KeyError, AttributeError) as error:
            return str(error)
        return None

    def read_into(
        self, checkpoint: Checkpoint, model: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        """Load weights and moments into a model and an optimiser, sharded in any way.

        Raises:
            RunError: the checkpoint is of another model, or of one that was not sharded.
        """
        if _SHARDS not in read_meta(checkpoint.path):
            raise RunError(
                f"checkpoint {checkpoint.path} is not of a sharded policy\n"
                "hint: parallel.strategy=single resumes it; `stare-train export` makes a Hugging "
                "Face folder of it, to start from on several GPUs"
            )
        reader = _Reader(checkpoint.path / _SHARDS)
        index = reader.read_metadata().state_dict_metadata
        tensors = model_tensors(model)
        moments = _empty_moments(model, optimizer, index)
        for parameter, state in moments.items():
            optimizer.state[parameter] = state
        tensors |= optimizer_tensors(model, optimizer)
        _load(tensors, reader, index, checkpoint.path)


def _nothing() -> None:
    """What ranks do while rank 0 does something."""


def model_tensors(model: torch.nn.Module) -> dict[str, Tensor]:
    """The model's part of a checkpoint: its `state_dict` under `model.`."""
    return {f"model.{name}": value for name, value in model.state_dict().items()}


def optimizer_tensors(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """The optimiser's part: `optimizer.<parameter>.<moment>`; empty before its first step."""
    return {
        f"optimizer.{name}.{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def _empty_moments(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, index: Mapping[str, Any]
) -> dict[Tensor, dict[str, Tensor]]:
    """Room for what the checkpoint knows of each parameter: sharded like it, or a plain number."""
    out: dict[Tensor, dict[str, Tensor]] = {}
    owned = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        prefix = f"optimizer.{name}."
        keys = [key for key in index if key.startswith(prefix)]
        if id(parameter) not in owned or not keys:
            continue
        state: dict[str, Tensor] = {}
        for key in keys:
            entry = index[key]
            like = {"dtype": entry.properties.dtype, "device": parameter.device}
            state[key.removeprefix(prefix)] = (
                torch.zeros_like(parameter, dtype=entry.properties.dtype)
                if entry.size == parameter.shape
                else torch.zeros(entry.size, **like)
            )
        out[parameter] = state
    return out


def _load(
    tensors: dict[str, Tensor], reader: FileSystemReader, index: Mapping[str, Any], path: Path
) -> None:
    for name, value in tensors.items():
        entry = index.get(name)
        if not isinstance(entry, TensorStorageMetadata) or entry.size != value.shape:
            held = "nothing" if entry is None else f"shape {list(getattr(entry, 'size', ()))}"
            raise RunError(
                f"checkpoint {path} is of another model: it holds {held} for {name}, which has "
                f"shape {list(value.shape)}"
            )
    extra = sorted(set(index) - set(tensors))
    if extra and any(name.startswith("model.") for name in extra):
        raise RunError(f"checkpoint {path} is of another model: it has {extra[0]}, this one not")
    alone = not torch.distributed.is_initialized()
    try:
        with warnings.catch_warnings():
            # One process is what is meant; DCP warns of it even where it is told so.
            warnings.filterwarnings("ignore", message="torch.distributed is disabled")
            load(tensors, storage_reader=reader, no_dist=alone)
    except CheckpointException as error:
        raise RunError(f"checkpoint {path} cannot be read: {error}") from error


def read_model(path: Path, model: torch.nn.Module) -> None:
    """Load the weights of a checkpoint's folder into a model that is not sharded, in one process.

    Raises:
        RunError: the checkpoint is damaged, or of another model.
    """
    for name, want in read_meta(path)[_SHARDS].items():
        check_file(path / _SHARDS / name, want)
    reader = _Reader(path / _SHARDS)
    index = reader.read_metadata().state_dict_metadata
    weights = {name: entry for name, entry in index.items() if name.startswith("model.")}
    _load(model_tensors(model), reader, weights, path)


class _Reader(FileSystemReader):
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """DCP's index, without letting it name anything but what an index is made of."""
        path = Path(self.path) / ".metadata"
        try:
            with path.open("rb") as file:
                metadata = _Unpickler(file).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError) as error:
            raise RunError(f"{path} is no index of a checkpoint: {error}") from error
        if not isinstance(metadata, Metadata):
            raise RunError(f"{path} is no index of a checkpoint")
        metadata.storage_meta = metadata.storage_meta or StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = name in _KNOWN.get(module, ())
        if module == "torch":
            known = name == "Size" or isinstance(getattr(torch, name, None), torch.dtype)
        if not known:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)
