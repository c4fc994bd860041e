"""The run folder: samples, one JSON object a line, and what they were made from.

::

    manifest.json                   what the run is (see `manifest.py`); replaced whole
    prompts.jsonl                   every rendered prompt, once
    samples/<bench>.<worker>.jsonl  append-only; complete beats error, torn lines are skipped
    grades/<grader>.jsonl           made from the samples, as is results.json
    run.lock                        who writes it
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

from stare.errors import DataError
from stare.evals.files import AppendLog, FolderLock, read_lines, write_json
from stare.evals.manifest import Manifest
from stare.evals.own_grader import file_stem
from stare.evals.records import SCHEMA, Key, Sample, sample_seed

__all__ = ["PromptRow", "RunFolder", "SampleWriter", "sample_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """One line of `prompts.jsonl`."""

    prompt_sha: str
    """`text_hash` of `text`."""
    text: str
    """What the model continues; the JSON of the messages where the server renders them."""
    bench: str
    problem_id: str
    """The problem it was first rendered for."""
    messages: list[dict[str, str]] | None = None
    """The conversation, where there is one."""
    n_tokens: int | None = None


class _Place(NamedTuple):
    path: Path
    offset: int
    failed: bool


def sample_line(sample: Sample) -> dict[str, Any]:
    """The JSON object of a sample, its text last: the head of a line says what it is."""
    row = sample.to_json()
    row["text"] = row.pop("text")
    return row


class SampleWriter:
    """Appends the samples of one benchmark and worker; a context manager."""

    def __init__(self, path: Path) -> None:
        self._log = AppendLog(path)

    def write(self, sample: Sample) -> None:
        """Append a sample; it is with the system when this returns.

        Raises:
            StorageError: the disk refuses; what was written before is kept.
        """
        self._log.write(sample_line(sample))

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class RunFolder:
    """A run folder, for readers and for the one process that holds its `lock()`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._prompts: dict[str, PromptRow] | None = None
        self._manifest: Manifest | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a run in it."""
        return (self.path / "manifest.json").is_file()

    def manifest(self) -> Manifest:
        """What the run is.

        Raises:
            DataError: there is none, or it is of another schema.
        """
        if self._manifest is None:
            path = self.path / "manifest.json"
            try:
                row = json.loads(path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                raise DataError(f"{self.path} is not a run folder: no manifest.json") from None
            except ValueError as error:
                raise DataError(f"{path}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise DataError(f"{path}: not a JSON object")
            self._manifest = Manifest.from_json(row, str(path))
        return self._manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "manifest.json", manifest.to_json())
        self._manifest = manifest

    def lock(self) -> FolderLock:
        """The right to write; a context manager."""
        return FolderLock(self.path)

    def grades_path(self, grader: str) -> Path:
        """`grades/<grader>.jsonl`."""
        return self.path / "grades" / f"{file_stem(grader)}.jsonl"

    def prompts(self) -> dict[str, PromptRow]:
        """Rendered prompts by `prompt_sha`.

        Raises:
            DataError: the file is of another schema.
        """
        if self._prompts is None:
            self._prompts = {}
            path = self.path / "prompts.jsonl"
            for offset, row in read_lines(path) if path.is_file() else ():
                if row.pop("v", None) != SCHEMA:
                    raise DataError(f"{path}, byte {offset}: not schema {SCHEMA}")
                try:
                    prompt = PromptRow(**row)
                except TypeError as error:
                    raise DataError(f"{path}, byte {offset}: {error}") from None
                self._prompts[prompt.prompt_sha] = prompt
        return self._prompts

    def add_prompts(self, rows: Iterable[PromptRow]) -> None:
        """Append the prompts that are not there yet."""
        known = self.prompts()
        with AppendLog(self.path / "prompts.jsonl") as log:
            for row in rows:
                if row.prompt_sha not in known:
                    fields = {name: getattr(row, name) for name in row.__slots__}
                    log.write({"v": SCHEMA, **{k: v for k, v in fields.items() if v is not None}})
                    known[row.prompt_sha] = row

    def writer(self, bench: str, worker: int | str) -> SampleWriter:
        """Where a worker appends its samples of a benchmark."""
        return SampleWriter(self.path / "samples" / f"{bench}.{worker}.jsonl")

    def sample_files(self, bench: str | None = None) -> list[tuple[str, Path]]:
        """(benchmark, file) of every samples file, sorted."""
        found = []
        for path in sorted((self.path / "samples").glob("*.jsonl")):
            name, dot, _ = path.stem.rpartition(".")
            if not dot:
                raise DataError(f"{path} is not named <benchmark>.<worker>.jsonl")
            if bench is None or name == bench:
                found.append((name, path))
        return found

    def keys(self, bench: str) -> set[Key]:
        """Keys of the samples that are there, errors left out."""
        return {key for key, place in self._index(bench).items() if not place.failed}

    def samples(self, bench: str) -> Iterator[Sample]:
        """The samples of a benchmark, one a key, in the order of problem id and number.

        A complete sample supersedes an error, the first complete one those after it. Texts are read
        one at a time, whatever the size of the files.

        Raises:
            DataError: a file is of another schema or of another run; the reason is given.
        """
        places = self._index(bench)
        with ExitStack() as stack:
            files: dict[Path, IO[bytes]] = {}
            for key in sorted(places):
                place = places[key]
                if place.path not in files:
                    files[place.path] = stack.enter_context(place.path.open("rb"))
                file = files[place.path]
                file.seek(place.offset)
                yield Sample.from_json(json.loads(file.readline()), str(place.path))

    def _index(self, bench: str) -> dict[Key, _Place]:
        places: dict[Key, _Place] = {}
        for _, path in self.sample_files(bench):
            for offset, row in read_lines(path):
                where = f"{path}, byte {offset}"
                sample = Sample.from_json(row, where)
                self._check_origin(sample, bench, where)
                failed = sample.finish_reason == "error"
                known = places.get(sample.key)
                if known is None or known.failed:
                    places[sample.key] = _Place(path, offset, failed)
        return places

    def _check_origin(self, sample: Sample, bench: str, where: str) -> None:
        """Raise if a sample was not made by this run."""
        if sample.bench != bench:
            raise DataError(f"{where}: a sample of {sample.bench!r} in a file of {bench!r}")
        if sample.prompt_sha not in self.prompts():
            raise DataError(
                f"{where}: of another run: its prompt {sample.prompt_sha} is not in prompts.jsonl"
            )
        run_seed = self.manifest().run_seed
        if sample.seed is not None and run_seed is not None:
            expected = sample_seed(run_seed, sample.key)
            if sample.seed != expected:
                raise DataError(
                    f"{where}: of another run: its seed is {sample.seed}, run seed {run_seed} "
                    f"gives {expected}"
                )
