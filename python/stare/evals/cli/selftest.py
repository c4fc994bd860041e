"""The verb `selftest`: a whole run with known results."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

__all__ = ["add", "run"]

_DESCRIPTION = """\
Run the bundled benchmark through a back end without a model, and compare with known figures.

Sampling, resuming after a torn file, replaying, merging shards, grading. Needs no network and no
model; takes a few seconds.
"""

_EPILOG = """\
exit codes:
  0  everything is as it should be
  1  something is not; it is named
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "selftest",
        help="a whole run with known results, without model and network",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="JSON to stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Test."""
    from stare.evals.selftest import selftest

    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stare-eval-selftest-") as folder:
        checks = selftest(Path(folder))
    seconds = time.monotonic() - start
    passed = all(check.passed for check in checks)
    if args.json:
        rows = [{"name": c.name, "passed": c.passed, "found": c.found} for c in checks]
        print(json.dumps({"passed": passed, "seconds": round(seconds, 3), "checks": rows}))
    else:
        for check in checks:
            print(f"{'ok  ' if check.passed else 'FAIL'} {check.name:10} {check.found}")
        print(f"{'passed' if passed else 'FAILED'} in {seconds:.1f} s")
    return 0 if passed else 1
