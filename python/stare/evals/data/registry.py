"""The benchmarks that are known by name, as manifests: where they come from, what they must be.

A manifest is a JSON file in `manifests/`. Its hand-written part names sources, gold treatment,
errata; its `identity` is computed by `python -m stare.evals.data.make_manifest` and holds hashes,
never texts.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from stare.errors import ArgumentError

Tolerance = float | Literal["gold-digits"] | None

__all__ = [
    "ALIASES",
    "Erratum",
    "Identity",
    "Manifest",
    "PinnedRow",
    "Source",
    "load_manifest",
    "names",
    "nearest",
    "unknown_benchmark",
]

ALIASES: Mapping[str, str] = {
    "aime": "aime24",
    "aime2024": "aime24",
    "aime_2024": "aime24",
    "aime2025": "aime25",
    "aime_2025": "aime25",
    "amc": "amc23",
    "amc2023": "amc23",
    "math": "math500",
    "math-500": "math500",
    "math_500": "math500",
    "minerva": "minerva_math",
    "minerva272": "minerva_math",
    "minervamath": "minerva_math",
    "olympiad": "olympiadbench",
    "olympiad675": "olympiadbench",
    "olympiad_bench": "olympiadbench",
    "olympiadbench675": "olympiadbench",
    "olympiad674": "olympiadbench674",
    "gsm": "gsm8k",
}
"""Names others use. They are offered in the error message, not accepted: a run folder has one name
for a benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place on the Hub that holds the rows."""

    hub: str
    """Data set id."""
    configs: tuple[str, ...] = ()
    """Configurations, concatenated in order; empty for the default one."""
    split: str
    revision: str | None
    """Full commit, or None where it is not known: such a source is held by its row hash alone."""
    problem: str
    """Field of the problem."""
    gold: str
    """Field of the gold."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A known flaw of the data or of a mirror. Recorded, never repaired in silence."""

    rows: tuple[str, ...]
    """Problem ids; empty where the report does not say."""
    note: str
    source: str = ""


class PinnedRow(tuple[str, str, str]):
    """`(problem id, short hash of the problem, short hash of the gold)`."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Problem id."""
        return self[0]

    @property
    def problem(self) -> str:
        """First hexadecimal digits of the hash of the problem."""
        return self[1]

    @property
    def gold(self) -> str:
        """First hexadecimal digits of the hash of the gold."""
        return self[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What the rows must hash to."""

    sha256: str
    """`normalise.rows_sha256` of all rows."""
    golds_sha256: str
    """`normalise.golds_sha256`: the second, weaker identity."""
    computed_from: str
    rows: tuple[PinnedRow, ...]
    """In canonical order; imports are put in this order and take these ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything known about a benchmark but its texts."""

    name: str
    title: str
    rows: int
    n: int
    """Samples a problem by default."""
    gold: Literal["integer", "text"]
    steps: tuple[str, ...]
    """Gold treatment, names of `adapt.STEPS`, applied in order; each leaves alone what it does not
    concern."""
    license: str
    tolerance: Tolerance = None
    """What else equals a decimal gold, as in `stare.verify.equivalent`."""
    files: str = ""
    """Where plain files of it are found."""
    sources: tuple[Source, ...] = ()
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Named ranges of rows, `[first, last + 1)`."""
    mistakes: Mapping[int, str] = field(default_factory=dict)
    """Number of rows -> which other data set has that many and is taken for this one."""
    errata: tuple[Erratum, ...] = ()
    deviations: tuple[str, ...] = ()
    """Differences between mirrors that are accepted."""
    bundled: bool = False
    identity: Identity | None = None
    """None for a benchmark of the user's own."""

    @property
    def integer(self) -> bool:
        """Whether every gold is an integer."""
        return self.gold == "integer"

    @property
    def known(self) -> bool:
        """Whether it is in the registry, and not a benchmark of the user's own."""
        return self.identity is not None

    def notes_on(self, ids: Sequence[str]) -> list[str]:
        """Errata that concern any of the rows `ids`."""
        wanted = set(ids)
        return [
            f"{erratum.note} ({erratum.source})" if erratum.source else erratum.note
            for erratum in self.errata
            if wanted.intersection(erratum.rows)
        ]


@cache
def names() -> tuple[str, ...]:
    """Names of the registry, the six of the paper first, the bundled one last."""
    folder = resources.files("stare.evals.data") / "manifests"
    found = {item.name[:-5] for item in folder.iterdir() if item.name.endswith(".json")}
    return tuple(sorted(found, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)))


_ORDER = {
    "aime24": 0,
    "aime25": 1,
    "amc23": 2,
    "math500": 3,
    "minerva_math": 4,
    "olympiadbench": 5,
    "olympiadbench674": 6,
    "gsm8k": 7,
}


@cache
def load_manifest(name: str) -> Manifest:
    """The manifest of a known benchmark.

    Raises:
        ArgumentError: no benchmark has that name; the nearest names are offered.

    Example:
        >>> manifest = load_manifest("aime25")
        >>> manifest.rows, dict(manifest.parts)
        (30, {'I': (0, 15), 'II': (15, 30)})
    """
    if name not in names():
        raise unknown_benchmark(name, names())
    text = (resources.files("stare.evals.data") / "manifests" / f"{name}.json").read_text("utf-8")
    return manifest_of(json.loads(text))


def manifest_of(data: Mapping[str, Any]) -> Manifest:
    """Build a manifest from its JSON object."""
    identity = data.get("identity")
    return Manifest(
        name=data["name"],
        title=data["title"],
        rows=data["rows"],
        n=data["n"],
        gold=data["gold"]["kind"],
        steps=tuple(data["gold"]["steps"]),
        tolerance=data["gold"].get("tolerance"),
        license=data["license"],
        files=data.get("files", ""),
        sources=tuple(
            Source(**{**source, "configs": tuple(source.get("configs", ()))})
            for source in data.get("sources", ())
        ),
        parts={name: (first, last) for name, (first, last) in data.get("parts", {}).items()},
        mistakes={int(rows): note for rows, note in data.get("mistakes", {}).items()},
        errata=tuple(
            Erratum(rows=tuple(item["rows"]), note=item["note"], source=item.get("source", ""))
            for item in data.get("errata", ())
        ),
        deviations=tuple(data.get("deviations", ())),
        bundled=data.get("bundled", False),
        identity=identity
        and Identity(
            sha256=identity["sha256"],
            golds_sha256=identity["golds_sha256"],
            computed_from=identity["computed_from"],
            rows=tuple(PinnedRow(row) for row in identity["rows"]),
        ),
    )


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """Names somebody who wrote `name` may have meant, best first.

    Example:
        >>> nearest("aime2024", names())[0], nearest("math50", names())[0]
        ('aime24', 'math500')
    """
    alias = ALIASES.get(name.lower())
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return list(dict.fromkeys(([alias] if alias in known and alias else []) + close))


def unknown_benchmark(name: str, known: Sequence[str]) -> ArgumentError:
    """The error for a name that no benchmark has."""
    close = nearest(name, known)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
    return ArgumentError(f"no benchmark is named {name!r}\nhint: {hint}")
