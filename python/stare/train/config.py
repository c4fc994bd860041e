"""Everything `stare-train` can be told, as one frozen object that has been checked.

`overrides.py` fills it from TOML and the command line.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from stare.coerce import build, check_fields
from stare.config import LossConfig
from stare.errors import ConfigError
from stare.train.run_sections import EvalConfig, RunConfig
from stare.train.sections import (
    BOXED_PROMPT,
    AdvantageConfig,
    DataConfig,
    ModelConfig,
    OptimConfig,
    RewardConfig,
    RolloutConfig,
    StareSection,
)
from stare.train.sections_compute import ComputeConfig
from stare.train.sections_guard import GuardConfig
from stare.train.sections_parallel import ParallelConfig
from stare.train.sections_tools import ToolsConfig
from stare.train.sections_vllm import VllmConfig

__all__ = [
    "BOXED_PROMPT",
    "AdvantageConfig",
    "ComputeConfig",
    "DataConfig",
    "EvalConfig",
    "GuardConfig",
    "LossConfig",
    "ModelConfig",
    "OptimConfig",
    "ParallelConfig",
    "RewardConfig",
    "RolloutConfig",
    "RunConfig",
    "StareSection",
    "ToolsConfig",
    "TrainConfig",
    "VllmConfig",
    "from_dict",
    "to_dict",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A whole run.

    Raises:
        ConfigError: a section contradicts another; the message names both keys.

    Example:
        >>> config = TrainConfig(model=ModelConfig(path="m"), data=DataConfig(path="d.jsonl"))
        >>> config.rollout.group_size, config.stare.enabled
        (8, True)
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    """The policy."""
    data: DataConfig = field(default_factory=DataConfig)
    """Training and held-out problems."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """Sampling and dynamic sampling."""
    vllm: VllmConfig = field(default_factory=VllmConfig)
    """The engine of `rollout.sampler = "vllm"`."""
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    """A Python tool that responses may call."""
    reward: RewardConfig = field(default_factory=RewardConfig)
    """Where the reward comes from."""
    advantage: AdvantageConfig = field(default_factory=AdvantageConfig)
    """Group-relative advantages."""
    stare: StareSection = field(default_factory=StareSection)
    """Token reweighting; `stare.enabled=false` is GRPO-ds."""
    loss: LossConfig = field(default_factory=LossConfig)
    """The clipped surrogate."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    """AdamW and batching."""
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    """Memory and speed of an update."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    """Evaluation during training."""
    run: RunConfig = field(default_factory=RunConfig)
    """Length, seed, device and files."""
    parallel: ParallelConfig = field(default_factory=ParallelConfig)
    """Several GPUs."""
    guard: GuardConfig = field(default_factory=GuardConfig)
    """When a run that makes no progress ends by itself."""

    def __post_init__(self) -> None:
        check_fields(self)
        rollout, optim = self.rollout, self.optim
        _check_json("model.extra", self.model.extra)
        _check_json("data.extra", self.data.extra)
        _check_json("vllm.extra", self.vllm.extra)
        if self.model.path is None and self.model.factory is None:
            raise ConfigError("model.path is not set, nor is model.factory; one of them is needed")
        if self.data.path is None and self.data.factory is None and not self.data.sources:
            raise ConfigError(
                "data.path is not set, nor is data.factory or data.sources; one of them is needed"
            )
        self._check_reuse()
        sequences = rollout.prompts_per_step * rollout.group_size
        if optim.mini_batches > sequences:
            raise ConfigError(
                f"optim.mini_batches must not exceed the {sequences} sequences of a step "
                f"(rollout.prompts_per_step x group_size), got {optim.mini_batches}"
            )
        if self.parallel.strategy != "single" and rollout.sampler not in ("transformers", "vllm"):
            raise ConfigError(
                f"parallel.strategy={self.parallel.strategy!r} needs rollout.sampler="
                f"'transformers' or 'vllm', got {rollout.sampler!r}: a share of the prompts must "
                "get the responses it would get among all of them\n"
                "hint: one process: strategy='single'"
            )
        longest = rollout.max_prompt_tokens + rollout.max_response_tokens
        if optim.micro_batch_tokens is not None and optim.micro_batch_tokens < longest:
            raise ConfigError(
                f"optim.micro_batch_tokens must hold one sequence of {longest} tokens "
                "(rollout.max_prompt_tokens + max_response_tokens), "
                f"got {optim.micro_batch_tokens}"
            )

    def _check_reuse(self) -> None:
        if self.compute.offload_optimizer and self.parallel.strategy == "fsdp2":
            raise ConfigError(
                "compute.offload_optimizer=true is for parallel.strategy='single'\n"
                "hint: parallel.cpu_offload=true keeps shards and moments in host memory"
            )
        if not self.compute.reuse_rollout:
            return
        for excluded, given in (
            (self.optim.mini_batches * self.optim.epochs > 1, "several updates a batch"),
            (self.rollout.top_p < 1, f"rollout.top_p={self.rollout.top_p}"),
            (self.stare.selector == "critical", "stare.selector='critical'"),
        ):
            if excluded:
                raise ConfigError(
                    f"compute.reuse_rollout=true does not go with {given}: the sampler's log-probs "
                    "are then not what the update needs\nhint: compute.reuse_rollout=false"
                )


def _check_json(name: str, table: dict[str, Any]) -> None:
    try:
        same = json.loads(json.dumps(table, allow_nan=False)) == table
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ConfigError(
            f"{name} must hold only what JSON can (strings, finite numbers, booleans, lists, "
            f"tables with string keys), got {table!r}"
        )


def to_dict(config: TrainConfig) -> dict[str, Any]:
    """Plain tables, as in TOML or JSON (tuples as lists).

    Example:
        >>> config = TrainConfig(model=ModelConfig(path="m"), data=DataConfig(path="d.jsonl"))
        >>> from_dict(to_dict(config)) == config
        True
    """
    plain: dict[str, Any] = _plain(asdict(config))
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def from_dict(table: dict[str, Any]) -> TrainConfig:
    """The configuration that plain tables describe; missing keys take their defaults.

    Raises:
        ConfigError: an unknown key, a wrong type, an impossible value or a contradiction.
    """
    return build(TrainConfig, table)
