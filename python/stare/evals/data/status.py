"""State of the local store as plain objects: what `data list`, `info` and `verify` print."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from stare.errors import DataError
from stare.evals.data.kinds import gold_kinds
from stare.evals.data.local import MINI, Benchmark, data_folder, imported, load
from stare.evals.data.registry import load_manifest, names

__all__ = ["describe", "everything", "stored", "verify"]


def everything(data_dir: Path | None = None) -> list[str]:
    """Names of the registry, then of benchmarks imported under names of their own."""
    own = [name for name in imported(data_folder(data_dir)) if name not in names()]
    return [*names(), *own]


def stored(data_dir: Path | None = None) -> list[str]:
    """Names that can be loaded now: the bundled one and what is in the store."""
    return [name for name in everything(data_dir) if _is_stored(name, data_dir)]


def _is_stored(name: str, data_dir: Path | None) -> bool:
    return name == MINI or name in imported(data_folder(data_dir))


def verify(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """Re-hash one benchmark.

    Returns:
        `state`: `exact`, `golds` or `custom` (the identity), `not imported`, or `damaged` with
        the reason in `problem`; and the rows and hashes of the header.

    Raises:
        ArgumentError: no benchmark has that name.
    """
    if name in names() and not _is_stored(name, data_dir):
        return {"bench": name, "state": "not imported"}
    try:
        benchmark = load(name, data_dir)
    except DataError as error:
        return {"bench": name, "state": "damaged", "problem": str(error)}
    return _state(benchmark)


def _state(benchmark: Benchmark) -> dict[str, Any]:
    return {**benchmark.fingerprint(), "state": benchmark.header.identity}


def describe(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """All that is known of a benchmark but its texts.

    Raises:
        ArgumentError: no benchmark has that name.
    """
    state = verify(name, data_dir)
    whole = load(name, data_dir) if state["state"] not in ("not imported", "damaged") else None
    manifest = load_manifest(name) if name in names() else (whole.manifest if whole else None)
    if manifest is None:  # a damaged benchmark of the user's own
        return {"bench": name, "local": state}
    about: dict[str, Any] = {
        "bench": name,
        "title": manifest.title,
        "rows": manifest.rows,
        "n": manifest.n,
        "gold": manifest.gold,
        "gold_steps": list(manifest.steps),
        "license": manifest.license,
        "files": manifest.files,
        "sources": [{**asdict(s), "configs": list(s.configs)} for s in manifest.sources],
        "parts": {part: list(rows) for part, rows in manifest.parts.items()},
        "mistakes": {str(rows): note for rows, note in manifest.mistakes.items()},
        "errata": [{**asdict(e), "rows": list(e.rows)} for e in manifest.errata],
        "deviations": list(manifest.deviations),
        "local": state,
    }
    if manifest.identity is not None:
        about["sha256"] = manifest.identity.sha256
        about["golds_sha256"] = manifest.identity.golds_sha256
        about["computed_from"] = manifest.identity.computed_from
    if whole is not None:
        about["gold_kinds"] = gold_kinds(p.answer for p in whole.problems)
    return about
