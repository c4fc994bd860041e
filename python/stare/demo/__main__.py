"""`python -m stare.demo`: watch entropy collapse under GRPO-ds and hold under STARE, on a CPU."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from stare.demo.arms import FULL, QUICK, Plan
from stare.demo.evaluation import evaluate_policies
from stare.demo.runner import run_all
from stare.demo.summary import by_task, markdown_table, rich_table, summarise, words
from stare.errors import StareError
from stare.train.report import build_png, build_report

__all__ = ["main"]

PIPE_WIDTH = 160

DESCRIPTION = """\
Train a 115,712-parameter policy on a three-number arithmetic task twice, side by side: plain
GRPO-ds, and the same with STARE. Ends with a table, report.html and curves.png, and says what to
see; then both policies, and the one they started from, go through stare-eval on the held-out
problems (eval-TASK/POLICY/report.html). Finished runs are reused and interrupted ones continued,
so the command can be killed and run again.

exit codes: 0 done; 1 a run failed; 2 bad arguments; 130 interrupted.
"""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m stare.demo",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--full", action="store_true", help="all arms, tasks and 3 seeds (about an hour on 2 cores)"
    )
    parser.add_argument("--out", type=Path, help="folder (default: runs/demo or runs/demo-full)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="runs at a time (default: cores)"
    )
    parser.add_argument("--steps", type=int, help="fewer or more steps than the plan, every task")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--fresh", action="store_true", help="delete earlier runs and start over")
    args = parser.parse_args(argv)
    for name in ("workers", "steps", "seeds"):
        value = getattr(args, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be >= 1, got {value}")
    return args


def _plan(args: argparse.Namespace) -> Plan:
    plan = FULL if args.full else QUICK
    if args.steps:
        plan = replace(plan, tasks=dict.fromkeys(plan.tasks, args.steps))
    if args.seeds:
        plan = replace(plan, seeds=tuple(range(args.seeds)))
    return plan


def _demo(args: argparse.Namespace) -> None:
    out = args.out or Path("runs") / ("demo-full" if args.full else "demo")
    out.mkdir(parents=True, exist_ok=True)
    runs = _plan(args).runs()
    words_console, data_console = Console(stderr=True), Console()
    if not data_console.is_terminal:
        data_console.width = PIPE_WIDTH  # nobody's screen: keep lines whole
    began = time.monotonic()
    folders = run_all(runs, out, workers=args.workers, fresh=args.fresh, console=words_console)
    tasks = by_task(summarise(runs, folders))
    text = []
    for rows in tasks:
        suffix = "" if len(tasks) == 1 else f"-{rows[0].task}"
        members = [folders[r.name] for r in runs if r.preset == f"demo-{rows[0].task}"]
        build_report(members, out / f"report{suffix}.html")
        build_png(members, out / f"curves{suffix}.png")
        data_console.print(rich_table(rows))
        said = words(rows)
        if said:
            data_console.print(said, highlight=False)
        text.append(markdown_table(rows) + (f"\n{said}\n" if said else ""))
    (out / "table.md").write_text("\n".join(text), encoding="utf-8")
    scored = evaluate_policies(runs, folders, out, words=words_console)
    minutes = (time.monotonic() - began) / 60
    pages = ", ".join(str(page) for page in sorted(out.glob("report*.html")))
    words_console.print(f"{minutes:.1f} minutes. Curves of every run: {pages}")
    words_console.print("Scores and every response: " + ", ".join(map(str, scored)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration; returns the exit code."""
    args = _arguments(argv)
    try:
        _demo(args)
    except StareError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
