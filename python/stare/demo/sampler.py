"""Batched sampling from the tiny policy: all prompts times n in one batch, at most 13 steps.

Each prompt is prefilled once and shared by its n rows; keys and values live in tensors allocated
once; nothing in Python runs per token and sequence. Shapes as in `policy`; N rows = prompts * n,
T sampled tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from stare.demo.policy import Block, TinyPolicy
from stare.demo.vocab import TOKENS, Tokenizer
from stare.errors import ArgumentError
from stare.rollout.sampler import SamplingParams
from stare.types import Completion

__all__ = ["TinySampler", "nucleus"]

_BELOW_ONE = 1.0 - 2.0**-22
"""Keeps uniform * total mass strictly below the total in float32."""


def nucleus(logits_NV: Tensor, top_p: float) -> Tensor:
    """Logits with the tokens outside the smallest set of mass >= `top_p` at -inf.

    Example:
        >>> nucleus(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.7).exp()
        tensor([[0.5000, 0.3000, 0.0000]])
    """
    ordered, index = logits_NV.sort(dim=-1, descending=True, stable=True)
    mass = ordered.softmax(-1)
    outside = mass.cumsum(-1) - mass >= top_p
    return logits_NV.masked_fill(outside.gather(-1, index.argsort(-1)), -torch.inf)


@dataclass(frozen=True, slots=True)
class _Cache:
    """(N, H, L, E) keys and values of each layer."""

    keys: list[Tensor]
    values: list[Tensor]


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

    @torch.inference_mode()
    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """`params.n` responses for each prompt, in the order given.

        Bit-reproducible for the same weights, prompts and seed. Log-probabilities and entropies
        are those of the distribution sampled from; greedy decoding reports the untempered one.

        Raises:
            ArgumentError: prompts of different lengths, or no room for a token in the context.
        """
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
        tokens, logits = self._generate(torch.tensor(rows, device=self.model.device), steps, params)
        return self._completions(rows, tokens, logits, params.n)

    def _generate(self, ids: Tensor, steps: int, params: SamplingParams) -> tuple[Tensor, Tensor]:
        """(N, T) tokens, padded after the end token, and the (N, T, V) logits sampled from."""
        model, n = self.model, params.n
        N = len(ids) * n
        generator = torch.Generator().manual_seed(params.seed)
        uniform = torch.rand(N, steps, generator=generator).mul_(_BELOW_ONE).to(ids.device)
        cache, x = self._prefill(ids, n, ids.shape[1] + steps)
        tokens = ids.new_full((N, steps), self.tokenizer.pad_token_id)
        history = torch.empty(N, steps, len(TOKENS), device=ids.device)
        open_rows = torch.ones(N, dtype=torch.bool, device=ids.device)
        for t in range(steps):
            logits = model.head(model.norm(x))
            if params.temperature > 0 and params.temperature != 1:
                logits = logits / params.temperature
            if params.temperature > 0 and params.top_p < 1:
                logits = nucleus(logits, params.top_p)
            history[:, t] = logits
            if params.temperature > 0:
                mass = logits.softmax(-1).cumsum(-1)
                choice = (mass <= uniform[:, t, None] * mass[:, -1:]).sum(-1)
            else:
                choice = logits.argmax(-1)
            tokens[:, t] = torch.where(open_rows, choice, self.tokenizer.pad_token_id)
            open_rows &= choice != self.tokenizer.eos_token_id
            if t + 1 == steps or not open_rows.any():
                return tokens[:, : t + 1], history[:, : t + 1]
            x = self._decode(choice, ids.shape[1] + t, cache)
        raise AssertionError("unreachable: the last step returns")

    def _prefill(self, ids: Tensor, n: int, total: int) -> tuple[_Cache, Tensor]:
        """Run the prompts once; cache of all rows and hidden state (N, D) of the last position."""
        model = self.model
        P, L = ids.shape
        H = model.heads
        x = model.token(ids) + model.position.weight[:L]
        cache = _Cache([], [])
        for block in model.blocks:
            assert isinstance(block, Block)
            qkv = F.linear(block.norm1(x), block.qkv.weight, block.qkv.bias)
            q, k, v = qkv.view(P, L, 3, H, -1).permute(2, 0, 3, 1, 4)
            for store, new in ((cache.keys, k), (cache.values, v)):
                room = new.new_empty(P, n, H, total, new.shape[-1])
                room[:, :, :, :L] = new[:, None]
                store.append(room.view(P * n, H, total, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = block.feed_forward(x + block.out(mixed.transpose(1, 2).reshape(P, L, -1)))
        return cache, x[:, -1].repeat_interleave(n, dim=0)

    def _decode(self, token_N: Tensor, position: int, cache: _Cache) -> Tensor:
        """Hidden state (N, D) after one more token at `position`."""
        model = self.model
        N, H = len(token_N), model.heads
        x = model.token(token_N) + model.position.weight[position]
        for block, keys, values in zip(model.blocks, cache.keys, cache.values, strict=True):
            assert isinstance(block, Block)
            q, k, v = block.qkv(block.norm1(x)).view(N, 3, H, -1).unbind(1)
            keys[:, :, position] = k
            values[:, :, position] = v
            mixed = F.scaled_dot_product_attention(
                q[:, :, None], keys[:, :, : position + 1], values[:, :, : position + 1]
            )
            x = block.feed_forward(x + block.out(mixed.reshape(N, -1)))
        return x

    def _completions(
        self, prompts: list[list[int]], tokens: Tensor, logits: Tensor, n: int
    ) -> list[list[Completion]]:
        logprobs = logits.log_softmax(-1)
        entropy = -torch.special.xlogy(logprobs.exp(), logprobs.exp()).sum(-1)
        chosen = logprobs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        ended = tokens == self.tokenizer.eos_token_id
        stopped = ended.any(1)
        lengths = torch.where(stopped, ended.int().argmax(1) + 1, tokens.shape[1]).tolist()
        rows = zip(tokens.tolist(), chosen.tolist(), entropy.tolist(), lengths, stopped.tolist())
        completions = [
            Completion(
                prompt_ids=prompts[i // n],
                token_ids=ids[:length],
                text=self.tokenizer.decode(ids[: length - stop], skip_special_tokens=True),
                finish_reason="stop" if stop else "length",
                logprobs=logps[:length],
                entropies=entropies[:length],
            )
            for i, (ids, logps, entropies, length, stop) in enumerate(rows)
        ]
        return [completions[i : i + n] for i in range(0, len(completions), n)]
