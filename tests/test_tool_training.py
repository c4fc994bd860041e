"""Tool output teaches nothing: it is masked from loss, entropy, selection and gradient."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.demo.policy import PolicyOutput, TinyPolicy
from stare.demo.tool_policy import CONTEXT, ToolSampler, load_policy
from stare.demo.tool_task import products, reward
from stare.demo.tool_vocab import ToolTokenizer
from stare.errors import ConfigError, SandboxError, StareError
from stare.rollout.sampler import SamplingParams
from stare.rollout.tools.dialogue import DialogueSampler
from stare.rollout.tools.executor import Execution
from stare.rollout.tools.formats import FORMATS
from stare.train.batch import Batch, make_batch
from stare.train.cli import main
from stare.train.collect import Group
from stare.train.learner import Learner
from stare.train.metric_keys import is_metric_key
from stare.train.overrides import load_config

HERE = "test_tool_training"


class Products:
    """Runs `print(A*B)` and nothing else."""

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        return [self._run(p) for p in programs]

    def _run(self, program: str) -> Execution:
        a, _, b = program.removeprefix("print(").removesuffix(")").partition("*")
        if not (a.isdigit() and b.isdigit()):
            return Execution(status="error", stdout="", stderr="SyntaxError", seconds=0.0)
        return Execution(status="ok", stdout=f"{int(a) * int(b)}\n", stderr="", seconds=0.0)

    def close(self) -> None:
        pass


class Poisoned(TinyPolicy):
    """Whatever is predicted in place of tool output comes from a parameter of its own."""

    mask_BT: torch.Tensor
    strength = 0.0

    def __init__(self) -> None:
        super().__init__(context=CONTEXT)
        self.poison = torch.nn.Parameter(torch.linspace(-1, 1, self.head.out_features))

    def forward(self, *args: Any, **kwargs: Any) -> PolicyOutput:
        logits_BTV = super().forward(*args, **kwargs).logits
        wrong = (self.poison * self.strength).expand_as(logits_BTV)
        return PolicyOutput(torch.where(self.mask_BT[..., None], logits_BTV, wrong))


def batch_with_tools(options: Sequence[str]) -> tuple[Any, Batch]:
    run = load_config("demo-tool", ["stare.target_entropy=9", *options])
    policy, tokenizer = load_policy()
    sampler = DialogueSampler(
        ToolSampler(policy, tokenizer),
        Products(),
        tokenizer,
        markup=FORMATS["fence"],
        max_turns=1,
        max_observation_tokens=8,
    )
    problems = products()[0][:6]
    groups = sampler.sample([p.problem for p in problems], SamplingParams(n=6, max_tokens=34))
    graded = [
        Group(problem=p, completions=cs, rewards=[float(i % 2) for i in range(len(cs))])
        for p, cs in zip(problems, groups, strict=True)
    ]
    return run, make_batch(graded, run.rollout, pad_id=0)


def learn(run: Any, batch: Batch, strength: float) -> tuple[dict[str, Any], dict[str, Any]]:
    model = Poisoned()
    model.load_state_dict(load_policy()[0].state_dict(), strict=False)
    real_BT = batch.attention_mask_BL[:, -batch.mask_BT.shape[1] :].bool()
    model.mask_BT, model.strength = ~(real_BT & ~batch.mask_BT), strength
    learner = Learner(model, run, torch.device("cpu"))
    metrics = learner.step(batch)
    return {k: v.clone() for k, v in model.state_dict().items()}, metrics


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["stare.variant=O1"],
        ["stare.gate=token"],
        ["loss.kl_coef=0.1"],
        ["loss.is_correction=token"],
        ["loss.aggregation=seq-mean-token-sum"],
        ["optim.epochs=2"],
    ],
    ids=" ".join,
)
def test_poisoned_log_probs_of_tool_output_change_nothing(options: list[str]) -> None:
    run, batch = batch_with_tools(options)
    hidden = batch.attention_mask_BL[:, -batch.mask_BT.shape[1] :].bool() & ~batch.mask_BT
    assert hidden.any()
    before, plain = learn(run, batch, 0.0)
    assert batch.sampled_logprobs_BT is not None
    assert batch.sampled_entropy_BT is not None
    wrong = replace(
        batch,
        sampled_logprobs_BT=batch.sampled_logprobs_BT.masked_fill(hidden, -30.0),
        sampled_entropy_BT=batch.sampled_entropy_BT.masked_fill(hidden, 30.0),
    )
    after, metrics = learn(run, wrong, 20.0)
    assert metrics == pytest.approx(plain, rel=0, abs=0, nan_ok=True)
    assert plain["optim/grad_norm"]
    for name, value in after.items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(after["poison"], Poisoned().poison.detach()), "no gradient reaches it"
    assert plain["stare/n_tokens"] == int(batch.mask_BT.sum())


def test_the_poison_would_show_without_the_mask() -> None:
    run, batch = batch_with_tools([])
    mask_BT = batch.attention_mask_BL[:, -batch.mask_BT.shape[1] :].bool()
    hidden = mask_BT & ~batch.mask_BT
    leaky = replace(batch, mask_BT=mask_BT)
    moved = []
    for strength in (0.0, 20.0):
        model = Poisoned()
        model.load_state_dict(load_policy()[0].state_dict(), strict=False)
        model.mask_BT, model.strength = ~hidden, strength
        metrics = Learner(model, run, torch.device("cpu")).step(leaky)
        moved.append((metrics["entropy/batch"], model.poison.detach().clone()))
    assert moved[0][0] != moved[1][0]
    assert not torch.equal(moved[1][1], Poisoned().poison.detach())


def run_demo(folder: Path, *options: str) -> list[dict[str, Any]]:
    words = ["run.steps=2", "eval.every=2", "eval.problems=8", "eval.n=2", "eval.ks=[1]"]
    words += ["rollout.prompts_per_step=4", f"run.out={folder}"]
    assert main(["run", "demo-tool", *words, *options]) == 0
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_with_a_tool_and_one_without(tmp_path: Path) -> None:
    rows = run_demo(tmp_path / "tool", f"tools.executor={HERE}:Products")
    step = rows[1]
    assert step["tools/calls"] > 0
    assert 0 < step["tools/calling_frac"] < 1
    assert step["time/tools"] >= 0
    assert all(is_metric_key(key) for row in rows for key in row if key != "nonfinite")
    without = run_demo(tmp_path / "head", "tools.enabled=false")
    assert not any(key.startswith("tools/") for key in without[1])


def test_the_warm_start_calls_the_tool_sometimes_and_is_better_with_it() -> None:
    policy, tokenizer = load_policy()
    held_out = products()[1][:60]
    sampler = DialogueSampler(
        ToolSampler(policy, tokenizer),
        Products(),
        tokenizer,
        markup=FORMATS["fence"],
        max_turns=1,
        max_observation_tokens=8,
    )
    groups = sampler.sample([p.problem for p in held_out], SamplingParams(n=4, max_tokens=34))
    scores: dict[bool, list[float]] = {True: [], False: []}
    for problem, group in zip(held_out, groups, strict=True):
        for c in group:
            scores[c.loss_mask is not None] += reward([problem], [c])
    called, alone = scores[True], scores[False]
    assert 0.1 < len(called) / 240 < 0.5
    assert sum(called) / len(called) > 2 * sum(alone) / len(alone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["tools.format=xml"], "tools.format must be one of fence, tool_call"),
        (["tools.executor=docker"], "tools.executor must be one of http, sandbox"),
        (["tools.executor=http"], "needs tools.url"),
        (["tools.url='http://x'"], "tools.url is for tools.executor='http'"),
        (["tools.unsafe=true", "tools.executor=a:b"], "tools.unsafe=true is for"),
        (["tools.limits={wall=1}"], "tools.limits has no wall"),
        (["tools.limits={memory_mb=1}"], "memory_mb must be"),
        (["tools.max_turns=0"], "max_turns"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_contradictions_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("demo-tool", options)


def test_what_only_loading_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def failed(*options: str) -> str:
        assert main(["run", "demo-tool", f"run.out={tmp_path / options[0][-4:]}", *options]) == 2
        return capsys.readouterr().err

    assert "has no sample_tokens" in failed(
        "rollout.sampler=stare.demo.sampler:TinySampler", f"tools.executor={HERE}:Products"
    )
    assert "is no ToolFormat" in failed("tools.format=math:pi")
    assert issubclass(SandboxError, StareError)


def test_the_tokenizer_is_its_own_inverse() -> None:
    tokenizer = ToolTokenizer()
    text = "```python\nprint(12*34)\n```\n```output\n408\n```\n408"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer(["1", "23"])["input_ids"] == [[1], [2, 3]]
