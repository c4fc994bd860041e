"""The verb `convert`: grade what another harness has sampled."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stare.evals.convert import Converted

__all__ = ["add", "run"]

_DESCRIPTION = """\
Make a run folder of samples that another harness recorded, so that they can be graded, reported,
compared and looked at here. Its own number is reproduced from its own verdicts first.

  lm-eval    samples_<task>_<time>.jsonl of --log_samples; its number is taken from the
             results_*.json beside it
  lighteval  details_*.parquet of --save-details (needs pyarrow), or the same rows as JSONL
  verl       <step>.jsonl of trainer.validation_data_dir (input, output, gts, score, acc)
  plain      JSONL, one response a row:
             {"problem_id": "7", "completion": "... \\\\boxed{42}", "gold": "42",
              "finish_reason": "stop", "correct": true}
             problem_id or problem, completion and gold are needed, gold may be a list
"""

_EPILOG = """\
examples:
  stare-eval convert --from lm-eval results/m/samples_aime24_2026-01-01.jsonl -o runs/theirs
  stare-eval convert --from verl val/200.jsonl --bench aime24 --published 0.412 -o runs/step200
  stare-eval show runs/step200 --wrong

exit codes:
  0  done
  1  its verdicts do not give the number it published
  2  bad usage, no such column, the folder holds a run
  3  not samples of that harness; the fields that were found are named
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "convert",
        help="read the samples of other harnesses",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="FILE", type=Path, help="a file, or a folder of them")
    parser.add_argument(
        "--from",
        dest="form",
        required=True,
        metavar="HARNESS",
        help="lm-eval, lighteval, verl, plain",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="run folder")
    parser.add_argument(
        "--bench",
        default="recorded",
        help="what to call the benchmark; the grading settings of a known one apply "
        "(default: recorded)",
    )
    parser.add_argument("--metric", help="the harness's verdict column (default: the usual one)")
    parser.add_argument(
        "--published", type=float, metavar="X", help="the number it published, a fraction"
    )
    parser.add_argument("--model", default="", help="what to call the model")
    parser.add_argument(
        "--grader", metavar="G1,G2", default="stare", help="how to grade them (default stare)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert, grade and print both numbers; returns the exit code."""
    from stare.evals.convert import convert
    from stare.evals.report.write import write_reports
    from stare.evals.results import up_to_date
    from stare.evals.store import RunFolder

    converted = convert(
        args.source,
        args.out,
        form=args.form,
        bench=args.bench,
        metric=args.metric,
        published=args.published,
        model=args.model,
    )
    folder = RunFolder(args.out)
    results = up_to_date(folder, [one for one in args.grader.split(",") if one])
    write_reports(folder, results, ["json"])
    if args.json:
        ours = results["benchmarks"][args.bench]["avg@n"]
        content = {**asdict(converted), "reproduced": converted.reproduced, "ours": ours}
        print(json.dumps(content, sort_keys=True))
    else:
        print(*_words(converted), sep="\n")
        from stare.evals.report.terminal import show

        show(results)
    if converted.reproduced is False:
        print(
            f"stare-eval: {converted.metric} gives {converted.theirs:.4f}, published is "
            f"{converted.published:.4f}: is it another column (--metric), or other files?",
            file=sys.stderr,
        )
        return 1
    return 0


def _words(one: Converted) -> list[str]:
    lines = [f"{one.samples} samples of {one.problems} problems from {one.form}"]
    if one.theirs is None:
        lines.append("theirs: no verdicts in the file")
    else:
        said: dict[Any, str] = {
            None: "what it published is not known here (--published)",
            True: f"as published: {_percent(one.published)}",
            False: f"NOT what it published: {_percent(one.published)}",
        }
        lines.append(f"theirs: {one.metric} {_percent(one.theirs)}; {said[one.reproduced]}")
    return lines


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.2f} %"
