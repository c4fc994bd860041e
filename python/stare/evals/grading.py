"""Grade the samples of a run folder: `samples/` to `grades/<grader>.jsonl`, without a model.

A grade belongs to a text: it is kept while the text, the golds, the settings and the grader's
version stay what they were, and made anew otherwise. Samples stream through in chunks, so memory
does not grow with their length; grades made are written down at once, so a killed command goes on.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stare.errors import DataError, RunError
from stare.evals.files import read_lines, storage_error, write_json, write_text
from stare.evals.graders import GRADERS, Grader, Question, grade_questions, grader_named
from stare.evals.own_grader import file_stem
from stare.evals.problems import RunProblem, golds_hash, load_problems
from stare.evals.records import SCHEMA, GradeRow, Key, Outcome, Sample, text_hash
from stare.evals.run_facts import answered, benches_of
from stare.evals.store import RunFolder

__all__ = [
    "GradeSummary",
    "StaleGradesError",
    "Tick",
    "bench_settings",
    "grade_run",
    "grade_settings",
    "graded_hash",
    "graders_of",
    "natural",
    "opened_prompts",
    "read_grades",
]

_CHUNK_ROWS = 512
_CHUNK_CHARACTERS = 8 << 20
_OPENS_THINKING = ("<think>", "<thinking>", "<thought>", "<reasoning>", "[THINK]")
_FAILED = ("grader_timeout", "grader_error")
Tick = Callable[[int], None]


class StaleGradesError(RunError):
    """Samples have no grade, or that of another text or grader."""


@dataclass(slots=True)
class GradeSummary:
    """What one grading did."""

    grader: str
    graded: int = 0
    """Samples judged now."""
    reused: int = 0
    """Samples whose grade was kept."""
    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    """(benchmark, outcome) of all."""


def bench_settings(bench: str) -> dict[str, Any]:
    """How answers of a benchmark are compared: its manifest's settings.

    Example:
        >>> bench_settings("minerva_math"), bench_settings("aime24")
        ({'tolerance': 'gold-digits'}, {'tolerance': None})
    """
    from stare.evals.data.registry import load_manifest, names

    return {"tolerance": load_manifest(bench).tolerance if bench in names() else None}


def grade_run(
    folder: RunFolder,
    grader: str,
    *,
    data_dir: Path | None = None,
    threads: int = 0,
    tick: Tick = lambda rows: None,
) -> GradeSummary:
    """Bring the grades of a run up to date.

    Args:
        folder: the run.
        grader: name of one of `graders.GRADERS`, or an import path (`own_grader`).
        data_dir: where imported benchmarks are.
        threads: as in `stare.verify.grade_batch`.
        tick: told the number of samples of each chunk when it is done.

    Raises:
        ArgumentError: no grader has that name.
        DataError: a benchmark is not imported or not the one of the run, or a sample's problem is
            not in it.
        RunError: the folder has no samples.
        StorageError: the disk is full; what was graded is kept.
    """
    rules = grader_named(grader)
    benches = benches_of(folder)
    if not benches:
        raise RunError(f"{folder.path} has no samples\nhint: stare-eval run, or convert")
    problems = {bench: load_problems(folder, bench, data_dir) for bench in benches}
    settings = {
        bench: {"version": rules.version, "golds": golds_hash(problems[bench])}
        | bench_settings(bench)
        for bench in benches
    }
    files = _Files(folder.path, grader)
    known = files.known(settings)
    opened = opened_prompts(folder)
    summary = GradeSummary(grader)
    lines: dict[Key, str] = {}
    with _full_disk_named(files.part), files.journal(settings) as journal:
        for bench in benches:
            for chunk in _chunks(answered(folder, bench)):
                rows = _grade_chunk(chunk, rules, problems[bench], settings, known, opened, threads)
                for row, new in rows:
                    line = json.dumps(row.to_json(), ensure_ascii=True) + "\n"
                    lines[row.key] = line
                    summary.outcomes[bench, row.outcome] += 1
                    summary.graded += new
                    summary.reused += not new
                    if new:
                        journal.write(line)
                journal.flush()
                tick(len(chunk))
    files.finish(settings, (lines[key] for key in sorted(lines, key=_order)))
    return summary


@contextmanager
def _full_disk_named(path: Path) -> Iterator[None]:
    """A full disk is met when a buffer is written out: the error then names no file."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise storage_error(path, error) from error


def read_grades(folder: RunFolder, grader: str) -> dict[Key, GradeRow]:
    """The grades of a run by one grader.

    Raises:
        RunError: the run has none.
        DataError: a line is damaged.
    """
    files = _Files(folder.path, grader)
    path = files.rows
    versions = {one["version"] for one in files.settings().values()}
    if not path.is_file() or versions != {grader_named(grader).version}:
        raise StaleGradesError(
            f"{folder.path} has no grades by {grader!r}\n"
            f"hint: stare-eval grade {folder.path} --grader {grader}"
        )
    return {row.key: row for row in _rows(path)}


def grade_settings(folder: RunFolder, grader: str) -> dict[str, dict[str, Any]]:
    """By benchmark: version of the grader, hash of the golds, tolerance, as graded."""
    return dict(_Files(folder.path, grader).settings())


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which `aime-9` comes before `aime-10`.

    Example:
        >>> sorted(["a-10", "a-9", "b"], key=natural)
        ['a-9', 'a-10', 'b']
    """
    import re

    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", text)
    return tuple((0, int(p), p) if p.isdigit() and len(p) < 19 else (1, 0, p) for p in parts)


def _order(key: Key) -> tuple[Any, ...]:
    return key.bench, natural(key.problem_id), key.problem_id, key.sample


def opened_prompts(folder: RunFolder) -> frozenset[str]:
    """Prompts that end by opening the thinking: the response starts inside it."""
    return frozenset(
        sha for sha, row in folder.prompts().items() if row.text.rstrip().endswith(_OPENS_THINKING)
    )


def _grade_chunk(
    chunk: list[Sample],
    rules: Grader,
    problems: dict[str, RunProblem],
    settings: dict[str, dict[str, Any]],
    known: dict[Key, GradeRow],
    opened: frozenset[str],
    threads: int,
) -> Iterator[tuple[GradeRow, bool]]:
    """The grade of each sample, and whether it was made now."""
    hashes = [_sample_hash(sample, sample.prompt_sha in opened) for sample in chunk]
    new = [
        at
        for at, (sample, sha) in enumerate(zip(chunk, hashes, strict=True))
        if (row := known.get(sample.key)) is None or row.text_sha != sha
    ]
    questions = []
    for at in new:
        sample = chunk[at]
        if sample.problem_id not in problems:
            raise DataError(
                f"sample of problem {sample.problem_id!r}: benchmark {sample.bench!r} has no such "
                "problem\nhint: were these samples made with another data set?"
            )
        text = "<think>" * (sample.prompt_sha in opened) + sample.text
        asked = problems[sample.problem_id]
        questions.append(Question(text, asked.golds, sample.finish_reason, asked.problem))
    tolerance = settings[chunk[0].bench]["tolerance"]
    graded = grade_questions(rules, questions, tolerance=tolerance, threads=threads)
    made = dict(zip(new, graded, strict=True))
    for at, (sample, sha) in enumerate(zip(chunk, hashes, strict=True)):
        if at not in made:
            yield known[sample.key], False
        else:
            fields = made[at]._asdict()
            yield GradeRow(**sample.key._asdict(), text_sha=sha, **fields), True


def _sample_hash(sample: Sample, opened: bool) -> str:
    """Hash of all that a grade depends on but golds and settings.

    The text's alone where the model ended it: so texts that are equal have equal hashes.
    """
    return graded_hash(sample.text, sample.finish_reason, opened)


def graded_hash(text: str, finish_reason: str, opened: bool) -> str:
    """The `text_sha` of a grade: of the text as graded, with what cut it off."""
    tail = "" if finish_reason == "stop" else f"\x1f{finish_reason}"
    return text_hash("<think>" * opened + text + tail)


def _chunks(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    chunk: list[Sample] = []
    size = 0
    for sample in samples:
        chunk.append(sample)
        size += len(sample.text)
        if len(chunk) == _CHUNK_ROWS or size >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _rows(path: Path) -> Iterator[GradeRow]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}:{number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{where}: not a JSON object: {error}") from None
            if not isinstance(row, dict):
                raise DataError(f"{where}: not a JSON object")
            yield GradeRow.from_json(row, where)


class _Files:
    """The files of one grader in a run folder.

    `<grader>.jsonl` has the rows, in order; `<grader>.settings.json` what they were made with.
    `<grader>.part.jsonl` has the rows made by a grading under way, behind a line with its settings.
    """

    def __init__(self, folder: Path, grader: str) -> None:
        self.grader = grader
        self.folder = folder / "grades"
        stem = file_stem(grader)
        self.rows = self.folder / f"{stem}.jsonl"
        self.made_with = self.folder / f"{stem}.settings.json"
        self.part = self.folder / f"{stem}.part.jsonl"

    def settings(self) -> dict[str, Any]:
        """Settings of the rows; empty if they are not known."""
        try:
            found = json.loads(self.made_with.read_bytes())
            return dict(found["benchmarks"]) if found["v"] == SCHEMA else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def known(self, settings: dict[str, dict[str, Any]]) -> dict[Key, GradeRow]:
        """Rows made with the same settings; where the grader failed, it gets another try."""
        found: dict[Key, GradeRow] = {}
        before = self.settings()
        if before and self.rows.is_file():
            same = {bench for bench in settings if before.get(bench) == settings[bench]}
            with suppress(DataError):  # damaged: what was read stays, the rest is made anew
                found.update((row.key, row) for row in _rows(self.rows) if row.bench in same)
        if self._goes_on(settings):
            with suppress(DataError):
                # Lines cut short are in it where a grading was killed: they are graded again.
                rows = (row for _, row in read_lines(self.part) if "settings" not in row)
                made = (GradeRow.from_json(row, str(self.part)) for row in rows)
                found.update((row.key, row) for row in made)
        return {key: row for key, row in found.items() if row.outcome not in _FAILED}

    def journal(self, settings: dict[str, dict[str, Any]]) -> Any:
        """The part file, open for appending."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._goes_on(settings):
            file = self.part.open("a+", encoding="ascii")
            file.write("" if _ends_a_line(self.part) else "\n")
            return file
        file = self.part.open("w", encoding="ascii")
        file.write(json.dumps({"settings": settings}, sort_keys=True) + "\n")
        file.flush()
        return file

    def finish(self, settings: dict[str, dict[str, Any]], lines: Iterable[str]) -> None:
        """Put all rows in place, then what they were made with."""
        self.made_with.unlink(missing_ok=True)
        write_text(self.rows, "".join(lines))
        content = {"v": SCHEMA, "grader": self.grader, "benchmarks": settings}
        write_json(self.made_with, content)
        self.part.unlink(missing_ok=True)

    def _goes_on(self, settings: dict[str, dict[str, Any]]) -> bool:
        try:
            with self.part.open("rb") as file:
                return bool(json.loads(file.readline()) == {"settings": settings})
        except (OSError, ValueError):
            return False


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def graders_of(folder: RunFolder) -> list[str]:
    """Graders whose grades a run has, in the order of `GRADERS`.

    Never those given by import path: what a folder holds must not decide which code runs.
    """
    return [name for name in GRADERS if _Files(folder.path, name).rows.is_file()]
