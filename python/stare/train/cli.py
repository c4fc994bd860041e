"""`stare-train`: train, report, export, show, plan, data, sft."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from stare.errors import StareError
from stare.train.plan_options import add_plan_options

__all__ = ["main"]

DESCRIPTION = """\
Train a causal language model with GRPO-ds or STARE.

  stare-train run PRESET|FILE.toml [key=value ...]   train (--resume continues)
  stare-train report RUN [RUN ...] -o report.html    compare runs on one offline page
  stare-train export RUN FOLDER                      the policy as a Hugging Face folder
  stare-train show PRESET|FILE.toml [key=value ...]  print the resolved configuration
  stare-train plan PRESET|FILE.toml --gpus 8         memory per GPU, before anything is loaded
  stare-train data PRESET|FILE.toml [-o FOLDER]      mix, duplicates, contamination: a report
  stare-train sft FILE.toml [key=value ...]          supervised training on conversations
  stare-train presets                                list the packaged presets
"""

EXAMPLES = """\
examples:
  stare-train run demo-mod5 run.steps=300 run.out=runs/first
  stare-train run demo-mod5 stare.enabled=false run.out=runs/grpo   (plain GRPO-ds)
  stare-train run my.toml model.path=./policy data.path=train.jsonl --resume
  torchrun --standalone --nproc-per-node 8 -m stare.train.cli run my.toml parallel.strategy=fsdp2
  stare-train report runs/first runs/grpo -o report.html

exit codes: 0 done; 1 an unexpected failure, with its traceback; 2 an error with a reason
(arguments, configuration, data, run folder, a full disk, a policy that returns NaN);
75 stalled (guard.step_timeout_s): start it again with --resume;
130 SIGINT and 143 SIGTERM: the step was finished and saved (a second signal ends it at once).
What is in the run folder stays; --resume continues.
"""


PLAN = """\
exit codes: 0 it fits; 2 an error with a reason (an unknown model, a context too small for prompt +
response, an impossible layout); 3 the plan was made and does not fit.
"""

DATA = """\
Reads every source, drops and counts what cannot be trained on, and prints what became of each row.
With -o: report.json, contamination.jsonl, duplicates.jsonl, dropped.jsonl, and sets/<source>.jsonl,
which a run can read instead (path = ..., dedup = "off", contamination = "off").
exit codes: 0 done; 2 an error with a reason.
"""


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="stare-train", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="train", epilog=EXAMPLES, formatter_class=raw)
    show = commands.add_parser("show", help="print the resolved configuration as JSON")
    plan = commands.add_parser(
        "plan", help="estimate the memory of each phase", epilog=PLAN, formatter_class=raw
    )
    data = commands.add_parser(
        "data", help="read and check data.sources", epilog=DATA, formatter_class=raw
    )
    for command in (run, show, plan, data):
        command.add_argument("source", help="a preset's name or a TOML file")
        command.add_argument("overrides", nargs="*", metavar="key=value", help="e.g. optim.lr=1e-6")
    run.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in run.out from its newest checkpoint (starts it if there is none)",
    )
    add_plan_options(plan)
    data.add_argument("-o", "--out", type=Path, help="folder for the report and the mixed sets")
    data.add_argument("--json", action="store_true", help="print the report as JSON")
    report = commands.add_parser("report", help="one HTML page (and a PNG) from run folders")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    report.add_argument("-o", "--out", type=Path, default=Path("report.html"), help="HTML file")
    report.add_argument("--png", type=Path, help="also write the curves as a picture")
    export = commands.add_parser("export", help="write a run's policy as a Hugging Face folder")
    export.add_argument("run", type=Path, metavar="RUN", help="run folder")
    export.add_argument("out", type=Path, metavar="FOLDER", help="folder to make")
    export.add_argument("--step", type=int, help="checkpoint of this step (default: the newest)")
    export.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    sft = commands.add_parser("sft", help="train on conversations: a cold start for tools")
    sft.add_argument("source", help="a TOML file (see SftConfig)")
    sft.add_argument("overrides", nargs="*", metavar="key=value", help="e.g. lr=1e-5")
    sft.add_argument("--resume", action="store_true", help="continue the run in its folder")
    commands.add_parser("presets", help="list the packaged presets")
    return parser


def _run(source: str, overrides: Sequence[str], *, resume: bool) -> None:
    from stare.train.overrides import load_config
    from stare.train.run import train

    config = load_config(source, overrides)
    name = f"{Path(source).stem}-s{config.run.seed}"
    train(config, Path(config.run.out or Path("runs") / name), resume=resume)


def _show(source: str, overrides: Sequence[str]) -> None:
    from stare.train.config import to_dict
    from stare.train.overrides import load_config

    print(json.dumps(to_dict(load_config(source, overrides)), indent=2))


def _plan(args: argparse.Namespace) -> int:
    from stare.train.overrides import load_config
    from stare.train.plan_command import plan_command

    return plan_command(load_config(args.source, args.overrides), args)


def _data(source: str, overrides: Sequence[str], *, out: Path | None, as_json: bool) -> None:
    from stare.train.data_command import data_command
    from stare.train.overrides import load_config

    data_command(load_config(source, overrides), out=out, as_json=as_json)


def _report(runs: Sequence[Path], out: Path, png: Path | None) -> None:
    from stare.train.report import build_png, build_report

    build_report(list(runs), out)
    print(out)
    if png is not None:
        build_png(list(runs), png)
        print(png)


def _export(run: Path, out: Path, step: int | None, dtype: str) -> None:
    from stare.train.export import export

    done = export(run, out, step=step, dtype=dtype)
    print(f"weights of step {done}", file=sys.stderr)
    print(out)


def _sft(source: str, overrides: Sequence[str], *, resume: bool) -> None:
    from stare.train.sections_sft import load_sft_config
    from stare.train.sft import sft

    config = load_sft_config(source, overrides)
    losses = sft(config, resume=resume)
    if losses:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}", file=sys.stderr)
    print(Path(config.out) / "model")


def _presets() -> None:
    from stare.train.overrides import preset_names

    print("\n".join(preset_names()))


def _is_said_by_rank_0(error: StareError) -> bool:
    """Whether this is one of several ranks, and what is wrong is the same on rank 0."""
    if os.environ.get("RANK", "0") == "0":
        return False
    from stare.errors import ConfigError
    from stare.train.parallel import PeerError

    return isinstance(error, (ConfigError, PeerError))


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code."""
    args = _parser().parse_args(argv)
    # Deterministic matrix products on CUDA need this before the first handle is made.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        if args.command == "run":
            _run(args.source, args.overrides, resume=args.resume)
        elif args.command == "show":
            _show(args.source, args.overrides)
        elif args.command == "plan":
            return _plan(args)
        elif args.command == "data":
            _data(args.source, args.overrides, out=args.out, as_json=args.json)
        elif args.command == "report":
            _report(args.runs, args.out, args.png)
        elif args.command == "export":
            _export(args.run, args.out, args.step, args.dtype)
        elif args.command == "sft":
            _sft(args.source, args.overrides, resume=args.resume)
        else:
            _presets()
    except StareError as error:
        if not _is_said_by_rank_0(error):
            print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print("interrupted: --resume continues from the last checkpoint", file=sys.stderr)
        return int(getattr(error, "exit_code", 130))  # `Interrupted` says which signal it was
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output went away (`| head`): not an error of ours.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            return 0
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"error: {error}\nhint: make room and start it again", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
