"""One sharded rank on CUDA (NCCL for shards, gloo for words): the run of a single process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.train.export import export
from stare.train.metrics import read_metrics
from stare.train.overrides import load_config
from stare.train.run import train
from tiny_llm import tiny_model, tiny_tokenizer

pytestmark = pytest.mark.gpu


def run(folder: Path, out: str, *extra: str) -> list[dict[str, Any]]:
    settings = [
        "model.factory=none",
        f"model.path={folder / 'model'}",
        "model.dtype=float32",
        f"data.path={folder / 'data.jsonl'}",
        "data.prompt_template='{problem} ='",
        "reward.function=fsdp_worker:even_length",
        "rollout.max_response_tokens=8",
        "rollout.max_prompt_tokens=20",
        "eval.every=0",
        "run.steps=2",
        "run.device=cuda",
        "optim.lr=1e-3",
        "optim.eps=1e-5",
        *extra,
    ]
    train(load_config("smollm2", settings), folder / out)
    return read_metrics(folder / out / "metrics.jsonl").rows


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    tiny_model(seed=1).save_pretrained(tmp_path / "model")
    tiny_tokenizer(chat=True).save_pretrained(tmp_path / "model")
    words = ["one and two", "three", "four plus", "a b c d"]
    lines = (json.dumps({"problem": word, "answer": i}) for i, word in enumerate(words))
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    "extra", [(), ("parallel.cpu_offload=true",), ("parallel.reshard_after_forward=false",)]
)
def test_one_rank_equals_a_single_process(folder: Path, extra: tuple[str, ...]) -> None:
    single = run(folder, "single")
    sharded = run(folder, "sharded", "parallel.strategy=fsdp2", *extra)
    for a, b in zip(single, sharded, strict=True):
        assert b["groups/kept"] == a["groups/kept"]
        assert b["loss/total"] == pytest.approx(a["loss/total"], rel=1e-4, abs=1e-5)
        assert b["entropy/batch"] == pytest.approx(a["entropy/batch"], rel=1e-4)
    assert export(folder / "sharded", folder / "hf") == 2


def test_bfloat16_keeps_float32_shards(folder: Path) -> None:
    rows = run(
        folder,
        "half",
        "parallel.strategy=fsdp2",
        "parallel.param_dtype=bfloat16",
        "model.dtype=bfloat16",
    )
    assert abs(rows[0]["kl/rollout"]) < 0.05, "sampler and learner compute alike"
    assert export(folder / "half", folder / "hf") == 2
    from safetensors.torch import load_file

    weights = load_file(folder / "hf" / "model.safetensors")
    assert {value.dtype for value in weights.values()} == {torch.float32}
