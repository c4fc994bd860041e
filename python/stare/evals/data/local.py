"""The local store: one file a benchmark, written whole or not at all, checked whenever it is read.

`$STARE_DATA`, or `~/.cache/stare/benchmarks`, holds `<name>.jsonl`: a first line with the number of
rows, their hashes and where they came from, then one problem a line. A file is written under
another name and renamed, so a killed import leaves the old set as it was, and readers need no lock.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from stare.benchmark_store import HEADER, data_folder
from stare.errors import ArgumentError, DataError
from stare.evals.data.adapt import AdaptedRow
from stare.evals.data.identify import hash_pairs
from stare.evals.data.normalise import golds_sha256, rows_sha256
from stare.evals.data.registry import Manifest, load_manifest, names, unknown_benchmark
from stare.types import Problem

__all__ = [
    "Benchmark",
    "Header",
    "check_name",
    "data_folder",
    "imported",
    "load",
    "plain_lines",
    "write",
]

SCHEMA = 1
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_STALE_S = 3600.0
MINI = "mini"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """First line of a stored benchmark."""

    bench: str
    rows: int
    sha256: str
    golds_sha256: str
    identity: Literal["exact", "golds", "custom"]
    """`custom`: a benchmark of the user's own, held by the hashes of its first import."""
    gold: Literal["integer", "text"]
    source: str

    def to_json(self) -> dict[str, Any]:
        """The JSON object of the line."""
        return {HEADER: SCHEMA, **{name: getattr(self, name) for name in self.__slots__}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Problems and golds, checked against their hashes."""

    name: str
    problems: tuple[Problem, ...]
    golds: Mapping[str, tuple[str, ...]]
    """Problem id -> golds, any of which is right. An answer of several parts is one gold."""
    manifest: Manifest
    header: Header

    def fingerprint(self) -> dict[str, Any]:
        """What a run records about its data.

        Equal fingerprints mean equal problems and golds, up to their normal forms.
        """
        fields = self.header.to_json()
        del fields[HEADER]
        return fields


def check_name(name: str) -> str:
    """Return `name` if it can name a benchmark (and so a file).

    Raises:
        ArgumentError: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"a benchmark's name must be lower-case letters, digits, '_', '-' and '.', at most 64, "
            f"got {name!r}"
        )
    return name


def imported(folder: Path) -> list[str]:
    """Names of the benchmarks in the store, sorted."""
    if not folder.is_dir():
        return []
    return sorted(p.stem for p in folder.glob("*.jsonl") if _NAME.fullmatch(p.stem))


def write(folder: Path, header: Header, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Store a benchmark: whole, or not at all.

    Args:
        folder: the store; made if missing.
        header: first line.
        rows: objects with `id`, `problem`, `answer`, and `golds` where there are several.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{header.bench}.jsonl"
    lines = [header.to_json(), *rows]
    _sweep(folder)
    replace(target, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return target


def replace(target: Path, text: str) -> None:
    """Put `text` in the place of a file by a rename."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{time.time_ns():x}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what killed imports left, an hour later: a younger one may be at work."""
    for path in folder.glob(".*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > _STALE_S:
                path.unlink(missing_ok=True)
        except OSError:
            continue


def load(bench: str, data_dir: Path | None = None) -> Benchmark:
    """Load a benchmark from the local store, or the bundled `mini`, checking every hash.

    Args:
        bench: a name of the registry, or of a benchmark imported under its own name.
        data_dir: the store; None: `data_folder()`.

    Raises:
        ArgumentError: no benchmark has that name; the nearest names are offered.
        DataError: it is not imported, or the file was cut short or changed since.

    Example:
        >>> mini = load("mini")
        >>> len(mini.problems) == mini.manifest.rows == len(mini.golds) == 30
        True
    """
    folder = data_folder(data_dir)
    if bench == MINI:
        text = (resources.files("stare.evals.data") / "mini.jsonl").read_text("utf-8")
        return _parse(bench, text, f"{MINI}.jsonl of the package", _bundled_header(bench))
    path = folder / f"{bench}.jsonl"
    if not (_NAME.fullmatch(bench) and path.is_file()):
        if bench not in names():
            raise unknown_benchmark(bench, [*names(), *imported(folder)])
        raise DataError(
            f"benchmark {bench!r} is not imported: no file {path}\n"
            f"hint: stare-eval data fetch {bench}, or without a network: "
            "stare-eval data import PATH"
        )
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(str(path), f"not UTF-8: {error.reason}", bench) from None
    return _parse(bench, text, str(path))


def _bundled_header(bench: str) -> Header:
    manifest = load_manifest(bench)
    assert manifest.identity is not None
    return Header(
        bench=bench,
        rows=manifest.rows,
        sha256=manifest.identity.sha256,
        golds_sha256=manifest.identity.golds_sha256,
        identity="exact",
        gold=manifest.gold,
        source=manifest.files,
    )


def _parse(bench: str, text: str, where: str, header: Header | None = None) -> Benchmark:
    try:
        objects = [json.loads(line) for line in text.split("\n") if line]
        if header is None:
            first = dict(objects.pop(0)) if objects else {}
            if first.pop(HEADER, None) != SCHEMA:
                raise ValueError("the first line is not the header of a stored benchmark")
            header = Header(**first)
        rows = [_stored_row(row) for row in objects]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(where, str(error), bench) from None
    manifest = load_manifest(bench) if bench in names() else _own_manifest(header)
    _check(header, rows, manifest, bench, where)
    problems = tuple(
        Problem(id=str(row.id), problem=row.problem, answer=row.golds[0], extra=row.extra)
        for row in rows
    )
    return Benchmark(
        name=bench,
        problems=problems,
        golds={str(row.id): row.golds for row in rows},
        manifest=manifest,
        header=header,
    )


def _stored_row(row: dict[str, Any]) -> AdaptedRow:
    golds = tuple(row.pop("golds", (row["answer"],)))
    identity, problem = row.pop("id"), row.pop("problem")
    if row.pop("answer") != golds[0] or not all(isinstance(g, str) for g in (problem, *golds)):
        raise ValueError(f"row {identity!r} has no text or no gold")
    return AdaptedRow(id=str(identity), problem=problem, golds=golds, extra=row)


def _check(
    header: Header, rows: Sequence[AdaptedRow], manifest: Manifest, bench: str, where: str
) -> None:
    if len(rows) != header.rows:
        raise _damaged(where, f"{len(rows)} rows, the header says {header.rows}", bench)
    pairs = hash_pairs(rows, integer=header.gold == "integer")
    if rows_sha256(pairs) != header.sha256:
        changed = _changed(rows, pairs, manifest)
        raise _damaged(where, f"problems or golds were changed{changed}", bench)
    repeated = [name for name, count in Counter(row.id for row in rows).items() if count > 1]
    if repeated or header.bench != bench:
        what = f"duplicate id {repeated[0]!r}" if repeated else f"it is {header.bench!r}"
        raise _damaged(where, what, bench)
    pinned = manifest.identity
    if pinned is None:
        return
    same = {
        "exact": header.sha256 == pinned.sha256,
        "golds": golds_sha256([gold for _, gold in pairs]) == pinned.golds_sha256,
        "custom": False,
    }
    ids = [row.id for row in rows]
    if not same.get(header.identity, False) or ids != [row.id for row in pinned.rows]:
        raise _damaged(where, f"it is not the {bench} that this version pins", bench)


def _changed(
    rows: Sequence[AdaptedRow], pairs: Sequence[tuple[str, str]], manifest: Manifest
) -> str:
    if manifest.identity is None:
        return ""
    pinned = {row.id: row for row in manifest.identity.rows}
    ids = [
        str(row.id)
        for row, (problem, gold) in zip(rows, pairs, strict=True)
        if (known := pinned.get(str(row.id))) is None
        or not (problem.startswith(known.problem) and gold.startswith(known.gold))
    ]
    return f": {', '.join(ids[:6])}" if ids else ""


def _damaged(where: str, what: str, bench: str) -> DataError:
    return DataError(
        f"{where}: {what}\nhint: import it again: stare-eval data import PATH --bench {bench}"
    )


def _own_manifest(header: Header) -> Manifest:
    return Manifest(
        name=header.bench,
        title="your own benchmark",
        rows=header.rows,
        n=1,
        gold=header.gold,
        steps=(),
        license="yours",
        files=header.source,
    )


def plain_lines(benchmark: Benchmark) -> Iterator[str]:
    """The benchmark as plain JSONL, one problem a line, for other tools and other machines."""
    for problem in benchmark.problems:
        golds = benchmark.golds[problem.id]
        row: dict[str, Any] = {"id": problem.id, "problem": problem.problem}
        row["answer"] = golds[0] if len(golds) == 1 else list(golds)
        yield json.dumps({**row, **problem.extra}, ensure_ascii=False) + "\n"
