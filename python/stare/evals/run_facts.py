"""What reports need to know of a run's manifest: planned units, data, and what to print.

Nothing that differs between two executions of the same run (times, workers, machines) comes
through here, so that what is built from it does not differ either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stare.evals.manifest import flat
from stare.evals.records import Sample
from stare.evals.store import RunFolder

__all__ = ["RunFacts", "answered", "benches_of", "run_facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The manifest, as far as reports read it."""

    n: Mapping[str, int] = field(default_factory=dict)
    """Samples asked for a problem, by benchmark."""
    problems: Mapping[str, int] = field(default_factory=dict)
    """Problems asked for, by benchmark."""
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fingerprint of the data, by benchmark."""
    shard: str | None = None
    """The part of the samples that this folder is to hold."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What the run is and what decides its samples, to print."""


def run_facts(folder: RunFolder) -> RunFacts:
    """The facts of a run folder.

    Raises:
        DataError: it is none.
    """
    manifest = folder.manifest()
    benches = manifest.benchmarks
    run: dict[str, Any] = {
        "kind": manifest.kind,
        "backend": manifest.backend,
        "model": manifest.model.get("name"),
        "fingerprint": manifest.fingerprint,
        "run_seed": manifest.run_seed,
        "determines": flat(manifest.determines),
    }
    return RunFacts(
        n={name: one.n for name, one in benches.items()},
        problems={
            name: one.problems if one.selected is None else len(one.selected)
            for name, one in benches.items()
        },
        data={name: one.data for name, one in benches.items()},
        shard=manifest.shard,
        run={name: value for name, value in run.items() if value not in (None, {})},
    )


def benches_of(folder: RunFolder) -> list[str]:
    """Benchmarks with samples: those of the manifest in its order, then others."""
    there = {name for name, _ in folder.sample_files()}
    named = [name for name in folder.manifest().benchmarks if name in there]
    return named + sorted(there.difference(named))


def answered(folder: RunFolder, bench: str) -> Iterator[Sample]:
    """The samples that have a response; a request that failed is a sample still to come."""
    return (one for one in folder.samples(bench) if one.finish_reason != "error")
