"""Hook of verl's earlier trainers: `RayPPOTrainer` of 0.6 to 0.9 and what inherits from it.

Their `fit` looks up `compute_advantage` in its own module, on the driver, for the whole batch: the
weights are applied to what it returns. Metrics join those of `compute_data_metrics`.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from stare.errors import ArgumentError
from stare.integrations.verl_attach import attach, watch, with_checkpoints

__all__ = ["extend", "hook"]


def hook(module: ModuleType) -> None:
    """Make every `RayPPOTrainer` look for `+stare.*`."""
    root = module.RayPPOTrainer

    def then(trainer: Any) -> None:
        cls = type(trainer)
        if attach(trainer, extend, legacy=True):
            _wrap_functions(trainer, cls, root)

    watch(root, then)


def extend(base: type) -> type:
    """A subclass of an earlier trainer class of verl that can weigh advantages."""

    class StareTrainer(with_checkpoints(base)):  # type: ignore[misc]
        _stare_entropy: Any = None

        def _compute_old_log_prob(self, *args: Any, **kwargs: Any) -> Any:
            """Keep the entropies, which `fit` drops before it computes advantages (verl >= 0.7)."""
            result = super()._compute_old_log_prob(*args, **kwargs)
            output = result[0] if isinstance(result, tuple) else result
            self._stare_entropy = output.batch.get("entropys", None)
            return result

        def stare_weigh(self, data: Any) -> dict[str, float]:
            """Weigh the advantages of `data` in place of the old ones; returns the metrics."""
            fields = data.batch
            if "old_log_probs" not in fields.keys():  # noqa: SIM118 (a TensorDict)
                raise ArgumentError(
                    "verl computed no old_log_probs, so there is no surprisal to rank by"
                )
            entropy, self._stare_entropy = self._stare_entropy, None
            if entropy is not None and entropy.shape != fields["old_log_probs"].shape:
                raise ArgumentError(
                    f"entropies of shape {tuple(entropy.shape)} do not belong to log-probs of "
                    f"shape {tuple(fields['old_log_probs'].shape)}"
                )
            weighted, metrics = self.stare.weigh(
                fields["advantages"],
                fields["old_log_probs"],
                fields["response_mask"],
                entropy=entropy,
                importance=fields.get("rollout_is_weights", None),
            )
            fields["advantages"] = weighted
            return metrics

    return StareTrainer


def _wrap_functions(trainer: Any, cls: type, root: type) -> None:
    """Replace two functions in the modules that `fit` may be defined in."""
    names = {c.__module__ for c in cls.__mro__ if issubclass(c, root)}
    modules = [sys.modules[name] for name in names]
    if not any(hasattr(module, "compute_advantage") for module in modules):
        raise ArgumentError(
            f"found no compute_advantage where {cls.__name__} is defined, so STARE has nothing to "
            "follow\nhint: this version of verl is not supported; +stare.enabled=false"
        )
    pending: dict[str, float] = {}
    for module in modules:
        if hasattr(module, "compute_advantage"):
            module.compute_advantage = _weighing(module.compute_advantage, trainer, pending)
        if hasattr(module, "compute_data_metrics"):
            module.compute_data_metrics = _reporting(module.compute_data_metrics, pending)


def _weighing(original: Any, trainer: Any, pending: dict[str, float]) -> Any:
    original = getattr(original, "stare_original", original)

    @functools.wraps(original)
    def compute_advantage(*args: Any, **kwargs: Any) -> Any:
        data = original(*args, **kwargs)
        pending.update(trainer.stare_weigh(data))
        return data

    compute_advantage.stare_original = original  # type: ignore[attr-defined]
    return compute_advantage


def _reporting(original: Any, pending: dict[str, float]) -> Any:
    original = getattr(original, "stare_original", original)

    @functools.wraps(original)
    def compute_data_metrics(*args: Any, **kwargs: Any) -> Any:
        metrics = {**original(*args, **kwargs), **pending}
        pending.clear()
        return metrics

    compute_data_metrics.stare_original = original  # type: ignore[attr-defined]
    return compute_data_metrics
