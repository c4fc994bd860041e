"""The problems of a run, with their golds: from the registry, or from the run folder itself.

A run folder made from another tool's samples may hold its own problems in `problems.jsonl`, one
object a line: `bench`, `id`, `problem` and `golds`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from stare.errors import DataError
from stare.evals.store import RunFolder

__all__ = ["PROBLEMS_FILE", "RunProblem", "golds_hash", "load_problems"]

PROBLEMS_FILE = "problems.jsonl"


@dataclass(frozen=True, slots=True)
class RunProblem:
    """A problem and its golds, any of which is right."""

    id: str
    problem: str
    golds: tuple[str, ...]


def load_problems(
    folder: RunFolder, bench: str, data_dir: Path | None = None
) -> dict[str, RunProblem]:
    """Problems of a benchmark of a run, by id.

    Raises:
        DataError: no such benchmark is imported, or it is not the one of the run.
    """
    own = _own(folder.path / PROBLEMS_FILE, bench)
    if own:
        return own
    from stare.evals import data

    if data_dir is None and (used := folder.manifest().config.get("data_dir")):
        data_dir = Path(used)
    loaded = data.load(bench, data_dir)
    _same_data(folder, bench, loaded.fingerprint())
    return {
        one.id: RunProblem(one.id, one.problem, tuple(loaded.golds[one.id]))
        for one in loaded.problems
    }


def golds_hash(problems: dict[str, RunProblem]) -> str:
    """Hash of ids and golds: grades against other golds are made anew."""
    text = json.dumps([[one.id, *one.golds] for _, one in sorted(problems.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _own(path: Path, bench: str) -> dict[str, RunProblem]:
    if not path.is_file():
        return {}
    found = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                if row["bench"] == bench:
                    one = RunProblem(str(row["id"]), row["problem"], tuple(row["golds"]))
                    found[one.id] = one
            except (ValueError, TypeError, KeyError) as error:
                raise DataError(f"{path}:{number}: not a problem: {error}") from None
    return found


def _same_data(folder: RunFolder, bench: str, here: dict[str, object]) -> None:
    """Refuse golds other than those that the run was made for."""
    from stare.evals.run_facts import run_facts

    known = run_facts(folder).data.get(bench)
    if not known:
        return
    differ = [
        name
        for name in ("sha256", "golds_sha256", "rows")
        if name in known and known[name] != here.get(name)
    ]
    if differ:
        raise DataError(
            f"benchmark {bench!r} is not the one of this run: {', '.join(differ)} differ "
            f"({known[differ[0]]} in the run, {here.get(differ[0])} here)\n"
            "hint: import the data set that the run used, or pass its --data-dir"
        )
