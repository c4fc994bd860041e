"""The pipeline: sources -> rows -> problems -> filters -> one set for each source, and a report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stare.errors import DataError
from stare.train.data import split
from stare.train.mixing.answers import answer_kinds, same_answer
from stare.train.mixing.benchmarks import BenchmarkProblem, load_benchmarks
from stare.train.mixing.duplicates import find_contained, find_near
from stare.train.mixing.entries import resolved
from stare.train.mixing.fields import MISSING, answer_text, describe, matches, resolve, unwrapped
from stare.train.mixing.normal import exact_key, tokens
from stare.train.mixing.reading import LoadDataset, source_rows
from stare.train.mixing.report import DataReport, SourceCounts
from stare.train.sections_data import MixingFields, SourceConfig
from stare.types import Problem

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Problems to train on, by source."""

    sets: dict[str, list[Problem]]
    """Ids are `<source>/<id of the row>`."""
    weights: dict[str, float] | None
    """As configured; None: by the number of problems."""
    held_out: list[Problem]
    """`data.held_out` problems of all sets."""
    report: DataReport


@dataclass(slots=True)
class _Item:
    source: str
    problem: Problem
    tokens: list[str]


def prepare(
    data: MixingFields,
    *,
    seed: int = 0,
    held_out: list[Problem] | None = None,
    load_dataset: LoadDataset | None = None,
) -> Prepared:
    """Read, filter and de-duplicate the sources of `[data]`.

    In this order: `where`, readable fields, exact duplicates, `limit`, answers, contamination, near
    duplicates, `held_out`. Every row that was read is counted once: as kept, or under the first
    reason. The result is a function of the files and the configuration.

    Args:
        data: the section `[data]`.
        seed: of the held-out split.
        held_out: problems of `eval_path`; training problems are compared with them too.
        load_dataset: used in the place of `datasets.load_dataset`.

    Raises:
        DataError: a source or benchmark is unreadable, or nothing of a source is left.
        ConfigError: an entry has no such name.
        MissingExtraError: Parquet or the Hub, and `datasets` is not installed.
    """
    sources = [resolved(s) for s in data.sources]
    # Before minutes are spent on reading: a store that is not there is an error of now.
    benchmarks = load_benchmarks(data.against) if data.contamination != "off" else []
    if data.contamination != "off":
        benchmarks += [BenchmarkProblem("eval_path", p.id, p.problem) for p in held_out or []]
    report = DataReport.of(data)
    report.benchmarks = _counted(benchmarks)
    seen: dict[bytes, Problem] = {}
    items: list[_Item] = []
    for source in sources:
        items += _read(source, data, seen, report, load_dataset)
    items = _checkable(items, data, report)
    items = _clean(items, benchmarks, data, report)
    items = _unrepeated(items, data, report)
    sets = {s.label: [i.problem for i in items if i.source == s.label] for s in sources}
    sets, own_held_out = _hold_out(sets, data.held_out, seed, report)
    for name, problems in sets.items():
        report.sources[name].kept = len(problems)
        if not problems:
            dropped = report.sources[name].dropped
            reasons = ", ".join(f"{n} {r}" for r, n in dropped.items()) or "the source is empty"
            raise DataError(
                f"no problem of {name!r} is left of {report.sources[name].rows} rows: {reasons}\n"
                "hint: stare-train data CONFIG shows what is dropped and why"
            )
    weights = {s.label: s.weight for s in sources if s.weight is not None}
    return Prepared(
        sets=sets, weights=weights or None, held_out=held_out or own_held_out, report=report
    )


def _read(
    source: SourceConfig,
    data: MixingFields,
    seen: dict[bytes, Problem],
    report: DataReport,
    load_dataset: LoadDataset | None,
) -> list[_Item]:
    """Rows to problems; exact repeats are dropped on the way, so they cost no memory."""
    name = source.label
    counts = report.sources[name] = SourceCounts(place=source.path or source.hub or "")
    raw: dict[bytes, Problem] = {}
    ids: dict[str, str] = {}
    items: list[_Item] = []
    for number, (where, row) in enumerate(source_rows(source, load_dataset), start=1):
        counts.rows = number
        if number == 1:
            _check_fields(row, source, where)
        try:
            if source.where and not matches(row, source.where):
                counts.count("where", [where])
                continue
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        text, gold = resolve(row, source.problem), answer_text(resolve(row, source.answer), source)
        if not isinstance(text, str) or not text.strip():
            report.drop(name, "no-problem", [where])
            continue
        if gold is None:
            report.drop(name, "no-answer", [where])
            continue
        text, found = unwrapped(text, source)
        problem = Problem(id=f"{name}/{_identity(row, source, number)}", problem=text, answer=gold)
        if not found:
            counts.note("prompt prefix or suffix not there", problem.id)
        # One set repeats each row a hundred times: the raw text is recognised before it is parsed.
        quick = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        first = raw.get(quick)
        words: list[str] = []
        if data.dedup != "off" and first is None:
            words = tokens(text)
            first = seen.get(exact_key(words))
        if data.dedup != "off" and first is not None:
            report.duplicate(name, problem, first, "exact", 1.0)
            raw.setdefault(quick, first)
            continue
        if problem.id in ids:
            raise DataError(
                f"{where}: duplicate id {problem.id!r}, first used at {ids[problem.id]}\n"
                "hint: name another field in this source's id"
            )
        ids[problem.id] = where
        words = words or tokens(text)
        seen[exact_key(words)] = raw[quick] = problem
        items.append(_Item(name, problem, words))
        if len(items) == source.limit:  # the rest of a stream is not read
            break
    if not counts.rows:
        raise DataError(f"source {name!r} has no rows: {counts.place}")
    return items


def _check_fields(row: Mapping[str, Any], source: SourceConfig, where: str) -> None:
    """A wrong mapping shows in the first row; a hole in a later one is dropped and counted."""
    for key in ("problem", "answer", "id"):
        path = getattr(source, key)
        if path and resolve(row, path) is MISSING:
            raise DataError(
                f"{where}: source {source.label!r} has no field {path!r} ({key})\n"
                f"hint: fields found: {describe(row)}"
            )


def _identity(row: Mapping[str, Any], source: SourceConfig, number: int) -> str:
    value = resolve(row, source.id if source.id is not None else "id")
    usable = isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
    return str(value) if usable else str(number)


def _counted(benchmarks: list[BenchmarkProblem]) -> dict[str, int]:
    names = [b.bench for b in benchmarks]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _checkable(items: list[_Item], data: MixingFields, report: DataReport) -> list[_Item]:
    kinds = answer_kinds([i.problem.problem for i in items], [i.problem.answer for i in items])
    kept = []
    for item, kind in zip(items, kinds, strict=True):
        counts = report.sources[item.source]
        if kind.multi_part:
            counts.note("several parts", item.problem.id)
        if kind.problem == "ok":
            kept.append(item)
        elif data.answers == "any":
            counts.note(kind.problem, item.problem.id)
            kept.append(item)
        else:
            report.drop(item.source, kind.problem, [item.problem.id])
    return kept


def _clean(
    items: list[_Item],
    benchmarks: list[BenchmarkProblem],
    data: MixingFields,
    report: DataReport,
) -> list[_Item]:
    if not benchmarks:
        return items
    matches = find_contained(
        [i.tokens for i in items],
        [tokens(b.problem) for b in benchmarks],
        threshold=data.near_threshold,
        containment=data.contained,
        size=data.shingle,
    )
    removed = set()
    for match in matches:
        item, bench = items[match.index], benchmarks[match.other]
        report.contaminated(item.problem, bench, match, removed=data.contamination == "remove")
        if data.contamination == "remove":
            removed.add(match.index)
            report.drop(item.source, "contaminated", [item.problem.id])
        else:
            report.sources[item.source].note("contaminated", item.problem.id)
    return [item for i, item in enumerate(items) if i not in removed]


def _unrepeated(items: list[_Item], data: MixingFields, report: DataReport) -> list[_Item]:
    if data.dedup != "near":
        return items
    differ: set[int] = set()

    def different(later: int, earlier: int) -> bool:
        # Which letter is asked for is lost in the near form; another answer is another question.
        if same_answer(items[later].problem.answer, items[earlier].problem.answer):
            return False
        differ.add(later)
        return True

    matches = find_near(
        [i.tokens for i in items],
        threshold=data.near_threshold,
        size=data.shingle,
        different=different,
    )
    removed = set()
    for match in matches:
        item = items[match.index]
        removed.add(match.index)
        report.duplicate(
            item.source, item.problem, items[match.other].problem, "near", match.similarity
        )
    for index in sorted(differ - removed):
        report.sources[items[index].source].note(
            "near another problem with another answer, kept", items[index].problem.id
        )
    return [item for i, item in enumerate(items) if i not in removed]


def _hold_out(
    sets: dict[str, list[Problem]], count: int, seed: int, report: DataReport
) -> tuple[dict[str, list[Problem]], list[Problem]]:
    if not count:
        return sets, []
    everything = [p for problems in sets.values() for p in problems]
    if count >= len(everything):
        raise DataError(f"data.held_out={count}, and only {len(everything)} problems are left")
    _, held = split(everything, count=count, seed=seed)
    ids = {p.id for p in held}
    left = {}
    for name, problems in sets.items():
        left[name] = [p for p in problems if p.id not in ids]
        if len(left[name]) < len(problems):
            report.drop(name, "held-out", [p.id for p in problems if p.id in ids])
    return left, held
