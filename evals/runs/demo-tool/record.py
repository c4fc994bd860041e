"""Make metrics.csv, config.json and curve.png of two run folders: with the tool and without.

python evals/runs/demo-tool/record.py runs/tool runs/head evals/runs/demo-tool
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

KEYS = (
    "step",
    "reward/rollouts",
    "entropy/rollouts",
    "tools/calls",
    "tools/calling_frac",
    "tools/error_frac",
    "tools/observation_tokens",
    "length/mean",
    "groups/kept",
    "time/rollout",
    "time/tools",
    "time/step",
    "eval/pass@1",
    "eval/pass@1_se",
    "eval/greedy",
)


def rows(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run folder."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def curve(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Reward and held-out accuracy of both runs; how often the tool is called."""
    matplotlib.use("agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for (name, table), colour in zip(runs.items(), ("C0", "C1"), strict=True):
        trained = [r for r in table if r["step"]]
        steps = [r["step"] for r in trained]
        left.plot(
            steps, [r["reward/rollouts"] for r in trained], colour, lw=0.9, alpha=0.5, label=name
        )
        scored = [r for r in table if r.get("eval/pass@1") is not None]
        left.errorbar(
            [r["step"] for r in scored],
            [r["eval/pass@1"] for r in scored],
            [1.96 * r["eval/pass@1_se"] for r in scored],
            fmt=f"{colour}o",
            ms=3,
            capsize=2,
        )
        if name == "with the tool":
            right.plot(
                steps, [r["tools/calling_frac"] for r in trained], "C0", label="responses that call"
            )
            right.plot(
                steps, [r["tools/error_frac"] for r in trained], "C3", label="calls that fail"
            )
    left.set(xlabel="step", ylabel="reward (line), held-out pass@1 (points)", ylim=(0, 1.02))
    right.set(xlabel="step", ylabel="share", ylim=(0, 1.02))
    left.legend(loc="center right")
    right.legend(loc="center right")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Read two folders, write three files."""
    tool, head, out = map(Path, sys.argv[1:4])
    runs = {"with the tool": rows(tool), "tools.enabled=false": rows(head)}
    with (out / "metrics.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("run", *KEYS))
        for name, table in runs.items():
            for row in table:
                cells = [row.get(key) for key in KEYS]
                writer.writerow((name, *(f"{c:.5g}" if isinstance(c, float) else c for c in cells)))
    config = json.loads((tool / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    curve(runs, out / "curve.png")


if __name__ == "__main__":
    main()
