"""The tiny policy of the demo: a pre-LN GPT (115,712 parameters) with a Hugging Face signature.

Shapes: B sequences, L positions, K positions whose logits are kept, V vocabulary, D width,
H heads, E = D / H; U distinct prompts, S shared prompt positions, R = L - S.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from stare.demo.vocab import VOCAB_SIZE, Tokenizer
from stare.errors import ArgumentError, DataError

__all__ = ["Block", "PolicyOutput", "TinyPolicy", "load_policy", "load_weights", "save_weights"]

DATA = Path(__file__).parent / "data"
WEIGHTS_NAME = "model.safetensors"


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """What a call returns."""

    logits: Tensor
    """(B, K, V)"""


class Block(nn.Module):
    """One pre-LN layer; its matrices are read directly by `TinyPolicy` and the sampler."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def feed_forward(self, x: Tensor) -> Tensor:
        """Return x plus the feed-forward branch, for any leading shape."""
        hidden: Tensor = self.up(self.norm2(x))
        out: Tensor = x + self.down(hidden.relu_())
        return out


def _attend(q: Tensor, kv: Tensor, bias: Tensor, heads: int) -> Tensor:
    """Attention of (B, R, D) queries over (B, L, 2 D) keys and values; `bias` adds to (B, R, L).

    Head by head on slices: nothing is permuted or copied, forward or backward. Batched products
    of this size are faster than SDPA.
    """
    E = q.shape[-1] // heads
    parts = torch.split(kv, E, dim=-1)
    mixed = []
    for query, key, value in zip(
        torch.split(q, E, dim=-1), parts[:heads], parts[heads:], strict=True
    ):
        scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=E**-0.5)
        mixed.append(torch.bmm(scores.softmax(-1), value))
    return torch.cat(mixed, dim=-1)


class TinyPolicy(nn.Module):
    """Pre-LN GPT with learned positions and an untied head.

    Rows that are not padded on the left take a fast path: a causal mask suffices, and where many
    rows share their prompt (a group of rollouts), the prompt is computed once.

    Example:
        >>> policy = TinyPolicy()
        >>> ids = torch.tensor([Tokenizer().encode("B 3 7 9 > 2 :")])
        >>> tuple(policy(ids, logits_to_keep=1).logits.shape)
        (1, 1, 112)
    """

    _causal: Tensor
    """(context, context), -inf above the diagonal."""

    def __init__(
        self, *, width: int = 64, layers: int = 2, heads: int = 2, context: int = 20, seed: int = 0
    ) -> None:
        super().__init__()
        self.heads, self.context = heads, context
        self.token = nn.Embedding(VOCAB_SIZE, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCAB_SIZE, bias=False)
        causal = torch.full((context, context), -math.inf).triu(1)
        self.register_buffer("_causal", causal, persistent=False)
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Linear):
                    std = 0.02 if module is self.head else 0.6 / math.sqrt(module.in_features)
                    module.weight.normal_(0.0, std, generator=generator)
                    if module.bias is not None:
                        module.bias.zero_()
                elif isinstance(module, nn.Embedding):
                    module.weight.normal_(0.0, 0.5, generator=generator)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        logits_to_keep: int = 0,
        use_cache: bool = False,
    ) -> PolicyOutput:
        """Logits of the next token at the last `logits_to_keep` positions (0: at all).

        Args:
            input_ids: (B, L) int64, prompts padded on the left, responses on the right.
            attention_mask: (B, L), 0 on padding; None is all ones.
            position_ids: (B, L); None counts the ones of the mask.
            logits_to_keep: K.
            use_cache: not offered; the sampler keeps its own cache.

        Raises:
            ArgumentError: `use_cache`, a wrong shape, or a sequence longer than the context.
        """
        B, L = input_ids.shape
        keep = logits_to_keep or L
        if use_cache:
            raise ArgumentError("use_cache must be False: the demo's sampler keeps its own cache")
        if not 0 < keep <= L:
            raise ArgumentError(f"logits_to_keep must lie in [0, {L}], got {logits_to_keep}")
        if attention_mask is not None and attention_mask.shape != (B, L):
            raise ArgumentError(
                f"attention_mask must be {(B, L)}, got {tuple(attention_mask.shape)}"
            )
        if self._is_plain(input_ids, attention_mask, position_ids):
            if self.context < L:
                raise ArgumentError(f"the context is {self.context} tokens, got {L}")
            return self._output(self._plain(input_ids, keep))
        x = self._padded(input_ids, attention_mask, position_ids)
        return self._output(x[:, L - keep :])

    def _output(self, x: Tensor) -> PolicyOutput:
        return PolicyOutput(self.head(self.norm(x)))

    def _is_plain(self, ids: Tensor, mask: Tensor | None, positions: Tensor | None) -> bool:
        """Whether no row has padding before a token, and positions count from 0."""
        if mask is None and positions is None:
            return True
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        plain = (real[:, 1:] <= real[:, :-1]).all()
        if positions is not None:
            count = torch.arange(ids.shape[1], device=ids.device)
            plain = plain & ((positions == count) | ~real).all()
        return bool(plain)

    def _plain(self, ids: Tensor, keep: int) -> Tensor:
        """Last hidden states at the last `keep` positions, (B, keep, D)."""
        B, L = ids.shape
        shared = L - keep
        prompts = ids[:, :shared]
        if shared:
            prompts, row_of = torch.unique_consecutive(prompts, dim=0, return_inverse=True)
        if not shared or 2 * len(prompts) > B:
            return self._causal_pass(ids)[:, shared:]
        place = self.position.weight[:L]
        x: Tensor = self.token(ids[:, shared:]) + place[shared:]
        prefix = self.token(prompts) + place[:shared]
        # A product with 0 and 1 copies each prompt to its rows; its gradient is a product, too.
        share = one_hot(row_of, len(prompts)).to(x.dtype)
        last = self.blocks[-1]
        for block in self.blocks:
            assert isinstance(block, Block)
            q, kv = self._project(block, x)
            prefix_q, prefix_kv = self._project(block, prefix)
            shared_kv = (share @ prefix_kv.flatten(1)).view(B, shared, -1)
            mixed = _attend(
                q, torch.cat([shared_kv, kv], dim=1), self._causal[shared:L, :L], self.heads
            )
            x = block.feed_forward(x + block.out(mixed))
            if block is not last:
                mixed = _attend(prefix_q, prefix_kv, self._causal[:shared, :shared], self.heads)
                prefix = block.feed_forward(prefix + block.out(mixed))
        return x

    def _causal_pass(self, ids: Tensor) -> Tensor:
        L = ids.shape[1]
        return self._layers(self.token(ids) + self.position.weight[:L], self._causal[:L, :L])

    def _layers(self, x: Tensor, bias: Tensor) -> Tensor:
        for block in self.blocks:
            assert isinstance(block, Block)
            x = block.feed_forward(
                x + block.out(_attend(*self._project(block, x), bias, self.heads))
            )
        return x

    @staticmethod
    def _project(block: Block, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries (B, L, D), keys and values (B, L, 2 D)."""
        D = x.shape[-1]
        q, kv = torch.split(block.qkv(block.norm1(x)), [D, 2 * D], dim=-1)
        return q, kv

    def _padded(self, ids: Tensor, mask: Tensor | None, positions: Tensor | None) -> Tensor:
        """Any mask and positions, without shortcuts; the twin of the fast path."""
        B, L = ids.shape
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        if positions is None:
            positions = (real.long().cumsum(1) - 1).clamp_min(0)
        if int(torch.where(real, positions, 0).max()) >= self.context:
            raise ArgumentError(
                f"position_ids must lie in [0, {self.context}), got {int(positions.max())}"
            )
        positions = torch.where(real, positions, 0)
        steps = torch.arange(L, device=ids.device)
        visible = (steps[None, :] <= steps[:, None]) & real[:, None, :]
        visible = visible | (steps[None, :] == steps[:, None])  # no empty row on padding
        bias = self._causal.new_zeros(B, L, L).masked_fill(~visible, -math.inf)
        return self._layers(self.token(ids) + self.position(positions), bias)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write `folder/model.safetensors`."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_weights(self, Path(folder) / WEIGHTS_NAME)


def save_weights(
    policy: TinyPolicy,
    path: str | Path,
    *,
    dtype: torch.dtype = torch.float32,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the weights as safetensors, to a temporary name first."""
    from safetensors.torch import save_file

    path = Path(path)
    tensors = {k: v.detach().to("cpu", dtype).contiguous() for k, v in policy.state_dict().items()}
    temporary = path.with_name(path.name + ".tmp")
    save_file(tensors, str(temporary), metadata=dict(metadata or {}))
    os.replace(temporary, path)


def load_weights(policy: TinyPolicy, path: str | Path) -> None:
    """Read what `save_weights` wrote.

    Raises:
        DataError: no such file, or the weights of another model.
    """
    from safetensors.torch import load_file

    if not Path(path).is_file():
        raise DataError(f"no weights at {str(path)!r}")
    tensors = load_file(str(path))
    own = policy.state_dict()
    if tensors.keys() != own.keys() or any(own[k].shape != t.shape for k, t in tensors.items()):
        raise DataError(f"{str(path)!r} holds the weights of another model")
    policy.load_state_dict({k: t.to(own[k].dtype) for k, t in tensors.items()})


def load_policy(
    model_cfg: Any = None, device: torch.device | str = "cpu"
) -> tuple[TinyPolicy, Tokenizer]:
    """Model factory of the demo (`model.factory = "stare.demo.policy:load_policy"`).

    Args:
        model_cfg: a `ModelConfig`; its `init` names a shipped warm start (`mod5`, the default,
            `exact`, `tol3`), a safetensors file or a folder with `model.safetensors`, or is
            `random`.
        device: where the weights go.

    Raises:
        DataError: no such weights, or the weights of another model.
    """
    init = str(getattr(model_cfg, "init", None) or "mod5")
    policy = TinyPolicy()
    if init != "random":
        shipped = DATA / f"{init}.safetensors"
        file = shipped if shipped.is_file() else Path(init)
        load_weights(policy, file / WEIGHTS_NAME if file.is_dir() else file)
    return policy.to(device), Tokenizer()
