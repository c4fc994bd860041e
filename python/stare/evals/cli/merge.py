"""The verb `merge`: the shards of several machines as one run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

__all__ = ["add", "run"]

_DESCRIPTION = """\
Put run folders of the same run together, such as the shards of several machines.

The folders must have been made with the same settings; what differs is named. A sample that two
folders have with different texts is refused, naming it. The result can be graded, and goes on by
the command of the run without --shard.
"""

_EPILOG = """\
examples:
  stare-eval generate MODEL --shard 1/2 -o part1     # on one machine
  stare-eval generate MODEL --shard 2/2 -o part2     # on another
  stare-eval merge part1 part2 -o runs/whole
  stare-eval grade runs/whole

exit codes:
  0  done, nothing is missing
  2  bad usage, or the folders were made with different settings
  3  not run folders, or samples with two texts
  5  merged, and samples are missing
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "merge",
        help="put the shards of several machines together",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="run folders")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="DIR", help="the folder to make"
    )
    parser.add_argument("--json", action="store_true", help="a summary in JSON to stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Merge."""
    from stare.evals.merge import merge

    merged = merge(args.folders, args.out)
    code = 0 if merged.complete else 5
    if args.json:
        fields = {name: getattr(merged, name) for name in merged.__slots__}
        print(json.dumps({"folder": str(args.out), "exit_code": code, **fields}, sort_keys=True))
    else:
        text = f"{args.out}: {merged.samples} of {merged.planned} samples"
        if merged.repeated:
            text += f"; {merged.repeated} were there more than once"
        print(text, file=sys.stderr)
    return code
