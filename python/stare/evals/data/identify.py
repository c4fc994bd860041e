"""Are these rows that benchmark? If not, what are they, and what to do.

Two identities. *exact*: the same (problem, gold) rows in any order. *golds*: some texts differ from
the pinned ones, as between mirrors that typed the same contest twice, but the number of rows, the
golds and every pairing that can be seen agree. The second is weaker and is always reported as such:
among the rows whose text differs, a gold that moved to another row would not be noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stare.errors import DataError
from stare.evals.data.adapt import AdaptedRow
from stare.evals.data.normalise import (
    gold_hash,
    golds_sha256,
    problem_hash,
    rows_sha256,
    short_hash,
)
from stare.evals.data.registry import Identity, Manifest

__all__ = ["DataMismatchError", "Match", "compare", "hash_pairs"]

_SHOWN = 6
_MIN_TEXTS = 0.5
"""Share of texts that must be the pinned ones before rows in another order are tied by gold."""


class DataMismatchError(DataError):
    """The rows are not the benchmark they are given as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Rows against a manifest."""

    manifest: Manifest
    identity: Literal["exact", "golds"] | None
    """None: they are not that benchmark, `reason` says why."""
    places: tuple[int | None, ...]
    """[R] place of each row in the manifest; None: it has none."""
    share: float
    """Share of the benchmark's rows that were recognised."""
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def contains_all(self) -> bool:
        """Whether every row of the benchmark is among the rows."""
        return self.share == 1.0


def hash_pairs(rows: Sequence[AdaptedRow], *, integer: bool) -> list[tuple[str, str]]:
    """`(problem hash, hash of the first gold)` of each row."""
    return [(problem_hash(r.problem), gold_hash(r.golds[0], integer=integer)) for r in rows]


def compare(rows: Sequence[AdaptedRow], manifest: Manifest) -> Match:
    """Compare rows with a known benchmark.

    Args:
        rows: adapted with the manifest's own gold treatment.
        manifest: of a known benchmark.
    """
    identity = manifest.identity
    assert identity is not None
    places = _places_by_text(rows, identity)
    seen = [place for place in places if place is not None]
    if len(seen) < len(identity.rows) and len(rows) == len(identity.rows):
        filled = _fill_by_gold(rows, places, manifest)
        if filled is not None:
            return _weak(rows, filled, len(seen), manifest)
    share = len(seen) / len(identity.rows)

    def refuse(reason: str) -> Match:
        return Match(
            manifest=manifest, identity=None, places=tuple(places), share=share, reason=reason
        )

    wrong = [
        place
        for row, place in zip(rows, places, strict=True)
        if place is not None and _gold_place(row, place, manifest) is None
    ]
    if wrong:
        return refuse(_wrong_golds(rows, places, wrong, manifest))
    if share < 1.0:
        return refuse(_too_few(rows, places, manifest))
    if len(rows) > len(identity.rows):
        extra = len(rows) - len(seen)
        return refuse(
            f"{len(rows)} rows: all {manifest.rows} of {manifest.name} and {extra} others"
            + _mistake(len(rows), manifest)
        )
    return _exact(rows, places, manifest)


def _places_by_text(rows: Sequence[AdaptedRow], identity: Identity) -> list[int | None]:
    at = {row.problem: place for place, row in enumerate(identity.rows)}
    places: list[int | None] = []
    for row in rows:  # a second copy of a row has no place
        places.append(at.pop(short_hash(problem_hash(row.problem)), None))
    return places


def _gold_place(row: AdaptedRow, place: int, manifest: Manifest) -> int | None:
    """Which of the row's golds is the pinned one of `place`; None: none is."""
    assert manifest.identity is not None
    pinned = manifest.identity.rows[place].gold
    hashes = [short_hash(gold_hash(gold, integer=manifest.integer)) for gold in row.golds]
    return hashes.index(pinned) if pinned in hashes else None


def _exact(rows: Sequence[AdaptedRow], places: Sequence[int | None], manifest: Manifest) -> Match:
    identity = manifest.identity
    assert identity is not None
    notes = []
    golds = []
    for row, place in zip(rows, places, strict=True):
        assert place is not None
        gold = row.golds[_gold_place(row, place, manifest) or 0]
        golds.append((problem_hash(row.problem), gold_hash(gold, integer=manifest.integer)))
    if rows_sha256(golds) != identity.sha256:  # short hashes agree: only a forgery gets here
        return Match(
            manifest=manifest,
            identity=None,
            places=tuple(places),
            share=1.0,
            reason="every row has the pinned short hash, but the hash of all rows differs",
        )
    several = sum(len(row.golds) > 1 for row in rows)
    if several:
        notes.append(f"{several} rows carry several golds: the pinned one of each is kept")
    if list(places) != sorted(place for place in places if place is not None):
        notes.append("the rows are in another order: put into the canonical one")
    return Match(
        manifest=manifest, identity="exact", places=tuple(places), share=1.0, notes=tuple(notes)
    )


def _fill_by_gold(
    rows: Sequence[AdaptedRow], places: Sequence[int | None], manifest: Manifest
) -> list[int] | None:
    """Places for rows whose text is not a pinned one, by their golds; None if they do not fit."""
    identity = manifest.identity
    assert identity is not None
    taken = {place for place in places if place is not None}
    open_places = [place for place in range(len(identity.rows)) if place not in taken]
    open_rows = [at for at, place in enumerate(places) if place is None]
    if any(
        place is not None and _gold_place(row, place, manifest) is None
        for row, place in zip(rows, places, strict=True)
    ):
        return None
    filled = list(places)
    in_order = all(
        _gold_place(rows[at], place, manifest) is not None
        for at, place in zip(open_rows, open_places, strict=True)
    )
    if in_order:
        for at, place in zip(open_rows, open_places, strict=True):
            filled[at] = place
    elif len(taken) >= _MIN_TEXTS * len(identity.rows):
        for at in open_rows:
            fits = [p for p in open_places if _gold_place(rows[at], p, manifest) is not None]
            if not fits:
                return None
            filled[at] = fits[0]
            open_places.remove(fits[0])
    else:
        return None
    return [place for place in filled if place is not None]


def _weak(
    rows: Sequence[AdaptedRow], places: Sequence[int], same_texts: int, manifest: Manifest
) -> Match:
    identity = manifest.identity
    assert identity is not None
    differing = len(rows) - same_texts
    chosen = [
        row.golds[_gold_place(row, place, manifest) or 0]
        for row, place in zip(rows, places, strict=True)
    ]
    digest = golds_sha256([gold_hash(gold, integer=manifest.integer) for gold in chosen])
    if digest != identity.golds_sha256:
        return Match(
            manifest=manifest,
            identity=None,
            places=tuple(places),
            share=same_texts / len(rows),
            reason="every gold has the pinned short hash, but the hash of all golds differs",
        )
    note = (
        f"{differing} of {len(rows)} problems are worded differently from the pinned ones; they "
        "are held by their golds alone (identity `golds`, the weaker one)"
    )
    return Match(
        manifest=manifest, identity="golds", places=tuple(places), share=1.0, notes=(note,)
    )


def _wrong_golds(
    rows: Sequence[AdaptedRow],
    places: Sequence[int | None],
    wrong: Sequence[int],
    manifest: Manifest,
) -> str:
    identity = manifest.identity
    assert identity is not None
    ids = [identity.rows[place].id for place in sorted(wrong)]
    given = Counter(
        short_hash(gold_hash(row.golds[0], integer=manifest.integer))
        for row, place in zip(rows, places, strict=True)
        if place is not None
    )
    pinned = Counter(identity.rows[place].gold for place in places if place is not None)
    kind = (
        f"the golds are permuted: {len(ids)} problems carry the gold of another row"
        if given == pinned
        else f"{len(ids)} of {len(rows)} golds are not the pinned ones"
    )
    text = f"{kind}: {_some(ids)}"
    for note in manifest.notes_on(ids):
        text += f"\nknown: {note}"
    return text


def _too_few(rows: Sequence[AdaptedRow], places: Sequence[int | None], manifest: Manifest) -> str:
    identity = manifest.identity
    assert identity is not None
    found = {place for place in places if place is not None}
    part = _part(rows, found, manifest)
    if part:
        others = " and ".join(name for name in manifest.parts if name != part)
        first, last = manifest.parts[part]
        return (
            f"only part {part}: rows {first + 1} to {last} of {manifest.rows}, part {others} is "
            "missing\nhint: give the files of all parts in one command: "
            f"stare-eval data import PART_I PART_II --bench {manifest.name}"
        )
    missing = [row.id for place, row in enumerate(identity.rows) if place not in found]
    if not found:
        return (
            f"{len(rows)} rows, none of which is a problem of {manifest.name} ({manifest.rows} "
            f"rows)" + _mistake(len(rows), manifest)
        )
    known = _mistake(len(rows), manifest)
    foreign = len(rows) - len(found)
    text = f"{len(rows)} rows: {len(found)} of the {manifest.rows} of {manifest.name}"
    if foreign:
        text += f" and {foreign} that are not of it (or are copies, or reworded)"
    return f"{text}; missing: {_some(missing)}{known}"


def _part(rows: Sequence[AdaptedRow], found: set[int], manifest: Manifest) -> str | None:
    """The part of the benchmark that the rows are, by their texts or by their golds in order."""
    for name, (first, last) in manifest.parts.items():
        if len(rows) != last - first:
            continue
        if found == set(range(first, last)):
            return name
        if all(
            _gold_place(row, place, manifest) is not None
            for row, place in zip(rows, range(first, last), strict=True)
        ):
            return name
    return None


def _mistake(rows: int, manifest: Manifest) -> str:
    note = manifest.mistakes.get(rows)
    return f"\nknown: {rows} rows is {note}" if note else ""


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
