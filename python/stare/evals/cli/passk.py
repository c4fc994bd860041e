"""The verb `passk`: unbiased pass@k from counts."""

from __future__ import annotations

import argparse

__all__ = ["add", "run"]

_DESCRIPTION = """\
Unbiased pass@k from counts.

The chance that at least one of k samples drawn without replacement from n, of which c are correct,
is correct: 1 - C(n-c, k) / C(n, k). One value a line, in the order of k; "nan" where k > n, since
samples that were not drawn say nothing.
"""

_EPILOG = """\
example:
  stare-eval passk -n 32 -c 5 -k 1 8 32

exit codes:
  0  done
  2  bad usage
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "passk",
        help="unbiased pass@k from counts",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", type=_count, required=True, help="samples drawn")
    parser.add_argument("-c", type=_count, required=True, help="samples that are correct")
    parser.add_argument("-k", type=_count, required=True, nargs="+", help="one or more k")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer >= 0, got {text!r}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print pass@k."""
    from stare.passk import pass_at_k

    print(*(pass_at_k(args.n, args.c, k) for k in args.k), sep="\n")
    return 0
