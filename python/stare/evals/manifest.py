"""`manifest.json`: what a run is, and what decides its samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from stare.errors import DataError, RunError
from stare.evals.records import SCHEMA

__all__ = ["BenchEntry", "Manifest", "fingerprint", "flat", "grown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchEntry:
    """One benchmark of a run."""

    n: int
    """Samples a problem."""
    problems: int
    """Problems of the whole benchmark."""
    selected: list[str] | None = None
    """Ids of the problems that are sampled, in the benchmark's order; None for all."""
    data: dict[str, Any] = field(default_factory=dict)
    """`Benchmark.fingerprint()`: which rows these are."""

    @property
    def planned(self) -> int:
        """Samples that a complete run has."""
        return self.n * (self.problems if self.selected is None else len(self.selected))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run folder holds, and where it came from."""

    kind: str
    """`run`, `merged`, or what made the samples (`converted`)."""
    backend: str
    model: dict[str, Any]
    """Identity of the model: name, revision, hashes of configuration and weights."""
    tokenizer: dict[str, Any] | None = None
    """Hashes of tokenizer and chat template; None where the server renders."""
    determines: dict[str, Any] = field(default_factory=dict)
    """Everything that decides a sample beside its benchmark, problem and number."""
    run_seed: int | None = None
    """None where the samples' seeds are not derived from one."""
    benchmarks: dict[str, BenchEntry] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    """The effective configuration of the last session."""
    shard: str | None = None
    """`2/4` in a folder that holds a part of the samples."""
    stare: str | None = None
    created: str | None = None
    sessions: list[dict[str, Any]] = field(default_factory=list)
    """One entry a call: when, versions, host, workers."""
    grader: str | None = None
    """Graders that were asked for."""

    @property
    def fingerprint(self) -> str:
        """Hash of `determines`: equal ones mean samples that may be put together."""
        return fingerprint(self.determines)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {"v": SCHEMA, "fingerprint": self.fingerprint, **asdict(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], where: str) -> Manifest:
        """The manifest of a JSON object.

        Raises:
            DataError: another schema, or fields that do not fit; the message starts with `where`.
        """
        if row.get("v") != SCHEMA:
            raise DataError(
                f"{where}: schema {row.get('v')!r} is not {SCHEMA}, the one this version reads"
            )
        try:
            fields = {k: v for k, v in row.items() if k not in ("v", "fingerprint")}
            fields["benchmarks"] = {
                name: BenchEntry(**entry) for name, entry in fields["benchmarks"].items()
            }
            return cls(**fields)
        except (TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{where}: not the manifest of a run: {error}") from None


def fingerprint(determines: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits over a JSON object, the order of its keys aside.

    Example:
        >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
        True
    """
    text = json.dumps(determines, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys.

    Example:
        >>> flat({"model": {"name": "m"}, "seed": 0})
        {'model.name': 'm', 'seed': 0}
    """
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            out |= flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Dotted key -> (old, new) wherever two tables differ; a missing key is None."""
    a, b = flat(old), flat(new)
    return {key: (a.get(key), b.get(key)) for key in sorted({*a, *b}) if a.get(key) != b.get(key)}


def refuse_differences(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> None:
    """Raise where two runs' samples must not be mixed, naming the keys that differ.

    Raises:
        RunError: something that decides the samples differs.
    """
    changed = differences(old, new)
    if changed:
        lines = [f"  {key}: {a!r} there, {b!r} now" for key, (a, b) in changed.items()]
        raise RunError(
            f"{where} holds samples made with other settings:\n"
            + "\n".join(lines)
            + "\nhint: take them back, or use another folder"
        )


def grown(old: Manifest, new: Manifest, where: str) -> Manifest:
    """The manifest of a run that goes on: what may grow has grown, the rest is equal.

    Benchmarks may be added, `n` may grow, more problems may be selected.

    Raises:
        RunError: something that decides the samples differs; a benchmark has other rows; `n` would
            shrink; or the folder holds another shard.
    """
    refuse_differences(old.determines, new.determines, where)
    if old.shard != new.shard:
        raise RunError(
            f"{where} holds shard {old.shard or 'none'}, this is shard {new.shard or 'none'}\n"
            "hint: a folder a shard; stare-eval merge puts them together"
        )
    benchmarks = dict(old.benchmarks)
    for name, entry in new.benchmarks.items():
        before = benchmarks.get(name)
        benchmarks[name] = entry if before is None else _grown_entry(name, before, entry, where)
    return replace(
        new,
        kind=old.kind,
        benchmarks=benchmarks,
        created=old.created,
        sessions=[*old.sessions, *new.sessions],
    )


def _grown_entry(name: str, old: BenchEntry, new: BenchEntry, where: str) -> BenchEntry:
    for key in ("sha256", "golds_sha256", "rows"):
        if old.data.get(key) != new.data.get(key):
            raise RunError(
                f"{where} was made with other rows of {name} ({key}: "
                f"{old.data.get(key)!r} there, {new.data.get(key)!r} now)\n"
                f"hint: stare-eval data verify {name}"
            )
    if new.n < old.n:
        raise RunError(
            f"{where} has n={old.n} for {name}, this asks for {new.n}; n can only grow\n"
            f"hint: --bench {name}:{old.n}, or another folder"
        )
    if old.selected is None or new.selected is None:
        return replace(new, selected=None)
    return replace(new, selected=union_in_order(old.selected, new.selected))


def union_in_order(first: list[str], second: list[str]) -> list[str]:
    """Union, in the order of the longer list where it holds all, else sorted."""
    longer, shorter = sorted((first, second), key=len, reverse=True)
    return longer if set(shorter) <= set(longer) else sorted({*first, *second})
