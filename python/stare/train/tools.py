"""The sampler of a run with its tool, built from the configuration."""

from __future__ import annotations

import os
from typing import Any

from stare.errors import ConfigError
from stare.rollout.sampler import Sampler, TokenSampler
from stare.rollout.tools.dialogue import dialogue_sampler
from stare.rollout.tools.executor import Executor
from stare.rollout.tools.formats import FORMATS, ToolFormat
from stare.train.config import ToolsConfig, TrainConfig
from stare.train.parallel import Ranks, alone
from stare.train.session import load_object

__all__ = ["make_executor", "with_tools"]


def make_executor(config: ToolsConfig, ranks: Ranks = alone) -> Executor:
    """What runs programs; a sandbox is tried before this returns.

    Each rank of several has its own; by default they share the processors.

    Raises:
        ConfigError: the executor cannot be imported.
        SandboxError: no sandbox can be made here.
    """
    limits = config.program_limits()
    if config.executor == "sandbox":
        from stare.rollout.tools.pool import SandboxPool

        workers = config.workers or max(1, (os.cpu_count() or 1) // ranks.size)
        return SandboxPool(limits, workers=workers, preload=config.preload, unsafe=config.unsafe)
    if config.executor == "http":
        from stare.rollout.tools.http import HttpExecutor

        assert config.url is not None, "checked by ToolsConfig"
        return HttpExecutor(config.url, limits, concurrency=config.workers or 16)
    made: Executor = load_object(config.executor, "tools.executor")()
    return made


def with_tools(
    config: TrainConfig, sampler: Sampler, model: Any, tokenizer: Any, ranks: Ranks = alone
) -> Sampler:
    """The sampler, in whose responses the tool may be called.

    Raises:
        ConfigError: the sampler cannot continue token ids, or the format is none.
        SandboxError: no sandbox can be made here.
    """
    tools, rollout = config.tools, config.rollout
    markup = FORMATS.get(tools.format) or load_object(tools.format, "tools.format")
    if not isinstance(markup, ToolFormat):
        raise ConfigError(f"tools.format={tools.format!r} is no ToolFormat")
    if not isinstance(sampler, TokenSampler):
        raise ConfigError(
            f"tools.enabled=true, but rollout.sampler={rollout.sampler!r} has no sample_tokens\n"
            "hint: rollout.sampler='transformers' or 'vllm'"
        )
    settings: Any = getattr(model, "config", None)
    if hasattr(settings, "get_text_config"):
        settings = settings.get_text_config()
    made: Sampler = dialogue_sampler(
        sampler,
        make_executor(tools, ranks),
        tokenizer,
        markup=markup,
        max_turns=tools.max_turns,
        max_observation_tokens=tools.max_observation_tokens,
        context=getattr(settings, "max_position_embeddings", None),
    )
    return made
