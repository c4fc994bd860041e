"""The policy's forward for an update: token ids in, statistics of the response tokens out.

Shape suffixes: B rows, L positions, K positions whose statistics are wanted.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from stare.algo.head import head_statistics
from stare.algo.surprisal import TokenStatistics, token_statistics
from stare.errors import ConfigError

__all__ = ["PolicyForward", "compile_blocks"]

_TOLERANCE = 1e-3


class PolicyForward(nn.Module):
    """A causal language model that returns statistics instead of logits.

    Args:
        model: called as a Hugging Face causal LM.
        temperature: of the rollouts.
        chunk_tokens: logits exist for so many tokens at a time; None makes them all.

    Raises:
        ConfigError: with `chunk_tokens`, logits of this model are not a linear layer of its hidden
            states (soft-capped or scaled ones are not), or neither can be found.
    """

    def __init__(
        self, model: nn.Module, *, temperature: float = 1.0, chunk_tokens: int | None = None
    ) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature
        self.chunk_tokens = chunk_tokens
        if chunk_tokens is not None:
            _check_head(model)

    def forward(
        self,
        input_ids_BL: Tensor,
        attention_mask_BL: Tensor | None,
        position_ids_BL: Tensor,
        keep: int | Tensor,
        targets_BK: Tensor,
    ) -> TokenStatistics:
        """Statistics of the targets.

        Args:
            input_ids_BL: token ids.
            attention_mask_BL: 1 on real tokens; None where `position_ids_BL` restarts at 0 with
                each of the sequences packed into a row.
            position_ids_BL: positions within sequences.
            keep: the last so many positions of each row, or the indices (K,) of those wanted.
            targets_BK: the token that follows each.
        """
        inputs = {
            "input_ids": input_ids_BL,
            "attention_mask": attention_mask_BL,
            "position_ids": position_ids_BL,
            "use_cache": False,
        }
        if self.chunk_tokens is None:
            logits_BKV = self.model(**inputs, logits_to_keep=keep).logits
            return token_statistics(
                logits_BKV, targets_BK, temperature=self.temperature, want_concentration=True
            )
        backbone, head = _parts(self.model)
        hidden_BLH = backbone(**inputs).last_hidden_state
        hidden_BKH = hidden_BLH[:, -keep:] if isinstance(keep, int) else hidden_BLH[:, keep]
        return head_statistics(
            hidden_BKH,
            head.weight,
            targets_BK,
            bias_V=head.bias,
            temperature=self.temperature,
            chunk_tokens=self.chunk_tokens,
            want_concentration=True,
        )


def _parts(model: Any) -> tuple[Any, Any]:
    return model.get_decoder(), model.get_output_embeddings()


@torch.no_grad()
def _check_head(model: Any) -> None:
    """Ask the model, on two tokens, whether logits = head(hidden states)."""
    hint = "hint: leave compute.logit_chunk_tokens unset for this model"
    try:
        backbone, head = _parts(model)
        linear = isinstance(head, nn.Linear)
    except AttributeError:
        linear = False
    if not linear or backbone is model:
        raise ConfigError(
            f"compute.logit_chunk_tokens needs a backbone and a linear head, and "
            f"{type(model).__name__} does not say where they are\n{hint}"
        )
    was_training = model.training
    model.eval()
    try:
        ids = torch.tensor([[0, 1]], device=head.weight.device)
        logits = model(input_ids=ids, use_cache=False).logits.float()
        ours = head(backbone(input_ids=ids, use_cache=False).last_hidden_state).float()
    finally:
        model.train(was_training)
    off, scale = float((logits - ours).abs().max()), float(logits.abs().max())
    if not off <= _TOLERANCE * max(scale, 1e-6):
        raise ConfigError(
            f"logits of {type(model).__name__} are not its head's product (off by {off:.3g} of "
            f"{scale:.3g}), so they cannot be made chunk by chunk\n{hint}"
        )


def compile_blocks(model: Any) -> int:
    """Compile each block of the decoder in place; returns how many.

    Blocks share their code, so one compilation serves all, which takes seconds; a compilation of
    the whole model takes minutes.

    Raises:
        ConfigError: the blocks cannot be found.
    """
    decoder = model.get_decoder() if hasattr(model, "get_decoder") else None
    blocks = getattr(decoder, "layers", None)
    if not isinstance(blocks, nn.ModuleList) or not blocks:
        raise ConfigError(
            f"compute.compile=true finds no list of blocks in {type(model).__name__}\n"
            "hint: leave it off for this model"
        )
    for block in blocks:
        block.compile(dynamic=True)
    return len(blocks)
