"""Batched sampling from the tiny policy: all prompts times n in one batch, at most 13 steps.

Each prompt is prefilled once and shared by its n rows; keys and values live in tensors allocated
once; nothing in Python runs per token and sequence. Shapes as in `policy`; N rows = prompts * n,
T sampled tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stare.demo.policy import Block, TinyPolicy
from stare.demo.vocab import Tokenizer
from stare.errors import ArgumentError, RunError
from stare.rollout.sampler import SamplingParams
from stare.types import Completion

__all__ = ["TinySampler", "nucleus"]

_BELOW_ONE = 1.0 - 2.0**-22
"""Keeps uniform * total mass strictly below the total in float32."""


def nucleus(logits_NV: Tensor, top_p: float) -> Tensor:
    """Logits with the tokens outside the smallest set of mass >= `top_p` at the lowest float.

    Not at -inf, so that probability times logit is 0 there and not NaN.

    Example:
        >>> nucleus(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.7).exp()
        tensor([[0.5000, 0.3000, 0.0000]])
    """
    ordered, index = logits_NV.sort(dim=-1, descending=True, stable=True)
    mass = ordered.softmax(-1)
    outside = mass.cumsum(-1) - mass >= top_p
    lowest = torch.finfo(logits_NV.dtype).min
    return logits_NV.masked_fill(outside.gather(-1, index.argsort(-1)), lowest)


@dataclass(frozen=True, slots=True)
class _Cache:
    """(N, H, L, E) keys and values of each layer; L is the room for prompt and response."""

    keys: list[Tensor]
    values: list[Tensor]


@dataclass(frozen=True, slots=True)
class _Samples:
    """What was drawn, step by step; all (T, N)."""

    tokens: Tensor
    logprobs: Tensor
    entropies: Tensor


class TinySampler:
    """The `Sampler` of the demo (`rollout.sampler = "stare.demo.sampler:TinySampler"`).

    Example:
        >>> policy, tokenizer = TinyPolicy(), Tokenizer()
        >>> sampler = TinySampler(policy, tokenizer)
        >>> groups = sampler.sample(["B 3 7 9 > 2 :"], SamplingParams(n=4, max_tokens=13))
        >>> len(groups), len(groups[0])
        (1, 4)
    """

    def __init__(
        self,
        model: TinyPolicy,
        tokenizer: Tokenizer,
        device: torch.device | str | None = None,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self._room = torch.empty(0)

    @torch.inference_mode()
    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """`params.n` responses for each prompt, in the order given.

        Bit-reproducible for the same weights, prompts and seed. Log-probabilities and entropies
        are those of the distribution sampled from; greedy decoding reports the untempered one.

        Raises:
            ArgumentError: an impossible parameter, prompts of different lengths, or no room for a
                token in the context.
            DataError: a word that is not in the vocabulary.
            RunError: the policy's logits are not finite.
        """
        _check(params)
        if not prompts:
            return []
        rows = [self.tokenizer.encode(prompt) for prompt in prompts]
        length = len(rows[0])
        steps = min(params.max_tokens, self.model.context - length)
        if any(len(row) != length for row in rows):
            raise ArgumentError(
                "demo prompts must have the same number of tokens, got "
                f"{sorted({len(row) for row in rows})}"
            )
        if steps < 1 or length < 1:
            raise ArgumentError(
                f"prompt and response must fit {self.model.context} tokens, got a prompt of "
                f"{length} and max_tokens={params.max_tokens}"
            )
        ids = torch.tensor(rows, device=self.model.device)
        return self._completions(rows, self._generate(ids, steps, params), params.n)

    def _generate(self, ids: Tensor, steps: int, params: SamplingParams) -> _Samples:
        """Sample up to `steps` tokens for n copies of (P, L) prompts; padding after the end."""
        model, n = self.model, params.n
        N = len(ids) * n
        generator = torch.Generator().manual_seed(params.seed)
        uniform = torch.rand(steps, N, 1, generator=generator).mul_(_BELOW_ONE).to(ids.device)
        cache, x = self._prefill(ids, n, ids.shape[1] + steps)
        tokens = ids.new_full((steps, N), self.tokenizer.pad_token_id)
        logprobs, entropies = x.new_zeros(2, steps, N)
        open_N = torch.ones(N, dtype=torch.bool, device=ids.device)
        done = 0
        for t in range(steps):
            logits = _shaped(model.head(model.norm(x)), params)
            probs = logits.softmax(-1)
            if params.temperature > 0:
                mass = probs.cumsum(-1)
                choice = torch.searchsorted(mass, uniform[t] * mass[:, -1:], right=True)
                choice.clamp_max_(mass.shape[-1] - 1)  # only where the mass is not a number
            else:
                choice = logits.argmax(-1, keepdim=True)
            # ln sum e^z = z_a - ln p_a for any a, so one gather gives both statistics.
            chosen = probs.gather(-1, choice).log_()
            torch.sub(logits.gather(-1, choice), chosen, out=entropies[t].unsqueeze(-1))
            entropies[t] -= torch.linalg.vecdot(probs, logits)
            logprobs[t] = chosen.squeeze(-1)
            choice = choice.squeeze(-1)
            tokens[t] = torch.where(open_N, choice, self.tokenizer.pad_token_id)
            open_N &= choice != self.tokenizer.eos_token_id
            done = t + 1
            if done == steps or not open_N.any():
                break
            x = self._decode(choice, ids.shape[1] + t, cache)
        if not entropies.isfinite().all():
            self._room = torch.empty(0)
            raise RunError(
                "the policy returned NaN or infinite logits while sampling\n"
                "hint: the weights have diverged; resume an earlier checkpoint, lower the rate"
            )
        return _Samples(tokens[:done], logprobs[:done], entropies[:done].clamp_min_(0.0))

    def _prefill(self, ids: Tensor, n: int, total: int) -> tuple[_Cache, Tensor]:
        """Run the prompts once; cache of all rows and hidden state (N, D) of the last position."""
        model = self.model
        P, L = ids.shape
        H = model.heads
        x = model.token(ids) + model.position.weight[:L]
        room = self._allocate((len(model.blocks), 2, P, n, H, total, x.shape[-1] // H))
        for block, (keys, values) in zip(model.blocks, room, strict=True):
            assert isinstance(block, Block)
            qkv = block.qkv(block.norm1(x))
            q, k, v = qkv.view(P, L, 3, H, -1).permute(2, 0, 3, 1, 4)
            keys[:, :, :, :L] = k[:, None]
            values[:, :, :, :L] = v[:, None]
            mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
            x = block.feed_forward(x + block.out(mixed.transpose(1, 2).reshape(P, L, -1)))
        cache = _Cache(*(list(store.flatten(1, 2)) for store in room.unbind(1)))
        return cache, x[:, -1].repeat_interleave(n, dim=0)

    def _allocate(self, shape: tuple[int, ...]) -> Tensor:
        """Room for keys and values, kept for the next call: fresh pages cost more than the copies.

        What an earlier call left in it is finite (`_generate` sees to it) and gets probability 0.
        """
        size = math.prod(shape)
        if self._room.numel() < size or self._room.device != self.model.device:
            self._room = torch.zeros(size, device=self.model.device)
        return self._room[:size].view(shape)

    def _decode(self, token_N: Tensor, position: int, cache: _Cache) -> Tensor:
        """Hidden state (N, D) after one more token at `position`.

        Always attends over all slots, with the empty ones masked: a batch of tiny products is
        slower at every smaller size (torch takes MKL only from 400 products a matrix on), and at
        this one twice as fast as SDPA.
        """
        model = self.model
        N, H = len(token_N), model.heads
        x: Tensor = model.token(token_N) + model.position.weight[position]
        for block, keys, values in zip(model.blocks, cache.keys, cache.values, strict=True):
            assert isinstance(block, Block)
            q, k, v = block.qkv(block.norm1(x)).view(N, 3, H, -1).unbind(1)
            keys[:, :, position] = k
            values[:, :, position] = v
            q = (q * q.shape[-1] ** -0.5).view(N * H, 1, -1)
            scores = torch.bmm(q, keys.flatten(0, 1).transpose(1, 2))
            scores[:, :, position + 1 :] = -torch.inf
            mixed = torch.bmm(scores.softmax(-1), values.flatten(0, 1))
            x = block.feed_forward(x + block.out(mixed.view(N, -1)))
        return x

    def _completions(
        self, prompts: list[list[int]], samples: _Samples, n: int
    ) -> list[list[Completion]]:
        tokens = samples.tokens.T
        ended = tokens == self.tokenizer.eos_token_id
        stopped = ended.any(1)
        lengths = torch.where(stopped, ended.int().argmax(1) + 1, tokens.shape[1]).tolist()
        rows = zip(
            tokens.tolist(),
            samples.logprobs.T.tolist(),
            samples.entropies.T.tolist(),
            lengths,
            stopped.tolist(),
            strict=True,
        )
        completions = [
            Completion(
                prompt_ids=prompts[i // n],
                token_ids=ids[:length],
                text=self.tokenizer.decode(ids[:length], skip_special_tokens=True),
                finish_reason="stop" if stop else "length",
                logprobs=logprobs[:length],
                entropies=entropies[:length],
            )
            for i, (ids, logprobs, entropies, length, stop) in enumerate(rows)
        ]
        return [completions[i : i + n] for i in range(0, len(completions), n)]


def _shaped(logits_NV: Tensor, params: SamplingParams) -> Tensor:
    """Logits of the distribution sampled from (greedy: untempered)."""
    if params.temperature not in (0, 1):
        logits_NV = logits_NV / params.temperature
    if params.temperature > 0 and params.top_p < 1:
        logits_NV = nucleus(logits_NV, params.top_p)
    return logits_NV


def _check(params: SamplingParams) -> None:
    if params.n < 1:
        raise ArgumentError(f"n must be >= 1, got {params.n}")
    if not (math.isfinite(params.temperature) and params.temperature >= 0):
        raise ArgumentError(f"temperature must be >= 0, got {params.temperature}")
    if not 0 < params.top_p <= 1:
        raise ArgumentError(f"top_p must lie in (0, 1], got {params.top_p}")
