"""One batch of verl: entropy, gate, weights, metrics. Tensors in, tensors out."""

from __future__ import annotations

import json
import math
import os

import torch

from stare.algo.gate import GateState, TargetEntropyController
from stare.algo.reweight import reweight
from stare.errors import ArgumentError
from stare.integrations.sampled import check_usable, finite_mean, sampled_entropy
from stare.integrations.verl_config import Settings

__all__ = ["Step", "load_state", "save_state"]

_RECOMPUTE = (
    "hint: algorithm.rollout_correction.bypass_mode=false makes verl compute old_log_probs itself"
)
_FILE = "stare.json"


class Step:
    """STARE over the batches of one run: a controller, and the weights it asks for.

    Tensors are (B, T), or packed (N,) with `offsets`; the mask is the loss mask, after rejection.

    Example:
        >>> from stare.config import StareConfig
        >>> step = Step(Settings(config=StareConfig(top_p_ratio=0.5)))
        >>> weighted, metrics = step.weigh(
        ...     torch.ones(1, 2), torch.tensor([[-0.1, -0.2]]), torch.ones(1, 2)
        ... )
        >>> weighted
        tensor([[1.0000, 1.1000]])
        >>> round(metrics["stare/entropy"], 2)
        0.15
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.controller = TargetEntropyController(settings.config)

    def decide(
        self, logprobs: torch.Tensor, mask: torch.Tensor, entropy: torch.Tensor | None = None
    ) -> tuple[GateState, dict[str, float]]:
        """The gate of this batch: one update of the controller.

        Without the entropy of every token, the mean surprisal of the sampled ones stands in: an
        unbiased estimate where sampling is neither truncated nor tempered.
        """
        if entropy is not None:
            mean = finite_mean(entropy, mask)
        else:
            mean = sampled_entropy([logprobs], [mask])
        state = self.controller.update(mean)
        metrics = {
            "stare/entropy": mean,
            "stare/entropy_exact": float(entropy is not None),
            "stare/target": state.target,
            "stare/gate": float(state.on),
            "stare/w": state.w,
            "stare/m": state.m,
            "stare/alarms": float(self.controller.alarms),
            "stare/ignored_nonfinite": float(self.controller.ignored_nonfinite),
        }
        return state, {key: value for key, value in metrics.items() if not math.isnan(value)}

    def weigh(
        self,
        advantages: torch.Tensor,
        logprobs: torch.Tensor,
        mask: torch.Tensor,
        *,
        entropy: torch.Tensor | None = None,
        importance: torch.Tensor | None = None,
        offsets: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, dict[str, float]]:
        """New advantages and verl's metrics of them; the arguments are not written.

        Args:
            advantages: what verl computed, as the last advantage step left it.
            logprobs: old_log_probs of the sampled tokens.
            mask: response_mask; zero on tool output, padding and rejected tokens.
            entropy: H of every token, nats, if verl computed it.
            importance: rollout_is_weights; tokens of weight 0 get no gradient and no weight.
            offsets: where packed.

        Raises:
            ArgumentError: log-probs that are all zero, not finite or positive; the message names
                the flag to set.
        """
        on = mask != 0
        check_usable([logprobs], [mask], "old_log_probs", _RECOMPUTE)
        state, metrics = self.decide(logprobs, mask, entropy)
        if importance is not None:
            on = on & (importance != 0)
        per_token = self.settings.config.gate in ("sample", "token")
        if per_token and entropy is None:
            raise ArgumentError(
                f"+stare.gate={self.settings.config.gate} needs the entropy of every token, which "
                "this trainer did not compute\nhint: +stare.gate=batch"
            )
        try:
            weighted, stats = reweight(
                advantages,
                logprobs,
                on,
                config=self.settings.config,
                gate=state,
                entropy=entropy if per_token else None,
                offsets=offsets,
                drop_nonfinite=self.settings.drop_nonfinite,
            )
        except ArgumentError as error:
            raise ArgumentError(
                f"{error}\n{_RECOMPUTE}; +stare.drop_nonfinite=true leaves such tokens out"
            ) from None
        return weighted, {**stats.as_dict(), **metrics}


def save_state(step: Step, folder: str) -> None:
    """Write the controller's state beside verl's checkpoint."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, _FILE)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(step.controller.state_dict(), file)
    os.replace(path + ".part", path)


def load_state(step: Step, folder: str) -> bool:
    """Continue from a checkpoint's state; False if it has none (a run without STARE wrote it)."""
    path = os.path.join(folder, _FILE)
    if not os.path.exists(path):
        return False
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    except ValueError as error:
        raise ArgumentError(
            f"{path} cannot be read: {error}\nhint: delete it to start the controller anew"
        ) from error
    step.controller.load_state_dict(state)
    return True
