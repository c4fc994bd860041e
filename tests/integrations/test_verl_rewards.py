"""The verifier as verl's reward: through the reward managers that verl itself runs."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import torch
import verl_host
from verl_host import composed

from stare import verify

pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = [r"so \boxed{\frac{1}{2}}", r"so \boxed{3}", "no answer at all", r"\boxed{0.5}"]
GOLDS = ["0.5", "4", "1", "1/2"]
PATH = ("reward.custom_reward_function.path=pkg://stare.verify",)


class Tokenizer:
    """Characters as tokens."""

    def decode(self, ids, skip_special_tokens=True):
        return "".join(map(chr, ids.tolist()))


def batch(texts=TEXTS, golds=GOLDS):
    width = max(map(len, texts))
    responses = torch.zeros(len(texts), width, dtype=torch.int64)
    attention = torch.zeros(len(texts), 2 + width, dtype=torch.int64)
    for i, text in enumerate(texts):
        responses[i, : len(text)] = torch.tensor([ord(c) for c in text])
        attention[i, : 2 + len(text)] = 1
    tensors = {
        "prompts": torch.ones(len(texts), 2, dtype=torch.int64),
        "responses": responses,
        "attention_mask": attention,
    }
    return verl_host.verl.DataProto.from_dict(
        tensors=tensors,
        non_tensors={
            "data_source": np.array(["math"] * len(texts), dtype=object),
            "reward_model": np.array([{"ground_truth": gold} for gold in golds], dtype=object),
            "extra_info": np.array([{} for _ in texts], dtype=object),
        },
    )


def test_the_reward_loop_of_the_current_trainers():
    """`load_reward_manager` from a composed configuration, then one row at a time."""
    from verl.trainer.ppo.reward import load_reward_manager

    async def score():
        config = composed(*PATH, "reward.custom_reward_function.name=verl_compute_score")
        manager = load_reward_manager(config, Tokenizer())
        return [await manager.run_single(batch()[i : i + 1]) for i in range(len(TEXTS))]

    results = asyncio.run(score())
    assert [r["reward_score"] for r in results] == [1.0, 0.0, 0.0, 1.0]
    assert results[0]["reward_extra_info"]["acc"] == 1.0
    assert results[2]["reward_extra_info"]["pred"] == ""


def test_reward_kwargs_reach_the_verifier():
    from verl.trainer.ppo.reward import get_custom_reward_fn

    config = composed(
        *PATH,
        "reward.custom_reward_function.name=verl_compute_score",
        "+reward.custom_reward_function.reward_kwargs={undecided: 0.25, fallback: false}",
    )
    score = get_custom_reward_fn(config)
    result = score(data_source="m", solution_str=r"\boxed{A_{n}^{weird}}", ground_truth="7")
    assert result["score"] in (0.0, 0.25)
    assert result["score"] == (0.25 if result["undecided"] else 0.0)


def test_the_batch_manager():
    from verl.workers.reward_manager import get_reward_manager_cls

    manager = get_reward_manager_cls("batch")(
        Tokenizer(), num_examine=0, compute_score=verify.verl_compute_score_batch
    )
    data = batch()
    out = manager(data, return_dict=True)
    last = [len(text) - 1 for text in TEXTS]
    assert [float(out["reward_tensor"][i, t]) for i, t in enumerate(last)] == [1.0, 0.0, 0.0, 1.0]
    assert float(out["reward_tensor"].sum()) == 2.0
    assert out["reward_extra_info"]["acc"] == [1.0, 0.0, 0.0, 1.0]
