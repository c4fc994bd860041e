"""The parts of a run, built from its configuration: model, data, sampler, reward."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch

from stare.errors import ConfigError, DataError, MissingExtraError
from stare.rollout.sampler import Sampler, WeightReceiver
from stare.train.collect import Group, RewardFn, Share
from stare.train.config import ModelConfig, TrainConfig
from stare.train.data import (
    ProblemSource,
    ProblemStream,
    check_prompt_lengths,
    load_problems,
    render_prompts,
)
from stare.train.mixing.prepare import Prepared, prepare
from stare.train.mixing.prompts import keep_short_prompts, prompt_lengths
from stare.train.mixing.report import DataReport
from stare.train.mixing.stream import MixedStream
from stare.train.parallel import Ranks, alone
from stare.types import Problem

__all__ = ["Session", "build_session", "load_model", "load_object", "pick_device"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything the loop works with."""

    model: torch.nn.Module
    pad_id: int
    sampler: Sampler
    reward_fn: RewardFn
    render: Callable[[Sequence[Problem]], list[str]]
    stream: ProblemSource
    held_out: list[Problem]
    data_report: DataReport | None = None
    """What became of the rows of `data.sources`."""
    share: Share | None = None
    """Divides prompts over the ranks; None for one rank."""
    generating: Callable[[], AbstractContextManager[None]] = nullcontext
    """The sampler's weights are there, and the policy's, inside `with session.generating():`."""


def load_object(path: str, key: str) -> Any:
    """Import `package.module:name`.

    Raises:
        ConfigError: it cannot be imported; the message names the configuration key.

    Example:
        >>> load_object("math:sqrt", "reward.function")(9.0)
        3.0
    """
    module_name, _, attribute = path.partition(":")
    try:
        value: Any = import_module(module_name)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{key}={path!r} cannot be imported: {error}\n"
            "hint: 'package.module:name', importable from where the command runs (see PYTHONPATH)"
        ) from error
    return value


def pick_device(name: str, ranks: Ranks = alone) -> torch.device:
    """`auto` takes CUDA where there is one; each rank of several takes a device of its own.

    Raises:
        ConfigError: CUDA was asked for and there is none, or one device for several ranks.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if ranks.size > 1 and device.index is not None:
        raise ConfigError(f"run.device={name!r} names one device for {ranks.size} ranks")
    if ranks.sharded and device.type == "cuda" and device.index is None:
        device = torch.device("cuda", ranks.local_rank)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"run.device={name!r}, but torch finds no CUDA device")
    return device


def load_model(model_config: ModelConfig, device: torch.device) -> tuple[torch.nn.Module, Any]:
    """The policy as it is before training, and its tokenizer.

    Raises:
        ConfigError: the configuration names what cannot be loaded.
    """
    if model_config.factory is not None:
        factory = load_object(model_config.factory, "model.factory")
        model, tokenizer = factory(model_config, device)
    else:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(model_config.path)
            attention = None if model_config.attention == "auto" else model_config.attention
            model = AutoModelForCausalLM.from_pretrained(
                model_config.path, dtype=torch.float32, attn_implementation=attention
            )
        except (OSError, ValueError, ImportError) as error:
            raise ConfigError(
                f"model.path={model_config.path!r} cannot be loaded: {error}"
            ) from error
        model = model.to(device)
    if model_config.gradient_checkpointing:
        _enable_checkpointing(model)
    return model, tokenizer


def _enable_checkpointing(model: Any) -> None:
    # transformers 5.24 renamed the method and warns about the old name.
    for name in ("activation_checkpointing_enable", "gradient_checkpointing_enable"):
        if hasattr(model, name):
            # Without reentrance it works with inputs that need no gradient.
            getattr(model, name)({"use_reentrant": False})
            return
    raise ConfigError(
        f"model.gradient_checkpointing=true, but {type(model).__name__} cannot do it\n"
        "hint: set it to false"
    )


def _load_problems(config: TrainConfig) -> tuple[list[Problem], list[Problem]]:
    data = config.data
    if data.factory is not None:
        train, held_out = load_object(data.factory, "data.factory")(data)
        return list(train), list(held_out)
    assert data.path is not None, "checked by TrainConfig"
    held_out = load_problems(data.eval_path) if data.eval_path is not None else []
    return load_problems(data.path), held_out


def _make_sampler(
    config: TrainConfig,
    model: Any,
    generator: Any,
    tokenizer: Any,
    device: torch.device,
    ranks: Ranks,
) -> Sampler:
    """The sampler; `generator` is the policy, or a copy of it where that is split over ranks."""
    rollout = config.rollout
    if rollout.sampler == "transformers":
        from stare.rollout.hf import TransformersSampler

        return TransformersSampler(
            generator,
            tokenizer,
            device,
            max_prompt_tokens=rollout.max_prompt_tokens,
            autocast_dtype=torch.bfloat16 if config.model.dtype == "bfloat16" else None,
        )
    if rollout.sampler == "vllm":
        return _make_vllm(config, model, tokenizer, device, ranks)
    make = load_object(rollout.sampler, "rollout.sampler")
    made: Sampler = make(generator, tokenizer, device)
    return made


def _make_vllm(
    config: TrainConfig, model: Any, tokenizer: Any, device: torch.device, ranks: Ranks = alone
) -> Sampler:
    from importlib.util import find_spec

    from stare.rollout.vllm import VllmSampler, engine_arguments

    rollout, vllm = config.rollout, config.vllm
    if find_spec("vllm") is None:
        raise MissingExtraError("vllm", "vllm", "rollout.sampler='vllm'")
    if not hasattr(model, "save_pretrained"):
        raise ConfigError(
            f"rollout.sampler='vllm' needs a Hugging Face model, got {type(model).__name__}\n"
            "hint: rollout.sampler takes the import path of a sampler of your own"
        )
    if vllm.sleep and device.type != "cuda":
        raise ConfigError(
            f"vllm.sleep=true needs CUDA, and the run is on {device.type}\nhint: vllm.sleep=false"
        )
    if ranks.sharded and vllm.tensor_parallel_size > 1:
        raise ConfigError(
            f"vllm.tensor_parallel_size={vllm.tensor_parallel_size} with several ranks: each rank "
            "has an engine on its own GPU\nhint: 1; for larger models use verl (recipes/verl)"
        )
    devices = None
    if ranks.sharded and device.type == "cuda":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        own = device.index or 0
        devices = visible[own] if own < len(visible) and visible[own] else str(own)
    context = model.config.get_text_config().max_position_embeddings
    needed = rollout.max_prompt_tokens + rollout.max_response_tokens
    arguments = engine_arguments(
        max_model_len=min(context, needed),
        dtype=config.model.dtype if vllm.dtype == "auto" else vllm.dtype,
        cuda=device.type == "cuda",
        tensor_parallel_size=vllm.tensor_parallel_size,
        gpu_memory_utilization=vllm.gpu_memory_utilization,
        enforce_eager=vllm.enforce_eager,
        sleep=vllm.sleep,
        extra=vllm.extra,
    )
    return VllmSampler(
        model,
        tokenizer,
        arguments,
        in_memory=vllm.weights == "memory",
        sleep=vllm.sleep,
        start_timeout_s=vllm.start_timeout_s,
        timeout_s=vllm.timeout_s,
        max_restarts=vllm.max_restarts,
        devices=devices,
        # A later turn of a tool dialogue has a longer prompt.
        max_prompt_tokens=None if config.tools.enabled else rollout.max_prompt_tokens,
    )


def _mix(config: TrainConfig) -> Prepared:
    data = config.data
    held_out = load_problems(data.eval_path) if data.eval_path is not None else None
    return prepare(data, seed=config.run.seed, held_out=held_out)


def build_session(config: TrainConfig, device: torch.device, ranks: Ranks = alone) -> Session:
    """Load the model and the data and connect them.

    Where ranks shard the policy, the model stays on the CPU until the learner shards it, and the
    sampler works on a copy that has weights only while it generates.

    Raises:
        ConfigError: something named by the configuration cannot be loaded.
        DataError: a data file is not usable.
    """
    mixed = _mix(config) if config.data.sources else None
    if mixed is not None:
        train, held_out = [p for ps in mixed.sets.values() for p in ps], mixed.held_out
    else:
        train, held_out = _load_problems(config)
    if not train:
        raise DataError("the training set is empty")
    if config.eval.every and not held_out:
        raise ConfigError(
            f"eval.every={config.eval.every}, but there are no held-out problems\n"
            "hint: set data.eval_path, or eval.every=0"
            + (", or data.held_out" if mixed is not None else "")
        )
    torch.manual_seed(config.run.seed)
    if not ranks.is_first:
        # One rank speaks.
        from transformers.utils import logging

        logging.disable_progress_bar()
    model, tokenizer = load_model(config.model, torch.device("cpu") if ranks.sharded else device)
    generator = model
    generating: Callable[[], AbstractContextManager[None]] = nullcontext
    if ranks.sharded:
        from stare.train.parallel_model import GenerationCopy

        copied = GenerationCopy(model, config.parallel, device)
        generator, generating = copied.model, copied.filled

    sampler = _make_sampler(config, model, generator, tokenizer, device, ranks)
    if config.tools.enabled:
        from stare.train.tools import with_tools

        sampler = with_tools(config, sampler, model, tokenizer, ranks)
    if isinstance(sampler, WeightReceiver):
        generating = nullcontext  # it has weights of its own

    if config.reward.function == "math":
        from stare.verify import math_reward

        reward_fn: RewardFn = partial(
            math_reward, profile=config.reward.profile, fallback=config.reward.fallback
        )
    else:
        reward_fn = load_object(config.reward.function, "reward.function")

    def render(problems: Sequence[Problem]) -> list[str]:
        return render_prompts(
            problems, tokenizer, config.data.prompt_template, config.data.chat_template
        )

    def share(prompts: Sequence[str], work: Callable[[list[int]], list[Group]]) -> list[Group]:
        # Prompts of the same tokens are the same prompt to the sampler.
        keys = tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        return ranks.share([tuple(ids) for ids in keys], work)

    # One token at least must fit behind a prompt.
    context = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    longest = config.rollout.max_prompt_tokens
    longest = longest if context is None else min(longest, context - 1)
    if mixed is not None:
        if config.data.long_prompts == "drop":
            mixed = keep_short_prompts(mixed, render, tokenizer, longest)
            train = [p for ps in mixed.sets.values() for p in ps]
        mixed.report.lengths = prompt_lengths(mixed, render, tokenizer)
    for problems in (train, held_out):
        check_prompt_lengths(problems, render(problems), tokenizer, longest)
    # Padding is masked by length, never by id: any token of the vocabulary will do.
    pad_id = tokenizer.pad_token_id
    return Session(
        model=model,
        pad_id=0 if pad_id is None else pad_id,
        sampler=sampler,
        reward_fn=reward_fn,
        render=render,
        stream=ProblemStream(train, seed=config.run.seed, shuffle=config.data.shuffle)
        if mixed is None
        else MixedStream(
            mixed.sets, mixed.weights, seed=config.run.seed, shuffle=config.data.shuffle
        ),
        held_out=held_out[: config.eval.problems],
        data_report=None if mixed is None else mixed.report,
        share=share if ranks.size > 1 else None,
        generating=generating,
    )
