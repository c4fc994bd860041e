"""Several run folders of the same run, such as the shards of several machines, put together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from stare.errors import ArgumentError, DataError, RunError
from stare.evals.files import AppendLog
from stare.evals.manifest import BenchEntry, Manifest, refuse_differences, union_in_order
from stare.evals.records import Key, Sample, text_hash
from stare.evals.store import RunFolder, sample_line

__all__ = ["Merged", "merge"]

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What came of a merge."""

    samples: int
    planned: int
    """Samples of a complete run."""
    repeated: int
    """Samples that several folders had, with equal texts."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.samples == self.planned


class _Seen(NamedTuple):
    folder: int
    text_sha: str
    failed: bool


def merge(sources: Sequence[str | Path], out: str | Path) -> Merged:
    """Put the samples of several folders into a new one.

    Its files depend on the samples alone, not on the order of the folders. It is written beside
    `out` and renamed at the end, so `out` is whole or absent.

    Args:
        sources: run folders made with the same settings.
        out: the new folder; must not exist, or be empty.

    Raises:
        ArgumentError: fewer than two folders, or one of them twice.
        RunError: the folders were made with different settings (the keys are named), or `out`
            exists.
        DataError: the same sample has two texts; the samples are named. Or a folder is damaged.
    """
    out, paths = Path(out), [Path(source) for source in sources]
    if len({path.resolve() for path in paths}) != len(paths) or len(paths) < 2:
        raise ArgumentError(f"merge needs two or more different folders, got {len(paths)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} exists and is not empty\nhint: remove it, or give another folder")
    folders = [RunFolder(path) for path in paths]
    manifest = _manifest(folders)
    chosen, repeated = _choose(folders, manifest)
    scratch = out.with_name(f".{out.name}.merging")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        target = RunFolder(scratch)
        target.write_manifest(manifest)
        prompts = {sha: row for folder in folders for sha, row in folder.prompts().items()}
        target.add_prompts(prompts[sha] for sha in sorted(prompts))
        complete = 0
        for bench in manifest.benchmarks:
            with AppendLog(scratch / "samples" / f"{bench}.merged.jsonl") as log:
                for sample in _in_order(folders, bench, chosen):
                    log.write(sample_line(sample))
                    complete += sample.finish_reason != "error"
        if out.exists():
            out.rmdir()
        scratch.rename(out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    planned = sum(entry.planned for entry in manifest.benchmarks.values())
    return Merged(samples=complete, planned=planned, repeated=repeated)


def _manifest(folders: Sequence[RunFolder]) -> Manifest:
    manifests = [folder.manifest() for folder in folders]
    first = manifests[0]
    benchmarks: dict[str, BenchEntry] = {}
    for folder, manifest in zip(folders, manifests, strict=True):
        refuse_differences(first.determines, manifest.determines, str(folder.path))
        for name, entry in manifest.benchmarks.items():
            known = benchmarks.get(name)
            benchmarks[name] = entry if known is None else _joined(known, entry, name, folder.path)
    return replace(
        first,
        kind="merged",
        shard=None,
        benchmarks=dict(sorted(benchmarks.items())),
        config={**first.config, "shard": None},
        created=min((m.created for m in manifests if m.created), default=None),
        sessions=sorted(
            (entry for manifest in manifests for entry in manifest.sessions),
            key=lambda entry: (str(entry.get("started")), str(entry.get("host"))),
        ),
    )


def _joined(first: BenchEntry, second: BenchEntry, name: str, path: Path) -> BenchEntry:
    if first.data != second.data:
        raise RunError(f"{path} was made with other rows of {name}")
    whole = first.selected is None or second.selected is None
    selected = None if whole else union_in_order(first.selected or [], second.selected or [])
    return replace(first, n=max(first.n, second.n), selected=selected)


def _choose(folders: Sequence[RunFolder], manifest: Manifest) -> tuple[dict[Key, _Seen], int]:
    """Which folder each sample is taken from, and how many were there more than once."""
    chosen: dict[Key, _Seen] = {}
    repeated, conflicts = 0, []
    for bench in manifest.benchmarks:
        for number, folder in enumerate(folders):
            for sample in folder.samples(bench):
                failed = sample.finish_reason == "error"
                seen = _Seen(number, text_hash(f"{sample.finish_reason}:{sample.text}"), failed)
                known = chosen.get(sample.key)
                if known is None or known.failed:
                    chosen[sample.key] = seen
                elif not failed:
                    repeated += 1
                    if known.text_sha != seen.text_sha:
                        conflicts.append((sample.key, known.folder, number))
    if conflicts:
        lines = [
            f"  {'/'.join(map(str, key))}: {folders[a].path} and {folders[b].path}"
            for key, a, b in conflicts[:SHOWN]
        ]
        more = f"\n  and {len(conflicts) - SHOWN} more" if len(conflicts) > SHOWN else ""
        raise DataError(
            f"{len(conflicts)} samples have two different texts:\n"
            + "\n".join(lines)
            + more
            + "\nhint: a model that does not repeat itself was run twice; merge one of the two"
        )
    return chosen, repeated


def _in_order(
    folders: Sequence[RunFolder], bench: str, chosen: dict[Key, _Seen]
) -> Iterator[Sample]:
    """The chosen samples of a benchmark in the order of their keys, read one at a time."""
    streams = [folder.samples(bench) for folder in folders]
    heads = [next(stream, None) for stream in streams]
    for key in sorted(key for key in chosen if key.bench == bench):
        number = chosen[key].folder
        head = heads[number]
        while head is not None and head.key < key:
            head = next(streams[number], None)
        assert head is not None
        yield head
        heads[number] = head
