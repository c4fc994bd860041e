"""`python -m stare.integrations` (also `stare doctor`): the trainers that are here."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from stare.errors import StareError
from stare.integrations.doctor import describe, summary
from stare.integrations.hosts import HOSTS

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """List the hosts, or describe one; exit code 1 if the one asked for cannot be used."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["doctor"]:
        words = words[1:]
    parser = argparse.ArgumentParser(prog="stare doctor", description=__doc__)
    parser.add_argument("--trainer", metavar="NAME", help=f"one of {', '.join(HOSTS)}")
    args = parser.parse_args(words)
    try:
        if args.trainer:
            print(describe(args.trainer))
            return int(summary(args.trainer)[1] in ("missing", "too old", "not loaded"))
        for name in HOSTS:
            version, state = summary(name)
            print(f"{name:<10} {version:<10} {state}")
        print("\n--trainer NAME: sources, selection scope, and what would do nothing")
    except StareError as error:
        print(f"stare doctor: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader went away (`| head`)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return 0


if __name__ == "__main__":
    sys.exit(main())
