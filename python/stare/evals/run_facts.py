"""What reports need to know of a run's manifest: planned units, data, and what to print.

Nothing that differs between two executions of the same run (times, workers, machines) comes
through here, so that what is built from it does not differ either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stare.evals.store import RunFolder

__all__ = ["RunFacts", "run_facts"]

_SHOWN = (
    "model",
    "revision",
    "backend",
    "template",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "stop",
    "seed",
    "preset",
    "fingerprint",
    "source",
)
"""Settings that a report names, where the manifest has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The manifest, as far as reports read it."""

    n: Mapping[str, int] = field(default_factory=dict)
    """Samples asked for a problem, by benchmark."""
    problems: Mapping[str, int] = field(default_factory=dict)
    """Number of problems asked for, by benchmark."""
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fingerprint of the data, by benchmark."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """Settings to print."""


def run_facts(folder: RunFolder) -> RunFacts:
    """The facts of a run folder; what the manifest does not say is left out."""
    manifest = folder.manifest()
    benches = _mapping(manifest.get("benchmarks"))
    config = {**_mapping(manifest.get("config")), **manifest}
    return RunFacts(
        n=_integers(benches, "n"),
        problems=_integers(benches, "problems"),
        data={name: _mapping(one.get("data")) for name, one in benches.items()},
        shown={
            name: config[name]
            for name in _SHOWN
            if isinstance(config.get(name), (str, int, float, list)) and config[name] != []
        },
    )


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _integers(benches: Mapping[str, Any], name: str) -> dict[str, int]:
    found = {}
    for bench, one in benches.items():
        value = _mapping(one).get(name)
        if isinstance(value, list):
            value = len(value)
        if isinstance(value, int):
            found[bench] = value
    return found
