"""The verb `run`: sample what is missing, grade it, report."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stare.evals.engine import Generated
    from stare.evals.session import Session
    from stare.evals.store import RunFolder

__all__ = ["add", "run"]

_DESCRIPTION = """\
Sample, grade and report a model. The same command goes on where it was stopped.

One request a sample, each with a seed of its own that depends on the run's seed, benchmark, problem
and number alone. So samples do not depend on workers, order, shards or interruptions, and n can
grow: --bench aime24:32 after aime24:16 makes sixteen more. Every sample is written as it comes; the
command may be killed at any moment. Changed settings are refused, naming what changed.
"""

_EPILOG = """\
examples:
  stare-eval run Qwen/Qwen2.5-Math-7B --preset stare-short-cot --workers 8
  stare-eval run my/checkpoint --bench aime24:32,math500:4 -o runs/mine
  stare-eval run served-name --base-url http://127.0.0.1:8000/v1 --bench aime24
  stare-eval run my/checkpoint --backend transformers --bench mini --limit 4
  stare-eval run any --backend mock --bench mini -o runs/try        # no model
  stare-eval run runs/try --backend replay --bench mini -o runs/again

exit codes:
  0  done
  1  --max-truncated is exceeded, or the disk refused
  2  bad usage, or the folder holds a run with other settings
  3  benchmarks missing or damaged, prompts that do not fit, a foreign samples file
  4  the back end does not work; what was made is kept
  5  samples are missing; the same command goes on
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    add_parser(commands, "run", "sample, grade and report a model", _DESCRIPTION, _EPILOG, run)


def add_parser(
    commands: Any, name: str, summary: str, description: str, epilog: str, action: Any
) -> None:
    """Add a verb that samples."""
    from stare.evals.cli._flags import add_flags

    parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_flags(parser, leave_out=("price_in", "price_out"))
    parser.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="run folder (default: runs/MODEL-SETTINGS)"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be sampled")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="a summary in JSON to stdout")
    parser.set_defaults(run=action)


def run(args: argparse.Namespace) -> int:
    """Sample, grade, report."""
    return sample(args, score=True)


def sample(args: argparse.Namespace, *, score: bool) -> int:
    """Sample what is missing and, if `score`, grade and report; returns the exit code."""
    from stare.evals.cli._flags import config_of
    from stare.evals.session import default_folder, prepare
    from stare.evals.store import RunFolder

    session = prepare(config_of(args))
    folder = RunFolder(args.out or default_folder(session))
    if args.dry_run:
        return _dry_run(args, session, folder)
    if not args.quiet:
        _say(f"run folder {folder.path}")
    made = _generate(session, folder, args.quiet)
    if made is None:
        _say("interrupted; every finished sample is kept, the same command goes on")
        return 5
    summary = summarise(made, folder)
    if not args.quiet:
        _say(_words(made))
    code = 0 if made.complete else 5
    if score and code == 0 and session.shard is None:
        results = score_folder(folder, session.config.grader)
        code = _gate(folder, session)
        summary["results"] = None if results is None else str(folder.path / "results.json")
        if results is not None and not args.json:
            show_results(results)
    if args.json:
        print(json.dumps(summary | {"exit_code": code}, sort_keys=True))
    return code


def _generate(session: Session, folder: RunFolder, quiet: bool) -> Generated | None:
    """The samples that were made; None when interrupted."""
    from stare.evals.engine import generate

    try:
        with _terminable():
            return generate(session, folder, quiet=quiet)
    except KeyboardInterrupt:
        return None


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def summarise(made: Generated, folder: RunFolder) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "folder": str(folder.path),
        "fingerprint": folder.manifest().fingerprint,
        "wanted": made.wanted,
        "before": made.before,
        "made": made.made,
        "errors": len(made.errors),
        "first_errors": [{"key": list(key), "error": reason} for key, reason in made.errors[:5]],
        "tokens": made.tokens,
        "seconds": round(made.seconds, 3),
    }


def _words(made: Generated) -> str:
    text = f"{made.made} samples made in {made.seconds:.1f} s, {made.before} were there"
    missing = made.wanted - made.made - made.before
    if missing:
        text += f"; {missing} missing"
    for key, reason in made.errors[:3]:
        text += f"\n  {key.bench}/{key.problem_id}/{key.sample}: {reason}"
    return text + ("\nthe same command tries again" if missing else "")


def _dry_run(args: argparse.Namespace, session: Session, folder: RunFolder) -> int:
    from stare.evals.plan import missing, wanted

    done = {
        plan.bench: folder.keys(plan.bench) if folder.exists else set() for plan in session.plans
    }
    rows = []
    for plan in session.plans:
        keys = wanted([plan], session.shard)
        todo = missing(keys, done[plan.bench])
        rows.append({"bench": plan.bench, "n": plan.n, "wanted": len(keys), "to_make": len(todo)})
    if args.json:
        print(json.dumps({"folder": str(folder.path), "plan": rows}))
        return 0
    print(f"folder {folder.path}")
    for row in rows:
        print(
            f"{row['bench']:16} n {row['n']:<4} {row['wanted']} samples, {row['to_make']} to make"
        )
    return 0


def score_folder(folder: RunFolder, graders: str) -> dict[str, Any] | None:
    """Grade a complete folder and write its results; None where the parts are not installed."""
    from importlib.util import find_spec

    if find_spec("stare.evals.grading") is None or find_spec("stare.evals.results") is None:
        _say("this version samples only: stare.evals.grading is not there")
        return None
    from importlib import import_module

    from stare.evals.config import split_list
    from stare.evals.files import write_json

    names = list(split_list(graders))
    for name in names:
        import_module("stare.evals.grading").grade_run(folder, name)
    results: dict[str, Any] = import_module("stare.evals.results").build(folder, names)
    write_json(folder.path / "results.json", results)
    return results


def show_results(results: dict[str, Any]) -> None:
    """Print the table of a run's results, where the report part is there."""
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("stare.evals.report") is not None:
        import_module("stare.evals.report.terminal").show(results)


def _gate(folder: RunFolder, session: Session) -> int:
    limit = session.config.max_truncated
    if limit is None:
        return 0
    code = 0
    for plan in session.plans:
        reasons = [sample.finish_reason for sample in folder.samples(plan.bench)]
        share = reasons.count("length") / max(1, len(reasons))
        if share > limit:
            _say(f"{plan.bench}: {share:.1%} of responses are cut off, more than {limit:.1%}")
            code = 1
    return code


def _say(text: str) -> None:
    print(text, file=sys.stderr)
