"""The verb `passk`: unbiased pass@k from counts, or of a graded run."""

from __future__ import annotations

import argparse
import json
import math

from stare.errors import ArgumentError, DataError

__all__ = ["add", "run"]

_DESCRIPTION = """\
Unbiased pass@k from counts, or of a graded run.

The chance that at least one of k samples drawn without replacement from n, of which c are correct,
is correct: 1 - C(n-c, k) / C(n, k). One value a line, in the order of k; "nan" where k > n, since
samples that were not drawn say nothing.

Of a run (a folder, or its results.json): the mean over problems with its bootstrap interval, one
row a benchmark and k; by default k = 1, 2, 4, ... up to the fewest samples of a problem.
"""

_EPILOG = """\
examples:
  stare-eval passk -n 32 -c 5 -k 1 8 32
  stare-eval passk runs/stare -k 1 8 32

exit codes:
  0  done
  2  bad usage
  3  no such run, or not a results.json
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "passk",
        help="unbiased pass@k from counts or of a run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_folder", metavar="RUN", nargs="?", help="a graded run")
    parser.add_argument("-n", type=_count, help="samples drawn")
    parser.add_argument("-c", type=_count, help="samples that are correct")
    parser.add_argument("-k", type=_count, nargs="+", help="one or more k")
    parser.add_argument("--json", action="store_true", help="JSON; null for nan")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer >= 0, got {text!r}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print pass@k."""
    by_counts = args.n is not None or args.c is not None
    if by_counts == (args.run_folder is not None) or (
        by_counts and None in (args.n, args.c, args.k)
    ):
        raise ArgumentError("passk needs RUN, or all of -n, -c and -k")
    return _by_counts(args) if by_counts else _of_run(args)


def _by_counts(args: argparse.Namespace) -> int:
    from stare.passk import pass_at_k

    values = {k: pass_at_k(args.n, args.c, k) for k in args.k}
    if args.json:
        plain = {k: None if math.isnan(value) else value for k, value in values.items()}
        print(json.dumps({"n": args.n, "c": args.c, "pass@k": plain}))
    else:
        print(*(values[k] for k in args.k), sep="\n")
    return 0


def _of_run(args: argparse.Namespace) -> int:
    from stare.evals.cli._show import show_table
    from stare.evals.stats.counts import load_counts
    from stare.evals.stats.errors import estimate, metric_variance
    from stare.evals.stats.metrics import pass_at_k, usual_ks
    from stare.evals.stats.tables import Table, interval, percent

    try:
        counts = load_counts(args.run_folder)
    except OSError as error:
        raise DataError(f"{args.run_folder}: {error.strerror or error}") from None
    found = {
        name: {
            k: estimate(pass_at_k(one.c, one.n, k), metric_variance(pass_at_k, one.c, one.n, k))
            for k in args.k or usual_ks(min(one.n, default=0))
        }
        for name, one in counts.items()
    }
    if args.json:
        plain = {name: {k: e.to_json() for k, e in by_k.items()} for name, by_k in found.items()}
        print(json.dumps(plain, indent=1, allow_nan=False))
        return 0
    rows = tuple(
        (
            name,
            str(k),
            percent(e.value),
            interval(e.ci, signed=False),
            percent(e.se_sampling),
            percent(e.se_problems),
        )
        for name, by_k in found.items()
        for k, e in by_k.items()
    )
    header = ("benchmark", "k", "pass@k", "95 % problems", "se re-sampling", "se problems")
    show_table(Table(header, rows))
    return 0
