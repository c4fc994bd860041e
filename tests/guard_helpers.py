"""Rewards that send signals to their own process, stall or write; what the run does is told by
environment variables, so that a resumed run has the same configuration."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stare.demo.reward import reward
from stare.types import Completion, Problem

CALLS: list[int] = []


def signalled(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """STARE_TEST_SIGNAL="RANK:CALL:NUMBER[:NUMBER]": sent at that call; two: then wait."""
    CALLS.append(len(completions))
    rank, call, *numbers = os.environ.get("STARE_TEST_SIGNAL", "-1:-1").split(":")
    if os.environ.get("RANK", "0") == rank and len(CALLS) == int(call):
        for number in numbers:
            os.kill(os.getpid(), int(number))
            time.sleep(0.2)
        if len(numbers) > 1:
            time.sleep(60)
    return _graded(problems, completions)


def stalls(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """Never comes back from the third call, while STARE_TEST_STALL is set."""
    CALLS.append(len(completions))
    if len(CALLS) == 3 and "STARE_TEST_STALL" in os.environ:
        time.sleep(600)
    return _graded(problems, completions)


def poisons(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """Rank 1's next forward pass in the second step gives no log-probability."""
    from stare.train.learner import Learner

    CALLS.append(len(completions))
    original = Learner._forward

    def forward(self: Any, *args: Any) -> Any:
        Learner._forward = original  # type: ignore[method-assign]
        result = original(self, *args)
        return result._replace(logprobs_BT=result.logprobs_BT * float("nan"))

    if os.environ.get("RANK") == "1" and len(CALLS) == 2:
        Learner._forward = forward  # type: ignore[method-assign]
    return _graded(problems, completions)


def _graded(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    if "RANK" in os.environ:  # the tiny language model, which solves nothing
        return [float(len(c.text) % 2 == 0) for c in completions]
    return list(reward(problems, completions))


def environment(**more: str) -> dict[str, str]:
    tests = Path(__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parent / "python")])
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path} | more


def start(arguments: list[str], **more: str) -> subprocess.Popen[str]:
    """`stare-train` in a process of its own."""
    command = [sys.executable, "-m", "stare.train.cli", *arguments]
    return subprocess.Popen(command, env=environment(**more), stderr=subprocess.PIPE, text=True)
