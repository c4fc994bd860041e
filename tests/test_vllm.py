"""The sampler against the real vLLM, on a CPU: `make test-vllm`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_llm import tiny_tokenizer

pytest.importorskip("vllm", reason="vLLM is not installed: make test-vllm")

from stare.algo.surprisal import token_statistics
from stare.rollout.sampler import SamplingParams
from stare.rollout.vllm import VllmSampler, engine_arguments

pytestmark = pytest.mark.filterwarnings("ignore")
PROMPTS = ["1+2=", "what is 17-9?", "a", "3+3+3+3="]
PARAMS = SamplingParams(n=4, max_tokens=16, seed=3)


def model() -> Any:
    """A random Llama that vLLM has kernels for (head size 32)."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 128}
    ids = {"vocab_size": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = LlamaConfig(**shape, **heads, **ids, initializer_range=0.2, tie_word_embeddings=True)
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def policy() -> Any:
    return model()


@pytest.fixture(scope="module")
def sampler(policy: Any):
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    arguments = engine_arguments(
        max_model_len=64,
        cuda=False,
        enforce_eager=True,
        gpu_memory_utilization=0.2,
        extra={"max_num_seqs": 16},
    )
    made = VllmSampler(policy, tiny_tokenizer(), arguments, timeout_s=120)
    yield made
    made.close()


def tokens(groups: Any) -> list[list[list[int]]]:
    return [[c.token_ids for c in group] for group in groups]


def difference(policy: Any, groups: Any, temperature: float = 1.0) -> float:
    """Largest difference of log-probs between the engine and the trainer's own model."""
    worst = 0.0
    for completion in (c for group in groups for c in group):
        ids = torch.tensor([completion.prompt_ids + completion.token_ids])
        count = len(completion.token_ids)
        with torch.no_grad():
            logits = policy(ids).logits[:, -count - 1 : -1]
        own = token_statistics(logits, ids[:, -count:], temperature=temperature).logprobs_BT[0]
        worst = max(worst, float((own - torch.tensor(completion.logprobs)).abs().max()))
    return worst


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_are_the_trainers(sampler: VllmSampler, policy: Any, temperature: float):
    params = SamplingParams(n=4, max_tokens=16, seed=1, temperature=temperature)
    groups = sampler.sample(PROMPTS, params)
    assert difference(policy, groups, temperature) < 1e-4
    reasons = {c.finish_reason for group in groups for c in group}
    assert "length" in reasons
    for completion in (c for group in groups for c in group):
        ended = completion.token_ids[-1] == 2
        assert (completion.finish_reason == "stop") == ended
        assert (
            completion.prompt_ids
            == tiny_tokenizer()(PROMPTS)["input_ids"][
                [c[0].prompt_ids for c in groups].index(completion.prompt_ids)
            ]
        )


def test_seeds_reproduce_in_any_company(sampler: VllmSampler):
    whole = tokens(sampler.sample(PROMPTS, PARAMS))
    assert tokens(sampler.sample(PROMPTS, PARAMS)) == whole
    assert tokens(sampler.sample(PROMPTS[2:0:-1], PARAMS)) == [whole[2], whole[1]]
    assert tokens(sampler.sample(PROMPTS, SamplingParams(n=4, max_tokens=16, seed=4))) != whole
    assert len({tuple(t) for t in whole[0]}) == 4


def test_greedy_is_greedy(sampler: VllmSampler, policy: Any):
    (group,) = sampler.sample(["1+2="], SamplingParams(n=2, max_tokens=8, temperature=0.0))
    ids = tiny_tokenizer()("1+2=", return_tensors="pt")["input_ids"]
    for token in group[0].token_ids:
        with torch.no_grad():
            assert int(policy(ids).logits[0, -1].argmax()) == token
        ids = torch.cat([ids, torch.tensor([[token]])], 1)
    assert group[0].token_ids == group[1].token_ids


def test_stop_texts_end_a_response_and_are_kept(sampler: VllmSampler):
    free = sampler.sample(PROMPTS, PARAMS)
    text = next(c.text for g in free for c in g if len(c.text) > 4)
    stop = text[2:4]
    cut = sampler.sample(PROMPTS, SamplingParams(n=4, max_tokens=16, seed=3, stop=(stop,)))
    for a, b in (
        (x, y) for one, two in zip(free, cut, strict=True) for x, y in zip(one, two, strict=True)
    ):
        at = a.text.find(stop)
        if at < 0:
            assert a == b
        else:
            assert b.text == a.text[: at + len(stop)]
            assert b.finish_reason == "stop"
            assert b.token_ids == a.token_ids[: len(b.token_ids)]


@pytest.mark.parametrize("in_memory", [True, False])
def test_weights_follow(sampler: VllmSampler, policy: Any, in_memory: bool, tmp_path: Path):
    old = {k: v.clone() for k, v in policy.state_dict().items()}
    before = tokens(sampler.sample(PROMPTS, PARAMS))
    folder = sampler._folder
    if not in_memory:
        sampler._folder = Path(shutil.copytree(folder, tmp_path / "weights"))
    try:
        with torch.no_grad():
            for parameter in policy.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        sampler.load_weights(policy.state_dict().items(), version=1)
        groups = sampler.sample(PROMPTS, PARAMS)
        assert tokens(groups) != before
        assert difference(policy, groups) < 1e-4
    finally:
        policy.load_state_dict(old)
        sampler._folder = folder
        sampler.load_weights(policy.state_dict().items(), version=2)
    assert tokens(sampler.sample(PROMPTS, PARAMS)) == before


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_an_engine_that_dies_or_hangs_is_replaced(sampler: VllmSampler, sign: int):
    want = tokens(sampler.sample(PROMPTS, PARAMS))
    engine, restarts = sampler._engine, sampler.restarts
    assert engine is not None
    sampler._timeout_s = 5.0 if sign == signal.SIGSTOP else 120.0
    os.killpg(engine.pid, sign)
    # The replacement needs its time; only the stopped one is to be given up soon.
    starting = sampler._start

    def start(*args: Any, **kwargs: Any) -> Any:
        sampler._timeout_s = 120.0
        return starting(*args, **kwargs)

    sampler._start = start  # type: ignore[method-assign]
    assert tokens(sampler.sample(PROMPTS, PARAMS)) == want
    assert sampler.restarts == restarts + 1
    sampler._start = starting  # type: ignore[method-assign]


def command(folder: Path, out: str, steps: int, *more: str) -> list[str]:
    return [
        "run", "short-cot", f"model.path={folder}/policy", f"data.path={folder}/data.jsonl",
        "data.chat_template=false", "data.prompt_template={problem}", "eval.every=0",
        "rollout.sampler=vllm", "vllm.enforce_eager=true", "vllm.timeout_s=120",
        "vllm.gpu_memory_utilization=0.2",
        "rollout.prompts_per_step=2", "rollout.group_size=4", "rollout.over_sample=1",
        "rollout.max_prompt_tokens=16", "rollout.max_response_tokens=12",
        "rollout.dynamic_sampling=false", "model.dtype=float32", "optim.lr=1e-3",
        "optim.micro_batch_tokens=200", "model.gradient_checkpointing=false",
        "reward.function=test_vllm:lengths", "run.checkpoint_every=1", "run.device=cpu",
        f"run.steps={steps}", f"run.out={folder}/{out}", *more,
    ]  # fmt: skip


KEYS = ("entropy/batch", "loss/total", "reward/rollouts", "optim/grad_norm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vllm")
    model().save_pretrained(path / "policy")
    tiny_tokenizer().save_pretrained(path / "policy")
    rows = [{"problem": f"{a}+{a}=", "answer": str(2 * a)} for a in range(8)]
    (path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def metrics(folder: Path, out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / out / "metrics.jsonl").read_text().splitlines()]


def test_a_run_trains_and_resumes(folder: Path):
    from stare.train.cli import main

    assert main(command(folder, "whole", 3)) == 0
    assert main(command(folder, "cut", 2)) == 0
    assert main([*command(folder, "cut", 3), "--resume"]) == 0
    whole, cut = metrics(folder, "whole"), metrics(folder, "cut")
    assert [[row[k] for k in KEYS] for row in cut] == [[row[k] for k in KEYS] for row in whole]
    assert all(row["mismatch/max_abs"] < 1e-4 for row in whole), "the engine has the new weights"
    assert len({row["entropy/batch"] for row in whole}) == 3
    assert whole[0]["rollout/engine_restarts"] == 0
    assert whole[0]["time/sync"] > 0


def test_two_ranks_each_have_an_engine(folder: Path):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    launcher += ["--standalone", "-m", "stare.train.cli"]
    run = [*launcher, *command(folder, "ranks", 3, "parallel.strategy=fsdp2")]
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        run, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-3000:]
    alone, shared = metrics(folder, "whole"), metrics(folder, "ranks")
    for row, other in zip(alone, shared, strict=True):
        assert [other[k] for k in KEYS] == pytest.approx([row[k] for k in KEYS], 1e-4, 1e-6)
        assert other["mismatch/max_abs"] < 1e-4


def lengths(problems: Any, completions: Any) -> list[float]:
    """A reward that differs within groups."""
    return [float(sum(c.token_ids) % 2) for c in completions]
