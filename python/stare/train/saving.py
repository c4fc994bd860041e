"""The run folder and the checkpoints of a run, whether one process writes them or several."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from stare.train.checkpoint import Checkpoint, CheckpointStore, rng_state, set_rng_state
from stare.train.config import RunConfig, TrainConfig
from stare.train.learner import Learner
from stare.train.parallel import Ranks
from stare.train.runfolder import RunFolder
from stare.train.session import Session

__all__ = ["Saver", "open_folder", "open_saver"]


class _FollowedFolder:
    """The run folder as a rank sees it that does not write it."""

    def __init__(self, path: Path, *, resumed: bool) -> None:
        self.path, self.resumed = path, resumed

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    def set_status(self, status: str, *, step: int, error: str | None = None) -> None:
        """Rank 0 says it."""


@contextlib.contextmanager
def open_folder(
    path: Path, config: TrainConfig, ranks: Ranks, *, resume: bool, environment: dict[str, Any]
) -> Iterator[RunFolder | _FollowedFolder]:
    """A run folder: rank 0 holds its lock, the others are told whether the run is resumed.

    Raises:
        RunError: as `RunFolder`, on every rank.
    """
    with contextlib.ExitStack() as stack:
        own: list[RunFolder] = []

        def claim() -> bool:
            folder = RunFolder(path, config, resume=resume, environment=environment)
            own.append(stack.enter_context(folder))
            return folder.resumed

        resumed = ranks.first(claim)
        yield own[0] if own else _FollowedFolder(path, resumed=resumed)


class Saver(Protocol):
    """Writes and reads the state of a run; with several ranks, all of them together."""

    def save(self, session: Session, learner: Learner, step: int) -> None:
        """Write a checkpoint, complete or not at all."""
        ...

    def restore(self, session: Session, learner: Learner) -> int:
        """Continue from the newest intact checkpoint; the steps it has done, 0 without one."""
        ...


def open_saver(folder: Path, config: RunConfig, ranks: Ranks) -> Saver:
    """The checkpoints of a run, by `torch.save` or, for a sharded policy, by DCP."""
    kind = _ShardedSaver if ranks.sharded else _Saver
    return kind(folder, config, ranks)


class _Saver:
    def __init__(self, folder: Path, config: RunConfig, ranks: Ranks) -> None:
        del ranks
        self._store = CheckpointStore(folder, keep=config.keep_checkpoints, fsync=config.fsync)

    def save(self, session: Session, learner: Learner, step: int) -> None:
        state = {"model": session.model.state_dict(), **_plain_state(session, learner)}
        self._store.save(state, step)

    def restore(self, session: Session, learner: Learner) -> int:
        found = self._store.latest()
        if found is None:
            return 0
        _warn(found)
        session.model.load_state_dict(found.state["model"])
        _load_plain_state(found.state, session, learner)
        return found.step


class _ShardedSaver:
    def __init__(self, folder: Path, config: RunConfig, ranks: Ranks) -> None:
        from stare.train.checkpoint_sharded import ShardedCheckpoints

        self._ranks = ranks
        self._checkpoints = ShardedCheckpoints(
            folder, ranks, keep=config.keep_checkpoints, fsync=config.fsync
        )

    def save(self, session: Session, learner: Learner, step: int) -> None:
        from stare.train.checkpoint_sharded import model_tensors, optimizer_tensors

        tensors = model_tensors(session.model)
        tensors |= optimizer_tensors(session.model, learner.optimizer)
        plain = _plain_state(session, learner)
        del plain["learner"]["optimizer"]  # what of it is no tensor, the configuration holds
        self._checkpoints.save(tensors, plain, step)

    def restore(self, session: Session, learner: Learner) -> int:
        found = self._checkpoints.latest()
        if found is None:
            return 0
        if self._ranks.is_first:
            _warn(found)
        self._checkpoints.read_into(found, session.model, learner.optimizer)
        _load_plain_state(found.state, session, learner)
        return found.step


def _plain_state(session: Session, learner: Learner) -> dict[str, Any]:
    return {
        "learner": learner.state_dict(),
        "stream": session.stream.state_dict(),
        "rng": rng_state(),
    }


def _load_plain_state(state: dict[str, Any], session: Session, learner: Learner) -> None:
    learner.load_state_dict(state["learner"])
    session.stream.load_state_dict(state["stream"])
    set_rng_state(state["rng"])


def _warn(found: Checkpoint) -> None:
    for message in found.skipped:
        print(f"warning: {message}; an older checkpoint is used", file=sys.stderr)
