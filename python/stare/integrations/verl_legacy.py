"""Hook of verl's earlier trainers: `RayPPOTrainer` of 0.6 to 0.9 and what inherits from it.

Their `fit` looks up `compute_advantage` in its own module, on the driver, for the whole batch: the
weights are applied to what it returns. Metrics join those of `compute_data_metrics`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from stare.errors import ArgumentError
from stare.integrations.verl_attach import Around, attach, watch

__all__ = ["hook"]


def hook(module: Any) -> None:
    """Make every `RayPPOTrainer` look for `+stare.*`."""
    root = module.RayPPOTrainer
    methods = {"_compute_old_log_prob": _compute_old_log_prob}

    def then(trainer: Any) -> None:
        cls = type(trainer)
        if attach(trainer, methods, legacy=True):
            _wrap_functions(trainer, cls, root)

    watch(root, then)


def _compute_old_log_prob(trainer: Any, original: Around, *args: Any, **kwargs: Any) -> Any:
    """Keep the entropies, which `fit` drops before it computes advantages (verl >= 0.7)."""
    result = original(*args, **kwargs)
    output = result[0] if isinstance(result, tuple) else result
    trainer.stare_entropy = output.batch.get("entropys", None)
    return result


def _weigh(trainer: Any, data: Any) -> dict[str, float]:
    """Put weighted advantages in place of those of `data`; returns the metrics."""
    fields = data.batch
    if "old_log_probs" not in set(fields.keys()):
        raise ArgumentError("verl computed no old_log_probs, so there is no surprisal to rank by")
    logprobs = fields["old_log_probs"]
    entropy, trainer.stare_entropy = getattr(trainer, "stare_entropy", None), None
    if entropy is not None and entropy.shape != logprobs.shape:
        raise ArgumentError(
            f"entropies of shape {tuple(entropy.shape)} do not belong to log-probs of shape "
            f"{tuple(logprobs.shape)}"
        )
    metrics: dict[str, float]
    fields["advantages"], metrics = trainer.stare.weigh(
        fields["advantages"],
        logprobs,
        fields["response_mask"],
        entropy=entropy,
        importance=fields.get("rollout_is_weights", None),
    )
    return metrics


def _wrap_functions(trainer: Any, cls: type, root: type) -> None:
    """Replace two functions in the modules that `fit` may be defined in."""
    names = {c.__module__ for c in cls.__mro__ if issubclass(c, root)}
    modules: list[Any] = [sys.modules[name] for name in names]
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
        pending.update(_weigh(trainer, data))
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
