"""`+stare.scope=microbatch`: the released code's selection, inside each micro-batch of each rank.

For comparisons. The set of selected tokens then depends on how the batch was cut; the gate is still
decided once, over the whole batch, on the driver.
"""

from __future__ import annotations

import functools
import json
import sys
from types import SimpleNamespace
from typing import Any

import torch

from stare.algo.reweight import token_weights
from stare.config import StareConfig

__all__ = ["hook", "weights"]


def hook(module: Any) -> None:
    """Let `ppo_loss` of `verl.workers.utils.losses` weight the advantages of its micro-batch."""
    original = module.ppo_loss
    if hasattr(original, "stare_original"):
        return

    @functools.wraps(original)
    def ppo_loss(config: Any, model_output: Any, data: Any, dp_group: Any = None) -> Any:
        message = module.tu.get_non_tensor_data(data=data, key="stare", default=None)
        if message is None:
            return original(config, model_output, data, dp_group)
        log_prob = module.no_padding_2_padding(model_output["log_probs"], data)
        fields = data.select("advantages", "response_mask").to_padded_tensor()
        mask = fields["response_mask"]
        factors = weights(json.loads(message), log_prob, fields["advantages"], mask)
        weighted = (fields["advantages"] * factors).to(fields["advantages"].dtype)
        data = data.clone(recurse=False)
        old = data["advantages"]
        if old.is_nested:
            lengths = old.offsets().diff().tolist()
            rows = [row[:n] for row, n in zip(weighted, lengths, strict=True)]
            weighted = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        data["advantages"] = weighted
        loss, metrics = original(config, model_output, data, dp_group)
        share = (factors[mask != 0] != 1.0).float().mean().item() if bool(mask.any()) else 0.0
        added = module.Metric.from_dict(
            {"stare/weighted_frac": share}, aggregation=module.AggregationType.MEAN
        )
        return loss, {**metrics, **added}

    ppo_loss.stare_original = original  # type: ignore[attr-defined]
    module.ppo_loss = ppo_loss
    # Modules that were imported before the hook hold the function under a name of their own.
    users: list[Any] = [user for name, user in sys.modules.items() if name.startswith("verl.")]
    for user in users:
        if getattr(user, "__dict__", {}).get("ppo_loss") is original:
            user.ppo_loss = ppo_loss


def weights(
    message: dict[str, Any],
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Token weights of one micro-batch under the current policy, by the message from the driver.

    Example:
        >>> message = {"on": True, "w": 1.1, "m": 0.9, "config": {"top_p_ratio": 0.5}}
        >>> weights(message, torch.tensor([[-0.1, -2.0]]), torch.ones(1, 2), torch.ones(1, 2))
        tensor([[1.0000, 1.1000]])
    """
    gate = SimpleNamespace(on=message["on"], w=message["w"], m=message["m"])
    omega, _ = token_weights(
        log_prob.detach(),
        advantages,
        mask,
        config=StareConfig(**message["config"]),
        gate=gate,
        drop_nonfinite=bool(message.get("drop_nonfinite", False)),
    )
    result: torch.Tensor = omega
    return result
