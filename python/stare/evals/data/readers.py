"""Rows out of a file, as they are: JSONL, JSON, CSV, Parquet. No row is repaired or skipped."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stare.benchmark_store import HEADER
from stare.errors import DataError, MissingExtraError

__all__ = ["SUFFIXES", "data_files", "read_rows"]

Row = dict[str, Any]

_LIST_KEYS = ("data", "rows", "problems", "test", "examples")
"""Where a JSON file that is one object keeps its rows."""


def read_rows(path: Path) -> list[Row]:
    """Rows of a file, or of every data file in a folder, in the order of their names.

    Raises:
        DataError: no such file, an unknown suffix, bad UTF-8 or JSON, a torn last line, no rows;
            the message begins with the path and line.
        MissingExtraError: a Parquet file, and neither pyarrow nor datasets is installed.
    """
    if path.is_dir():
        return [row for file in data_files(path) for row in read_rows(file)]
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path}: cannot read files that end in {path.suffix!r}\nhint: {_SUFFIX_HINT}"
        )
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    rows = reader(raw, path)
    if not rows:
        raise DataError(f"{path}: no rows in the file")
    return rows


def data_files(path: Path) -> list[Path]:
    """The file itself, or the data files of a folder, in the order of their names.

    Raises:
        DataError: a folder without any.
    """
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in _READERS and p.is_file())
    if not files:
        raise DataError(f"{path}: no data files in the folder\nhint: {_SUFFIX_HINT}")
    return files


def _text(raw: bytes, path: Path) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8: {error.reason}") from None


def _read_jsonl(raw: bytes, path: Path) -> list[Row]:
    rows: list[Row] = []
    # Split on the newline alone: str.splitlines would also cut at U+2028 inside a string.
    lines = _text(raw, path).split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        row = _json(line, where, torn=number == len(lines))
        if not isinstance(row, dict):
            raise DataError(f"{where}: expected a JSON object, got {type(row).__name__}")
        if HEADER not in row:
            rows.append(row)
    return rows


def _read_json(raw: bytes, path: Path) -> list[Row]:
    text = _text(raw, path)
    try:
        data = _json(text, str(path), torn=True)
    except DataError:
        if text.count("\n") and text.lstrip().startswith("{"):
            return _read_jsonl(raw, path)  # many mirrors name a JSONL file .json
        raise
    if isinstance(data, dict):
        found = [data[key] for key in _LIST_KEYS if isinstance(data.get(key), list)]
        data = found[0] if found else [data]
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise DataError(f"{path}: expected a list of JSON objects")
    return data


def _json(text: str, where: str, *, torn: bool) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        hint = "\nhint: the file looks cut short: copy it again" if torn else ""
        raise DataError(f"{where}: not valid JSON: {error}{hint}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _read_csv(raw: bytes, path: Path) -> list[Row]:
    csv.field_size_limit(1 << 24)
    reader = csv.DictReader(io.StringIO(_text(raw, path), newline=""), strict=True)
    rows: list[Row] = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise DataError(
                    f"{path}:{reader.line_num}: the row has another number of fields than the "
                    "header\nhint: quote fields that hold commas or line ends"
                )
            rows.append(dict(row))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not valid CSV: {error}") from None
    return rows


def _read_parquet(raw: bytes, path: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "eval", f"reading {path}") from None
    try:
        rows: list[Row] = parquet.read_table(io.BytesIO(raw)).to_pylist()
    except Exception as error:  # pyarrow's own errors have no common base but Exception
        raise DataError(f"{path}: not a Parquet file: {error}") from None
    return rows


_READERS: Mapping[str, Callable[[bytes, Path], list[Row]]] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
SUFFIXES = tuple(_READERS)
"""Endings of the files that can be read."""
_SUFFIX_HINT = f"readable endings: {', '.join(SUFFIXES)}"
