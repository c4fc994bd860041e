"""STARE for tinker-cookbook: a pure function from training data to training data.

    data_D, metadata_D = assemble_training_data(trajectory_groups_P, advantages_P)
    data_D, metrics = weigh(data_D, controller)

Call it on the data of one optimiser step, after everything else that edits advantages. The gate
reads the mean surprisal of the sampled tokens, the quantity that tinker reports as its entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from stare.algo.gate import TargetEntropyController
from stare.algo.reweight import reweight
from stare.integrations.effect import check_effect
from stare.integrations.hosts import enforce
from stare.integrations.other_rules import TINKER, Run
from stare.integrations.sampled import check_usable, sampled_entropy

__all__ = ["weigh"]


def weigh(
    data: Sequence[Any], controller: TargetEntropyController
) -> tuple[list[Any], dict[str, float]]:
    """Copies of the datums with weighted advantages, and metrics; the datums are not changed.

    Args:
        data: `tinker.Datum`s, dataclasses as of tinker 0.38, with loss_fn_inputs logprobs,
            advantages and mask.
        controller: of the run; updated once a call. Keep its `state_dict` with your checkpoints.

    Raises:
        ConfigError: settings that need the entropy of every token, which the service does not give.
    """
    config = controller.config
    enforce(TINKER, Run(config=config))
    columns: dict[str, list[torch.Tensor]] = {
        name: [datum.loss_fn_inputs[name].to_torch() for datum in data]
        for name in ("advantages", "logprobs", "mask")
    }
    check_effect(config)
    check_usable(columns["logprobs"], columns["mask"], "logprobs", "hint: sample with log-probs")
    gate = controller.update(sampled_entropy(columns["logprobs"], columns["mask"]))
    weighted, stats = reweight(
        columns["advantages"], columns["logprobs"], columns["mask"], config=config, gate=gate
    )
    out = []
    for datum, row in zip(data, weighted, strict=True):
        kind = type(datum.loss_fn_inputs["advantages"])
        inputs = {**datum.loss_fn_inputs, "advantages": kind.from_torch(row)}
        out.append(replace(datum, loss_fn_inputs=inputs))
    return out, {**stats.as_dict(), "stare/entropy": gate.entropy}
