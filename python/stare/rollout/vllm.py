"""Sampling with vLLM, its weights following those of the trainer.

A response is a function of (weights, its prompt, the parameters, its seed): each is a request with
a seed of its own, hashed from what it is for, so neither batching nor a restart of the engine
changes it (but for rounding, as in `stare.rollout.hf`).

Weights are handed over as one file, in the memory of the machine where there is /dev/shm, which the
engine reads in place; the same folder is what an engine is started from, so one that had to be
killed comes back with the weights it had.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stare.errors import DataError, RunError
from stare.rollout.hf import ending_token_ids
from stare.rollout.repeats import repeats
from stare.rollout.sampler import SamplingParams
from stare.rollout.vllm_engine import EngineError, EngineProcess, Job, Result
from stare.seeds import derive_seed
from stare.types import Completion, FinishReason

__all__ = ["VllmSampler", "engine_arguments"]

_SHARED = Path("/dev/shm")
_WEIGHTS = "model.safetensors"


def engine_arguments(
    *,
    max_model_len: int,
    dtype: str = "float32",
    cuda: bool,
    tensor_parallel_size: int = 1,
    gpu_memory_utilization: float = 0.5,
    enforce_eager: bool = False,
    sleep: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Arguments of `vllm.LLM`, but for the model.

    Example:
        >>> arguments = engine_arguments(max_model_len=512, cuda=False, extra={"max_num_seqs": 8})
        >>> arguments["logprobs_mode"], arguments["max_num_batched_tokens"]
        ('processed_logprobs', 4096)
    """
    arguments: dict[str, Any] = {
        "dtype": dtype,
        "max_model_len": max_model_len,
        "tensor_parallel_size": tensor_parallel_size,
        "enforce_eager": enforce_eager,
        # Of the distribution that was drawn from: after temperature and top-p.
        "logprobs_mode": "processed_logprobs",
        # Sampling is what it is asked for, not what the model's generation_config would like.
        "generation_config": "vllm",
    }
    # On a CPU the share of the machine's memory that must be free, whatever its name.
    arguments["gpu_memory_utilization"] = gpu_memory_utilization
    if cuda:
        arguments["enable_sleep_mode"] = sleep
    else:
        # A chunked prefill with a seed a request stops vLLM on a CPU: its generator has no offset.
        arguments["enable_chunked_prefill"] = False
        arguments["max_num_batched_tokens"] = max(4096, max_model_len)
    return arguments | dict(extra or {})


class VllmSampler:
    """A `Sampler`, `TokenSampler` and `WeightReceiver` over an engine of its own.

    The engine starts with the first call that needs it.

    Args:
        model: the policy, with `save_pretrained` for its configuration and `state_dict` for the
            weights that the engine starts with.
        tokenizer: its tokenizer; prompts are encoded without adding special tokens.
        arguments: of `vllm.LLM`; see `engine_arguments`.
        in_memory: hand weights over in /dev/shm, if there is one.
        sleep: the engine sleeps between `release` and the next call.
        start_timeout_s: longest start of the engine.
        timeout_s: longest wait for a call.
        max_restarts: restarts in a row without an answer.
        max_prompt_tokens: a longer prompt is an error.
        devices: the engine's CUDA_VISIBLE_DEVICES; None leaves what is set.
        start: makes the engine; another one in tests.
    """

    _pause_s = 2.0

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        arguments: Mapping[str, Any],
        *,
        in_memory: bool = True,
        sleep: bool = False,
        start_timeout_s: float = 600.0,
        timeout_s: float = 1800.0,
        max_restarts: int = 3,
        max_prompt_tokens: int | None = None,
        devices: str | None = None,
        start: Callable[..., EngineProcess] = EngineProcess,
    ) -> None:
        self._model, self._tokenizer, self._arguments = model, tokenizer, dict(arguments)
        self._sleep, self._asleep = sleep, False
        self._start_timeout_s, self._timeout_s = start_timeout_s, timeout_s
        self._max_restarts, self._max_prompt_tokens = max_restarts, max_prompt_tokens
        self._start, self._devices = start, devices
        self._stop_ids = tuple(ending_token_ids(model, tokenizer))
        self._engine: EngineProcess | None = None
        parent = _SHARED if in_memory and _SHARED.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="stare-vllm-", dir=parent))
        self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.restarts = 0
        """Engines that died or hung so far."""
        self.version: int | None = None
        """Optimiser steps behind the engine's weights; None before the first hand-over."""

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """Sample `params.n` responses for each fully rendered prompt, in the order given.

        Raises:
            DataError: a prompt is empty or too long.
            RunError: the engine does not start, or failed `max_restarts` times in a row.
        """
        if not prompts:
            return []
        encoded = self._tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        seeds = [
            [derive_seed(params.seed, repeat, i) for i in range(params.n)]
            for repeat in repeats([tuple(ids) for ids in encoded])
        ]
        return self.sample_tokens(encoded, params, seeds)

    def sample_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]],
    ) -> list[list[Completion]]:
        """Sample one response for each seed of each prompt; see `TokenSampler`."""
        if len(seeds) != len(prompts):
            raise DataError(f"got {len(prompts)} prompts and seeds for {len(seeds)}")
        context = int(self._arguments["max_model_len"])
        jobs = []
        for number, (ids, own) in enumerate(zip(prompts, seeds, strict=True)):
            limit = min(context - 1, self._max_prompt_tokens or context)
            if not 0 < len(ids) <= limit:
                raise DataError(
                    f"prompt {number} has {len(ids)} tokens, 1 to {limit} are allowed\n"
                    "hint: rollout.max_prompt_tokens, and the model's context"
                )
            jobs += [self._job(list(ids), seed, params, context) for seed in own]
        results = iter(self._call("sample", jobs))
        return [
            [_completion(prompt, next(results)) for _ in own]
            for prompt, own in zip((list(ids) for ids in prompts), seeds, strict=True)
        ]

    def _job(self, ids: list[int], seed: int, params: SamplingParams, context: int) -> Job:
        # One seed of a group must not draw the same numbers for every prompt.
        own = derive_seed(seed, ",".join(map(str, ids)))
        room = min(params.max_tokens, context - len(ids))
        return Job(ids, own, params.temperature, params.top_p, room, params.stop, self._stop_ids)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], *, version: int) -> None:
        """Write the weights where the engine reads them, and have it read them."""
        self._write(weights)
        if self._engine is not None:
            self._call("load", str(self._folder))
        self.version = version

    def release(self) -> None:
        """Give the engine's memory back until the next call, where `sleep` is on."""
        if self._sleep and self._engine is not None and not self._asleep:
            try:
                self._engine.call("sleep", timeout_s=self._timeout_s)
                self._asleep = True
            except EngineError:  # the next call starts another
                self._engine = None
                self.restarts += 1

    def close(self) -> None:
        """Stop the engine and remove the weights."""
        if self._engine is not None:
            self._engine.kill()
            self._engine = None
        self._cleanup()

    def _call(self, method: str, *arguments: Any) -> Any:
        """Ask the engine; if it dies or hangs, start another and ask again."""
        for attempt in range(self._max_restarts + 1):
            # A GPU may need a moment until the memory of the one that was killed is free.
            time.sleep(self._pause_s * attempt)
            try:
                engine = self._running()
                if method == "load" and attempt:
                    return None  # it has started with them
                return engine.call(method, *arguments, timeout_s=self._timeout_s)
            except RunError as error:
                if attempt == 0 and not isinstance(error, EngineError):
                    raise  # refused at once: another try would be refused as well
                self._engine, self._asleep = None, False
                self.restarts += 1
                last = error
        raise RunError(
            f"{last}\n{self._max_restarts + 1} engines in a row failed\n"
            "hint: look above for vLLM's own messages; vllm.timeout_s if it only was slow"
        )

    def _running(self) -> EngineProcess:
        if self._engine is None:
            if not (self._folder / _WEIGHTS).exists():
                self._write(self._model.state_dict().items())
            if not (self._folder / "config.json").exists():
                config = copy.deepcopy(self._model.config)
                # vLLM 0.32 reads tied weights again without telling the head.
                config.tie_word_embeddings = False
                config.save_pretrained(self._folder)
                self._tokenizer.save_pretrained(self._folder)
            arguments = {**self._arguments, "model": str(self._folder)}
            self._engine = self._start(
                arguments, start_timeout_s=self._start_timeout_s, devices=self._devices
            )
        if self._asleep:
            self._engine.call("wake", timeout_s=self._timeout_s)
            self._asleep = False
        return self._engine

    def _write(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        from safetensors.torch import save_file

        dtype = getattr(torch, str(self._arguments["dtype"]))
        table = {
            name: tensor.detach().to(
                "cpu", dtype if tensor.is_floating_point() else None, copy=True
            )
            for name, tensor in weights
        }
        partial = self._folder / f".{_WEIGHTS}"
        save_file(table, partial, metadata={"format": "pt"})
        partial.replace(self._folder / _WEIGHTS)


def _completion(prompt_ids: list[int], result: Result) -> Completion:
    if result.finish_reason not in ("stop", "length"):
        raise RunError(f"vLLM ended a response by {result.finish_reason!r}")
    reason: FinishReason = "stop" if result.finish_reason == "stop" else "length"
    return Completion(
        prompt_ids=prompt_ids,
        token_ids=result.token_ids,
        text=result.text,
        finish_reason=reason,
        logprobs=result.logprobs,
    )
