"""The responses in the page: one packed piece a problem, unpacked when it is looked at."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import StareError
from stare.evals.problems import RunProblem, load_problems
from stare.evals.records import GradeRow, Key, Sample
from stare.evals.run_facts import answered
from stare.evals.store import RunFolder
from stare.evals.tally import ProblemTally

__all__ = ["Embedding", "chunks"]

_PACKED = 0.4
"""Bytes of a packed text a character, about: base64 of what gzip makes of reasoning."""
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which responses are in the page."""

    keys: frozenset[Key]
    total: int
    kind: str

    @classmethod
    def plan(
        cls, benches: Mapping[str, Sequence[ProblemTally]], texts: str, texts_mb: float
    ) -> Embedding:
        """Choose within the size: sample by sample over all problems, those not correct first."""
        wanted: list[tuple[bool, int, int, Key]] = []
        total = 0
        for bench, problems in benches.items():
            for one in problems:
                total += one.n
                for fact, row in zip(one.facts, one.grades, strict=True):
                    good = row.outcome == "correct"
                    if texts == "all" or (texts == "wrong" and not good):
                        key = Key(bench, one.id, fact.sample)
                        wanted.append((good, fact.sample, fact.characters, key))
        room = texts_mb * 1e6 / _PACKED
        chosen = []
        for _, _, size, key in sorted(wanted, key=lambda one: one[:2]):
            if size <= room:
                room -= size
                chosen.append(key)
        return cls(frozenset(chosen), total, texts)

    def words(self) -> str:
        """What is left out, for the page; empty if nothing is."""
        if len(self.keys) == self.total:
            return ""
        return (
            f"{len(self.keys)} of {self.total} responses are in this page"
            + {"wrong": ": those that are not correct", "none": ""}.get(self.kind, "")
            + "; all are in the run folder (stare-eval show)."
        )


def chunks(
    folder: RunFolder,
    bench: str,
    problems: Sequence[ProblemTally],
    grades: Mapping[str, Mapping[Key, GradeRow]],
    embedding: Embedding,
    data_dir: Path | None,
) -> Iterator[str]:
    """Packed pieces of a benchmark, in the order of `problems`; one at a time is in memory.

    Samples come from the folder by problem id, problems are shown in their natural order, so packed
    pieces that come too early are kept.
    """
    known = _problems(folder, bench, data_dir)
    tallies = {one.id: one for one in problems}
    packed: dict[str, str] = {}

    def pack(one: ProblemTally, texts: Mapping[int, str]) -> str:
        return _pack(_content(bench, one, texts, grades, known.get(one.id), folder))

    stream = _by_problem(folder, bench, embedding)
    for one in problems:
        while one.id not in packed and (found := next(stream, None)) is not None:
            if found[0] in tallies:  # else it came while this was being written
                packed[found[0]] = pack(tallies[found[0]], found[1])
        yield packed.pop(one.id, "") or pack(one, {})


def _by_problem(
    folder: RunFolder, bench: str, embedding: Embedding
) -> Iterator[tuple[str, dict[int, str]]]:
    """(problem, texts by sample number); the store yields a problem's samples together."""
    current: str | None = None
    texts: dict[int, str] = {}
    sample: Sample
    for sample in answered(folder, bench):
        if sample.problem_id != current:
            if current is not None:
                yield current, texts
            current, texts = sample.problem_id, {}
        if sample.key in embedding.keys:
            texts[sample.sample] = sample.text
    if current is not None:
        yield current, texts


def _content(
    bench: str,
    one: ProblemTally,
    texts: Mapping[int, str],
    grades: Mapping[str, Mapping[Key, GradeRow]],
    problem: RunProblem | None,
    folder: RunFolder,
) -> dict[str, Any]:
    samples = []
    for fact in one.facts:
        key = Key(bench, one.id, fact.sample)
        text = texts.get(fact.sample)
        row: dict[str, Any] = {
            "sample": fact.sample,
            "finish": fact.finish_reason,
            "tokens": fact.n_tokens,
            "text": text,
            "grades": [_grade(name, rows[key]) for name, rows in grades.items() if key in rows],
        }
        if text is None:
            row["hint"] = (
                f"stare-eval show {folder.path.name} --bench {bench} --problem {one.id} "
                f"--sample {fact.sample}"
            )
        samples.append(row)
    return {
        "problem": None if problem is None else problem.problem,
        "golds": [] if problem is None else list(problem.golds),
        "samples": samples,
    }


def _grade(name: str, row: GradeRow) -> dict[str, Any]:
    return {
        "grader": name,
        "outcome": row.outcome,
        "extracted": row.extracted,
        "reason": row.reason,
        "by": row.by,
    }


def _pack(content: Mapping[str, Any]) -> str:
    # A fixed time in the header: equal contents give equal bytes. Lone surrogates stay escapes.
    data = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return base64.b64encode(gzip.compress(data, _LEVEL, mtime=0)).decode("ascii")


def _problems(folder: RunFolder, bench: str, data_dir: Path | None) -> Mapping[str, RunProblem]:
    try:
        return load_problems(folder, bench, data_dir)
    except StareError:  # not imported on this machine: the page does without the problems' texts
        return {}
