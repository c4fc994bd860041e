"""Hook of verl's current trainers (>= 0.9): sync, colocate_async and separate_async.

The trainer that verl builds keeps its class's behaviour; four of its methods get an addition. The
weights come last, after verl's own advantage steps, over the whole batch of one optimiser step.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import torch

from stare.errors import ArgumentError
from stare.integrations.verl_attach import attach, watch, with_checkpoints

__all__ = ["extend", "hook", "packed"]

_FIELDS = ("advantages", "old_log_probs", "response_mask", "entropy", "rollout_is_weights")


def hook(module: ModuleType) -> None:
    """Make every trainer of `verl.trainer.ppo.v1.trainer_base` look for `+stare.*`."""
    watch(module.PPOTrainer, lambda trainer: attach(trainer, extend))


def extend(base: type) -> type:
    """A subclass of a current trainer class of verl that weighs advantages."""

    class StareTrainer(with_checkpoints(base)):  # type: ignore[misc]
        _stare_gate: dict[str, Any]
        _stare_written: tuple[list[str], torch.Tensor] | None = None
        _stare_verified = False

        def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
            result = super()._compute_advantage(batch, metrics)
            queue = _queue(self)
            data = queue.kv_batch_get(
                keys=batch.keys, partition_id=batch.partition_id, select_fields=list(_FIELDS)
            )
            values, offsets = packed(data, _FIELDS)
            if "old_log_probs" not in values:
                raise ArgumentError(
                    "verl wrote no old_log_probs, so there is no surprisal to rank by"
                )
            if self.stare.settings.scope == "microbatch":
                state, added = self.stare.decide(
                    values["old_log_probs"], values["response_mask"], values.get("entropy")
                )
                self._stare_gate = {"on": state.on, "w": state.w, "m": state.m}
                metrics.update(added)
                return result
            weighted, added = self.stare.weigh(
                values["advantages"],
                values["old_log_probs"],
                values["response_mask"],
                entropy=values.get("entropy"),
                importance=values.get("rollout_is_weights"),
                offsets=offsets,
            )
            from tensordict import TensorDict

            rows = torch.nested.as_nested_tensor(
                [row.clone() for row in weighted.split(offsets.diff().tolist())],
                layout=torch.jagged,
            )
            fields = TensorDict({"advantages": rows}, batch_size=len(batch.keys))
            queue.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)
            if added["stare/gate"] and not self._stare_verified:
                self._stare_written = (list(batch.keys), weighted)
            metrics.update(added)
            return result

        def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
            if self.stare.settings.scope == "microbatch":
                message = {**self._stare_gate, "config": _plain(self.stare.settings)}
                batch.extra_info["stare"] = json.dumps(message)
            elif self._stare_written is not None:
                keys, weighted = self._stare_written
                data = _queue(self).kv_batch_get(
                    keys=keys, partition_id=batch.partition_id, select_fields=["advantages"]
                )
                values, _ = packed(data, ("advantages",))
                if not torch.equal(values["advantages"], weighted):
                    raise ArgumentError(
                        "the advantages were written again after STARE weighted them, so the "
                        "weights are lost\nhint: do it in _compute_advantage, which STARE follows"
                    )
                self._stare_written, self._stare_verified = None, True
            return super()._update_actor(batch, metrics)  # type: ignore[misc]

    return StareTrainer


def packed(data: Any, names: tuple[str, ...]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Fields of a batch as (N,) tensors with common offsets; absent ones are left out.

    Raises:
        ArgumentError: fields whose rows differ in length, which could not be aligned.
    """
    values: dict[str, torch.Tensor] = {}
    common: torch.Tensor | None = None
    first = ""
    for name in names:
        if name not in data.keys():  # noqa: SIM118 (a TensorDict iterates over its rows)
            continue
        field = data[name]
        if field.is_nested:
            flat, offsets = field.values(), field.offsets()
        else:
            rows, columns = field.shape
            flat, offsets = field.reshape(-1), torch.arange(rows + 1) * columns
        offsets = offsets.cpu()
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


def _queue(trainer: Any) -> Any:
    """The transfer queue that verl's trainer module uses."""
    return sys.modules["verl.trainer.ppo.v1.trainer_base"].tq


def _plain(settings: Any) -> dict[str, Any]:
    config = settings.config
    fields = {name: getattr(config, name) for name in config.__dataclass_fields__}
    return {**fields, "drop_nonfinite": settings.drop_nonfinite}
