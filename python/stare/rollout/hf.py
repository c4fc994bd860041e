"""Sampling with a Hugging Face causal LM: batched decoding with a key-value cache.

Why not `model.generate`: it draws from the global random state, so responses would depend on what
ran before and on how prompts are batched; it keeps finished rows in the batch to the end; it runs
the prompt once per response instead of once per prompt; and it returns (B, V) scores for every
step where one log-probability and one entropy are wanted.

A response is a function of (weights, its prompt, `params`, its number in the group). Order and
batching change it only through rounding: matrix products of other shapes may round differently, so
in bfloat16 a draw that falls on the edge between two tokens can fall on the other side.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stare.errors import ArgumentError, DataError
from stare.rollout.hf_batch import DecodingBatch, Draw, Piece
from stare.rollout.repeats import repeats
from stare.rollout.sampler import SamplingParams
from stare.types import Completion

__all__ = ["TransformersSampler", "ending_token_ids"]


class TransformersSampler:
    """A `Sampler` and `TokenSampler` for any Hugging Face causal LM.

    Args:
        model: Called as `model(input_ids=, attention_mask=, position_ids=, cache=)`.
        tokenizer: Its tokenizer. Prompts are encoded without adding special tokens.
        device: Where the model lives; None asks the model.
        max_batch: Most responses decoded together.
        max_batch_tokens: Most tokens in the cache: rows x (longest prompt + response limit).
        max_prompt_tokens: Longest prompt accepted; None leaves only the model's context.
        autocast_dtype: Run the model under autocast to this dtype; None runs it as it is.
        eos_token_ids: Tokens that end a response; None takes all that the model's generation config
            and the tokenizer name.

    A tokenizer needs no padding token: padding is masked by length, never by id.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        device: torch.device | str | None = None,
        *,
        max_batch: int = 256,
        max_batch_tokens: int = 65_536,
        max_prompt_tokens: int | None = None,
        autocast_dtype: torch.dtype | None = None,
        eos_token_ids: Sequence[int] | None = None,
    ) -> None:
        for name, value in (("max_batch", max_batch), ("max_batch_tokens", max_batch_tokens)):
            if value < 1:
                raise ArgumentError(f"{name} must be >= 1, got {value}")
        self.model = model
        self.tokenizer = tokenizer
        self.device = torch.device(device) if device is not None else model.device
        self.max_batch = max_batch
        self.max_batch_tokens = max_batch_tokens
        self.max_prompt_tokens = max_prompt_tokens
        self.autocast_dtype = autocast_dtype
        self.eos_token_ids = (
            ending_token_ids(model, tokenizer) if eos_token_ids is None else sorted(eos_token_ids)
        )
        self.context = _context_length(model)
        accepted = inspect.signature(model.forward).parameters
        # transformers 5.24 renamed past_key_values to cache and warns about the old name.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._keep_last = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}

    @torch.no_grad()
    def sample(
        self,
        prompts: Sequence[str],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Completion]]:
        """Sample `params.n` responses for each prompt, in the order given.

        Args:
            prompts: Fully rendered.
            params: How to sample.
            seeds: One seed for each response of each prompt, instead of `params.n` and
                `params.seed`. Such a response is a function of (weights, prompt, `params`, its
                seed), whatever else is sampled in the same call.

        Raises:
            ArgumentError: `params` holds an impossible value, or `seeds` do not fit the prompts.
            DataError: a prompt is empty, or longer than the context or `max_prompt_tokens`.
            RunError: the model returned NaN or infinite log-probabilities.
        """
        _check(params)
        if not prompts:
            return []
        encoded = self._encode(prompts)
        return self._decode(encoded, self._draws(encoded, params, seeds), params)

    @torch.no_grad()
    def sample_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]],
    ) -> list[list[Completion]]:
        """Sample one response for each seed of each prompt; see `TokenSampler`.

        `max_prompt_tokens` does not hold here: what is continued is longer than its prompt.

        Raises:
            ArgumentError: `params` holds an impossible value, or `seeds` do not fit the prompts.
            DataError: a prompt is empty, or leaves no room for a token in the context.
            RunError: the model returned NaN or infinite log-probabilities.
        """
        _check(params)
        encoded = [list(ids) for ids in prompts]
        for number, ids in enumerate(encoded):
            if not ids or (self.context is not None and len(ids) >= self.context):
                raise DataError(
                    f"prompt {number} has {len(ids)} tokens; it must have 1 at least and be "
                    f"shorter than the context ({self.context})"
                )
        if not encoded:
            return []
        return self._decode(encoded, self._draws(encoded, params, seeds), params)

    def _decode(
        self, encoded: list[list[int]], draws: list[list[Draw]], params: SamplingParams
    ) -> list[list[Completion]]:
        groups: list[list[Completion]] = [[] for _ in encoded]
        was_training = self.model.training
        self.model.eval()
        try:
            for pieces in self._batches(
                [len(ids) for ids in encoded], [len(draw) for draw in draws], params.max_tokens
            ):
                with self._autocast():
                    batch = DecodingBatch(self, pieces, encoded, draws, params)
                    batch.run()
                for piece, completions in batch.completions():
                    groups[piece.prompt] += completions
        finally:
            self.model.train(was_training)
        return groups

    def _encode(self, prompts: Sequence[str]) -> list[list[int]]:
        encoded = self.tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        # At least one token must fit behind the prompt.
        limits = [(self.context - 1 if self.context else None, "the model's context less one")]
        limits.append((self.max_prompt_tokens, "max_prompt_tokens"))
        for number, ids in enumerate(encoded):
            shown = repr(prompts[number][:60])
            if not ids:
                raise DataError(f"prompt {number} ({shown}) has no tokens")
            for limit, name in limits:
                if limit is not None and len(ids) > limit:
                    raise DataError(
                        f"prompt {number} ({shown}...) has {len(ids)} tokens, more than the "
                        f"{limit} of {name}"
                    )
        return [list(ids) for ids in encoded]

    def _draws(
        self,
        encoded: list[list[int]],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]] | None,
    ) -> list[list[Draw]]:
        """What the randomness of each response to each prompt is derived from."""
        if seeds is None:
            return [
                [Draw(params.seed, repeat, sample) for sample in range(params.n)]
                for repeat in repeats([tuple(ids) for ids in encoded])
            ]
        if len(seeds) != len(encoded):
            raise ArgumentError(f"got {len(encoded)} prompts and seeds for {len(seeds)}")
        return [[Draw(seed, 0, 0) for seed in group] for group in seeds]

    def _batches(self, lengths: list[int], counts: list[int], max_tokens: int) -> list[list[Piece]]:
        """Cut the work into batches, prompts of like length together."""
        batches: list[list[Piece]] = []
        rows = 0
        for prompt in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
            tokens = lengths[prompt] + max_tokens  # sorted: the widest row so far
            capacity = max(1, min(self.max_batch, self.max_batch_tokens // tokens))
            done = 0
            while done < counts[prompt]:
                if not batches or rows >= capacity:
                    batches.append([])
                    rows = 0
                count = min(counts[prompt] - done, capacity - rows)
                batches[-1].append(Piece(prompt, done, count))
                rows, done = rows + count, done + count
        return batches

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.autocast_dtype is None:
            return nullcontext()
        # One context around the whole batch: it caches the cast weights until it is left.
        return torch.autocast(self.device.type, dtype=self.autocast_dtype)

    def forward(self, ids_BL: Tensor, mask_BS: Tensor, positions_BL: Tensor, cache: Any) -> Tensor:
        """Return the logits (B, V) that follow the last column of `ids_BL`."""
        output = self.model(
            input_ids=ids_BL,
            attention_mask=mask_BS,
            position_ids=positions_BL,
            use_cache=True,
            **{self._cache_name: cache},
            **self._keep_last,
        )
        logits: Tensor = output.logits[:, -1]
        return logits


def _check(params: SamplingParams) -> None:
    if params.n < 1:
        raise ArgumentError(f"n must be >= 1, got {params.n}")
    if params.max_tokens < 1:
        raise ArgumentError(f"max_tokens must be >= 1, got {params.max_tokens}")
    if not (np.isfinite(params.temperature) and params.temperature >= 0):
        raise ArgumentError(f"temperature must be >= 0, got {params.temperature}")
    if not 0 < params.top_p <= 1:
        raise ArgumentError(f"top_p must lie in (0, 1], got {params.top_p}")


def ending_token_ids(model: Any, tokenizer: Any) -> list[int]:
    """All tokens that end a response: those of the generation config and of the tokenizer."""
    found: set[int] = set()
    config = getattr(model, "generation_config", None)
    for value in (getattr(config, "eos_token_id", None), tokenizer.eos_token_id):
        if value is not None:
            found.update(value if isinstance(value, (list, tuple)) else [value])
    return sorted(found)


def _context_length(model: Any) -> int | None:
    config = model.config
    if hasattr(config, "get_text_config"):
        config = config.get_text_config()
    value = getattr(config, "max_position_embeddings", None)
    return int(value) if value else None
