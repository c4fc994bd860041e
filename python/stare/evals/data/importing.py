"""Import: read, adapt, identify, store. A set that is not what it is given as is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import ArgumentError, DataError
from stare.evals.data.adapt import AdaptedRow, Fields, adapt
from stare.evals.data.identify import DataMismatchError, Match, compare, hash_pairs
from stare.evals.data.local import Header, check_name, write
from stare.evals.data.normalise import golds_sha256, rows_sha256
from stare.evals.data.readers import read_rows
from stare.evals.data.registry import Manifest, load_manifest, names

__all__ = ["Imported", "identify", "import_files", "import_rows", "store_as_own"]

OWN_STEPS = ("alternatives",)
"""Gold treatment of a benchmark of the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did."""

    header: Header
    path: Path
    notes: tuple[str, ...]


def import_files(
    paths: Sequence[Path],
    folder: Path,
    *,
    bench: str | None = None,
    own_name: str | None = None,
    pick: bool = False,
    fields: Fields = Fields(),  # noqa: B008 - frozen
) -> Imported:
    """Import files as one benchmark; several files are its parts, in order.

    Args:
        paths: files or folders.
        folder: the local store.
        bench: which benchmark they are; None: found from the rows themselves.
        own_name: store them under this name as a benchmark of the user's own, unchecked.
        pick: keep the benchmark's rows of a larger set.
        fields: field names where the usual ones do not fit.

    Raises:
        ArgumentError: an unknown or unfit name.
        DataError: a file cannot be read, or a row has no problem or gold.
        DataMismatchError: the rows are not the benchmark.
    """
    if own_name is not None:
        check_name(own_name)
        if own_name in names():
            raise ArgumentError(
                f"{own_name!r} is the name of a pinned benchmark\n"
                f"hint: give a mismatching set a name of its own, such as {own_name}-mine"
            )
    if bench is not None:
        _manifest_to_import(bench)
    rows = [row for path in paths for row in read_rows(path)]
    source = ", ".join(path.name for path in paths)
    if own_name is not None:
        return store_as_own(rows, folder, own_name, source=source, fields=fields)
    return import_rows(rows, folder, bench=bench, source=source, pick=pick, fields=fields)


def import_rows(
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    bench: str | None,
    source: str,
    pick: bool = False,
    fields: Fields = Fields(),  # noqa: B008 - frozen
) -> Imported:
    """Identify rows and store them; see `import_files`."""
    match, adapted, notes = identify(rows, bench, fields)
    if match.identity is None and pick and match.contains_all:
        chosen = [rows[at] for at, place in enumerate(match.places) if place is not None]
        left = len(rows) - len(chosen)
        match, adapted, notes = identify(chosen, match.manifest.name, fields)
        notes = [f"{left} rows of other benchmarks left out", *notes]
    if match.identity is None:
        raise _refusal(match, named=bench is not None)
    manifest = match.manifest
    assert manifest.identity is not None
    by_place = dict(zip(match.places, adapted, strict=True))
    ordered = [_pinned(by_place[place], place, manifest) for place in range(manifest.rows)]
    pairs = hash_pairs(ordered, integer=manifest.integer)
    header = Header(
        bench=manifest.name,
        rows=len(ordered),
        sha256=rows_sha256(pairs),
        golds_sha256=golds_sha256([gold for _, gold in pairs]),
        identity=match.identity,
        gold=manifest.gold,
        source=source,
    )
    path = write(folder, header, [_stored(row) for row in ordered])
    return Imported(header=header, path=path, notes=(*notes, *match.notes))


def identify(
    rows: Sequence[Mapping[str, Any]],
    bench: str | None,
    fields: Fields = Fields(),  # noqa: B008 - frozen
) -> tuple[Match, list[AdaptedRow], list[str]]:
    """Compare rows with one benchmark, or with all and take the one most like them.

    Returns:
        The match, the rows adapted for it, and notes on the adapting.
    """
    candidates = [bench] if bench is not None else [n for n in names() if _importable(n)]
    best: tuple[Match, list[AdaptedRow], list[str]] | None = None
    for name in candidates:
        manifest = _manifest_to_import(name)
        adapted, notes = adapt(rows, manifest.steps, fields)
        match = compare(adapted, manifest)
        if best is None or _rank(match) > _rank(best[0]):
            best = match, adapted, notes
    assert best is not None
    return best


def _rank(match: Match) -> tuple[int, bool, float]:
    strength = {"exact": 2, "golds": 1, None: 0}[match.identity]
    return strength, match.reason.startswith("only part"), match.share


def _importable(name: str) -> bool:
    return not load_manifest(name).bundled


def _manifest_to_import(name: str) -> Manifest:
    manifest = load_manifest(name)
    if manifest.bundled:
        raise ArgumentError(f"{name!r} is bundled with the package: there is nothing to import")
    return manifest


def _refusal(match: Match, *, named: bool) -> DataMismatchError:
    name = match.manifest.name
    own = "as a benchmark of your own: --allow-mismatch NAME"
    if not named and match.share == 0.0 and not match.reason.startswith("only part"):
        return DataMismatchError(
            f"the rows are none of {', '.join(n for n in names() if _importable(n))}\n"
            f"hint: import them {own}; or --bench NAME says why they are not that one"
        )
    lines = [
        f"this is not {name}: {match.reason}"
        if named
        else f"closest to {name}, but not it: {match.reason}"
    ]
    lines.append(f"expected: {match.manifest.rows} rows, {match.manifest.title}")
    if match.contains_all and len(match.places) > match.manifest.rows:
        lines.append(f"hint: keep only the {match.manifest.rows} rows of {name}: --pick")
    lines.append(f"hint: `stare-eval data info {name}` lists its sources; or import {own}")
    return DataMismatchError("\n".join(lines))


def _pinned(row: AdaptedRow, place: int, manifest: Manifest) -> AdaptedRow:
    """The row with the manifest's id and only the pinned gold."""
    assert manifest.identity is not None
    pinned = manifest.identity.rows[place]
    alone = [AdaptedRow(id=None, problem=row.problem, golds=(gold,)) for gold in row.golds]
    hashes = [gold for _, gold in hash_pairs(alone, integer=manifest.integer)]
    gold = next(g for g, h in zip(row.golds, hashes, strict=True) if h.startswith(pinned.gold))
    return AdaptedRow(id=pinned.id, problem=row.problem, golds=(gold,), extra=row.extra)


def _stored(row: AdaptedRow) -> dict[str, Any]:
    record: dict[str, Any] = {"id": row.id, "problem": row.problem, "answer": row.golds[0]}
    if len(row.golds) > 1:
        record["golds"] = list(row.golds)
    return record | {key: value for key, value in row.extra.items() if key not in record}


def store_as_own(
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    name: str,
    *,
    source: str,
    fields: Fields = Fields(),  # noqa: B008 - frozen
) -> Imported:
    """Store rows as a benchmark of the user's own, held by the hash of this import.

    Raises:
        DataError: a row has no problem or gold, or two rows have the same id.
    """
    adapted, notes = adapt(rows, OWN_STEPS, fields)
    named = [
        AdaptedRow(
            id=row.id if row.id is not None else f"{name}-{at}",
            problem=row.problem,
            golds=row.golds,
            extra=row.extra,
        )
        for at, row in enumerate(adapted, start=1)
    ]
    first: dict[str | None, int] = {}
    for at, row in enumerate(named, start=1):
        if row.id in first:
            raise DataError(f"row {at}: duplicate id {row.id!r}, first used by row {first[row.id]}")
        first[row.id] = at
    pairs = hash_pairs(named, integer=False)
    header = Header(
        bench=name,
        rows=len(named),
        sha256=rows_sha256(pairs),
        golds_sha256=golds_sha256([gold for _, gold in pairs]),
        identity="custom",
        gold="text",
        source=source,
    )
    path = write(folder, header, [_stored(row) for row in named])
    notes.append("a benchmark of your own: its rows are not checked against any pinned hash")
    return Imported(header=header, path=path, notes=tuple(notes))
