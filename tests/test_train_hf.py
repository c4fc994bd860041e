"""The whole loop on a tiny random Llama in a Hugging Face folder, as the smollm2 preset runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import ConfigError, DataError
from stare.train.checkpoint import CheckpointStore
from stare.train.metrics import read_metrics
from stare.train.overrides import load_config
from stare.train.run import train
from stare.types import Completion, Problem
from tiny_llm import tiny_model, tiny_tokenizer

WORDS = ["one and two", "three", "four plus", "a b c d", "seven", "x"]


def even_length(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """A reward that a random model earns about half of the time."""
    return [float(len(c.text) % 2 == 0) for c in completions]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A model folder and a data file."""
    tiny_model(seed=1).save_pretrained(tmp_path / "model")
    tiny_tokenizer(chat=True).save_pretrained(tmp_path / "model")
    rows = [{"problem": word, "answer": i} for i, word in enumerate(WORDS)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return tmp_path


def run(folder: Path, out: str, *extra: str, resume: bool = False) -> list[dict[str, Any]]:
    settings = [
        "model.factory=none",
        f"model.path={folder / 'model'}",
        f"data.path={folder / 'data.jsonl'}",
        f"data.eval_path={folder / 'data.jsonl'}",
        "data.prompt_template='{problem} ='",
        "reward.function=test_train_hf:even_length",
        "rollout.max_response_tokens=8",
        "rollout.max_prompt_tokens=20",
        "rollout.group_size=4",
        "eval.every=0",
        "run.steps=2",
        "run.checkpoint_every=1",
        "optim.lr=1e-3",
        *extra,
    ]
    train(load_config("smollm2", settings), folder / out, resume=resume)
    return read_metrics(folder / out / "metrics.jsonl").rows


def weights(folder: Path, out: str) -> dict[str, torch.Tensor]:
    latest = CheckpointStore(folder / out / "checkpoints").latest()
    assert latest is not None
    model: dict[str, torch.Tensor] = latest.state["model"]
    return model


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_two_steps_of_the_preset_at_toy_size(folder: Path, dtype: str) -> None:
    rows = run(folder, "run", f"model.dtype={dtype}", "eval.every=2")
    assert [r["step"] for r in rows] == [0, 1, 2]
    assert rows[2]["groups/kept"] > 0
    assert rows[2]["optim/grad_norm"] > 0
    assert 0 <= rows[2]["eval/pass@1"] <= 1
    # The sampler's log-probabilities are those of the policy the learner scores.
    assert abs(rows[1]["kl/rollout"]) < (1e-5 if dtype == "float32" else 0.05)
    before, after = tiny_model(seed=1).state_dict(), weights(folder, "run")
    assert any(not torch.equal(before[k], after[k]) for k in before)


def test_micro_batches_and_checkpointing_change_only_memory(folder: Path) -> None:
    run(folder, "whole", "model.dtype=float32")
    run(folder, "cut", "model.dtype=float32", "optim.micro_batch_tokens=60")
    recomputed = ("model.dtype=float32", "model.gradient_checkpointing=true")
    run(folder, "recomputed", *recomputed)
    whole = weights(folder, "whole")
    for other in ("cut", "recomputed"):
        for name, value in weights(folder, other).items():
            torch.testing.assert_close(value, whole[name], rtol=0, atol=2e-4, msg=other + name)


def test_a_resumed_run_equals_the_uninterrupted_one(folder: Path) -> None:
    run(folder, "whole", "run.steps=3")
    run(folder, "parts", "run.steps=1")
    run(folder, "parts", "run.steps=3", resume=True)
    whole, parts = weights(folder, "whole"), weights(folder, "parts")
    assert all(torch.equal(whole[k], parts[k]) for k in whole)


def test_a_chat_template_is_used(folder: Path) -> None:
    rows = run(folder, "chat", "data.chat_template=true", "run.steps=1")
    assert rows[-1]["groups/generated"] > 0


def test_the_verifier_is_a_reward(folder: Path) -> None:
    rows = run(folder, "math", "reward.function=math", "run.steps=1")
    assert rows[-1]["reward/rollouts"] == 0.0, "a random model declares no answer"
    assert rows[-1]["groups/kept"] == 0
    assert "entropy/batch" not in rows[-1], "nothing to train on, nothing claimed"


def test_soft_overlong_penalty_reaches_the_advantages(folder: Path) -> None:
    penalty = ["rollout.truncation=penalty", "rollout.overlong_buffer=4", "run.steps=1"]
    run(folder, "plain", "run.steps=1")
    run(folder, "penalty", *penalty)
    plain, punished = weights(folder, "plain"), weights(folder, "penalty")
    assert any(not torch.equal(plain[k], punished[k]) for k in plain)


def test_a_prompt_that_is_too_long_stops_before_the_first_step(folder: Path) -> None:
    with pytest.raises(DataError, match=r"data-4.*longer than 8 tokens"):
        run(folder, "long", "rollout.max_prompt_tokens=8")
    assert not (folder / "long" / "metrics.jsonl").exists()


def test_a_prompt_longer_than_the_context_stops_before_the_first_step(folder: Path) -> None:
    with (folder / "data.jsonl").open("a") as file:
        file.write(json.dumps({"id": "long", "problem": "a" * 70, "answer": 0}) + "\n")
    with pytest.raises(DataError, match=r"'long' .* longer than 63 tokens"):
        run(folder, "long", "rollout.max_prompt_tokens=1000")


def test_a_missing_model_is_a_configuration_error(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.path"):
        run(folder, "missing", f"model.path={folder / 'nowhere'}")


def test_a_model_without_checkpointing_says_so(tmp_path: Path) -> None:
    config = load_config("demo-mod5", ["model.gradient_checkpointing=true", "run.steps=1"])
    with pytest.raises(ConfigError, match="gradient_checkpointing"):
        train(config, tmp_path / "run")
