"""The run folder: one run owns it, one process writes it.

::

    config.json          resolved configuration, versions, seeds (written once)
    metrics.jsonl        one object a step (see `metrics.py`)
    checkpoints/         see `checkpoint.py`
    run.json             status, replaced atomically
    .lock                advisory lock (flock) of the writing process
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from stare.errors import ConfigError, RunError
from stare.train.config import TrainConfig, from_dict, to_dict

__all__ = ["RunFolder", "differing_keys", "frozen_differences", "write_json"]

FREE_KEYS = (
    "eval.",
    "guard.",
    "run.steps",
    "run.log_every",
    "run.tensorboard",
    "run.wandb",
    "run.out",
    "run.wandb_project",
    "run.checkpoint_every",
    "run.keep_checkpoints",
    "run.fsync",
    "run.prometheus",
    "parallel.reshard_after_forward",
    "parallel.cpu_offload",
    "parallel.timeout_s",
)
"""Keys that a resumed run may change: none of them alters a training step."""


def write_json(path: Path, value: object, *, fsync: bool = False) -> None:
    """Write JSON to a temporary name in the same folder, then rename: never half a file."""
    # Of the thread: the watchdog sets the status while the main thread may be at it.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(value, file, indent=2, allow_nan=False)
            file.write("\n")
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            out.update(_flat(value, f"{prefix}{key}."))
        else:
            out[prefix + key] = value
    return out


def differing_keys(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Dotted key -> (old, new) wherever two configurations differ; a missing key is None.

    Example:
        >>> differing_keys({"run": {"seed": 0}}, {"run": {"seed": 1}})
        {'run.seed': (0, 1)}
    """
    a, b = _flat(old), _flat(new)
    return {k: (a.get(k), b.get(k)) for k in sorted({*a, *b}) if a.get(k) != b.get(k)}


def frozen_differences(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """`differing_keys` without those that a resumed run may change."""
    return {k: v for k, v in differing_keys(old, new).items() if not k.startswith(FREE_KEYS)}


class RunFolder:
    """An opened run folder; a context manager that holds the lock.

    Args:
        path: The folder; made if it is not there.
        config: The resolved configuration.
        resume: Continue the run in the folder instead of refusing it.
        environment: Versions and hardware, saved beside the configuration.

    Raises:
        RunError: the folder holds a run and `resume` is false; it holds a run with another
            configuration; it holds other files; or another process is writing it.
    """

    def __init__(
        self,
        path: str | Path,
        config: TrainConfig,
        *,
        resume: bool = False,
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.config = config
        self.resumed = False
        self._started = time.time()
        self._wall_before = 0.0
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"run folder {self.path} is a file\nhint: choose another run.out=")
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = self._acquire()
        try:
            self._claim(resume, environment or {})
        except BaseException:
            self._lock.close()
            raise

    @property
    def metrics_path(self) -> Path:
        """`metrics.jsonl`."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoints_path(self) -> Path:
        """`checkpoints/`."""
        return self.path / "checkpoints"

    def _acquire(self) -> TextIO:
        import fcntl

        # The file stays after the run: deleting a lock file races with the next process.
        lock = (self.path / ".lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            lock.close()
            raise RunError(
                f"another process (pid {owner}) is writing the run folder {self.path}\n"
                "hint: wait for it, stop it, or choose another run.out="
            ) from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        return lock

    def _claim(self, resume: bool, environment: dict[str, Any]) -> None:
        path = self.path / "config.json"
        table = to_dict(self.config)
        if not path.exists():
            others = sorted(p.name for p in self.path.iterdir() if not p.name.startswith("."))
            if others:
                raise RunError(
                    f"{self.path} is no run folder: it has no config.json but holds "
                    f"{', '.join(others[:5])}\nhint: choose another run.out="
                )
            write_json(path, {"format": 1, "config": table, "environment": environment})
            return
        saved = _with_new_keys(read_config(self.path))
        changed = differing_keys(saved, table)
        frozen = frozen_differences(saved, table)
        if frozen:
            listed = "\n".join(f"  {k}: {a!r} there, {b!r} here" for k, (a, b) in frozen.items())
            raise RunError(
                f"{self.path} holds a run with another configuration:\n{listed}\n"
                "hint: choose another run.out=, or give the same settings and --resume"
            )
        if not resume:
            raise RunError(
                f"{self.path} already holds this run\n"
                "hint: --resume continues it; run.out= names another folder"
            )
        status = read_status(self.path)
        done = int(status.get("step") or 0)
        if done > self.config.run.steps:
            raise RunError(
                f"{self.path} has done {done} steps already, run.steps={self.config.run.steps}\n"
                "hint: choose another run.out="
            )
        self.resumed = True
        if changed:
            write_json(path, {"format": 1, "config": table, "environment": environment})
        self._wall_before = float(status.get("wall_seconds") or 0.0)

    def set_status(self, status: str, *, step: int, error: str | None = None) -> None:
        """Replace `run.json`: `running`, `finished`, `failed`, `interrupted` or `stalled`.

        Raises:
            RunError: the disk refuses.
        """
        now = time.time()
        table = {
            "status": status,
            "step": step,
            "steps": self.config.run.steps,
            "wall_seconds": round(self._wall_before + now - self._started, 3),
            "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            "pid": os.getpid(),
            "error": error,
        }
        try:
            write_json(self.path / "run.json", table)
        except OSError as refused:
            raise RunError(f"{self.path / 'run.json'} cannot be written: {refused}") from refused

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _with_new_keys(saved: dict[str, Any]) -> dict[str, Any]:
    """A saved configuration with the defaults of keys that are newer than it.

    A default is what the run did before there was such a key.
    """
    try:
        return to_dict(from_dict(saved))
    except ConfigError:  # keys that are gone: the comparison names them
        return saved


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist") from None
    except (ValueError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"{path} must hold a JSON object, got {type(value).__name__}")
    return value


def read_config(path: Path) -> dict[str, Any]:
    """The resolved configuration saved in a run folder, as plain tables.

    Raises:
        RunError: `config.json` is missing or damaged.
    """
    table = _read_object(path / "config.json").get("config")
    if not isinstance(table, dict):
        raise RunError(f"{path / 'config.json'} has no object 'config'")
    return table


def read_status(path: Path) -> dict[str, Any]:
    """`run.json` of a run folder, or an empty dict where it is missing."""
    return _read_object(path / "run.json") if (path / "run.json").exists() else {}
