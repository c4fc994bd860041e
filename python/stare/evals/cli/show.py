"""The verb `show`: problems and responses of a run, in the terminal."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stare.errors import ArgumentError

if TYPE_CHECKING:
    from stare.evals.problems import RunProblem
    from stare.evals.records import GradeRow, Key, Sample
    from stare.evals.store import RunFolder

__all__ = ["add", "run"]

_DESCRIPTION = """\
Look at a run. Without --problem: one line a problem. With it: the problem, its gold and its
samples; with --sample: one whole response. --wrong, --truncated and --disagree choose samples.
"""

_EPILOG = """\
examples:
  stare-eval show runs/stare --bench aime24
  stare-eval show runs/stare --bench aime24 --problem 12 --wrong
  stare-eval show runs/stare --bench aime24 --problem aime24-71 --sample 3
  stare-eval show runs/stare --disagree

exit codes:
  0  done
  2  bad usage, no such benchmark, problem or sample
  3  not a run folder
"""
_TAIL = 400


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "show",
        help="look at problems and responses of a run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="DIR", help="a run folder")
    parser.add_argument("--bench", help="a benchmark of it (default: the only one)")
    parser.add_argument("--problem", help="id of a problem, or its place in the list, from 1")
    parser.add_argument("--sample", type=int, help="number of a sample, from 0")
    parser.add_argument("--wrong", action="store_true", help="samples that are not correct")
    parser.add_argument("--truncated", action="store_true", help="samples that were cut off")
    parser.add_argument(
        "--disagree", action="store_true", help="samples that the run's graders disagree on"
    )
    parser.add_argument("--grader", help="whose grades (default: the first of the run)")
    parser.add_argument("--data-dir", type=Path, help="where imported benchmarks are")
    parser.add_argument("--full", action="store_true", help="whole responses, not their ends")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print; returns the exit code."""
    from stare.evals.grading import graders_of, read_grades
    from stare.evals.store import RunFolder

    folder = RunFolder(args.folder)
    graders = graders_of(folder)
    if args.grader is not None:
        graders = [args.grader, *(name for name in graders if name != args.grader)]
    if not graders:
        raise ArgumentError(f"{args.folder} is not graded\nhint: stare-eval grade {args.folder}")
    grades = {name: read_grades(folder, name) for name in graders}
    first = grades[graders[0]]
    benches = _benches(args, folder)
    wanted = _wanted(args, grades)
    if args.problem is None and args.sample is None and wanted is None:
        for bench in benches:
            _list_problems(args, bench, first)
        return 0
    for bench in benches:
        problem = _problem(args, bench, first)
        chosen = sorted(
            key
            for key in first
            if key.bench == bench
            and (problem is None or key.problem_id == problem)
            and (wanted is None or key in wanted)
            and (args.sample is None or key.sample == args.sample)
        )
        if not chosen and args.sample is not None:
            raise ArgumentError(
                f"{bench} has no sample {args.sample} of {problem or 'any problem'}"
            )
        _print_samples(args, folder, bench, set(chosen), grades)
    return 0


def _benches(args: argparse.Namespace, folder: RunFolder) -> list[str]:
    from stare.evals.run_facts import benches_of

    benches = benches_of(folder)
    if args.bench is None:
        if len(benches) > 1 and args.problem is not None:
            raise ArgumentError(f"--problem needs --bench, one of {', '.join(benches)}")
        return benches
    if args.bench not in benches:
        raise ArgumentError(
            f"the run has no benchmark {args.bench!r}\nhint: it has {', '.join(benches)}"
        )
    return [args.bench]


def _wanted(
    args: argparse.Namespace, grades: Mapping[str, Mapping[Key, GradeRow]]
) -> set[Key] | None:
    """Keys that the filters choose; None without filters."""
    from stare.evals.agreement import disagreements

    first, *others = grades
    kinds = [name for name in ("wrong", "truncated", "disagree") if getattr(args, name)]
    if not kinds:
        return None
    rows = grades[first]
    wanted = set(rows)
    if args.wrong:
        wanted &= {key for key, row in rows.items() if row.outcome != "correct"}
    if args.truncated:
        wanted &= {key for key, row in rows.items() if row.outcome == "truncated"}
    if args.disagree:
        if not others:
            raise ArgumentError(
                f"only {first} has graded this run\n"
                f"hint: stare-eval grade {args.folder} --grader {first},integer"
            )
        wanted &= {one.key for name in others for one in disagreements(rows, grades[name])}
    return wanted


def _ids(bench: str, rows: Mapping[Key, GradeRow]) -> list[str]:
    from stare.evals.grading import natural

    return sorted({key.problem_id for key in rows if key.bench == bench}, key=natural)


def _problem(args: argparse.Namespace, bench: str, rows: Mapping[Key, GradeRow]) -> str | None:
    if args.problem is None:
        return None
    ids = _ids(bench, rows)
    if args.problem in ids:
        return str(args.problem)
    if args.problem.isdecimal() and 1 <= int(args.problem) <= len(ids):
        return ids[int(args.problem) - 1]
    from stare.evals.data.registry import nearest

    close = nearest(args.problem, ids)
    hint = f"did you mean {' or '.join(close)}?" if close else f"1 to {len(ids)}, or an id"
    raise ArgumentError(f"{bench} has no problem {args.problem!r}\nhint: {hint}")


_MARKS = {
    "correct": "+",
    "incorrect": "-",
    "no_answer": "o",
    "truncated": "t",
    "undecided": "?",
    "grader_timeout": "!",
    "grader_error": "!",
}


def _list_problems(args: argparse.Namespace, bench: str, rows: Mapping[Key, GradeRow]) -> None:
    by_problem: dict[str, list[GradeRow]] = {name: [] for name in _ids(bench, rows)}
    for key in sorted(key for key in rows if key.bench == bench):
        by_problem[key.problem_id].append(rows[key])
    if not args.json:
        print(f"{bench}: + correct, - incorrect, o no answer, t cut off, ? undecided")
    width = max(map(len, by_problem), default=0)
    for at, (name, graded) in enumerate(by_problem.items(), start=1):
        right = sum(row.outcome == "correct" for row in graded)
        if args.json:
            row = {"bench": bench, "problem": name, "n": len(graded), "c": right}
            print(json.dumps(row))
            continue
        marks = "".join(_MARKS[row.outcome] for row in graded)
        print(f"{at:4} {name:{width}} {right:3}/{len(graded):<3} {marks}")


def _print_samples(
    args: argparse.Namespace,
    folder: RunFolder,
    bench: str,
    chosen: set[Key],
    grades: Mapping[str, Mapping[Key, GradeRow]],
) -> None:
    from stare.evals.run_facts import answered

    if not chosen:
        if not args.json:
            print(f"{bench}: no such samples")
        return
    problems = _problems(folder, bench, args.data_dir)
    shown: set[str] = set()
    for sample in answered(folder, bench):
        if sample.key not in chosen:
            continue
        mine = {name: rows[sample.key] for name, rows in grades.items() if sample.key in rows}
        if args.json:
            graded = {name: row.to_json() for name, row in mine.items()}
            print(json.dumps({**sample.to_json(), "grades": graded}))
            continue
        if sample.problem_id not in shown:
            shown.add(sample.problem_id)
            print(*_problem_lines(sample.problem_id, problems), sep="\n")
        print(*_sample_lines(args, sample, mine), sep="\n")


def _problems(folder: RunFolder, bench: str, data_dir: Path | None) -> Mapping[str, RunProblem]:
    from stare.errors import DataError
    from stare.evals.problems import load_problems

    try:
        return load_problems(folder, bench, data_dir)
    except DataError:  # not imported on this machine: responses can be looked at all the same
        return {}


def _problem_lines(name: str, problems: Mapping[str, RunProblem]) -> Iterator[str]:
    yield f"=== {name} ==="
    if name in problems:
        yield visible(problems[name].problem)
        yield "gold: " + visible(" or ".join(problems[name].golds))
    yield ""


def _sample_lines(
    args: argparse.Namespace, sample: Sample, grades: Mapping[str, Any]
) -> Iterator[str]:
    tokens = "" if sample.n_tokens is None else f", {sample.n_tokens} tokens"
    yield f"--- sample {sample.sample}: {sample.finish_reason}{tokens}"
    for name, row in grades.items():
        answer = "none" if row.extracted is None else visible(row.extracted)
        yield f"    {name}: {row.outcome} ({row.reason}), answer {answer}"
    text = sample.text
    if not args.full and args.sample is None and len(text) > _TAIL:
        text = (
            f"[... {len(text) - _TAIL} characters; --sample or --full shows them]" + text[-_TAIL:]
        )
    yield visible(text)
    yield ""


def visible(text: str) -> str:
    r"""Text without control characters: a response cannot drive the terminal.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return "".join(
        one if one in "\n\t" or one.isprintable() else one.encode("unicode_escape").decode("ascii")
        for one in text
    )
