"""The sections of a training configuration: frozen dataclasses, checked when they are made.

Field names here are the TOML keys. Import them from `stare.train.config`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from stare.coerce import check_fields, interval
from stare.config import StareConfig
from stare.errors import ConfigError
from stare.train.sections_data import MixingFields, check_mixing

__all__ = [
    "BOXED_PROMPT",
    "AdvantageConfig",
    "DataConfig",
    "ModelConfig",
    "OptimConfig",
    "RewardConfig",
    "RolloutConfig",
    "StareSection",
]

BOXED_PROMPT = (
    "{problem}\n\nPlease reason step by step, and put your final answer within \\boxed{}."
)
"""The paper's prompt. Only `{problem}` is replaced; other braces are left as they are."""


def _import_path(name: str, value: str | None, *, plain: tuple[str, ...] = ()) -> None:
    if value is None or value in plain:
        return
    module, _, attribute = value.partition(":")
    parts = [*module.split("."), *attribute.split(".")]
    if not all(p.isidentifier() for p in parts):
        also = "".join(f"{p!r} or " for p in plain)
        raise ConfigError(
            f"{name} must be {also}an import path 'package.module:name', got {value!r}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The policy: `path` (Hugging Face) or `factory` (an import path), one of the two."""

    path: str | None = None
    """Folder or hub name of a causal LM, for `from_pretrained`."""
    factory: str | None = None
    """`package.module:name` of a callable `(ModelConfig, torch.device) -> (model, tokenizer)`."""
    init: str | None = None
    """Name of the checkpoint a factory starts from (the demo: mod5, exact, tol3)."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Compute type: bfloat16 runs forward and backward under autocast, weights stay float32."""
    attention: Literal["auto", "eager", "sdpa", "flash_attention_2"] = "auto"
    """Attention of a model from `path`; auto leaves it to transformers."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, about a third more time."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Free table for a factory."""

    def __post_init__(self) -> None:
        check_fields(self)
        _import_path("factory", self.factory)
        if self.path is not None and self.factory is not None:
            raise ConfigError(
                "path and factory exclude each other, got "
                f"path={self.path!r}, factory={self.factory!r}"
            )
        if self.init is not None and self.factory is None:
            raise ConfigError(f"init={self.init!r} is read by a factory, and factory is not set")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataConfig(MixingFields):
    """The problems: `path` (JSONL of {id?, problem, answer}), `factory` or `sources`."""

    path: str | None = None
    """JSONL of training problems."""
    eval_path: str | None = None
    """JSONL of held-out problems."""
    factory: str | None = None
    """Import path of a callable `(DataConfig) -> (train, held_out)`, two lists of `Problem`."""
    prompt_template: str = BOXED_PROMPT
    """Prompt with `{problem}` where the question goes; other braces are literal."""
    chat_template: bool = True
    """Wrap the prompt in the tokenizer's chat template; false sends the text as it is."""
    shuffle: bool = True
    """Reshuffle the training problems in every epoch (by `run.seed`)."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Free table for a factory."""

    def __post_init__(self) -> None:
        check_fields(self)
        _import_path("factory", self.factory)
        if self.factory is not None and (self.path is not None or self.eval_path is not None):
            raise ConfigError(
                "factory excludes path and eval_path, got "
                f"factory={self.factory!r}, path={self.path!r}, eval_path={self.eval_path!r}"
            )
        if "{problem}" not in self.prompt_template:
            raise ConfigError(
                f"prompt_template must contain {{problem}}, got {self.prompt_template!r}"
            )
        check_mixing(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """Sampling and dynamic sampling (groups whose rewards are all equal carry no gradient)."""

    sampler: str = "transformers"
    """`transformers`, `vllm` or the import path of `(model, tokenizer, device) -> Sampler`."""
    prompts_per_step: int = 64
    """Groups wanted in a training batch."""
    group_size: int = 8
    """Responses per prompt, G."""
    max_prompt_tokens: int = 1024
    """A longer prompt is an error before the run starts; the message names the problems."""
    max_response_tokens: int = 3072
    """Token limit of a response."""
    temperature: float = 1.0
    """Softmax temperature of the rollouts; the log-probabilities of the loss use it too."""
    top_p: float = 1.0
    """Nucleus mass; below 1 the mean sampled surprisal is a low estimate of the entropy."""
    dynamic_sampling: bool = True
    """Drop groups without signal and generate more until the batch is full."""
    over_sample: float = 3.0
    """Prompts of a round = ceil(groups still missing x this); only with `dynamic_sampling`."""
    max_refills: int = 10
    """Rounds after the first; then a short batch is used as it is and counted."""
    max_round_prompts: int | None = None
    """Upper bound of the prompts of one round (memory of the sampler)."""
    truncation: Literal["keep", "mask", "penalty"] = "keep"
    """Truncated responses: graded as they are, masked out of the loss, or soft overlong penalty."""
    overlong_buffer: int = 0
    """Tokens before the limit over which the penalty grows linearly from 0 (`penalty` only)."""
    overlong_penalty: float = 1.0
    """Penalty at the limit, subtracted from the reward (`penalty` only)."""

    def __post_init__(self) -> None:
        check_fields(self)
        _import_path("sampler", self.sampler, plain=("transformers", "vllm"))
        interval("prompts_per_step", self.prompts_per_step, 1)
        interval("group_size", self.group_size, 2)
        interval("max_prompt_tokens", self.max_prompt_tokens, 1)
        interval("max_response_tokens", self.max_response_tokens, 1)
        interval("temperature", self.temperature, 0, open_low=True)
        interval("top_p", self.top_p, 0, 1, open_low=True)
        interval("over_sample", self.over_sample, 1)
        interval("max_refills", self.max_refills, 0)
        interval("max_round_prompts", self.max_round_prompts, 1)
        interval("overlong_buffer", self.overlong_buffer, 0, self.max_response_tokens)
        interval("overlong_penalty", self.overlong_penalty, 0, open_low=True)
        if (self.truncation == "penalty") != (self.overlong_buffer > 0):
            raise ConfigError(
                "overlong_buffer goes with truncation='penalty', got "
                f"truncation={self.truncation!r}, overlong_buffer={self.overlong_buffer}"
            )

    def prompts_in_round(self, missing: int) -> int:
        """Prompts to generate when `missing` groups are still wanted.

        Example:
            >>> RolloutConfig(over_sample=1.5).prompts_in_round(5)
            8
        """
        if not self.dynamic_sampling:
            return missing
        n = math.ceil(missing * self.over_sample)
        return n if self.max_round_prompts is None else min(n, self.max_round_prompts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """Where the reward comes from."""

    function: str = "math"
    """`math` (the verifier) or the import path of `(problems, completions) -> rewards`."""
    undecided: Literal["zero", "drop"] = "zero"
    """A reward of None counts as 0, or drops its response from the batch; counted either way."""
    profile: Literal["reward", "eval", "math_verify"] = "reward"
    """What counts as declaring an answer (`math` only): a box or a marker, or less than that."""
    fallback: bool = True
    """Put what the verifier cannot decide to math-verify, if it is installed (`math` only)."""

    def __post_init__(self) -> None:
        check_fields(self)
        _import_path("function", self.function, plain=("math",))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvantageConfig:
    """Group-relative advantages."""

    scale: Literal["std", "none"] = "std"
    """Divide by the group's standard deviation, or by nothing (mean-only)."""
    eps: float = 1e-6
    """Added to the standard deviation."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("eps", self.eps, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StareSection(StareConfig):
    """`[stare]`: a `StareConfig` and a switch. `stare.enabled=false` is plain GRPO-ds."""

    enabled: bool = True
    """Reweight at all; when false the other keys still say which target is plotted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimConfig:
    """AdamW and how a batch becomes optimiser steps."""

    lr: float = 1e-6
    """Peak learning rate."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Decay rates of the moment estimates."""
    eps: float = 1e-8
    """Added to the root of the second moment."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    warmup_steps: int = 0
    """Optimiser steps of linear warm-up; constant afterwards."""
    grad_clip: float | None = 1.0
    """Bound of the global gradient norm; None switches clipping off."""
    mini_batches: int = 1
    """Optimiser steps per pass over a batch; 1 is fully on-policy."""
    epochs: int = 1
    """Passes over a batch."""
    micro_batch_tokens: int | None = None
    """Prompt + response tokens, padding included, of one forward; None: the mini-batch at once."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("lr", self.lr, 0, open_low=True)
        interval("betas[0]", self.betas[0], 0, 1, open_high=True)
        interval("betas[1]", self.betas[1], 0, 1, open_high=True)
        interval("eps", self.eps, 0, open_low=True)
        interval("weight_decay", self.weight_decay, 0)
        interval("warmup_steps", self.warmup_steps, 0)
        interval("grad_clip", self.grad_clip, 0, open_low=True)
        interval("mini_batches", self.mini_batches, 1)
        interval("epochs", self.epochs, 1)
        interval("micro_batch_tokens", self.micro_batch_tokens, 1)
