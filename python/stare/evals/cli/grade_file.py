"""The verb `grade FILE.jsonl`: grade recorded completions against gold answers."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, BinaryIO, get_args

from stare.errors import StareError
from stare.evals.grade import check_rows, grade_rows, read_rows, write_whole
from stare.verify import Profile, Tolerance

__all__ = ["add_arguments", "run"]

_PROGRESS_AFTER_S = 2.0

_EXIT_CODES = """\
exit codes:
  0  done (also when answers are wrong or undecided)
  1  the input cannot be read or has a bad row; nothing was written, unless it came from a pipe
  2  bad usage
"""

_GRADE_HELP = r"""
Reads one JSON object a line:

  {"completion": "6 * 7 is \\boxed{42}", "gold": "42"}
  {"id": "b", "completion": "#### 0.5", "gold": ["1/2", "2/4"]}

completion  the text of a response
gold        the right answer, or a list of answers of which any is right
id          optional, copied to the output

Writes one JSON object a row, in order, to stdout:

  {"line": 1, "verdict": "correct", "extracted": "42", "by": "rust", "reason": "identical"}

and a summary to stderr. "incorrect" means proved wrong, or that no answer was declared;
"undecided" means that neither could be proved, and is not a wrong answer. What the core leaves
undecided is put to math-verify, if that is installed, in processes that are killed when they
overrun; "by" names the engine that decided.
"""

_GRADE_EXAMPLE = """\
example:
  stare-eval grade samples.jsonl -o verdicts.jsonl
"""


def add_arguments(grade: argparse.ArgumentParser) -> None:
    """Add the arguments of grading a file."""
    grade.add_argument("file", metavar="FILE.jsonl", help="the rows; - reads them from stdin")
    grade.add_argument(
        "--threads",
        type=_count,
        default=0,
        metavar="N",
        help="threads (default 0: STARE_NUM_THREADS, or all cores)",
    )
    grade.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write here instead of to stdout; the file appears when it is whole",
    )
    grade.add_argument(
        "--profile",
        choices=get_args(Profile),
        default="eval",
        help="what counts as declaring an answer: reward (a box or an announcement), "
        "eval (also the last formula or number; the default), math_verify (as math-verify does)",
    )
    grade.add_argument(
        "--tolerance",
        type=_tolerance,
        metavar="T",
        help="what else is right: gold-digits (what rounds to the digits of a decimal gold), or a "
        "relative distance such as 1e-3, WHICH HOLDS FOR EVERY NUMBER, whole ones too",
    )
    grade.add_argument(
        "--fallback",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether math-verify is asked about what the core leaves undecided",
    )


def run(args: argparse.Namespace) -> int:
    """Grade the file; returns the exit code."""
    try:
        return _grade(args)
    except (StareError, OSError) as error:
        print(f"stare-eval: {error}", file=sys.stderr)
        return 1


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer >= 0, got {text!r}")
    return int(text)


def _tolerance(text: str) -> Tolerance:
    if text == "gold-digits":
        return "gold-digits"
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number or gold-digits, got {text!r}") from None


def _grade(args: argparse.Namespace) -> int:
    options = {
        "threads": args.threads,
        "profile": args.profile,
        "tolerance": args.tolerance,
        "fallback": args.fallback,
    }
    if args.file == "-":
        return _grade_rows(sys.stdin.buffer, "stdin", None, args.output, options)
    with open(args.file, "rb") as file:
        # Read twice: a bad row leaves no half output behind, and the bar knows how much is left.
        total = None
        if file.seekable():
            total = check_rows(file, args.file)
            file.seek(0)
        return _grade_rows(file, args.file, total, args.output, options)


def _grade_rows(
    file: BinaryIO, name: str, total: int | None, output: str | None, options: dict[str, Any]
) -> int:
    rows = read_rows(file, name)
    try:
        with write_whole(output) if output else nullcontext(sys.stdout) as out, _bar(total) as tick:
            summary = grade_rows(rows, out, tick, **options)
            out.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Python flushes stdout once more at exit: let it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(*summary.lines(), sep="\n", file=sys.stderr)
    return 0


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr (terminals only) once it takes longer than 2 s; yields how to move it."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        *Progress.get_default_columns()[:-1],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("grading", total=total)
    start, shown = time.perf_counter(), False

    def tick(rows: int) -> None:
        nonlocal shown
        bar.advance(task, rows)
        if not shown and time.perf_counter() - start > _PROGRESS_AFTER_S:
            bar.start()
            shown = True

    try:
        yield tick
    finally:
        bar.stop()
