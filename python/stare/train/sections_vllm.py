"""`[vllm]`: the engine of `rollout.sampler = "vllm"`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stare.coerce import check_fields, interval
from stare.errors import ConfigError

__all__ = ["VllmConfig"]

_OURS = (
    "model",
    "tokenizer",
    "dtype",
    "seed",
    "max_model_len",
    "logprobs_mode",
    "gpu_memory_utilization",
    "tensor_parallel_size",
    "enforce_eager",
    "enable_sleep_mode",
    "generation_config",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmConfig:
    """An engine in a process of its own, on this machine."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of the engine's weights; auto: that of `model.dtype`."""
    tensor_parallel_size: int = 1
    """GPUs of the engine."""
    gpu_memory_utilization: float = 0.5
    """Share of the GPU's memory that the engine may take; the learner needs the rest. On a CPU the
    share of the machine's memory that must be free at the start (the cache's size there is
    VLLM_CPU_KVCACHE_SPACE, GiB)."""
    enforce_eager: bool = False
    """No CUDA graphs, no compilation: starts faster, decodes slower."""
    sleep: bool = False
    """Give the engine's memory back during updates (CUDA only)."""
    weights: Literal["memory", "disk"] = "memory"
    """Where updated weights are handed over: a file in the memory of the machine (/dev/shm), or one
    in the temporary folder."""
    start_timeout_s: float = 600.0
    """Longest start of the engine."""
    timeout_s: float = 1800.0
    """Longest wait for one round of responses, or for a hand-over of weights. An engine that takes
    longer, or dies, is killed and started again, and the round repeated with the same seeds."""
    max_restarts: int = 3
    """Restarts in a row without an answer; then the run stops."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further engine arguments, by vLLM's names."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("tensor_parallel_size", self.tensor_parallel_size, 1)
        interval("gpu_memory_utilization", self.gpu_memory_utilization, 0, 1, open_low=True)
        interval("start_timeout_s", self.start_timeout_s, 0, open_low=True)
        interval("timeout_s", self.timeout_s, 0, open_low=True)
        interval("max_restarts", self.max_restarts, 0)
        taken = sorted(set(self.extra) & set(_OURS))
        if taken:
            raise ConfigError(
                f"extra must not set {', '.join(taken)}\n"
                "hint: these have keys of their own, or are set by stare-train"
            )
