"""Make a run folder of another harness's recorded samples, and reproduce its number first.

The folder holds its own problems, so that grading, reports and `show` work on it as on any run.
Nothing is sampled: a converted folder has no seeds, and no run can go on in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from stare.errors import DataError, RunError
from stare.evals.data.local import check_name
from stare.evals.data.readers import data_files, read_rows
from stare.evals.files import write_json, write_text
from stare.evals.manifest import BenchEntry, Manifest
from stare.evals.problems import PROBLEMS_FILE
from stare.evals.recorded import Recorded, read_recorded
from stare.evals.records import FinishReason, Sample, text_hash
from stare.evals.store import PromptRow, RunFolder

__all__ = ["CONVERTED_FILE", "Converted", "convert"]

CONVERTED_FILE = "converted.json"
_FINISHES = {
    "stop": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "abort": "abort",
}
_SAME = 5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What was read, and the harness's own number from its own verdicts."""

    form: str
    bench: str
    files: list[str]
    problems: int
    samples: int
    metric: str
    """Its verdict column; empty if there is none."""
    theirs: float | None
    """Mean over problems of its verdicts; None if some are missing."""
    published: float | None
    """The number it published: given, or found beside the samples."""
    finish_known: bool

    @property
    def reproduced(self) -> bool | None:
        """Whether its verdicts give its published number; None if one of them is not known."""
        if self.theirs is None or self.published is None:
            return None
        return abs(self.theirs - self.published) < _SAME


def convert(
    source: Path,
    out: Path,
    *,
    form: str,
    bench: str,
    metric: str | None = None,
    published: float | None = None,
    model: str = "",
) -> Converted:
    """Read samples and write them as a run folder.

    Args:
        source: a file, or a folder of files that are read as one.
        out: the run folder; it must not hold a run.
        form: name of one of `recorded.FORMATS`.
        bench: what to call the benchmark; the settings of a known one (a tolerance) then apply.
        metric: the harness's verdict column.
        published: its published number, a fraction; for lm-eval it is found in `results_*.json`.
        model: what to call the model.

    Raises:
        ArgumentError: no such format or column, or a name that no benchmark can have.
        DataError: the files are not of that format.
        RunError: there is a run in `out`.
    """
    check_name(bench)
    folder = RunFolder(out)
    if folder.exists:
        raise RunError(f"{out} holds a run already\nhint: another folder")
    files = [one for one in data_files(source) if not one.name.startswith("results_")]
    rows = [row for file in files for row in read_rows(file)]
    problems, column = read_recorded(rows, form, metric)
    scores = [one.score for one in problems]
    known = [one for one in scores if one is not None]
    if published is None and form == "lm-eval":
        published = _lm_eval_number(files[0], column)
    finishes = [one.finish_reason for problem in problems for one in problem.responses]
    converted = Converted(
        form=form,
        bench=bench,
        files=[file.name for file in files],
        problems=len(problems),
        samples=len(finishes),
        metric=column,
        theirs=sum(known) / len(known) if len(known) == len(scores) else None,
        published=published,
        finish_known=None not in finishes,
    )
    _write(folder, bench, problems, converted, model)
    return converted


def _write(
    folder: RunFolder, bench: str, problems: Sequence[Recorded], converted: Converted, model: str
) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"bench": bench, "id": p.id, "problem": p.problem, "golds": list(p.golds)})
        for p in problems
    ]
    write_text(folder.path / PROBLEMS_FILE, "\n".join(lines) + "\n")
    prompts = [
        PromptRow(
            prompt_sha=text_hash(one.problem), text=one.problem, bench=bench, problem_id=one.id
        )
        for one in problems
    ]
    samples = folder.path / "samples" / f"{bench}.{converted.form}.jsonl"
    samples.unlink(missing_ok=True)  # of a conversion that was killed
    with folder.writer(bench, converted.form) as writer:
        for one, prompt in zip(problems, prompts, strict=True):
            for number in range(len(one.responses)):
                writer.write(_sample(bench, one, number, prompt.prompt_sha))
    write_json(folder.path / CONVERTED_FILE, asdict(converted))
    (folder.path / "prompts.jsonl").unlink(missing_ok=True)
    folder.add_prompts(prompts)
    # The manifest last: a folder without it is no run, and may be converted into again.
    folder.write_manifest(_manifest(bench, problems, converted, model))


def _sample(bench: str, one: Recorded, number: int, prompt_sha: str) -> Sample:
    response = one.responses[number]
    name = response.finish_reason or "stop"
    if name not in _FINISHES:
        raise DataError(
            f"problem {one.id!r}, response {number}: finish reason {name!r} is none of "
            f"{', '.join(_FINISHES)}"
        )
    return Sample(
        bench=bench,
        problem_id=one.id,
        sample=number,
        seed=None,
        prompt_sha=prompt_sha,
        text=response.text,
        finish_reason=cast(FinishReason, _FINISHES[name]),
        n_tokens=response.n_tokens,
    )


def _manifest(
    bench: str, problems: Sequence[Recorded], converted: Converted, model: str
) -> Manifest:
    most = max(len(one.responses) for one in problems)
    return Manifest(
        kind="converted",
        backend=converted.form,
        model={"name": model or f"converted from {converted.form}"},
        determines={
            "source": converted.form,
            "finish_reason": "recorded" if converted.finish_known else "not recorded",
        },
        benchmarks={
            bench: BenchEntry(
                n=most, problems=len(problems), data={"identity": "custom", "rows": len(problems)}
            )
        },
    )


def _lm_eval_number(samples: Path, column: str) -> float | None:
    """`exact_match,none` of the task in a `results_*.json` beside the samples."""
    task = samples.name.removeprefix("samples_").rsplit("_", 1)[0]
    for path in sorted(samples.parent.glob("results_*.json"), reverse=True):
        try:
            found: Any = json.loads(path.read_bytes())["results"][task]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for name, value in found.items():
            if name.split(",")[0] == column and isinstance(value, (int, float)):
                return float(value)
    return None
