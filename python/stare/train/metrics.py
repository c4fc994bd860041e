r"""Metrics: one JSON object a step, appended to `metrics.jsonl`; the last line of a step wins.

A number that JSON cannot hold is written as `null` and named: ``{"loss/total": null, "nonfinite":
{"loss/total": "nan"}}`` (`nan`, `inf` or `-inf`); the reader puts it back.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stare.coerce import nearest
from stare.errors import ArgumentError, MissingExtraError, RunError
from stare.train.metric_keys import METRICS, is_metric_key
from stare.train.prometheus import PrometheusWriter

__all__ = [
    "JsonlWriter",
    "MetricsHistory",
    "MetricsWriter",
    "TensorBoardWriter",
    "WandbWriter",
    "open_writers",
    "read_metrics",
]


class MetricsWriter(Protocol):
    """Anything that takes a row of metrics."""

    def write(self, row: Mapping[str, float | int | None]) -> None:
        """Take one row; it has a `step`."""
        ...

    def close(self) -> None:
        """Flush and release."""
        ...


def _plain(key: str, value: Any) -> float | int | None:
    if hasattr(value, "item"):  # numpy and torch scalars
        value = value.item()
    if value is None or isinstance(value, (int, float)):
        return int(value) if isinstance(value, bool) else value
    raise ArgumentError(f"metric {key} must be a number or None, got {value!r}")


class JsonlWriter:
    """Appends rows to a file; one `write` call a row, so a kill tears at most the last line.

    Args:
        path: Made if it is not there. If its last line is torn, the next row starts on a new line.

    Raises:
        ArgumentError: (from `write`) no integer `step`, a key that is not on the list, or a value
            that is no number.
        RunError: the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            size = os.fstat(self._fd).st_size
            self._torn = size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
        except OSError as error:
            raise RunError(f"{self.path} cannot be opened: {error}") from error

    def write(self, row: Mapping[str, float | int | None]) -> None:
        """Append one row."""
        line = json.dumps(encode_row(row), allow_nan=False, separators=(",", ":")) + "\n"
        data = (b"\n" if self._torn else b"") + line.encode()
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error}") from error
        self._torn = written < len(data)
        if self._torn:
            raise RunError(f"{self.path}: only {written} of {len(data)} bytes fitted; disk full?")

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def encode_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON can hold it.

    Example:
        >>> encode_row({"step": 1, "loss/total": float("inf")})
        {'step': 1, 'loss/total': None, 'nonfinite': {'loss/total': 'inf'}}
    """
    out: dict[str, Any] = {}
    nonfinite: dict[str, str] = {}
    for key, raw in row.items():
        if not is_metric_key(key):
            hint = nearest(key, (m.key for m in METRICS))
            raise ArgumentError(f"unknown metric {key}\nhint: {hint}, or use the prefix extra/")
        value = _plain(key, raw)
        if isinstance(value, float) and not math.isfinite(value):
            nonfinite[key] = str(value)
            value = None
        out[key] = value
    if not isinstance(out.get("step"), int):
        raise ArgumentError(f"a row of metrics needs an integer step, got {row.get('step')!r}")
    if nonfinite:
        out["nonfinite"] = nonfinite
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsHistory:
    """What a metrics file says."""

    rows: list[dict[str, Any]]
    """One row a step, ascending; non-finite values restored."""
    torn: int
    """Lines that are no row (a killed write, foreign text)."""
    replaced: int
    """Rows superseded by a later line of the same step (a resumed run)."""
    nonfinite: dict[str, int]
    """Key -> number of non-finite values."""

    def series(self, key: str) -> tuple[list[int], list[float]]:
        """Steps and values of a key, where it has one."""
        pairs = [(r["step"], float(r[key])) for r in self.rows if r.get(key) is not None]
        return [p[0] for p in pairs], [p[1] for p in pairs]

    def last(self, key: str) -> float | None:
        """The newest value of a key, or None."""
        values = self.series(key)[1]
        return values[-1] if values else None


def read_metrics(path: str | Path) -> MetricsHistory:
    """Read a metrics file; damaged lines are counted, never fatal.

    Raises:
        RunError: the file does not exist or cannot be read.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise RunError(f"metrics cannot be read: {error}") from error
    rows: dict[int, dict[str, Any]] = {}
    torn = replaced = 0
    for line in lines:
        if not line.strip():
            continue
        row = _decode(line)
        if row is None:
            torn += 1
            continue
        replaced += row["step"] in rows
        rows[row["step"]] = row
    nonfinite: dict[str, int] = {}
    for row in rows.values():
        for key, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                nonfinite[key] = nonfinite.get(key, 0) + 1
    return MetricsHistory(
        rows=[rows[s] for s in sorted(rows)], torn=torn, replaced=replaced, nonfinite=nonfinite
    )


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        raw = json.loads(line)
        if not isinstance(raw, dict) or type(raw.get("step")) is not int:
            return None
        marks = raw.pop("nonfinite", {})
        row = {k: v for k, v in raw.items() if v is None or type(v) in (int, float)}
        row.update({k: float(v) for k, v in marks.items() if v in ("nan", "inf", "-inf")})
    except (ValueError, AttributeError, RecursionError):
        return None
    return row


class TensorBoardWriter:
    """Writes rows as TensorBoard scalars (extra `tensorboard`)."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise MissingExtraError("tensorboard", "tensorboard", "run.tensorboard=true") from None
        self._writer: Any = SummaryWriter(str(folder))

    def write(self, row: Mapping[str, float | int | None]) -> None:
        """Log every number of the row."""
        for key, value in row.items():
            if key != "step" and value is not None:
                self._writer.add_scalar(key, float(value), row["step"])

    def close(self) -> None:
        """Flush and close."""
        self._writer.close()


class WandbWriter:
    """Logs rows to Weights & Biases (extra `wandb`)."""

    def __init__(self, *, project: str, name: str, config: Mapping[str, Any]) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtraError("wandb", "wandb", "run.wandb=true") from None
        self._run: Any = wandb.init(project=project, name=name, config=dict(config), resume="allow")

    def write(self, row: Mapping[str, float | int | None]) -> None:
        """Log every number of the row."""
        values = {k: v for k, v in row.items() if k != "step" and v is not None}
        self._run.log(values, step=row["step"])

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


def open_writers(
    folder: Path,
    *,
    tensorboard: bool = False,
    wandb: bool = False,
    prometheus: str | None = None,
    wandb_project: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Sequence[MetricsWriter]:
    """The writers a run asked for; the JSONL one is always the first."""
    writers: list[MetricsWriter] = [JsonlWriter(folder / "metrics.jsonl")]
    if tensorboard:
        writers.append(TensorBoardWriter(folder / "tensorboard"))
    if prometheus is not None:
        writers.append(PrometheusWriter(folder, prometheus))
    if wandb:
        project = wandb_project or "stare"
        writers.append(WandbWriter(project=project, name=folder.name, config=config or {}))
    return writers
