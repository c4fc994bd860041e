"""The demo's policies through stare-eval: samples, grader, run folders, reports."""

from __future__ import annotations

import io
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from stare.demo.arms import Plan
from stare.demo.evaluation import evaluate_policies, recorded
from stare.demo.grading import exact, mod5, tol3
from stare.demo.policy import TinyPolicy, load_policy
from stare.demo.reward import reward
from stare.demo.sampler import TinySampler
from stare.demo.tasks import TASKS, problems
from stare.demo.vocab import TOKENS, Tokenizer
from stare.errors import RunError
from stare.train.checkpoint import CheckpointStore

GRADERS = {"mod5": mod5, "exact": exact, "tol3": tol3}


@pytest.mark.parametrize("task", TASKS)
def test_the_grader_agrees_with_the_reward(task: str):
    held_out = problems(TASKS[task])[1][:40]
    sampler = TinySampler(*load_policy())
    rows = recorded(held_out, sampler, reward, seed=1, n=8)
    assert len(rows) == 320
    said = [GRADERS[task](row["completion"], (row["gold"],), row["problem"]) for row in rows]
    assert [verdict for verdict, _ in said] == [row["correct"] for row in rows]
    if task == "mod5":  # what the policy was started for
        assert 0 < sum(verdict for verdict, _ in said) < 320


def test_whatever_is_written_is_judged():
    rng = random.Random(0)
    for _ in range(2000):
        text = " ".join(rng.choices(TOKENS, k=rng.choice([0, 1, 11, 12, 13])))
        verdict, answer = mod5(text, ("2",), "B 3 7 9 > 2 :")
        assert not verdict or answer is not None
    assert mod5("7 + 9 = 16 ; 16 * 3 = 48 !", ("3",), "B 3 7 9 > 3 :") == (True, "48")
    assert mod5("7 + 9 = 16 ; 16 * 3 = 48 !", ("2",), "B 3 7 9 > 2 :") == (False, "48")
    with pytest.raises(ValueError, match="not a problem of the demo"):
        mod5("7 + 9 = 16 ; 16 * 3 = 48 !", ("3",), "What is 7 + 9?")


def test_policies_become_reports(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    plan = Plan(tasks={"demo-mod5": 5}, arms=("grpo-ds", "stare-pi"), seeds=(0,))
    runs = [replace(r, settings={**r.settings, "eval.problems": 12}) for r in plan.runs()]
    folders = {run.name: tmp_path / run.name for run in runs}
    torch.manual_seed(0)
    for run, policy in zip(runs, (load_policy()[0], TinyPolicy()), strict=True):
        store = CheckpointStore(folders[run.name] / "checkpoints")
        store.save({"model": policy.state_dict()}, 5)
    words = Console(file=io.StringIO(), width=200)
    for _ in range(2):  # a second time too, on top of the first
        pages = evaluate_policies(runs, folders, tmp_path / "out", words=words, n=4)
    assert [page.parent.name for page in pages] == ["warm-start", "grpo-ds", "stare-pi"]
    assert all(page.stat().st_size > 10_000 for page in pages)
    scores = {}
    for page in pages:
        results = json.loads((page.parent / "results.json").read_text())
        bench = results["benchmarks"]["demo-mod5"]
        assert (bench["problems"], bench["n"], results["grader"]) == (
            12,
            4,
            "stare.demo.grading:mod5",
        )
        scores[page.parent.name] = bench["avg@n"]["value"]
    # The same weights and seed give the same samples; a policy of random weights is never right.
    assert scores["warm-start"] == scores["grpo-ds"] > scores["stare-pi"] == 0
    shown = capfd.readouterr().out
    assert "graded by stare.demo.grading:mod5" in shown
    assert "B is behind A" in shown
    assert "by the reward function" in words.file.getvalue()


def test_a_run_without_checkpoint_is_an_error(tmp_path: Path):
    runs = Plan(tasks={"demo-mod5": 5}, arms=("grpo-ds",), seeds=(0,)).runs()
    runs = [replace(r, settings={**r.settings, "eval.problems": 2}) for r in runs]
    with pytest.raises(RunError, match="no checkpoint"):
        evaluate_policies(
            runs,
            {runs[0].name: tmp_path / "gone"},
            tmp_path / "out",
            words=Console(file=io.StringIO()),
            n=1,
        )


def test_the_tokenizer_drops_the_end_token_that_the_grader_puts_back():
    ids = Tokenizer().encode("7 + 9 = 16 ; 16 * 3 = 48 ! $")
    text = Tokenizer().decode(ids, skip_special_tokens=True)
    assert mod5(text, ("3",), "B 3 7 9 > 3 :")[0]
