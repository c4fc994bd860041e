"""The vLLM sampler around an engine that really dies and hangs; no vLLM is needed."""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import ConfigError, DataError, MissingExtraError, RunError
from stare.rollout.sampler import EngineSampler, SamplingParams, TokenSampler, WeightReceiver
from stare.rollout.vllm import VllmSampler, engine_arguments
from stare.rollout.vllm_engine import EngineError, EngineProcess
from stare.train.overrides import load_config
from tiny_llm import tiny_model, tiny_tokenizer

FAKE = str(Path(__file__).with_name("fake_vllm.py"))
PARAMS = SamplingParams(n=2, max_tokens=8, seed=4)


@pytest.fixture
def faults(tmp_path: Path) -> Path:
    folder = tmp_path / "faults"
    folder.mkdir()
    return folder


@pytest.fixture
def sampler(faults: Path):
    made = make(faults)
    yield made
    made.close()


def make(faults: Path, **options: Any) -> VllmSampler:
    command = [sys.executable, FAKE, str(faults)]
    made = VllmSampler(
        tiny_model(),
        tiny_tokenizer(),
        engine_arguments(max_model_len=32, cuda=False),
        start=functools.partial(EngineProcess, command=command),
        **{"start_timeout_s": 60.0, "timeout_s": 60.0} | options,
    )
    made._pause_s = 0.0
    return made


def tokens(groups: Any) -> list[list[list[int]]]:
    return [[c.token_ids for c in group] for group in groups]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_it_is_what_the_trainer_looks_for(sampler: VllmSampler):
    assert isinstance(sampler, TokenSampler)
    assert isinstance(sampler, WeightReceiver)
    assert isinstance(sampler, EngineSampler)


def test_a_response_follows_from_prompt_and_seed_alone(sampler: VllmSampler):
    whole = tokens(sampler.sample(["1+2=", "a", "1+2=", "9-9="], PARAMS))
    assert tokens(sampler.sample(["9-9=", "1+2=", "1+2="], PARAMS)) == [
        whole[3],
        whole[0],
        whole[2],
    ]
    # Equal prompts, samples of a group, and other prompts all draw by themselves.
    assert len({tuple(t) for group in whole for t in group}) == 8
    assert tokens(sampler.sample(["a"], SamplingParams(n=2, seed=5))) != [whole[1]]
    longer = tokens(sampler.sample(["a"], SamplingParams(n=5, max_tokens=8, seed=4)))
    assert longer[0][:2] == whole[1]


def test_completions_carry_what_the_engine_says(sampler: VllmSampler):
    (group,) = sampler.sample_tokens([[5, 6, 7]], PARAMS, [[1, 2, 3]])
    assert [c.logprobs for c in group] == [[-0.5, -0.25, -1.0]] * 3
    assert group[0].prompt_ids == [5, 6, 7]
    assert group[0].finish_reason == "stop"
    assert group[0].entropies is None
    (group,) = sampler.sample_tokens([[5] * 30], PARAMS, [[1]])
    assert group[0].is_truncated, "only two tokens fit behind the prompt"


@pytest.mark.parametrize("fault", ["die", "hang"])
def test_an_engine_that_fails_is_replaced_and_the_round_repeated(faults: Path, fault: str):
    sampler = make(faults, timeout_s=1.5 if fault == "hang" else 60.0)
    want = tokens(sampler.sample(["1+2=", "a"], PARAMS))
    (faults / fault).touch()
    assert tokens(sampler.sample(["1+2=", "a"], PARAMS)) == want
    assert sampler.restarts == 1
    first, second = (int(pid) for pid in (faults / "started").read_text().split())
    assert first != second
    assert not alive(first)
    if fault == "hang":
        assert not alive(int((faults / "grandchild").read_text()))
    sampler.close()
    assert not alive(second)


def test_a_replaced_engine_has_the_newest_weights(sampler: VllmSampler, faults: Path):
    before = sampler.sample(["a"], PARAMS)[0][0].token_ids[2]
    sampler.load_weights([("w", torch.zeros(3))], version=1)
    after = sampler.sample(["a"], PARAMS)[0][0].token_ids[2]
    assert after != before
    (faults / "die").touch()
    assert sampler.sample(["a"], PARAMS)[0][0].token_ids[2] == after
    (faults / "die_loading").touch()
    sampler.load_weights([("w", torch.zeros(300))], version=2)
    assert sampler.sample(["a"], PARAMS)[0][0].token_ids[2] > after
    assert sampler.restarts == 2
    assert sampler.version == 2


def test_failures_in_a_row_end_the_run(faults: Path):
    sampler = make(faults, max_restarts=2)
    (faults / "die_always").touch()
    with pytest.raises(RunError, match=r"exit code 3\).*\n3 engines in a row failed"):
        sampler.sample(["a"], PARAMS)
    assert sampler.restarts == 3
    sampler.close()


def test_an_engine_that_refuses_to_start_is_not_started_again(sampler, faults: Path):
    (faults / "refuse").touch()
    with pytest.raises(RunError, match="no such model"):
        sampler.sample(["a"], PARAMS)
    assert sampler.restarts == 0


def test_a_replacement_that_does_not_start_at_once_is_tried_again(faults: Path):
    sampler = make(faults)
    want = tokens(sampler.sample(["a"], PARAMS))
    (faults / "die_and_refuse").touch()
    assert tokens(sampler.sample(["a"], PARAMS)) == want
    assert sampler.restarts == 2
    sampler.close()


def test_a_death_while_falling_asleep_is_counted_and_survived(faults: Path):
    sampler = make(faults, sleep=True)
    want = tokens(sampler.sample(["a"], PARAMS))
    assert sampler._engine is not None
    sampler._engine._process.kill()
    sampler.release()
    assert sampler.restarts == 1
    assert tokens(sampler.sample(["a"], PARAMS)) == want
    sampler.close()


def test_all_tokens_that_end_a_response_are_handed_over(faults: Path):
    model = tiny_model()
    model.generation_config.eos_token_id = [2, 3]
    command = [sys.executable, FAKE, str(faults)]
    sampler = VllmSampler(
        model,
        tiny_tokenizer(),
        engine_arguments(max_model_len=32, cuda=False),
        start=functools.partial(EngineProcess, command=command),
    )
    assert sampler._job([5], 1, PARAMS, 32).stop_ids == (2, 3)
    sampler.close()


def test_weights_are_written_in_the_engines_dtype_and_tied_ones_twice(faults: Path):
    from safetensors import safe_open

    sampler = make(faults)
    sampler._arguments["dtype"] = "bfloat16"
    weight = torch.randn(4, 3)
    sampler.load_weights([("a", weight), ("tied", weight), ("n", torch.arange(3))], version=1)
    with safe_open(sampler._folder / "model.safetensors", "pt") as file:
        assert sorted(file.keys()) == ["a", "n", "tied"]
        assert torch.equal(file.get_tensor("a"), weight.bfloat16())
        assert file.get_tensor("n").dtype == torch.int64
    folder = sampler._folder
    sampler.close()
    assert not folder.exists()


@pytest.mark.parametrize("ids", [[], [5] * 32])
def test_prompts_that_cannot_be_sampled_are_named(sampler: VllmSampler, ids: list[int]):
    with pytest.raises(DataError, match=f"prompt 1 has {len(ids)} tokens, 1 to 31 are allowed"):
        sampler.sample_tokens([[1], ids], PARAMS, [[1], [1]])


def test_an_interrupted_call_leaves_no_engine_behind(faults: Path):
    sampler = make(faults)
    sampler.sample(["a"], PARAMS)
    (faults / "hang").touch()
    engine = sampler._engine
    assert engine is not None

    class Interrupted(BaseException):
        pass

    def poll(_: float) -> bool:
        raise Interrupted

    engine._link.poll = poll  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        sampler.sample(["a"], PARAMS)
    deadline = time.monotonic() + 5
    while alive(engine.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(engine.pid)
    sampler.close()


def test_the_engine_ends_with_its_parent(faults: Path):
    import subprocess

    code = (
        "import sys, os, time; sys.path.insert(0, sys.argv[2])\n"
        "import test_vllm_sampler as t; from pathlib import Path\n"
        "sampler = t.make(Path(sys.argv[1])); sampler.sample(['a'], t.PARAMS)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(faults), str(Path(FAKE).parent)], check=False)
    pid = int((faults / "started").read_text())
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid)


def test_a_refusal_is_not_a_failure(faults: Path):
    (faults / "refuse").touch()
    with pytest.raises(RunError) as caught:
        EngineProcess(
            {"model": "x"}, start_timeout_s=60, command=[sys.executable, FAKE, str(faults)]
        )
    assert not isinstance(caught.value, EngineError)


def test_vllm_that_is_not_installed_is_named_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
):
    from stare.train.session import _make_vllm

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    config = load_config("demo-mod5", ["rollout.sampler=vllm"])
    with pytest.raises(MissingExtraError, match=r"stare-rl\[vllm\]"):
        _make_vllm(config, tiny_model(), tiny_tokenizer(), torch.device("cpu"))


@pytest.mark.parametrize(
    ("override", "match"),
    [
        ("vllm.extra={model = 'x'}", "extra must not set model"),
        ("vllm.timeout_s=0", r"vllm\.timeout_s must lie in"),
        ("vllm.weights=nccl", r"vllm\.weights must be one of memory, disk"),
        ("rollout.sampler=sglang", "must be 'transformers' or 'vllm' or an import path"),
    ],
)
def test_bad_settings(override: str, match: str):
    with pytest.raises(ConfigError, match=match):
        load_config("demo-mod5", [override])


def test_the_engine_does_not_outlive_close(sampler: VllmSampler, faults: Path):
    sampler.sample(["a"], PARAMS)
    pid = int((faults / "started").read_text())
    assert alive(pid)
    assert os.getpgid(pid) == pid
    sampler.close()
    assert not alive(pid)
