"""Whether a run that is killed again and again is the run that was not: `kill -9`, then `--resume`.

    python bench/kill_resume.py                       # 2,000 steps of the demo's policy, two kills
    python bench/kill_resume.py -o evals/runs/kill-resume --kills 2 --seed 7

Two runs of the same preset and seed. One is left alone; the other gets SIGKILL at random moments
and is started again with `--resume`. Every number of `metrics.jsonl` must be the same to the last
bit; only clocks, speed and memory are left out. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stare.train.metrics import read_metrics

CLOCKS = ("time/", "speed/", "memory/")
PLOTTED = ("entropy/rollouts", "groups/mixed_frac", "eval/pass@1", "eval/pass@32")


def start(folder: Path, options: list[str]) -> subprocess.Popen[bytes]:
    """Start or continue a run."""
    command = [sys.executable, "-m", "stare.train.cli", "run", *options, f"run.out={folder}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "--resume"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def last_step(folder: Path) -> int:
    """Newest step that is logged."""
    path = folder / "metrics.jsonl"
    rows = read_metrics(path).rows if path.exists() else []
    return rows[-1]["step"] if rows else 0


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for a run that must end well."""
    _, errors = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"the run failed:\n{errors.decode()}")


def killed_run(folder: Path, options: list[str], steps: int, kills: int, seed: int) -> list[int]:
    """A run that is killed at random steps; returns the steps that were logged when it died."""
    rng = random.Random(seed)
    targets = sorted(rng.sample(range(steps // 10, steps), kills))
    died = []
    for target in targets:
        process = start(folder, options)
        while last_step(folder) < target and process.poll() is None:
            time.sleep(0.05)
        time.sleep(rng.random() * 0.2)  # anywhere in a step, the checkpoint's writing included
        process.send_signal(signal.SIGKILL)
        process.communicate()
        died.append(last_step(folder))
    finish(start(folder, options))
    return died


def differences(one: Path, two: Path) -> tuple[int, int, list[str]]:
    """(steps, numbers compared, what differs) of two runs, bit for bit."""
    rows_one, rows_two = (read_metrics(folder / "metrics.jsonl").rows for folder in (one, two))
    found: list[str] = []
    numbers = 0
    if [r["step"] for r in rows_one] != [r["step"] for r in rows_two]:
        found.append("the steps")
    for a, b in zip(rows_one, rows_two, strict=False):
        for key in a.keys() | b.keys():
            if key.startswith(CLOCKS):
                continue
            numbers += 1
            # repr: NaN equals NaN, and -0.0 is not 0.0
            if repr(a.get(key)) != repr(b.get(key)):
                found.append(f"step {a['step']}, {key}: {a.get(key)!r} and {b.get(key)!r}")
    return len(rows_one), numbers, found


def plot(one: Path, two: Path, died: list[int], path: Path) -> None:
    """Both curves on top of each other, with the kills."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PLOTTED), figsize=(14, 3.2), layout="constrained")
    for axis, key in zip(axes, PLOTTED, strict=True):
        for folder, style, label in ((one, "-", "left alone"), (two, ":", "killed and resumed")):
            steps, values = read_metrics(folder / "metrics.jsonl").series(key)
            every = max(1, len(steps) // 80)  # more points would be one block of ink
            axis.plot(
                steps[::every], values[::every], style, lw=1 if style == "-" else 3, label=label
            )
        for step in died:
            axis.axvline(step, color="0.6", lw=0.8)
        axis.set_title(key, fontsize=9)
        axis.set_xlabel("step")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> int:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7, help="of the moments of the kills")
    parser.add_argument("-o", "--out", type=Path, help="folder for summary.json and a figure")
    args = parser.parse_args()
    options = ["demo-mod5", f"run.steps={args.steps}"]
    with tempfile.TemporaryDirectory() as scratch:
        one, two = Path(scratch) / "alone", Path(scratch) / "killed"
        finish(start(one, options))
        died = killed_run(two, options, args.steps, args.kills, args.seed)
        steps, numbers, found = differences(one, two)
        history = read_metrics(two / "metrics.jsonl")
        summary: dict[str, Any] = {
            "options": options,
            "killed_after_step": died,
            "steps": steps,
            "numbers_compared": numbers,
            "different": len(found),
            "rows_written_again": history.replaced,
            "torn_lines": history.torn,
        }
        print(json.dumps(summary, indent=2))
        for line in found[:10]:
            print(line, file=sys.stderr)
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            (args.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
            plot(one, two, died, args.out / "curves.png")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
