"""`python -m stare.demo.export RUNS OUT`: what is worth keeping of many runs, small enough for git.

OUT gets `metrics.csv.gz` (one row a run and step, four significant digits), `evals.json` (the
counts behind every final score) and `configs.json` (the resolved configuration of each run).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stare.errors import RunError, StareError
from stare.train.metrics import read_metrics
from stare.train.runfolder import read_config, write_json

__all__ = ["COLUMNS", "export", "main"]

COLUMNS = (
    "step",
    "entropy/batch",
    "entropy/rollouts",
    "entropy/target",
    "stare/w",
    "stare/m",
    "stare/w_star",
    "stare/sel_in",
    "groups/kept",
    "groups/generated",
    "reward/rollouts",
    "length/mean",
    "optim/grad_norm",
    "eval/pass@1",
    "eval/pass@8",
    "eval/pass@32",
    "eval/greedy",
    "eval/entropy",
)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def export(runs: Path, out: Path) -> list[str]:
    """Write the three files; returns the names of the runs.

    Raises:
        RunError: there is no run in `runs`.
    """
    folders = sorted(p.parent for p in runs.glob("*/config.json"))
    if not folders:
        raise RunError(f"{runs} holds no run folders\nhint: the folder given to --out of the demo")
    out.mkdir(parents=True, exist_ok=True)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["run", *COLUMNS])
    for folder in folders:
        for row in read_metrics(folder / "metrics.jsonl").rows:
            writer.writerow([folder.name, *(_cell(row.get(key)) for key in COLUMNS)])
    temporary = out / "metrics.csv.gz.tmp"
    # A fixed time stamp: the same runs give the same bytes.
    with temporary.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(table.getvalue().encode())
    temporary.replace(out / "metrics.csv.gz")
    with_evals = [f for f in folders if (f / "eval.json").exists()]
    evals = {f.name: json.loads((f / "eval.json").read_text(encoding="utf-8")) for f in with_evals}
    (out / "evals.json").write_text(json.dumps(evals, separators=(",", ":")) + "\n", "utf-8")
    configs = {f.name: read_config(f) for f in folders}
    for config in configs.values():
        config["run"]["out"] = None  # where it ran, and where its data lay, is nobody's business
        data = config.get("data", {})
        for key in ("path", "eval_path"):
            if data.get(key):
                data[key] = Path(data[key]).name
    write_json(out / "configs.json", configs)
    return [f.name for f in folders]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m stare.demo.export", description=__doc__)
    parser.add_argument("runs", type=Path, help="folder with run folders")
    parser.add_argument("out", type=Path, help="folder to write")
    args = parser.parse_args(argv)
    try:
        names = export(args.runs, args.out)
    except StareError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(names)} runs exported to {args.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
