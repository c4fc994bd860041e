"""The command `stare-eval`: one table of verbs, each a module that is imported when it is called.

A verb's module has `add(commands) -> None`, which adds its sub-parser and sets `run`, and
`run(args) -> int`, which returns an exit code or raises; `main` turns errors into exit codes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

__all__ = ["EXIT_CODES", "VERBS", "main"]


class Verb(NamedTuple):
    """One verb of the command line."""

    module: str
    """Module of this package."""
    summary: str
    """Its line in `stare-eval --help`."""


VERBS: dict[str, Verb] = {
    "run": Verb("run", "sample, grade and report a model; the same command resumes"),
    "generate": Verb("generate", "sample only"),
    "grade": Verb("grade", "grade samples: a run folder, or a JSONL file"),
    "report": Verb("report", "tables and pages of graded runs"),
    "compare": Verb("compare", "what differs between two runs, and is it more than chance"),
    "show": Verb("show", "look at problems and responses of a run"),
    "data": Verb("data", "get, check and look at benchmarks"),
    "doctor": Verb("doctor", "check model, prompts and settings before a run"),
    "merge": Verb("merge", "put the shards of several machines together"),
    "convert": Verb("convert", "read the samples of other harnesses"),
    "power": Verb("power", "how large a difference a benchmark can show"),
    "passk": Verb("passk", "unbiased pass@k from counts or of a run"),
    "selftest": Verb("selftest", "a whole run with known results, without model and network"),
}

EXIT_CODES = """\
exit codes:
  0  done
  1  a gate failed (a limit that was asked for is not held), or the disk refused
  2  bad usage
  3  data that are missing, damaged or not what they are said to be
  4  the back end does not work (model, server, package)
  5  incomplete: the same command goes on
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `stare-eval` with `argv` (default: the command line) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser(words[0] if words else None).parse_args(words)
    from stare.errors import StareError

    try:
        return int(args.run(args))
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Python flushes stdout once more at exit: let it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stare-eval: interrupted", file=sys.stderr)
        return 130
    except (StareError, OSError) as error:
        print(f"stare-eval: {error}", file=sys.stderr)
        return _exit_code(error)


def _exit_code(error: Exception) -> int:
    from stare.errors import DataError, StareError

    if (own := getattr(error, "exit_code", None)) is not None:
        return int(own)
    if isinstance(error, DataError):
        return 3
    return 2 if isinstance(error, StareError) else 1


def _parser(word: str | None) -> argparse.ArgumentParser:
    """The parser of one verb, or of all their names."""
    parser = argparse.ArgumentParser(
        prog="stare-eval",
        description="Score language models on mathematics: sample, grade, report, compare.",
        epilog="`stare-eval COMMAND --help` shows formats and examples.\n\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, verb in VERBS.items():
        if name == word:
            import_module(f"{__name__}.{verb.module}").add(commands)
        else:
            commands.add_parser(name, help=verb.summary)
    return parser
