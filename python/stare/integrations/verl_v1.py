"""Hook of verl's current trainers (>= 0.9): sync, colocate_async and separate_async.

The weights come last, after verl's own advantage steps, over the whole batch of one optimiser step.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import torch

from stare.errors import ArgumentError
from stare.integrations.verl_attach import Around, attach, watch

__all__ = ["hook", "packed"]

_FIELDS = ("advantages", "old_log_probs", "response_mask", "entropy", "rollout_is_weights")


def hook(module: Any) -> None:
    """Make every trainer of `verl.trainer.ppo.v1.trainer_base` look for `+stare.*`."""
    methods = {"_compute_advantage": _compute_advantage, "_update_actor": _update_actor}
    watch(module.PPOTrainer, lambda trainer: attach(trainer, methods))


def _compute_advantage(trainer: Any, original: Around, batch: Any, metrics: dict[str, Any]) -> Any:
    """Verl's advantages, then ours in their place in the transfer queue."""
    result = original(batch, metrics)
    step = trainer.stare
    values, offsets = packed(_get(batch.keys, batch.partition_id, _FIELDS), _FIELDS)
    if "old_log_probs" not in values:
        raise ArgumentError("verl wrote no old_log_probs, so there is no surprisal to rank by")
    if step.settings.scope == "microbatch":
        _, added = step.decide(
            values["old_log_probs"], values["response_mask"], values.get("entropy")
        )
        metrics.update(added)
        return result
    weighted, added = step.weigh(
        values["advantages"],
        values["old_log_probs"],
        values["response_mask"],
        entropy=values.get("entropy"),
        importance=values.get("rollout_is_weights"),
        offsets=offsets,
    )
    from tensordict import TensorDict

    nested = torch.nested.nested_tensor_from_jagged(weighted, offsets)
    fields = TensorDict({"advantages": nested}, batch_size=len(batch.keys))
    _queue().kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)
    trainer.stare_written = (list(batch.keys), weighted) if added["stare/gate"] else None
    metrics.update(added)
    return result


def _update_actor(trainer: Any, original: Around, batch: Any, metrics: dict[str, Any]) -> Any:
    """Check once that what was written is what is trained on, or have the workers select."""
    step = trainer.stare
    if step.settings.scope == "microbatch":
        state = step.controller.state
        message = {"on": state.on, "w": state.w, "m": state.m}
        message["config"] = asdict(step.settings.config)
        message["drop_nonfinite"] = step.settings.drop_nonfinite
        batch.extra_info["stare"] = json.dumps(message)
        result = original(batch, metrics)
        if not any(name.endswith("stare/weighted_frac") for name in metrics):
            raise ArgumentError(
                "the workers trained without STARE: they did not load its plugin\n"
                "hint: VERL_USE_EXTERNAL_PLUGINS must not be 'none' there, nor stare-rl missing"
            )
        return result
    if trainer.stare_written is not None and not hasattr(trainer, "stare_verified"):
        keys, weighted = trainer.stare_written
        values, _ = packed(_get(keys, batch.partition_id, ("advantages",)), ("advantages",))
        if not torch.equal(values["advantages"], weighted):
            raise ArgumentError(
                "the advantages were written again after STARE weighted them, so the weights are "
                "lost\nhint: do it in _compute_advantage, which STARE follows"
            )
        trainer.stare_verified = True
    return original(batch, metrics)


def packed(data: Any, names: tuple[str, ...]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Fields of a batch as (N,) tensors with common offsets; absent ones are left out.

    Raises:
        ArgumentError: fields whose rows differ in length, which could not be aligned.

    Example:
        >>> values, offsets = packed({"a": torch.ones(2, 3)}, ("a", "b"))
        >>> offsets
        tensor([0, 3, 6])
    """
    values: dict[str, torch.Tensor] = {}
    common: torch.Tensor | None = None
    first = ""
    present = set(data.keys())
    for name in names:
        if name not in present:
            continue
        field = data[name]
        if field.is_nested:
            flat, offsets = field.values(), field.offsets().cpu()
        else:
            rows, columns = field.shape
            flat, offsets = field.reshape(-1), torch.arange(rows + 1) * columns
        if common is None:
            common, first = offsets, name
        elif not torch.equal(common, offsets):
            raise ArgumentError(
                f"rows of {name} and {first} differ in length: {offsets.diff().tolist()[:8]} and "
                f"{common.diff().tolist()[:8]}"
            )
        values[name] = flat
    if common is None:
        raise ArgumentError(f"the batch has none of the fields {', '.join(names)}")
    return values, common


def _queue() -> Any:
    """The transfer queue that verl's trainer module uses."""
    return sys.modules["verl.trainer.ppo.v1.trainer_base"].tq


def _get(keys: list[str], partition: str, names: tuple[str, ...]) -> Any:
    return _queue().kv_batch_get(keys=keys, partition_id=partition, select_fields=list(names))
