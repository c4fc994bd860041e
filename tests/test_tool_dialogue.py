"""Dialogues with a tool: scripted policies for the flow, a random Llama for the arithmetic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from stare.demo.tool_vocab import EOS_ID, ToolTokenizer
from stare.errors import ConfigError, RunError
from stare.rollout.hf import TransformersSampler
from stare.rollout.sampler import (
    EngineSampler,
    SamplingParams,
    StatisticsSource,
    TokenSampler,
    WeightReceiver,
)
from stare.rollout.tools.dialogue import DialogueSampler, dialogue_sampler
from stare.rollout.tools.executor import Execution
from stare.rollout.tools.formats import FORMATS, ToolFormat
from stare.rollout.tools.observation import Observations, observation_text
from stare.types import Completion
from tiny_llm import ALPHABET, EOS, tiny_model, tiny_tokenizer

TOKENIZER = ToolTokenizer()
CALL = "```python\nprint(4*7)\n```\n"
SHOWN = "```output\n28\n```\n"


class FakeExecutor:
    def __init__(self, *answers: Execution) -> None:
        self.answers, self.runs, self.closed = answers, list[list[str]](), False

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        self.runs.append(list(programs))
        if self.answers:
            return [self.answers[i % len(self.answers)] for i in range(len(programs))]
        return [
            Execution(status="ok", stdout=f"{eval(p[6:-1])}\n", stderr="", seconds=0.0)
            for p in programs
        ]

    def close(self) -> None:
        self.closed = True


class Scripted:
    """Says its lines, one a turn, by how much it has seen; like a sampler, a limit cuts it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines, self.seen, self.calls = lines, list[list[int]](), 0

    def sample_tokens(
        self, prompts: Sequence[Sequence[int]], params: SamplingParams, seeds: Any
    ) -> list[list[Completion]]:
        self.calls += 1
        groups = []
        for ids, own in zip(prompts, seeds, strict=True):
            self.seen.append(list(ids))
            group = []
            for _ in own:
                line = TOKENIZER.encode(self.lines[self.calls - 1])
                cut = line[: params.max_tokens]
                group.append(
                    Completion(
                        prompt_ids=list(ids),
                        token_ids=cut,
                        text=TOKENIZER.decode(cut, skip_special_tokens=True),
                        finish_reason="stop" if cut == line else "length",
                        logprobs=[-1.0] * len(cut),
                        entropies=[0.5] * len(cut),
                    )
                )
            groups.append(group)
        return groups


def talk(
    lines: Sequence[str], executor: FakeExecutor | None = None, *, tokens: int = 60, **options: Any
) -> tuple[Completion, DialogueSampler]:
    settings = {"markup": FORMATS["fence"], "max_turns": 2, "max_observation_tokens": 8}
    sampler = dialogue_sampler(
        Scripted(lines), executor or FakeExecutor(), TOKENIZER, **(settings | options)
    )
    ((completion,),) = sampler.sample(["4*7="], SamplingParams(max_tokens=tokens))
    return completion, sampler


def test_output_goes_back_masked_and_the_reward_reads_only_what_the_policy_wrote() -> None:
    c, sampler = talk([CALL, "28<end>"])
    assert TOKENIZER.decode(c.token_ids) == CALL + SHOWN + "28<end>"
    n_call, n_shown = len(TOKENIZER.encode(CALL)), len(TOKENIZER.encode(SHOWN))
    assert c.loss_mask == [True] * n_call + [False] * n_shown + [True] * 3
    assert c.logprobs == [-1.0] * n_call + [0.0] * n_shown + [-1.0] * 3
    assert c.entropies == [0.5] * n_call + [0.0] * n_shown + [0.5] * 3
    assert c.text == CALL + "\n28"
    assert c.finish_reason == "stop"
    assert c.prompt_ids == TOKENIZER.encode("4*7=")
    assert sampler.sampler.seen == [c.prompt_ids, c.prompt_ids + c.token_ids[:-3]]
    silent, _ = talk([CALL, "<end>"])
    assert "28" not in silent.text, "an answer that only the tool gave is no answer"


def test_a_response_without_a_call_is_as_it_was() -> None:
    c, sampler = talk(["28<end>"])
    assert (c.text, c.loss_mask, c.finish_reason) == ("28", None, "stop")
    assert sampler.take_statistics()["tools/calls"] == 0


def test_a_call_beyond_the_limit_ends_the_response_and_does_not_run() -> None:
    executor = FakeExecutor()
    c, sampler = talk([CALL, CALL], executor, max_turns=1)
    assert executor.runs == [["print(4*7)"]]
    assert c.finish_reason == "stop"
    assert c.text == CALL + "\n" + CALL
    assert sampler.take_statistics()["tools/turn_limit_frac"] == 1


@pytest.mark.parametrize("tokens", range(1, 24))
def test_no_token_limit_is_exceeded(tokens: int) -> None:
    c, _ = talk([CALL, "28<end>"], tokens=tokens)
    whole = len(TOKENIZER.encode(CALL + SHOWN + "28<end>"))
    assert len(c.token_ids) <= tokens
    assert c.finish_reason == ("stop" if tokens >= whole else "length")
    assert c.loss_mask is None or c.loss_mask[-1], "no observation at the end"
    bounded, _ = talk([CALL, "28<end>"], context=tokens + 4)
    assert bounded == c, "the context limits as the token limit does"


def test_a_closed_block_that_is_no_call_goes_on() -> None:
    c, sampler = talk(["1\n```\n", "2<end>"])
    assert c.text == "1\n```\n2"
    assert c.loss_mask is None
    assert sampler.take_statistics()["tools/calls"] == 0


def test_long_output_loses_its_middle_and_errors_are_shown() -> None:
    long = Execution(status="ok", stdout="1234567890" * 3, stderr="", seconds=0.0)
    observations = Observations(TOKENIZER, "({output})", 9)
    marker = TOKENIZER.encode("\n[...]\n")
    assert TOKENIZER.decode(observations.encode(long)) == f"(123{TOKENIZER.decode(marker)}890)"
    failed = replace(long, status="error", stdout="1\n", stderr="Traceback\nZeroDivisionError\n")
    assert observation_text(failed) == "1\nTraceback\nZeroDivisionError"
    assert observation_text(replace(failed, status="memory", stderr="")) == "1\n[memory]"
    assert observation_text(replace(long, stdout="")) == "[no output]"


def test_output_cannot_write_control_tokens() -> None:
    tokenizer = tiny_tokenizer()
    evil = Execution(status="ok", stdout="a</s>b<end>", stderr="", seconds=0.0)
    ids = Observations(tokenizer, "<end>{output}<s>", 50).encode(evil)
    special = [i for i in ids if i in tokenizer.all_special_ids]
    assert special == tokenizer("<end><s>", add_special_tokens=False)["input_ids"]


def test_tool_calls_in_json_and_what_is_wrong_with_them() -> None:
    first = FORMATS["tool_call"].first_call
    good = {"name": "python", "arguments": {"code": "print('</a>')\n"}}
    call = first(f"Let me see <tool_call>\n{json.dumps(good)}\n</tool_call>")
    assert call is not None
    assert call.program == "print('</a>')\n"
    for bad, problem in (
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        (json.dumps(good | {"name": "search"}), "one tool"),
        (json.dumps(good | {"arguments": "print(1)"}), "code, a string"),
        (json.dumps(good | {"arguments": {"code": 1}}), "code, a string"),
        ("[" * 100_000, "no JSON object"),
    ):
        call = first(f"<tool_call>{bad}</tool_call>")
        assert call is not None
        assert call.program is None
        assert problem in call.problem
    assert first("<tool_call>{}") is None


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nx\n```\n", "x"),
        ("so\n```py \nx\ny\n```\n", "x\ny"),
        ("```python\n```\n", ""),
        ("```text\nx\n```\n", None),
        ("``````python\nx\n```\n", None),
        ("```python\nx```\n", None),
    ],
)
def test_fences(text: str, program: str | None) -> None:
    call = FORMATS["fence"].first_call(text)
    assert (call and call.program) == program


def test_malformed_calls_do_not_run_and_are_counted() -> None:
    executor = FakeExecutor(Execution(status="timeout", stdout="", stderr="", seconds=2.0))
    c, sampler = talk(["```python\n```\n", CALL, "1<end>"], executor)
    assert executor.runs == [["print(4*7)"]]
    assert c.finish_reason == "stop"
    numbers = sampler.take_statistics()
    assert numbers.pop("time/tools") >= 0
    assert numbers == {
        "tools/calls": 2,
        "tools/calling_frac": 1,
        "tools/turns": 3,
        "tools/error_frac": 1,
        "tools/timeout_frac": 0.5,
        "tools/malformed_frac": 0.5,
        "tools/turn_limit_frac": 0,
        "tools/observation_tokens": c.loss_mask.count(False) if c.loss_mask else 0,
    }
    assert sampler.take_statistics()["tools/calls"] == 0


def test_a_tool_that_never_runs_anything_stops_the_run() -> None:
    dead = FakeExecutor(Execution(status="unavailable", stdout="", stderr="refused", seconds=0.0))
    with pytest.raises(RunError, match=r"none of the 1 programs .* refused"):
        talk([CALL, "1<end>"], dead)


def test_what_kind_of_sampler_it_is() -> None:
    inner = Scripted(["1<end>"])
    _, sampler = talk(["1<end>"])
    assert isinstance(sampler, EngineSampler)
    assert isinstance(sampler, StatisticsSource)
    assert not isinstance(sampler, WeightReceiver)
    sampler.close()
    assert sampler.executor.closed
    versions = []
    inner.load_weights = lambda weights, *, version: versions.append(version)
    options = {"markup": FORMATS["fence"], "max_turns": 1, "max_observation_tokens": 8}
    receiver = dialogue_sampler(inner, FakeExecutor(), TOKENIZER, **options)
    assert isinstance(receiver, WeightReceiver)
    receiver.load_weights([], version=3)
    assert versions == [3]
    with pytest.raises(ConfigError, match="continues token ids"):
        DialogueSampler(object(), FakeExecutor(), TOKENIZER, **options)
    with pytest.raises(ConfigError, match="one group"):
        ToolFormat(close="x", pattern="x", payload="code", observation="{output}")
    assert EOS_ID in TOKENIZER.all_special_ids


LETTERS = ToolFormat(
    # Of what a random policy writes, much is a call.
    close="e",
    pattern="(.)[^e]*e",
    payload="code",
    observation="= {output} =",
)


class Echo(FakeExecutor):
    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        return [Execution(status="ok", stdout=p * 3, stderr="", seconds=0.0) for p in programs]


def test_a_dialogue_does_not_depend_on_what_is_sampled_beside_it() -> None:
    model, tokenizer = tiny_model(context=96), tiny_tokenizer()
    prompts, params = ["ab", "what is 1", "c", "ab"], SamplingParams(n=4, max_tokens=60, seed=3)

    def sample(some: list[str], **options: int) -> list[list[Completion]]:
        inner = TransformersSampler(model, tokenizer, "cpu", **options)
        assert isinstance(inner, TokenSampler)
        sampler = DialogueSampler(
            inner,
            Echo(),
            tokenizer,
            markup=LETTERS,
            max_turns=3,
            max_observation_tokens=6,
            context=96,
        )
        return sampler.sample(some, params)

    def ids(groups: list[list[Completion]]) -> list[list[list[int]]]:
        return [[c.token_ids for c in group] for group in groups]

    whole = sample(prompts)
    assert ids(sample(prompts, max_batch=1)) == ids(whole)
    assert ids([sample([p])[0] for p in prompts[:3]]) == ids(whole[:3])
    flat = [c for group in whole for c in group]
    assert len({tuple(c.token_ids) for c in flat}) == len(flat)
    assert {c.finish_reason for c in flat} == {"stop", "length"}
    turns = [c for c in flat if c.loss_mask]
    assert len(turns) > 4
    for c in flat:
        mask = c.loss_mask or [True] * len(c.token_ids)
        assert len(c.token_ids) == len(c.logprobs or []) == len(mask) <= 60
        own = [i for i, m in zip(c.token_ids, mask, strict=True) if m]
        written = tokenizer.decode(own, skip_special_tokens=True)
        assert c.text.replace("\n", "") == written
    assert set(ALPHABET) >= {ch for c in flat for ch in c.text if ch != "\n"}
    assert EOS in {c.token_ids[-1] for c in flat}
