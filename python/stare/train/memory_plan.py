"""Memory of a run, estimated from shapes alone: what each phase holds on one GPU.

Formulas, assumptions and how far they were checked are in docs/training.md, section "Plan". All
sizes are bytes on one GPU; GiB = 2**30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stare.errors import ConfigError
from stare.train.config import TrainConfig
from stare.train.model_shape import ModelShape

__all__ = ["GIB", "Layout", "MemoryPlan", "check_layout", "plan_memory"]

GIB = 2**30
_WEIGHT = 4  # the learner's weights, gradients and moments are float32
_CHUNK_BYTES = 256 * 2**20  # token_statistics works on 2**26 logits at a time on CUDA, in float32
_RUNTIME = int(1.5 * GIB)  # CUDA context, NCCL, cuBLAS workspaces: an allowance, not measured
_FRAGMENTATION = 0.05  # of what the allocator holds: an allowance, not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the run is spread."""

    gpus: int = 1
    """Ranks; weights, gradients and moments are sharded over all of them (FSDP)."""
    gpu_memory_gib: float = 80.0
    """Memory of one GPU."""
    engine: Literal["vllm", "transformers"] = "vllm"
    """`vllm`: a second copy of the weights in 16 bits, asleep during the update. `transformers`:
    the learner's own model generates."""
    tensor_parallel: int = 1
    """GPUs that share one engine."""
    utilization: float = 0.9
    """Share of the GPU's memory that may be used at all."""
    offload_optimizer: bool = False
    """Moments in host memory between updates and during them."""
    logits_chunk: int | None = None
    """Positions whose logits exist at once; None: those of a micro-batch, as the learner does
    without a fused head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Bytes on one GPU, by phase."""

    shape: ModelShape
    layout: Layout
    sequence: int
    """Prompt + response tokens."""
    micro_batch: int
    """Tokens of one forward and backward pass on one GPU."""
    update: dict[str, int]
    """What the update holds at its peak."""
    rollout: dict[str, int]
    """What the rollout holds besides the key-value cache."""
    kv_per_sequence: int
    """Key-value cache of one sequence of full length, on one GPU of its engine."""
    host: int
    """Host memory of all ranks together, for what is offloaded."""
    loading: int
    """Host memory of all ranks together while each reads the model in float32."""

    @property
    def budget(self) -> int:
        """Usable bytes."""
        return int(self.layout.gpu_memory_gib * self.layout.utilization * GIB)

    @property
    def update_total(self) -> int:
        """Peak of the update."""
        return sum(self.update.values())

    @property
    def rollout_total(self) -> int:
        """Rollout without any key-value cache."""
        return sum(self.rollout.values())

    @property
    def concurrent_sequences(self) -> int:
        """Sequences of full length that one engine can hold at once."""
        return max(0, (self.budget - self.rollout_total) // self.kv_per_sequence)

    @property
    def fits(self) -> bool:
        """Whether both phases fit, with one sequence at least in flight."""
        return self.update_total <= self.budget and self.concurrent_sequences >= 1


def check_layout(config: TrainConfig, shape: ModelShape, layout: Layout) -> None:
    """Refuse what cannot run whatever the memory.

    Raises:
        ConfigError: a context shorter than prompt + response, or a layout that divides nothing.
    """
    rollout = config.rollout
    longest = rollout.max_prompt_tokens + rollout.max_response_tokens
    if longest > shape.context:
        raise ConfigError(
            f"{shape.name} has a context of {shape.context} tokens, rollout.max_prompt_tokens + "
            f"max_response_tokens = {rollout.max_prompt_tokens} + {rollout.max_response_tokens} = "
            f"{longest}\nhint: rollout.max_response_tokens="
            f"{max(1, shape.context - rollout.max_prompt_tokens)}, or a longer context"
        )
    if layout.gpus < 1:
        raise ConfigError(f"--gpus must be >= 1, got {layout.gpus}")
    if not (math.isfinite(layout.gpu_memory_gib) and layout.gpu_memory_gib > 0):
        raise ConfigError(f"--gpu-memory must be > 0 GiB, got {layout.gpu_memory_gib}")
    if not 0 < layout.utilization <= 1:
        raise ConfigError(f"--utilization must lie in (0, 1], got {layout.utilization}")
    if layout.logits_chunk is not None and layout.logits_chunk < 1:
        raise ConfigError(f"--logits-chunk must be >= 1, got {layout.logits_chunk}")
    sequences = rollout.prompts_per_step * rollout.group_size // config.optim.mini_batches
    if sequences < layout.gpus:
        raise ConfigError(
            f"a mini-batch has {sequences} sequences (rollout.prompts_per_step x group_size / "
            f"optim.mini_batches), and there are {layout.gpus} GPUs to share it\n"
            "hint: fewer GPUs, or a larger batch"
        )
    parallel = layout.tensor_parallel
    if parallel < 1 or layout.gpus % parallel:
        raise ConfigError(f"--tensor-parallel must divide the {layout.gpus} GPUs, got {parallel}")
    if layout.engine == "transformers" and parallel > 1:
        raise ConfigError("--tensor-parallel belongs to --engine vllm, got --engine transformers")
    if shape.heads % parallel:
        fitting = [n for n in range(1, layout.gpus + 1) if not (shape.heads % n or layout.gpus % n)]
        raise ConfigError(
            f"--tensor-parallel must divide the {shape.heads} attention heads of {shape.name}, "
            f"got {parallel}\nhint: one of {', '.join(map(str, fitting))}"
        )


def plan_memory(config: TrainConfig, shape: ModelShape, layout: Layout) -> MemoryPlan:
    """Estimate both phases.

    Raises:
        ConfigError: as `check_layout`.

    Example:
        >>> from stare.train.model_shape import built_in_shapes
        >>> from stare.train.overrides import load_config
        >>> shape = built_in_shapes()["deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"]
        >>> config = load_config("short-cot", ["model.path=m", "data.path=d.jsonl"])
        >>> plan = plan_memory(config, shape, Layout(gpus=8))
        >>> plan.fits, plan.update["weights"] == 4 * shape.parameters // 8
        (True, True)
    """
    check_layout(config, shape, layout)
    rollout, n = config.rollout, shape.parameters
    sequence = rollout.max_prompt_tokens + rollout.max_response_tokens
    element = 2 if config.model.dtype == "bfloat16" else 4
    sequences = -(-rollout.prompts_per_step * rollout.group_size // config.optim.mini_batches)
    whole = -(-sequences // layout.gpus) * sequence
    micro_batch = min(config.optim.micro_batch_tokens or whole, whole)
    shard = _WEIGHT * n // layout.gpus
    moments = 0 if layout.offload_optimizer else 2 * shard
    references = shard if config.loss.kl_coef > 0 else 0

    update = {"weights": shard, "gradients": shard, "Adam moments": moments}
    if references:
        update["reference weights"] = references
    update["gathered weights"] = _gathered(shape, layout.gpus, element)
    update |= _activations(
        shape, micro_batch, element, checkpointing=config.model.gradient_checkpointing
    )
    update["logits"] = _logits(shape, config, layout, micro_batch, element)
    update["runtime"] = _runtime(update)

    held = {"weights": shard, "Adam moments": moments}
    if references:
        held["reference weights"] = references
    if layout.engine == "vllm":
        held["engine weights"] = 2 * n // layout.tensor_parallel
        kv_element, kv_shards = 2, min(layout.tensor_parallel, shape.kv_heads)
    else:
        # Sharded weights are gathered into a whole copy that generates and is dropped afterwards;
        # on one GPU autocast makes the 16-bit copies that `_gathered` counts.
        whole_copy = _gathered(shape, 1, element) if layout.gpus == 1 else element * n
        held["weights that generate"] = whole_copy
        kv_element, kv_shards = element, 1
    held["runtime"] = _runtime(held)
    return MemoryPlan(
        shape=shape,
        layout=layout,
        sequence=sequence,
        micro_batch=micro_batch,
        update=update,
        rollout=held,
        kv_per_sequence=-(-shape.kv_bytes_per_token(kv_element) * sequence // kv_shards),
        host=2 * shard * layout.gpus if layout.offload_optimizer else 0,
        loading=_WEIGHT * n * layout.gpus,
    )


def _gathered(shape: ModelShape, gpus: int, element: int) -> int:
    """Unsharded weights in the compute type, and a block's unsharded float32 gradient.

    One GPU: the 16-bit copies that autocast makes of every weight. Several: the block at work, the
    next one on its way, and embedding and head, which stay.
    """
    if gpus == 1:
        return 0 if element == _WEIGHT else element * shape.parameters
    gathered = 2 * shape.block_parameters + shape.outer_parameters
    return element * gathered + _WEIGHT * max(shape.block_parameters, shape.outer_parameters // 2)


def _activations(
    shape: ModelShape, tokens: int, element: int, *, checkpointing: bool
) -> dict[str, int]:
    """What the forward pass keeps for the backward pass.

    Per token and layer, counted from the operations of a Llama-style block with fused attention:
    float32 input and result of two normalisations; inputs of the five projections from them, in the
    compute type (float32 shares one with the normalisation's result); q, attention output, repeated
    k and v; gate, up, their activation and product.
    """
    wide, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    block = 4 * _WEIGHT * shape.hidden + 4 * element * shape.intermediate + 4 * element * wide
    if element != _WEIGHT:
        block += 5 * element * shape.hidden
    if shape.qk_norm:  # input and result in float32, of q and of k
        block += 2 * _WEIGHT * (wide + narrow)
    last = 2 * _WEIGHT * shape.hidden * tokens  # the normalisation before the head
    if checkpointing:
        return {
            "checkpoints": _WEIGHT * shape.hidden * shape.layers * tokens + last,
            "activations of one layer": block * tokens,
        }
    return {"activations": block * shape.layers * tokens + last}


def _logits(
    shape: ModelShape, config: TrainConfig, layout: Layout, micro_batch: int, element: int
) -> int:
    """Logits of the response positions, their gradient, and float32 copies of a chunk."""
    rollout = config.rollout
    longest = rollout.max_prompt_tokens + rollout.max_response_tokens
    positions = max(1, micro_batch // longest) * rollout.max_response_tokens
    if layout.logits_chunk is not None:
        positions = min(positions, layout.logits_chunk)
    row = shape.vocabulary
    return 2 * element * row * positions + 3 * min(_CHUNK_BYTES, 4 * row * positions)


def _runtime(parts: dict[str, int]) -> int:
    return _RUNTIME + int(_FRAGMENTATION * sum(parts.values()))
