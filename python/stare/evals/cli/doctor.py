"""The verb `doctor`: look before a run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

__all__ = ["add", "run"]

_DESCRIPTION = """\
Check model, prompts and settings before a run. Loads no weights and samples nothing.

Looks for: prompts that do not fit the context window, a missing chat template, two
beginning-of-sequence tokens, a system prompt hidden in the chat template, sampling settings in
generation_config.json, pass@k with k > n, a server that does not answer or serves another model.
Shows the first prompt as the model will see it, its first tokens, and what the run takes at most.
"""

_EPILOG = """\
examples:
  stare-eval doctor my/checkpoint --preset stare-short-cot
  stare-eval doctor served-name --base-url http://127.0.0.1:8000/v1 --bench aime24 --k 1 32
  stare-eval doctor my/checkpoint --bench stare6 --price-out 2.5

exit codes:
  0  the run may start (perhaps with warnings)
  1  there is a problem
  2  bad usage
"""

_MARKS = {"ok": "ok      ", "note": "note    ", "warning": "WARNING ", "problem": "PROBLEM "}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    from stare.evals.cli._flags import add_flags

    parser = commands.add_parser(
        "doctor",
        help="check model, prompts and settings before a run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_flags(parser, leave_out=("grader", "max_truncated"))
    parser.add_argument(
        "--k", type=int, nargs="+", default=[], metavar="K", help="pass@k that will be asked for"
    )
    parser.add_argument("--json", action="store_true", help="everything in JSON to stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine and print."""
    from stare.evals.cli._flags import config_of
    from stare.evals.doctor import examine

    checkup = examine(config_of(args), args.k)
    code = 0 if checkup.well else 1
    if args.json:
        print(json.dumps({**dataclasses.asdict(checkup), "exit_code": code}, ensure_ascii=False))
        return code
    for finding in checkup.findings:
        text = finding.text.replace("\n", "\n" + " " * 10)
        print(f"{_MARKS[finding.level]}{finding.topic}: {text}")
    if (most := checkup.estimate) is not None:
        inside = "" if most.prompt_tokens is None else f"{most.prompt_tokens:,} prompt tokens, "
        print(
            f"takes   {most.samples:,} samples, {inside}"
            f"at most {most.most_response_tokens:,} response tokens"
        )
        if most.price is not None:
            print(f"costs   between {most.price[0]:,.2f} and {most.price[1]:,.2f}")
    if checkup.first_prompt is not None:
        print(f"\nfirst prompt ({checkup.first_name}):")
        print("\n".join(f"  | {line}" for line in checkup.first_prompt.text.split("\n")))
        for number, token in checkup.first_tokens:
            print(f"  {number:>8}  {token!r}")
    sys.stdout.flush()
    return code
