"""Keep of a run of stare-eval what holds no text of a benchmark: `python export.py RUN OUT`.

Writes `samples.csv` (one row a sample: seed, tokens, what ended it, outcome and reason, no text),
and copies `results.json` and `report.md`.
"""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

from stare.evals.grading import read_grades
from stare.evals.run_facts import benches_of
from stare.evals.store import RunFolder

COLUMNS = ("bench", "problem_id", "sample", "seed", "n_prompt_tokens", "n_tokens", "finish_reason")
JUDGED = ("outcome", "reason")


def main(run: str, out: str) -> None:
    """Write the files."""
    folder, target = RunFolder(run), Path(out)
    grades = read_grades(folder, "stare")
    with (target / "samples.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, *JUDGED])
        for bench in benches_of(folder):
            for sample in folder.samples(bench):
                row = [getattr(sample, name) for name in COLUMNS]
                writer.writerow(row + [getattr(grades[sample.key], name) for name in JUDGED])
    for name in ("results.json", "report.md"):
        shutil.copy(folder.path / name, target / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
