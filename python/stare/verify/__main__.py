"""`python -m stare.verify COMPLETION GOLD`: grade one completion and say how."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, get_args

from stare.errors import StareError
from stare.types import Verdict
from stare.verify._arguments import Profile, Tolerance
from stare.verify.explanation import Explanation, explain
from stare.verify.grading import grade

__all__ = ["main"]

_DESCRIPTION = r"""
Grade a completion against a gold answer and say how the verdict came about: what was taken as the
answer, how both sides were read, which rule decided, by which engine, and how long it took.

  python -m stare.verify 'Half of it: \boxed{\frac{1}{2}}' 0.5
  python -m stare.verify --profile eval - 42 < response.txt
"""

_EPILOG = """\
exit codes:
  0  correct
  1  incorrect
  2  bad usage
  3  undecided
"""

_EXIT_CODES = {Verdict.CORRECT: 0, Verdict.INCORRECT: 1, Verdict.UNDECIDED: 3}
_STYLES = {Verdict.CORRECT: "green", Verdict.INCORRECT: "red", Verdict.UNDECIDED: "yellow"}
_HOW = {
    "box": r"the last \boxed",
    "boxes": "several boxes that make a list",
    "hashes": "####",
    "marker": "words that announce an answer",
    "line": "a last line that is a number",
    "maths": "the last formula",
    "number": "the last number",
}
_ROUNDS = 5


def main(argv: Sequence[str] | None = None) -> int:
    """Run with `argv` (default: the command line) and return the exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.completion == "-":
        args.completion = sys.stdin.buffer.read().decode(errors="replace")
    options: dict[str, Any] = {"profile": args.profile, "tolerance": args.tolerance}
    try:
        core_us = _core_time(args.completion, args.gold, options)
        start = time.perf_counter()
        explanation = explain(args.completion, args.gold, fallback=args.fallback, **options)
        asked = any(gold.fallback is not None for gold in explanation.golds)
        fallback_us = (time.perf_counter() - start) * 1e6 if asked else None
    except StareError as error:
        parser.error(str(error))
    if args.json:
        print(json.dumps(_record(explanation, core_us, fallback_us)))
    else:
        _show(explanation, core_us, fallback_us)
    return _EXIT_CODES[explanation.grade.verdict]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m stare.verify",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("completion", help="the text of the response; - reads it from stdin")
    parser.add_argument("gold", nargs="+", help="the gold answer; of several, any is right")
    parser.add_argument(
        "--profile",
        choices=get_args(Profile),
        default="reward",
        help="what counts as declaring an answer (default: reward, the strict one)",
    )
    parser.add_argument(
        "--tolerance",
        type=_tolerance,
        metavar="T",
        help="what else is right: gold-digits (what rounds to the digits of a decimal gold), or a "
        "relative distance such as 1e-3, WHICH HOLDS FOR EVERY NUMBER, whole ones too",
    )
    parser.add_argument(
        "--fallback",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether math-verify is asked about what the core leaves undecided",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _tolerance(text: str) -> Tolerance:
    if text == "gold-digits":
        return "gold-digits"
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number or gold-digits, got {text!r}") from None


def _core_time(completion: str, golds: Sequence[str], options: dict[str, Any]) -> float:
    """Microseconds of one call without the fallback, the best of a few."""
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        grade(completion, golds, fallback=False, **options)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def _record(explanation: Explanation, core_us: float, fallback_us: float | None) -> dict[str, Any]:
    return {
        "verdict": str(explanation.grade.verdict),
        "reason": explanation.grade.reason,
        "by": explanation.grade.by,
        "extracted": explanation.grade.extracted,
        "how": explanation.how,
        "tree": explanation.tree,
        "golds": [
            {
                "gold": gold.text,
                "tree": gold.tree,
                "verdict": str(gold.verdict),
                "reason": gold.reason,
                "fallback": gold.fallback,
            }
            for gold in explanation.golds
        ],
        "core_us": round(core_us, 1),
        "fallback_us": None if fallback_us is None else round(fallback_us, 1),
    }


def _show(explanation: Explanation, core_us: float, fallback_us: float | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    graded = explanation.grade
    # Anything of the answer goes in as Text: brackets in it are not markup.
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    verdict = Text(str(graded.verdict), style=f"bold {_STYLES[graded.verdict]}")
    table.add_row("verdict", verdict)
    table.add_row("rule", Text(f"{graded.reason}, by {graded.by}"))
    if graded.extracted is None:
        table.add_row("answer", Text("none is declared"))
    else:
        table.add_row("answer", Text(graded.extracted))
        table.add_row("found by", Text(_HOW.get(explanation.how or "", explanation.how or "?")))
        table.add_row("read as", Text(explanation.tree or "not read"))
    for gold in explanation.golds:
        table.add_row("gold", Text(gold.text))
        table.add_row("read as", Text(gold.tree or "not read"))
        if len(explanation.golds) > 1:
            table.add_row("alone", Text(f"{gold.verdict}: {gold.reason}"))
        if gold.fallback is not None:
            table.add_row("fallback", Text(gold.fallback))
    timing = f"{core_us:,.0f} us"
    if fallback_us is not None:
        timing += f", with the fallback {fallback_us / 1000:,.0f} ms"
    table.add_row("time", Text(timing))
    # A pipe gets whole lines: what reads it may look for one.
    console = Console()
    if not console.is_terminal:
        console = Console(width=1 << 14)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
