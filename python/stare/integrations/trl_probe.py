"""Whether a trainer's loss gives each token the advantage it was handed: asked, not assumed."""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor

from stare.errors import ConfigError

__all__ = ["check_seam"]

_ROWS, _TOKENS, _PROMPT = 3, 5, 2
_TOLERANCE = 1e-5


def check_seam(trainer: Any) -> None:
    """Run the trainer's own `_compute_loss` on made-up log-probs and look at its gradients.

    With weights w on the advantages, the gradient at every token must be w times what it was; then
    weights on advantages are weights on the terms of the loss. No model is run, and the trainer is
    left as it was: the loss runs on a copy, with metrics of its own. All ranks must call it.

    Raises:
        ConfigError: the loss does not take (B, T) advantages, mixes the tokens of a sequence, or
            cannot be run like this.
    """
    name = type(trainer).__name__
    try:
        none, plain, weighted, weights = _gradients(trainer)
    except Exception as error:
        raise ConfigError(
            f"the loss of {name} could not be checked with one advantage a token: "
            f"{type(error).__name__}: {error}\n"
            "hint: if you know that it takes (B, T) advantages token by token, pass probe=False"
        ) from error
    effect = plain - none
    scale = float(effect.abs().max())
    off = float((weighted - none - weights * effect).abs().max())
    if scale == 0.0 or not off <= _TOLERANCE * scale:
        raise ConfigError(
            f"the loss of {name} does not give each token its own advantage: weights on advantages "
            f"change gradients by something else (off by {off:.2g} of {scale:.2g})\n"
            "hint: attach STARE to a GRPOTrainer with a token-level loss"
        )


def _gradients(trainer: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients at the log-probs for advantages 0, A and w A; and w."""
    generator = torch.Generator().manual_seed(0)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator).to(trainer.accelerator.device)

    advantages = (uniform(_ROWS, 1) + 0.5) * torch.tensor([[1.0], [-1.0], [1.0]]).to(
        trainer.accelerator.device
    )
    advantages = advantages.expand(_ROWS, _TOKENS).contiguous()
    weights = 0.5 + uniform(_ROWS, _TOKENS)
    logprobs, entropies = -2 * uniform(_ROWS, _TOKENS), uniform(_ROWS, _TOKENS)
    none, plain, weighted = (
        _gradient(trainer, logprobs, entropies, a)
        for a in (torch.zeros_like(advantages), advantages, advantages * weights)
    )
    return none, plain, weighted, weights


def _gradient(trainer: Any, logprobs: Tensor, entropies: Tensor, advantages: Tensor) -> Tensor:
    leaf = logprobs.clone().requires_grad_()
    errors: list[ValueError] = []
    # TRL < 1.8 returns two things from the forward, newer ones three.
    for extra in ((torch.zeros((), device=leaf.device),), ()):
        stand_in = _stand_in(trainer, (leaf, entropies, *extra))
        try:
            loss = stand_in._compute_loss(stand_in.model, _inputs(stand_in, logprobs, advantages))
        except ValueError as error:
            errors.append(error)
            continue
        (gradient,) = torch.autograd.grad(loss, leaf)
        return gradient
    raise next((error for error in errors if "to unpack" not in str(error)), errors[0])


def _stand_in(trainer: Any, forward: tuple[Tensor, ...]) -> Any:
    """A shallow copy that computes no log-probs and logs to nowhere."""
    stand_in = copy.copy(trainer)
    stand_in._metrics = {mode: defaultdict(list) for mode in ("train", "eval")}
    stand_in._get_per_token_logps_and_entropies = lambda *_, **__: forward
    # Set by the training loop, which has not begun.
    stand_in.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
    return stand_in


def _inputs(trainer: Any, logprobs: Tensor, advantages: Tensor) -> dict[str, Tensor]:
    device = logprobs.device
    ones = torch.ones(_ROWS, _TOKENS, dtype=torch.long, device=device)
    mask = ones.clone()
    mask[1, -1] = 0
    return {
        "prompt_ids": torch.zeros(_ROWS, _PROMPT, dtype=torch.long, device=device),
        "prompt_mask": torch.ones(_ROWS, _PROMPT, dtype=torch.long, device=device),
        "completion_ids": torch.zeros_like(ones),
        "completion_mask": mask,
        "advantages": advantages,
        "num_items_in_batch": mask.sum() * trainer.accelerator.num_processes,
        "old_per_token_logps": logprobs - 0.05,
        "sampling_per_token_logps": logprobs - 0.05,
        "ref_per_token_logps": logprobs - 0.1,
        "importance_sampling_ratio": torch.ones_like(logprobs),
    }
