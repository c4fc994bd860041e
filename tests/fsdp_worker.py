"""Ranks for tests: trainings in forked processes that share one import of torch.

`python -m fsdp_worker PHASES.json`: a phase is {"size", "jobs"}, a job {"name", "out", "port",
"arguments"}. What each rank of a job chose and said goes to OUT/../NAME.rank<r>.pkl.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformers import (  # noqa: F401  (imported before the fork)
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from stare.rollout import hf  # noqa: F401
from stare.rollout.tools.executor import Execution
from stare.rollout.tools.formats import ToolFormat
from stare.train import checkpoint_sharded, learner, parallel_model, selection  # noqa: F401
from stare.train.cli import main
from stare.types import Completion, Problem


def even_length(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """A reward that a random model earns about half of the time."""
    return [float(len(c.text) % 2 == 0) for c in completions]


def fails_on_rank_1(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """As many rewards as there are completions, less one on rank 1."""
    return even_length(problems, completions)[int(os.environ["RANK"]) :]


class Echo:
    """A tool that says a program's letter three times."""

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        return [Execution(status="ok", stdout=p * 3, stderr="", seconds=0.0) for p in programs]

    def close(self) -> None:
        pass


# Of what a random policy writes, much is a call.
LETTERS = ToolFormat(close="e", pattern="(.)[^e]*e", payload="code", observation="= {output} =")

CALLS = []


def dies_on_rank_1(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """Kills rank 1 where the others wait for it: in the third step, and once."""
    CALLS.append(len(completions))
    once = Path(os.environ["STARE_TEST_FOLDER"]) / "has-died"
    if os.environ["RANK"] == "1" and len(CALLS) == 3 and not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return even_length(problems, completions)


def hangs_on_rank_1(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """Rank 1 never comes back."""
    if os.environ["RANK"] == "1":
        time.sleep(600)
    return even_length(problems, completions)


@contextlib.contextmanager
def recorded(chosen: list[Any]) -> Iterator[None]:
    """Append (global row, weights) of every row of every selection that a learner makes."""
    original = selection.select_weights

    def weights(own: Any, *args: Any, **options: Any) -> Any:
        result = original(own, *args, **options)
        chosen.append(
            [
                (int(row), result[0][i].tolist())
                for i, row in enumerate(own.rows_R)
                if bool(own.batch.mask_BT[i].any())
            ]
        )
        return result

    selection.select_weights = learner.select_weights = weights  # type: ignore[attr-defined]
    try:
        yield
    finally:
        selection.select_weights = learner.select_weights = original  # type: ignore[attr-defined]


def run_job(arguments: list[str]) -> dict[str, Any]:
    """What `stare-train` chose, said on stderr and returned."""
    chosen: list[Any] = []
    said = io.StringIO()
    with recorded(chosen), contextlib.redirect_stderr(said):
        began = time.monotonic()
        try:
            code: int | None = main(arguments)
        except Exception:
            code = None
            traceback.print_exc()
    seconds = time.monotonic() - began
    return {"chosen": chosen, "code": code, "said": said.getvalue(), "seconds": seconds}


def rank(number: int, size: int, jobs: list[dict[str, Any]]) -> None:
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(size)}
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    for job in jobs:
        os.environ["MASTER_PORT"] = str(job["port"])
        result = run_job(job["arguments"])
        path = Path(job["out"]).parent / f"{job['name']}.rank{number}.pkl"
        path.write_bytes(pickle.dumps(result))


def run_phase(size: int, jobs: list[dict[str, Any]]) -> None:
    """Fork the ranks; when rank 0 is done, none may need long."""
    children = []
    for number in range(size):
        child = os.fork()
        if child == 0:
            rank(number, size, jobs)
            os._exit(0)
        children.append(child)
    os.waitpid(children[0], 0)
    deadline = time.monotonic() + 20
    for child in children[1:]:
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline or jobs[0].get("abandon"):
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)


if __name__ == "__main__":
    for phase in json.loads(Path(sys.argv[1]).read_text()):
        run_phase(phase["size"], phase["jobs"])
