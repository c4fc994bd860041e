"""The verb `generate`: sample what is missing, without grading."""

from __future__ import annotations

import argparse

__all__ = ["add", "run"]

_DESCRIPTION = """\
Sample a model, without grading: `stare-eval grade DIR` grades later, also on another machine.

As `run` in everything else. With --shard 2/4 a machine makes its quarter of the samples, into a
folder of its own; `stare-eval merge` puts the quarters together.
"""

_EPILOG = """\
examples:
  stare-eval generate my/checkpoint --preset stare-short-cot --shard 1/4 -o part1
  stare-eval merge part1 part2 part3 part4 -o runs/mine

exit codes:
  0  done
  1  the disk refused
  2  bad usage, or the folder holds a run with other settings
  3  benchmarks missing or damaged, prompts that do not fit, a foreign samples file
  4  the back end does not work; what was made is kept
  5  samples are missing; the same command goes on
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    from stare.evals.cli.run import add_parser

    add_parser(commands, "generate", "sample only", _DESCRIPTION, _EPILOG, run)


def run(args: argparse.Namespace) -> int:
    """Sample."""
    from stare.evals.cli.run import sample

    return sample(args, score=False)
