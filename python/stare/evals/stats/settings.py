"""Whether two runs were made alike: what their manifests say that decides the samples.

A difference of scores is one of models only if data, prompts and sampling agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["settings_warnings"]

_MODEL = ("model", "tokenizer")
"""What two runs are compared for: not worth a warning."""
_SHOWN = 8


def settings_warnings(a: str | Path, b: str | Path, benches: Iterable[str]) -> list[str]:
    """In what the runs differ beside the model; empty if a manifest is missing.

    Args:
        a: a run folder, or its results.json.
        b: another.
        benches: benchmarks that are compared.
    """
    found = [_manifest(path) for path in (a, b)]
    if not all(found):
        return []
    warnings = []
    data = [_mapping(one.get("benchmarks")) for one in found]
    for bench in benches:
        rows = [_mapping(_mapping(one.get(bench)).get("data")) for one in data]
        if all(rows) and rows[0] != rows[1]:
            warnings.append(f"{bench}: not the same data: {_pairs(*map(_flat, rows))}")
    settings = [
        {
            key: value
            for key, value in _flat(_mapping(one.get("determines"))).items()
            if key.split(".")[0] not in _MODEL
        }
        for one in found
    ]
    if settings[0] != settings[1]:
        warnings.append(f"settings differ: {_pairs(*settings)}")
    return warnings


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    keys = [key for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]
    shown = [f"{key} {_short(a.get(key))} and {_short(b.get(key))}" for key in keys[:_SHOWN]]
    return "; ".join(shown) + (f"; {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def _manifest(path: str | Path) -> dict[str, Any]:
    folder = Path(path)
    file = (folder if folder.is_dir() else folder.parent) / "manifest.json"
    try:
        return _mapping(json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out
