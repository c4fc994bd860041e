"""What the report shows, read from run folders: curves, summaries, warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import ArgumentError, RunError
from stare.train.metrics import MetricsHistory, read_metrics
from stare.train.runfolder import read_config, read_status

__all__ = [
    "BAND",
    "MAX_POINTS",
    "Run",
    "curve",
    "load_runs",
    "replace_file",
    "spread",
    "tail_mean",
    "within_band",
]

MAX_POINTS = 600
"""Points of a curve on the page; longer runs are averaged over buckets of steps."""
BAND = 0.10
"""Half-width of the band around the target, relative."""
SETTLE = 60
"""Steps left out of the time-in-band share (the controller has to arrive first)."""

_SEED = re.compile(r"(.+?)[-_.]s(?:eed)?[-_]?(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run folder, read."""

    name: str
    """Folder name; with its parents where two would be the same."""
    arm: str
    """The name without `-s0`, `-seed0`: runs of one arm differ in the seed."""
    history: MetricsHistory
    """Its metrics."""
    config: dict[str, Any]
    """Resolved configuration; empty where `config.json` is missing."""
    status: dict[str, Any]
    """`run.json`; empty where it is missing."""
    warnings: list[str]
    """What a reader should know before trusting the curves."""


def load_runs(paths: Sequence[str | Path]) -> list[Run]:
    """Read run folders (or bare `metrics.jsonl` files), in the order given.

    Raises:
        ArgumentError: no path is given, or one twice.
        RunError: a path holds no metrics.
    """
    if not paths:
        raise ArgumentError("a report needs at least one run folder, got none")
    folders = [Path(p).parent if Path(p).name == "metrics.jsonl" else Path(p) for p in paths]
    absolute = [f.resolve() for f in folders]
    if len(set(absolute)) < len(absolute):
        twice = next(f for f in absolute if absolute.count(f) > 1)
        raise ArgumentError(f"run {twice} is given more than once")
    return [_load(f, n) for f, n in zip(folders, _names(absolute), strict=True)]


def _names(folders: list[Path]) -> list[str]:
    for depth in range(1, max(len(f.parts) for f in folders) + 1):
        names = ["/".join(f.parts[-depth:]) for f in folders]
        if len(set(names)) == len(names):
            break
    return names


def arm_of(name: str) -> str:
    """Name of the arm of a run.

    Example:
        >>> arm_of("grpo-ds-s0"), arm_of("pi_seed12"), arm_of("trial")
        ('grpo-ds', 'pi', 'trial')
    """
    match = _SEED.fullmatch(name)
    return match.group(1) if match else name


def _load(folder: Path, name: str) -> Run:
    history = read_metrics(folder / "metrics.jsonl")
    if not history.rows:
        raise RunError(f"{folder / 'metrics.jsonl'} holds no row of metrics")
    warnings: list[str] = []
    config: dict[str, Any] = {}
    status: dict[str, Any] = {}
    try:
        config = read_config(folder)
    except RunError as error:
        warnings.append(f"configuration unknown: {error}")
    try:
        status = read_status(folder)
    except RunError as error:
        warnings.append(f"status unknown: {error}")
    last = history.rows[-1]["step"]
    wanted = status.get("steps")
    state = status.get("status")
    if state in ("failed", "interrupted", "stalled"):
        warnings.append(f"{state} after step {last}: {status.get('error') or 'no reason recorded'}")
    elif state == "running":
        warnings.append(f"not finished: running or killed, last step {last} of {wanted}")
    elif isinstance(wanted, int) and last < wanted:
        warnings.append(f"metrics end at step {last} of {wanted}")
    if history.torn:
        warnings.append(f"{history.torn} torn or foreign lines in metrics.jsonl were left out")
    if history.replaced:
        warnings.append(f"{history.replaced} steps were run again after a restart; the last counts")
    for key, count in sorted(history.nonfinite.items()):
        warnings.append(f"{key} was not finite in {count} steps")
    steps = {r["step"] for r in history.rows if r["step"] > 0}
    if steps and (gaps := max(steps) - min(steps) + 1 - len(steps)):
        warnings.append(f"{gaps} steps between the first and the last are missing")
    return Run(
        name=name, arm=arm_of(name), history=history, config=config, status=status,
        warnings=warnings,
    )  # fmt: skip


def curve(run: Run, key: str, bucket: int = 1) -> tuple[list[float], list[float]]:
    """Finite values of a key over steps, averaged over buckets of `bucket` steps.

    Buckets are aligned to step 1, so curves of runs share their grid.
    """
    groups: dict[int, list[tuple[int, float]]] = {}
    for step, value in zip(*run.history.series(key), strict=True):
        if math.isfinite(value):
            groups.setdefault((step - 1) // bucket, []).append((step, value))
    # Sparse series (evaluations) keep their own step; dense ones get the centre of the bucket.
    xs = [p[0][0] if len(p) == 1 else g * bucket + (bucket + 1) / 2 for g, p in groups.items()]
    return xs, [math.fsum(v for _, v in p) / len(p) for p in groups.values()]


def replace_file(path: Path, what: str, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`: whole or not at all.

    Raises:
        RunError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise RunError(f"{what} {path} cannot be written: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def tail_mean(run: Run, key: str, share: float = 0.1) -> float | None:
    """Mean of a key over the last `share` of its finite values; None where it has none."""
    values = [v for v in run.history.series(key)[1] if math.isfinite(v)]
    if not values:
        return None
    tail = values[-max(1, round(len(values) * share)) :]
    return math.fsum(tail) / len(tail)


def within_band(run: Run, key: str = "entropy/batch") -> float | None:
    """Share of the steps after `SETTLE` with the entropy within `BAND` of that step's target.

    The batch's entropy is what the controller sees; that of all rollouts is a little lower, because
    the groups that are dropped are the certain ones.
    """
    hits = [
        abs(row[key] - row["entropy/target"]) <= BAND * row["entropy/target"] + 1e-12
        for row in run.history.rows
        if row["step"] > SETTLE
        and row.get(key) is not None
        and row.get("entropy/target") is not None
        and math.isfinite(row["entropy/target"])
    ]
    return sum(hits) / len(hits) if hits else None


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, minimum and maximum."""
    return math.fsum(values) / len(values), min(values), max(values)
