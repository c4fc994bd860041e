"""Rows of a source, one at a time: JSONL, JSON, Parquet, or a stream from the Hub."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stare.benchmark_store import HEADER
from stare.errors import DataError, MissingExtraError
from stare.train.mixing.fields import WrittenFloat
from stare.train.sections_data import SourceConfig

__all__ = ["SUFFIXES", "LoadDataset", "json_rows", "source_files", "source_rows"]

SUFFIXES = (".jsonl", ".json", ".parquet")
LoadDataset = Callable[..., Any]
"""`datasets.load_dataset`, or a stand-in for it."""


def source_rows(
    source: SourceConfig, load_dataset: LoadDataset | None = None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield `(where, row)`; `where` names the file and line, or the Hub set and row.

    Args:
        source: a resolved source (`entries.resolved`).
        load_dataset: used in the place of `datasets.load_dataset`.

    Raises:
        DataError: nothing there, or not readable; the message says what to do.
        MissingExtraError: Parquet or the Hub, and `datasets` is not installed.
    """
    if source.path is not None:
        for path in source_files(source.path):
            yield from (
                _parquet_rows(path, load_dataset) if path.suffix == ".parquet" else json_rows(path)
            )
        return
    load = load_dataset or _load_dataset(f"reading {source.hub} from the Hub")
    options = {"split": source.split, "streaming": True}
    options |= {k: v for k, v in (("revision", source.revision),) if v is not None}
    args = [source.hub] + ([source.subset] if source.subset else [])
    number = 0
    try:
        for number, row in enumerate(load(*args, **options), start=1):
            yield f"{source.hub}[{source.split}]:{number}", row
    except DataError:
        raise
    except Exception as error:  # whatever a library or a network may raise
        raise DataError(
            f"{source.hub} (split {source.split!r}) cannot be read from the Hub after {number} "
            f"rows: {type(error).__name__}: {_first_line(error)}\n"
            "hint: without a network, download the data set's files where there is one "
            "(hf download --repo-type dataset), copy them here and add path = FOLDER to this source"
        ) from error


def source_files(path: str) -> list[Path]:
    """The files that a path, folder or glob pattern stands for, sorted.

    Raises:
        DataError: there are none.
    """
    place = Path(path).expanduser()
    if place.is_file():
        found = [place]
        if place.suffix not in SUFFIXES:
            raise DataError(f"{place}: expected {', '.join(SUFFIXES)}, got {place.suffix!r}")
    elif place.is_dir():
        found = [p for p in place.rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    else:
        parent = place.parent
        found = (
            [p for p in parent.glob(place.name) if p.suffix in SUFFIXES] if parent.is_dir() else []
        )
    if not found:
        raise DataError(
            f"{place}: no file {', '.join('*' + s for s in SUFFIXES)} there\n"
            "hint: path is a file, a folder or a glob pattern"
        )
    return sorted(found)


def json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a JSONL file, or of a JSON file that holds one list.

    The first line of a stored benchmark (`stare-eval data`) is no problem and is skipped.

    Raises:
        DataError: unreadable, not UTF-8 or not JSON; the message begins with file:line.
    """
    try:
        if path.suffix == ".json":
            text = path.read_text(encoding="utf-8-sig")
            if text.lstrip().startswith("["):
                rows = _loads(text, str(path))
                for number, row in enumerate(rows):
                    yield f"{path}[{number}]", _object(row, f"{path}[{number}]")
                return
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                where = f"{path}:{number}"
                row = _object(
                    _loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), where), where
                )
                if HEADER not in row:
                    yield where, row
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _loads(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_float=WrittenFloat, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON: {error}") from None


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _object(row: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise DataError(f"{where}: expected a JSON object, got {type(row).__name__}")
    return row


def _parquet_rows(
    path: Path, load_dataset: LoadDataset | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    load = load_dataset or _load_dataset(f"reading {path}")
    try:
        rows = load("parquet", data_files=[str(path)], split="train", streaming=True)
        for number, row in enumerate(rows, start=1):
            yield f"{path}:{number}", row
    except Exception as error:  # pyarrow and datasets raise what they like
        raise DataError(
            f"{path}: not readable as Parquet: {type(error).__name__}: {_first_line(error)}\n"
            "hint: is it a Git LFS pointer, or cut short?"
        ) from error


def _load_dataset(purpose: str) -> LoadDataset:
    try:
        from datasets import load_dataset
    except ImportError:
        raise MissingExtraError("datasets", "data", purpose) from None
    load: LoadDataset = load_dataset
    return load


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0][:300]
