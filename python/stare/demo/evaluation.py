"""The last step of the demo: what it trained, through `stare-eval`.

The policies (the warm start, and the last checkpoint of each arm) answer every held-out problem.
The responses go into a file a policy; from there on it is `stare-eval` that works, called as on a
command line: it makes run folders of the files, grades them, reports them and compares two of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from stare.demo.arms import Run
from stare.errors import RunError
from stare.rollout.sampler import Sampler, SamplingParams
from stare.seeds import derive_seed
from stare.train.checkpoint import CheckpointStore
from stare.train.collect import RewardFn
from stare.train.overrides import load_config
from stare.train.session import build_session
from stare.types import Problem

__all__ = ["evaluate_policies"]

N = 32
"""Samples a problem."""
BASE, OURS = "grpo-ds", "stare-pi"
"""The two arms that are compared."""
_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class _Policy:
    """A policy and its run folder of stare-eval."""

    label: str
    folder: Path
    run: Run
    trained: Path | None
    """Run folder of `stare-train`; None for the weights that training starts from."""


def evaluate_policies(
    runs: Sequence[Run], folders: Mapping[str, Path], out: Path, *, words: Console, n: int = N
) -> list[Path]:
    """Evaluate warm start and arms of every task, first seed; print tables to stdout.

    Args:
        runs: finished runs.
        folders: run name -> its run folder.
        out: where `eval-<task>/<policy>` go; replaced if they are there.
        words: where it is said what is done.
        n: samples a problem.

    Returns:
        The HTML reports.

    Raises:
        RunError: a run has no intact checkpoint, or stare-eval fails.
    """
    first = min(run.seed for run in runs)
    tasks: dict[str, list[Run]] = {}
    for run in runs:
        if run.seed == first:
            tasks.setdefault(run.preset.removeprefix("demo-"), []).append(run)
    pages = []
    for task, members in tasks.items():
        root = out / f"eval-{task}"
        shutil.rmtree(root, ignore_errors=True)
        policies = [_Policy("warm start", root / "warm-start", members[0], None)]
        policies += [
            _Policy(run.arm.label, root / run.arm.name, run, folders[run.name]) for run in members
        ]
        for policy in policies:
            _convert(policy, task, words, n)
        pages += _report(policies, task, words)
        sides = {policy.folder.name: policy.folder for policy in policies}
        if BASE in sides and OURS in sides:
            words.print("avg@n, which is pass@1, compared (pass@k is in the tables above):")
            _show(["compare", str(sides[BASE]), str(sides[OURS])], words)
    return pages


def _convert(policy: _Policy, task: str, words: Console, n: int) -> None:
    """Sample a policy, and make a run folder of the samples."""
    session = build_session(load_config(policy.run.preset, policy.run.overrides()), _CPU)
    if policy.trained is not None:
        found = CheckpointStore(policy.trained / "checkpoints").latest()
        if found is None:
            raise RunError(f"{policy.trained} has no checkpoint\nhint: --fresh")
        session.model.load_state_dict(found.state["model"])
    seed = derive_seed(policy.run.seed, "stare-eval")
    rows = recorded(session.held_out, session.sampler, session.reward_fn, seed=seed, n=n)
    file = policy.folder.with_suffix(".jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ["convert", str(file), "--from", "plain", "-o", str(policy.folder), "--json"]
    command += ["--bench", f"demo-{task}", "--model", policy.label, "--grader", _grader(task)]
    made = json.loads(_stare_eval(command))
    words.print(
        f"{policy.label}: {made['samples']:,} samples of {made['problems']} held-out problems; "
        f"correct by the reward function {made['theirs']:.1%}, "
        f"by the grader {made['ours']['value']:.1%}",
        highlight=False,
    )


def recorded(
    problems: Sequence[Problem], sampler: Sampler, reward: RewardFn, *, seed: int, n: int
) -> list[dict[str, Any]]:
    """One row a response, as `stare-eval convert --from plain` reads them.

    The row's `correct` is the reward function's verdict, from token ids; `stare-eval` shows it
    beside its own, from the text.

    Args:
        problems: to answer.
        sampler: of the policy.
        reward: what training pays for.
        seed: of the one draw that all responses come from.
        n: responses a problem.
    """
    params = SamplingParams(n=n, temperature=1.0, max_tokens=13, seed=seed)
    groups = sampler.sample([problem.problem for problem in problems], params)
    flat = [(p, c) for p, group in zip(problems, groups, strict=True) for c in group]
    paid = reward([p for p, _ in flat], [c for _, c in flat])
    return [
        {
            "problem_id": problem.id,
            "problem": problem.problem,
            "gold": problem.answer,
            "completion": completion.text,
            "finish_reason": completion.finish_reason,
            "n_tokens": len(completion.token_ids),
            "correct": value == 1.0,
        }
        for (problem, completion), value in zip(flat, paid, strict=True)
    ]


def _report(policies: Sequence[_Policy], task: str, words: Console) -> list[Path]:
    command = ["report", *(str(policy.folder) for policy in policies)]
    command += ["--format", "md,html", "--grader", _grader(task)]
    _show(command, words)
    return [policy.folder / "report.html" for policy in policies]


def _grader(task: str) -> str:
    return f"stare.demo.grading:{task}"


def _show(arguments: Sequence[str], words: Console) -> None:
    """Say a command of stare-eval, and run it for all to see."""
    words.print(f"$ stare-eval {' '.join(arguments)}", highlight=False, soft_wrap=True)
    sys.stdout.flush()
    _run(arguments, None)


def _stare_eval(arguments: Sequence[str]) -> str:
    """What a command of stare-eval prints."""
    return _run(arguments, subprocess.PIPE)


def _run(arguments: Sequence[str], stdout: int | None) -> str:
    command = [sys.executable, "-m", "stare.evals.cli", *arguments]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RunError(
            f"stare-eval {arguments[0]} ended with exit code {done.returncode}:\n{done.stderr}"
        )
    return done.stdout or ""
