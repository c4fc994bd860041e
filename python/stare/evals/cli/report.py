"""The verb `report`: tables and pages of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stare.errors import ArgumentError

__all__ = ["add", "run"]

_DESCRIPTION = """\
Report runs: scores with two standard errors, pass@k, maj@k, what was cut off or not answered.

What is not graded yet is graded first. The table goes to stdout, files into the run folder:

  json  results.json   every figure; always written
  md    report.md      the tables
  csv   results.csv    one row a benchmark, metric and k
  html  report.html    one file that needs no network: charts, every problem, every response
"""

_EPILOG = """\
examples:
  stare-eval report runs/stare
  stare-eval report runs/stare --format html,md --texts wrong
  stare-eval report runs/* --json --max-truncated 0.05

exit codes:
  0  done
  1  a gate failed: --max-truncated, --min-coverage
  2  bad usage, no samples
  3  not a run folder, or the benchmark is not imported
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "report",
        help="tables and pages of graded runs",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", help="run folders")
    parser.add_argument(
        "--format", default="json", metavar="F1,F2", help="files to write: json, md, csv, html"
    )
    parser.add_argument(
        "--grader",
        metavar="G1,G2",
        help="the first makes the scores, the others are held against it "
        "(default: all that the run was graded by, else stare)",
    )
    parser.add_argument(
        "--texts",
        choices=["all", "wrong", "none"],
        default="all",
        help="responses in the HTML page (default all)",
    )
    parser.add_argument(
        "--texts-mb",
        type=float,
        default=32.0,
        metavar="MB",
        help="size of the HTML page beyond which responses are left out, correct ones first "
        "(default 32)",
    )
    parser.add_argument("--data-dir", type=Path, help="where imported benchmarks are")
    parser.add_argument("--threads", type=int, default=0, help="threads (default: all cores)")
    parser.add_argument(
        "--max-truncated", type=float, metavar="X", help="exit with 1 above this share cut off"
    )
    parser.add_argument(
        "--min-coverage", type=float, metavar="X", help="exit with 1 below this share of samples"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Report; returns the exit code."""
    from stare.evals.cli._progress import progress
    from stare.evals.report.write import FORMATS, write_reports
    from stare.evals.results import up_to_date
    from stare.evals.store import RunFolder

    formats = ["json", *(one.strip() for one in args.format.split(",") if one.strip())]
    unknown = [one for one in formats if one not in FORMATS]
    if unknown:
        raise ArgumentError(f"no format is named {unknown[0]!r}\nhint: one of {', '.join(FORMATS)}")
    graders = [one for one in (args.grader or "").split(",") if one]
    found: dict[str, Mapping[str, Any]] = {}
    for path in args.folders:
        folder = RunFolder(path)
        with progress("grading") as tick:
            results = up_to_date(
                folder, graders, data_dir=args.data_dir, threads=args.threads, tick=tick
            )
        written = write_reports(
            folder,
            results,
            formats,
            texts=args.texts,
            texts_mb=args.texts_mb,
            data_dir=args.data_dir,
        )
        print("wrote " + ", ".join(map(str, written)), file=sys.stderr)
        found[path] = results
    _print(args, found)
    failed = [line for path, one in found.items() for line in gates(args, path, one)]
    for line in failed:
        print(f"stare-eval: gate failed: {line}", file=sys.stderr)
    return 1 if failed else 0


def _print(args: argparse.Namespace, found: Mapping[str, Mapping[str, Any]]) -> None:
    if args.json:
        from stare.evals.results import dump

        one = next(iter(found.values()))
        print(dump(one if len(found) == 1 else {"runs": dict(found)}), end="")
        return
    from stare.evals.report.terminal import print_report, stdout_console

    console = stdout_console()
    for at, (path, results) in enumerate(found.items()):
        if at:
            console.print()
        print_report(results, console, title=path)


def gates(args: argparse.Namespace, path: str, results: Mapping[str, Any]) -> list[str]:
    """What does not hold of the limits that were asked for."""
    failed = []
    for bench, one in results["benchmarks"].items():
        cut, coverage = one["rates"]["truncated"], one["coverage"]
        if args.max_truncated is not None and cut > args.max_truncated:
            failed.append(
                f"{path}: {bench}: {cut:.4f} cut off, --max-truncated is {args.max_truncated:g}"
            )
        if args.min_coverage is not None and coverage < args.min_coverage:
            failed.append(
                f"{path}: {bench}: coverage {coverage:.4f}, --min-coverage is {args.min_coverage:g}"
            )
    return failed
