from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import ConfigError
from stare.train.cli import main
from stare.train.config import TrainConfig
from stare.train.learner import Learner
from stare.train.memory_plan import GIB, Layout, plan_memory
from stare.train.model_shape import built_in_shapes, load_shape, shape_of
from stare.train.overrides import load_config

# Counts of the safetensors index of each repository on the Hub.
PUBLISHED = {
    "Qwen/Qwen2.5-Math-7B": 7_615_616_512,
    "Qwen/Qwen2.5-7B": 7_615_616_512,
    "Qwen/Qwen2.5-14B-Instruct": 14_770_033_664,
    "Qwen/Qwen2.5-32B": 32_763_876_352,
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": 1_777_088_000,
    "Qwen/Qwen3-8B-Base": 8_190_735_360,
}
SMALL = {
    "vocab_size": 1003,
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "max_position_embeddings": 1024,
}


def config(*overrides: str) -> TrainConfig:
    return load_config("short-cot", ["model.path=m", "data.path=d.jsonl", *overrides])


def small_model(kind: str, kv_heads: int, **more: Any) -> Any:
    import transformers

    prefix = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}[kind]
    settings = SMALL | {"num_key_value_heads": kv_heads} | more
    model_config = getattr(transformers, f"{prefix}Config")(**settings)
    return getattr(transformers, f"{prefix}ForCausalLM")(model_config)


def test_parameter_counts_are_the_published_ones() -> None:
    assert {name: shape.parameters for name, shape in built_in_shapes().items()} == PUBLISHED


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3"])
def test_parameter_counts_are_those_of_transformers(kind: str, tied: bool, tmp_path: Path) -> None:
    more: dict[str, Any] = {"tie_word_embeddings": tied}
    if kind == "llama":
        more |= {"attention_bias": tied, "head_dim": 48}
    with torch.device("meta"):
        model = small_model(kind, 2, **more)
    model.config.save_pretrained(tmp_path)
    shape = load_shape(str(tmp_path), None)
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    assert load_shape(None, tmp_path / "config.json") == load_shape(None, tmp_path)


def saved_bytes(model: Any, ids_BL: torch.Tensor, *, bf16: bool) -> int:
    """What autograd keeps of a forward pass up to the head, each storage once, weights left out."""
    weights = {tuple(s) for p in model.parameters() for s in (p.shape, p.shape[::-1])}
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        # Autocast keeps 16-bit copies of the weights: planned apart, as gathered weights.
        if tuple(tensor.shape) not in weights:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16),
    ):
        model.model(input_ids=ids_BL, attention_mask=torch.ones_like(ids_BL), use_cache=False)
    return sum(t.untyped_storage().nbytes() for t in kept.values())


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("kv_heads", [2, 8])
@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_activations_are_what_autograd_keeps_within_15_percent(
    kind: str, kv_heads: int, bf16: bool
) -> None:
    model = small_model(kind, kv_heads, **({"head_dim": 32} if kind == "qwen3" else {}))
    ids_BL = torch.randint(0, SMALL["vocab_size"], (4, 250))
    settings = [
        f"model.dtype={'bfloat16' if bf16 else 'float32'}",
        "model.gradient_checkpointing=false",
        "rollout.prompts_per_step=1",
        "rollout.group_size=4",
        "rollout.max_prompt_tokens=125",
        "rollout.max_response_tokens=125",
        "optim.micro_batch_tokens=1000",
    ]
    shape = shape_of(model.config.to_dict(), kind)
    plan = plan_memory(config(*settings), shape, Layout())
    assert plan.micro_batch == ids_BL.numel()
    measured = saved_bytes(model, ids_BL, bf16=bf16)
    assert measured / plan.update["activations"] == pytest.approx(1, abs=0.15)

    model.activation_checkpointing_enable({"use_reentrant": False})
    model.train()
    with_checkpoints = plan_memory(
        config(*settings, "model.gradient_checkpointing=true"), shape, Layout()
    )
    measured = saved_bytes(model, ids_BL, bf16=bf16)
    assert measured / with_checkpoints.update["checkpoints"] == pytest.approx(1, abs=0.02)


def test_weights_gradients_and_moments_are_exact() -> None:
    settings = ["model.dtype=float32", "rollout.prompts_per_step=2", "rollout.group_size=2"]
    learner_config = config(*settings, "optim.micro_batch_tokens=none")
    model = small_model("qwen2", 2)
    learner = Learner(model, learner_config, torch.device("cpu"))
    model(input_ids=torch.ones(1, 4, dtype=torch.long)).logits.sum().backward()
    gradients = sum(p.grad.nbytes for p in model.parameters())
    learner.optimizer.step()
    states = learner.optimizer.state.values()
    moments = sum(s[k].nbytes for s in states for k in ("exp_avg", "exp_avg_sq"))
    shape = replace(shape_of(model.config.to_dict(), "m"), context=4096)
    update = plan_memory(learner_config, shape, Layout()).update
    assert update["weights"] == sum(p.nbytes for p in model.parameters())
    assert (update["gradients"], update["Adam moments"]) == (gradients, moments)


def test_the_cache_of_a_sequence_is_what_transformers_allocates() -> None:
    model = small_model("qwen2", 2)
    with torch.no_grad():
        out = model(input_ids=torch.ones(1, 40, dtype=torch.long), use_cache=True)
    # transformers renames the output: it is the one that has layers.
    (cache,) = [value for value in out.values() if hasattr(value, "layers")]
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert held == 40 * shape_of(model.config.to_dict(), "m").kv_bytes_per_token(4)


MATH_7B = built_in_shapes()["Qwen/Qwen2.5-Math-7B"]


def test_more_gpus_offloading_and_chunks_need_less() -> None:
    plan = plan_memory(config(), MATH_7B, Layout(gpus=8))
    assert plan.update["weights"] == 4 * MATH_7B.parameters // 8
    more = plan_memory(config(), MATH_7B, Layout(gpus=16))
    assert more.update_total < plan.update_total
    off = plan_memory(config(), MATH_7B, Layout(gpus=8, offload_optimizer=True))
    assert off.update["Adam moments"] == off.rollout["Adam moments"] == 0
    assert off.host == 8 * MATH_7B.parameters
    assert off.concurrent_sequences > plan.concurrent_sequences
    chunked = plan_memory(config(), MATH_7B, Layout(gpus=8, logits_chunk=1024))
    assert chunked.update["logits"] < plan.update["logits"] / 5
    own = plan_memory(config(), MATH_7B, Layout(gpus=8, engine="transformers"))
    assert own.rollout["weights that generate"] == 2 * MATH_7B.parameters
    assert own.kv_per_sequence == plan.kv_per_sequence
    alone = plan_memory(config(), MATH_7B, Layout())
    assert not alone.fits
    assert alone.update_total > 16 * MATH_7B.parameters
    kl = plan_memory(config("loss.kl_coef=0.01"), MATH_7B, Layout(gpus=8))
    assert kl.update["reference weights"] == kl.rollout["reference weights"] == kl.update["weights"]


def test_a_sequence_of_the_cache_is_split_over_the_engine() -> None:
    two = plan_memory(config(), MATH_7B, Layout(gpus=8, tensor_parallel=2))
    one = plan_memory(config(), MATH_7B, Layout(gpus=8))
    assert one.kv_per_sequence == 57_344 * 4096
    assert two.kv_per_sequence == one.kv_per_sequence // 2
    # Four key-value heads cannot be split over seven or fourteen: they are copied.
    assert plan_memory(config(), MATH_7B, Layout(gpus=14, tensor_parallel=14)).kv_per_sequence == (
        one.kv_per_sequence // 4
    )


@pytest.mark.parametrize(
    ("layout", "overrides", "words"),
    [
        ({}, ["rollout.max_response_tokens=3073"], r"(?s)context of 4096.*hint: .*tokens=3072"),
        ({"gpus": 0}, [], "--gpus must be >= 1"),
        ({"gpus": 1024}, [], "512 sequences .* 1024 GPUs"),
        ({"gpus": 8, "tensor_parallel": 3}, [], "must divide the 8 GPUs"),
        ({"gpus": 8, "tensor_parallel": 8}, [], "must divide the 28 attention heads(?s:.*)1, 2, 4"),
        ({"engine": "transformers", "gpus": 2, "tensor_parallel": 2}, [], "belongs to --engine"),
        ({"gpu_memory_gib": 0.0}, [], "--gpu-memory"),
        ({"gpu_memory_gib": float("nan")}, [], "--gpu-memory"),
        ({"utilization": 1.5}, [], "--utilization"),
        ({"logits_chunk": 0}, [], "--logits-chunk"),
    ],
)
def test_what_cannot_run_is_refused(
    layout: dict[str, Any], overrides: list[str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        plan_memory(config(*overrides), MATH_7B, Layout(**layout))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "gpt2"}, "for model_type qwen2, qwen3, llama, mistral, got 'gpt2'"),
        ({"hidden_size": None}, "hidden_size must be a positive integer, got None"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be"),
        ({"vocab_size": "many"}, "vocab_size must be"),
        ({"num_key_value_heads": 3}, "multiple of num_key_value_heads"),
    ],
)
def test_a_config_that_is_not_one_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        shape_of({"model_type": "llama", **SMALL} | change, "it")


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"did you mean Qwen/Qwen2\.5-Math-7B"):
        load_shape("Qwen/Qwen2.5-Math-7", None)
    with pytest.raises(ConfigError, match=r"needs model\.path or --model-config"):
        load_shape(None, None)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_shape(None, tmp_path / "config.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_shape(str(tmp_path), None)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ConfigError, match="expected a JSON object"):
        load_shape(str(tmp_path), None)


def test_the_command_prints_a_plan_and_says_whether_it_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "short-cot-7b", "--gpus", "8", "--engine", "vllm"]) == 0
    out = capsys.readouterr().out
    for words in ("7,615,616,512 parameters", "Adam moments", "rollout: fits", "update: fits"):
        assert words in out
    assert main(["plan", "short-cot-7b"]) == 3
    captured = capsys.readouterr()
    assert "update: DOES NOT FIT" in captured.out
    assert "hint:" in captured.err
    assert main(["plan", "short-cot-7b", "rollout.max_response_tokens=9999"]) == 2
    assert "has a context of 4096" in capsys.readouterr().err
    assert main(["plan", "short-cot-7b", "--gpus", "8", "--json"]) in (0, 3)
    table = json.loads(capsys.readouterr().out)
    assert table["parameters"] == PUBLISHED["Qwen/Qwen2.5-Math-7B"]
    assert table["usable_bytes"] == 72 * GIB
