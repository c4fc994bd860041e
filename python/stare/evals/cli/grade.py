"""The verb `grade`: grade the samples of a run folder, or the rows of a JSONL file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stare.errors import ArgumentError

if TYPE_CHECKING:
    from stare.evals.grading import GradeSummary
    from stare.evals.store import RunFolder

__all__ = ["add", "run"]

_DESCRIPTION = r"""
Grade samples that are there already; no model is needed.

Of a run folder, grades/GRADER.jsonl is brought up to date: grades are kept while the text, the
golds and the grader stay what they were. Samples may be graded by several graders; what they
disagree on is listed.

  correct         proved equal to a gold
  incorrect       proved different
  no_answer       no answer is declared, or the thinking never ends
  truncated       the token limit cut it off before it declared an answer
  undecided       neither could be proved; not correct, and counted apart
  grader_timeout, grader_error   the grader's own failures

Of a file, every row is graded and written to stdout:

  {"completion": "6 * 7 is \\boxed{42}", "gold": "42"}
  {"id": "b", "completion": "#### 0.5", "gold": ["1/2", "2/4"]}
"""

_EPILOG = """\
examples:
  stare-eval grade runs/stare
  stare-eval grade runs/stare --grader stare,math-verify
  stare-eval grade samples.jsonl -o verdicts.jsonl

exit codes:
  0  done (also when answers are wrong or undecided)
  1  a file cannot be read or has a bad row; nothing was printed to stdout
  2  bad usage, no such grader, no samples
  3  the benchmark is not imported, or not the one of the run
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    from stare.evals.cli.grade_file import add_arguments

    parser = commands.add_parser(
        "grade",
        help="grade samples: a run folder, or a JSONL file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    of_run = parser.add_argument_group("of a run folder")
    of_run.add_argument(
        "--grader",
        metavar="G1,G2",
        help="stare (default), stare-reward, stare+math-verify, math-verify, integer, or "
        "package.module:function, a grader of your own (docs/eval-report.md)",
    )
    of_run.add_argument("--data-dir", type=Path, help="where imported benchmarks are")
    of_run.add_argument(
        "--list", type=int, default=20, metavar="N", help="disagreements to list (default 20)"
    )
    of_run.add_argument("--json", action="store_true", help="counts as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Grade; returns the exit code."""
    if not Path(args.file).is_dir():
        for name in ("grader", "data_dir", "json"):
            if getattr(args, name):
                raise ArgumentError(
                    f"--{name.replace('_', '-')} is for run folders, {args.file} is none"
                )
        from stare.evals.cli import grade_file

        return grade_file.run(args)
    return _grade_run(args)


def _grade_run(args: argparse.Namespace) -> int:
    from stare.evals.agreement import agreement
    from stare.evals.cli._progress import progress
    from stare.evals.graders import DEFAULT_GRADER
    from stare.evals.grading import grade_run, read_grades
    from stare.evals.store import RunFolder

    folder = RunFolder(args.file)
    names = list(dict.fromkeys((args.grader or DEFAULT_GRADER).split(",")))
    done = []
    for name in names:
        with progress(f"grading ({name})") as tick:
            done.append(
                grade_run(folder, name, data_dir=args.data_dir, threads=args.threads, tick=tick)
            )
    grades = {name: read_grades(folder, name) for name in names}
    found = {name: agreement(grades[names[0]], grades[name]) for name in names[1:]}
    if args.json:
        content = {"graders": {one.grader: _counts(one) for one in done}, "agreement": found}
        print(json.dumps(content, indent=1, sort_keys=True))
        return 0
    _print_counts(done)
    for name in names[1:]:
        _print_disagreements(folder, names[0], name, args.list)
    kept = ", ".join(f"{one.grader}: {one.graded} graded, {one.reused} kept" for one in done)
    print(kept, file=sys.stderr)
    return 0


def _counts(one: GradeSummary) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (bench, outcome), count in sorted(one.outcomes.items()):
        found.setdefault(bench, {})[outcome] = count
    return found


def _print_counts(done: list[GradeSummary]) -> None:
    from stare.evals.cli._show import show_table
    from stare.evals.stats.tables import Table
    from stare.evals.tally import OUTCOMES

    rows = [
        (
            f"{bench}, {one.grader}",
            str(sum(counts.values())),
            *(str(counts.get(outcome, 0)) for outcome in OUTCOMES),
        )
        for one in done
        for bench, counts in _counts(one).items()
    ]
    words = tuple(outcome.replace("_", " ") for outcome in OUTCOMES)
    show_table(Table(("benchmark", "samples", *words), tuple(rows)))


def _print_disagreements(folder: RunFolder, a: str, b: str, most: int) -> None:
    from stare.evals.agreement import disagreements
    from stare.evals.grading import read_grades

    found = list(disagreements(read_grades(folder, a), read_grades(folder, b)))
    print(f"{a} and {b} disagree on {len(found)} samples")
    for one in found[:most]:
        answer = _short(one.a.extracted or one.b.extracted)
        print(
            f"  {one.key.bench} {one.key.problem_id} sample {one.key.sample}: "
            f"{a} {one.a.outcome} ({one.a.reason}), {b} {one.b.outcome} ({one.b.reason}): {answer}"
        )
    if len(found) > most:
        print(f"  and {len(found) - most} more: stare-eval show {folder.path} --disagree")


def _short(text: Any) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 60 else line[:57] + "..."
