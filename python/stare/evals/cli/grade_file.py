"""The verb `grade FILE.jsonl`: grade recorded completions against gold answers."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from stare.errors import DataError, StareError
from stare.types import Verdict
from stare.verify import Grade, grade_batch

__all__ = ["add", "add_arguments", "run"]

_CHUNK = 512
_PROGRESS_AFTER_S = 2.0

_EXIT_CODES = """\
exit codes:
  0  done (also when answers are wrong or undecided)
  1  the input cannot be read or has a bad row; nothing was printed to stdout
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
"undecided" means that neither could be proved, and is not a wrong answer.
"""

_GRADE_EXAMPLE = """\
example:
  stare-eval grade samples.jsonl > verdicts.jsonl
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    summary = "grade completions against gold answers"
    grade = commands.add_parser(
        "grade",
        help=summary,
        description=summary[0].upper() + summary[1:] + ".\n" + _GRADE_HELP,
        epilog=_GRADE_EXAMPLE + "\n" + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(grade)
    grade.set_defaults(run=run)


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


def _grade(args: argparse.Namespace) -> int:
    # Read everything before printing anything: a bad row leaves no half output behind.
    if args.file == "-":
        rows = _read(sys.stdin.buffer.read(), "stdin")
    else:
        with open(args.file, "rb") as file:
            rows = _read(file.read(), args.file)
    start = time.perf_counter()
    counts: Counter[Verdict] = Counter()
    try:
        for row, graded in _graded(rows, args.threads, start):
            counts[graded.verdict] += 1
            _print_row(row, graded, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Python flushes stdout once more at exit: let it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(_summary(counts, time.perf_counter() - start), file=sys.stderr)
    return 0


def _read(data: bytes, name: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            rows.append(_row(line, f"{name}:{number}") | {"line": number})
    if not rows:
        raise DataError(f"{name} has no rows\nhint: one JSON object a line: completion, gold")
    return rows


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(
            f"{where}: not a JSON object: {error}\nhint: a line cut short is a file still written"
        ) from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: must be a JSON object, got {type(row).__name__}")
    for field in ("completion", "gold"):
        if field not in row:
            have = ", ".join(map(repr, row)) or "nothing"
            raise DataError(f"{where}: field {field!r} is missing, the row has {have}")
    gold = row["gold"]
    several = gold if isinstance(gold, list) and gold else [gold]
    if not isinstance(row["completion"], str):
        kind = type(row["completion"]).__name__
        raise DataError(f"{where}: 'completion' must be a string, got {kind}")
    if not all(isinstance(one, str) for one in several):
        raise DataError(
            f"{where}: 'gold' must be a string or a list of at least one, got {json.dumps(gold)}"
        )
    return row


def _graded(
    rows: list[dict[str, Any]], threads: int, start: float
) -> Iterator[tuple[dict[str, Any], Grade]]:
    """Grade chunk by chunk; a bar on stderr (terminals only) once it takes longer than 2 s."""
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
    task = bar.add_task("grading", total=len(rows))
    shown = False
    try:
        for at in range(0, len(rows), _CHUNK):
            chunk = rows[at : at + _CHUNK]
            grades = grade_batch(
                [row["completion"] for row in chunk],
                [row["gold"] for row in chunk],
                threads=threads,
            )
            yield from zip(chunk, grades, strict=True)
            bar.advance(task, len(chunk))
            if not shown and time.perf_counter() - start > _PROGRESS_AFTER_S:
                bar.start()
                shown = True
    finally:
        bar.stop()


def _print_row(row: dict[str, Any], graded: Grade, out: TextIO) -> None:
    record = {"line": row["line"]}
    if "id" in row:
        record["id"] = row["id"]
    record |= {
        "verdict": str(graded.verdict),
        "extracted": graded.extracted,
        "by": graded.by,
        "reason": graded.reason,
    }
    print(json.dumps(record), file=out)


def _summary(counts: Counter[Verdict], seconds: float) -> str:
    total = sum(counts.values())
    correct = counts[Verdict.CORRECT]
    text = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    share = f"{correct / total:.1%} proved correct"
    return f"{total} rows in {seconds:.2f} s: {text}; {share}"
