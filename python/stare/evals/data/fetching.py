"""Fetch from the Hub through the `datasets` library: sources in order, each checked as an import.

The only module that uses a network, and only when asked to. `datasets` is imported here, late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stare.errors import DataError, MissingExtraError
from stare.evals.data.adapt import Fields
from stare.evals.data.identify import DataMismatchError
from stare.evals.data.importing import Imported, identify, import_rows
from stare.evals.data.registry import Manifest, Source, load_manifest

__all__ = ["UnreachableError", "fetch", "load_source"]

_REASON_CHARS = 200


class UnreachableError(DataError):
    """No source of a benchmark answered: most likely there is no network."""


def fetch(
    bench: str,
    folder: Path,
    *,
    load: Callable[[Source], list[Mapping[str, Any]]] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Imported:
    """Fetch a benchmark and import it, from the first source that has the pinned rows.

    Args:
        bench: name of the registry.
        folder: the local store.
        load: reads the rows of a source; None: `load_source`. For tests and mirrors.
        say: told of each source as it is tried.

    Raises:
        ArgumentError: no benchmark has that name.
        MissingExtraError: `datasets` is not installed.
        DataMismatchError: sources were reached, and none has the pinned rows.
        UnreachableError: no source could be reached.
        DataError: none is known, or none could be read.
    """
    manifest = load_manifest(bench)
    if manifest.bundled:
        raise DataError(f"{bench!r} is bundled with the package: there is nothing to fetch")
    if load is None:
        load = load_source
        _datasets(f"fetching {bench}")
    failures: list[str] = []
    weaker: list[tuple[Source, list[Mapping[str, Any]]]] = []
    mismatch, answered = False, False
    for source in manifest.sources:
        say(f"{bench}: {_named(source)}")
        try:
            rows = load(source)
        except MissingExtraError:
            raise
        except Exception as error:  # whatever a library or a network may raise: try the next
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            failures.append(f"{_named(source)}: {type(error).__name__}: {first[:_REASON_CHARS]}")
            answered = answered or not isinstance(error, (ConnectionError, TimeoutError))
            continue
        answered = True
        try:
            return _import(rows, source, manifest, folder, exact=True)
        except _WeakerOnly:
            weaker.append((source, rows))
        except DataError as error:
            mismatch = mismatch or isinstance(error, DataMismatchError)
            failures.append(f"{_named(source)}: {str(error).splitlines()[0]}")
    for source, rows in weaker:
        return _import(rows, source, manifest, folder, exact=False)
    text = _nothing(manifest, failures, mismatch=mismatch)
    if mismatch:
        raise DataMismatchError(text)
    raise DataError(text) if answered or not manifest.sources else UnreachableError(text)


class _WeakerOnly(Exception):  # noqa: N818 - a signal, never seen by a caller
    """The source has another wording; a later source may have the pinned one."""


def _import(
    rows: list[Mapping[str, Any]], source: Source, manifest: Manifest, folder: Path, *, exact: bool
) -> Imported:
    fields = Fields(problem=source.problem, gold=source.gold)
    if exact and identify(rows, manifest.name, fields)[0].identity == "golds":
        raise _WeakerOnly
    return import_rows(
        rows, folder, bench=manifest.name, source=f"hub: {_named(source)}", fields=fields
    )


def _nothing(manifest: Manifest, failures: list[str], *, mismatch: bool) -> str:
    name = manifest.name
    if not manifest.sources:
        return (
            f"no source on the Hub is known for {name}\n"
            f"hint: get it from {manifest.files}, then: stare-eval data import PATH --bench {name}"
        )
    what = "no source has the pinned rows of" if mismatch else "no source could be reached for"
    tried = "\n".join(f"  {failure}" for failure in failures)
    return (
        f"{what} {name}:\n{tried}\n"
        f"hint: without a network, copy a file of it here (`stare-eval data export` elsewhere, or "
        f"{manifest.files}), then: stare-eval data import PATH --bench {name}"
    )


def load_source(source: Source) -> list[Mapping[str, Any]]:
    """Rows of a source, its configurations one after the other.

    Raises:
        MissingExtraError: `datasets` is not installed.
        Exception: whatever `datasets` raises.
    """
    datasets = _datasets(f"fetching {source.hub}")
    rows: list[Mapping[str, Any]] = []
    for config in source.configs or (None,):
        loaded = datasets.load_dataset(
            source.hub, config, split=source.split, revision=source.revision
        )
        rows.extend(dict(row) for row in loaded)
    return rows


def _datasets(purpose: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError("datasets", "eval", purpose) from None
    return datasets


def _named(source: Source) -> str:
    configs = f" ({', '.join(source.configs)})" if source.configs else ""
    revision = f"@{source.revision[:8]}" if source.revision else ""
    return f"{source.hub}{configs}{revision}, split {source.split}"
