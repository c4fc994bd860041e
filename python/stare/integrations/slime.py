"""STARE in slime: one flag, `--rollout-data-postprocess-path stare.integrations.slime.weigh`.

slime calls it on every trainer rank once its advantages are final, normalised ones included. The
selection and the gate are those of the whole batch: ranks exchange histograms, not tokens.
Settings come from the file of `--custom-config-path`, under `stare`. The gate reads the entropy of
`--use-rollout-entropy` if it is there, else the mean surprisal of the sampled tokens; the
controller's state is not checkpointed.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from typing import Any

import torch
import torch.distributed as dist

from stare.algo.distributed import reweight_distributed
from stare.algo.gate import TargetEntropyController
from stare.coerce import build
from stare.config import StareConfig
from stare.errors import ArgumentError, ConfigError
from stare.integrations.effect import check_effect
from stare.integrations.hosts import enforce
from stare.integrations.other_rules import SLIME, Run
from stare.integrations.sampled import surprisal_sum

__all__ = ["weigh"]

_CONTROLLERS: dict[str, TargetEntropyController] = {}
"""One of a process, by its settings: slime calls a function and keeps no object of ours."""


def weigh(args: Any, rollout_id: int, rollout_data: MutableMapping[str, Any]) -> None:
    """Put weighted advantages in place of `rollout_data["advantages"]`, and metrics beside them.

    Raises:
        ConfigError: settings of slime under which it would do nothing, or not what it says.
        ArgumentError: no usable log-probabilities.
    """
    if rollout_data.get("advantages") is None:  # not the last pipeline stage
        return
    from megatron.core import mpu

    controller = _controller(args, mpu.get_context_parallel_world_size())
    group = mpu.get_data_parallel_group(with_context_parallel=True)
    name = "rollout_log_probs" if args.use_rollout_logprobs else "log_probs"
    logprobs = rollout_data.get(name)
    if not logprobs:
        raise ArgumentError(
            f"slime computed no {name}: on-policy it takes them from the training forward\n"
            "hint: --use-rollout-logprobs"
        )
    masks, advantages = rollout_data["loss_masks"], rollout_data["advantages"]
    exact = rollout_data.get("entropy")
    gate = controller.update(_entropy(logprobs, masks, exact, group))
    weighted, stats = reweight_distributed(
        list(advantages),
        list(logprobs),
        list(masks),
        config=controller.config,
        gate=gate,
        group=group,
    )
    rollout_data["advantages"] = list(weighted)
    # slime logs every tensor in here, as `rollout/stare_gate` and so on; all ranks hold the same.
    for name, value in {**stats.as_dict(), "stare/entropy": gate.entropy}.items():
        if not math.isnan(value):
            rollout_data[name.replace("/", "_")] = torch.tensor(float(value))


def _controller(args: Any, context_parallel: int) -> TargetEntropyController:
    section = getattr(args, "stare", None)
    if not section:
        raise ConfigError(
            "the file of --custom-config-path has no section stare, so it is not clear what is "
            "wanted\nhint: stare: {variant: O1, target_entropy: 0.3}"
        )
    key = repr(section)
    if key in _CONTROLLERS:
        return _CONTROLLERS[key]
    config = build(StareConfig, section, "stare")
    check_effect(config)
    enforce(SLIME, Run(config=config, host=args, context_parallel=context_parallel))
    _CONTROLLERS[key] = TargetEntropyController(config)
    return _CONTROLLERS[key]


def _entropy(
    logprobs: list[torch.Tensor],
    masks: list[torch.Tensor],
    exact: list[torch.Tensor] | None,
    group: Any,
) -> float:
    """Mean over the tokens of all ranks."""
    total, count = 0.0, 0
    values = logprobs if exact is None else [-entropy for entropy in exact]
    for row, mask in zip(values, masks, strict=True):
        part, tokens = surprisal_sum(row, mask)
        total, count = total + part, count + tokens
    device = logprobs[0].device
    nonzero = sum(
        float((row[mask != 0] != 0).sum()) for row, mask in zip(logprobs, masks, strict=True)
    )
    sums = torch.tensor([total, float(count), nonzero], dtype=torch.float64, device=device)
    dist.all_reduce(sums, group=group)
    if sums[1] > 0 and sums[2] == 0:  # on all ranks, so that none waits for another
        raise ArgumentError(
            "log-probs are zero for every token, so surprisal ranks nothing\n"
            "hint: --use-rollout-logprobs"
        )
    return float(sums[0] / sums[1])
