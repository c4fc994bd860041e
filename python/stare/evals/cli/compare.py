"""The verb `compare`: two runs, or a run and a published figure."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stare.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from stare.evals.stats.counts import BenchCounts

__all__ = ["add", "run"]

_DESCRIPTION = """\
Compare run B with run A, paired by problem.

A and B are run folders, or their results.json. Differences are B - A. Two questions are answered:

  on these very problems    would sampling both models again give the same sign?
                            stratified z; for n < 4 the exact permutation within problems,
                            which for n = 1 is McNemar's test; interval of re-sampling
  for problems like these   would other problems of this kind?
                            sign-flip permutation of the problems' differences; interval
                            by Student's t over problems

"Holm" has both p-values adjusted for the number of benchmarks. "Detectable" is the true difference
that is found in 80 % of such comparisons, for both questions.

With --baseline, RUN is held against a run, or against a figure from the paper's table. A published
figure has no problems and no error of its own, so there is no test: "re-run band" is how far a
faithful re-run may be off, if as many samples were drawn for it as for RUN.
"""

_EPILOG = """\
examples:
  stare-eval compare runs/grpo runs/stare
  stare-eval compare runs/stare --baseline paper:STARE-O1:Qwen2.5-Math-7B
  stare-eval compare runs/main runs/branch --bench aime24,aime25 --fail-below -0.02 --json

exit codes:
  0  done (whatever differs)
  1  --fail-below: the difference is below it
  2  bad usage
  3  no such file, benchmark or baseline, or nothing in common
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "compare",
        help="what differs between two runs, and is it more than chance",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="A and B; one with --baseline")
    parser.add_argument(
        "--baseline", metavar="NAME", help="paper:METHOD:MODEL, or a run to use as A"
    )
    parser.add_argument(
        "--bench",
        metavar="B1,B2",
        type=lambda text: [one for one in text.split(",") if one],
        default=[],
        help="benchmarks to compare (default: all in common)",
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default 0.05)")
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="X",
        help="exit with 1 if the (mean) difference is below X, a fraction: -0.02 is two points",
    )
    parser.add_argument(
        "--gate",
        choices=["estimate", "lower", "upper"],
        default="estimate",
        help="what --fail-below looks at: the difference itself, or a bound of its re-sampling "
        "interval. upper: fail only on what re-sampling cannot explain; lower: fail unless "
        "it is ruled out (default estimate)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, fractions")
    form.add_argument("--markdown", action="store_true", help="a markdown table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare and print; 1 if the gate fails."""
    if args.fail_below is not None and not -1.0 <= args.fail_below <= 1.0:
        raise ArgumentError(
            f"--fail-below must lie in [-1, 1], got {args.fail_below:g}\nhint: 2 points are 0.02"
        )
    paths = [args.baseline, *args.runs] if args.baseline is not None else args.runs
    if len(paths) != 2:
        raise ArgumentError(
            f"compare needs two runs, got {len(paths)}\nhint: compare A B, or compare RUN "
            "--baseline NAME"
        )
    if args.baseline is not None and not Path(args.baseline).exists():
        bounds = _published(args)
    else:
        bounds = _two_runs(args, *paths)
    return _gate(args, bounds)


def _counts(path: str) -> dict[str, BenchCounts]:
    from stare.evals.stats.counts import load_counts

    try:
        return load_counts(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def _two_runs(args: argparse.Namespace, a: str, b: str) -> dict[str, float]:
    from stare.evals.stats.compare import compare_counts
    from stare.evals.stats.settings import settings_warnings
    from stare.evals.stats.tables import comparison_table, comparison_words

    found = compare_counts(_counts(a), _counts(b), benches=args.bench, alpha=args.alpha)
    one = found.overall
    bounds = _bounds(one.delta.value, one.ci_sampling)
    warnings = settings_warnings(a, b, [one.name for one in found.benchmarks])
    if args.json:
        _print_json({"a": a, "b": b, **found.to_json(), "warnings": warnings}, args, bounds)
        return bounds
    _print_table(comparison_table(found), args, f"A: {a}\nB: {b}")
    _print_words(comparison_words(found) + [f"warning: {one}" for one in warnings], args)
    return bounds


def _published(args: argparse.Namespace) -> dict[str, float]:
    from stare.evals.stats.published import compare_published, find_published
    from stare.evals.stats.tables import published_table

    row = find_published(args.baseline)
    counts = _counts(args.runs[0])
    found, warnings = compare_published(counts, row, benches=args.bench, alpha=args.alpha)
    last = found[-1]
    bounds = _bounds(last.difference, (last.difference - last.band, last.difference + last.band))
    if args.json:
        from dataclasses import asdict

        content = {
            "run": args.runs[0],
            "baseline": asdict(row),
            "benchmarks": [one.to_json() for one in found],
            "warnings": warnings,
        }
        _print_json(content, args, bounds)
        return bounds
    title = f"published: {row.method}, {row.model} ({row.scenario})\nmeasured: {args.runs[0]}"
    _print_table(published_table(found, args.alpha), args, title)
    _print_words([f"note: {one}" for one in warnings], args)
    return bounds


def _bounds(value: float, interval: tuple[float, float]) -> dict[str, float]:
    return {"estimate": value, "lower": interval[0], "upper": interval[1]}


def _failed(args: argparse.Namespace, bounds: dict[str, float]) -> bool:
    # NaN is not known to hold.
    return args.fail_below is not None and not bounds[args.gate] >= args.fail_below


def _gate(args: argparse.Namespace, bounds: dict[str, float]) -> int:
    if not _failed(args, bounds):
        return 0
    value = bounds[args.gate]
    shown = "not known" if math.isnan(value) else f"{value:+.4f}"
    print(
        f"stare-eval: gate failed: {args.gate} of the difference is {shown}, "
        f"--fail-below is {args.fail_below:+g}",
        file=sys.stderr,
    )
    return 1


def _print_json(
    content: dict[str, Any], args: argparse.Namespace, bounds: dict[str, float]
) -> None:
    if args.fail_below is not None:
        value = bounds[args.gate]
        content["gate"] = {
            "on": args.gate,
            "value": None if math.isnan(value) else value,
            "fail_below": args.fail_below,
            "passed": not _failed(args, bounds),
        }
    print(json.dumps(content, indent=1, allow_nan=False))


def _print_table(table: Any, args: argparse.Namespace, title: str) -> None:
    from stare.evals.cli._show import show_table

    print(title.replace("\n", "  \n") + "\n" if args.markdown else title)
    show_table(table.without_empty(), markdown=args.markdown)


def _print_words(lines: list[str], args: argparse.Namespace) -> None:
    print()
    print(*lines, sep="\n\n" if args.markdown else "\n")
