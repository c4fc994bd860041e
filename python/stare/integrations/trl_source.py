"""Where the log-probs and entropies of a TRL generation batch come from, and whether to trust them.

Shapes: B completions of this rank, T positions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from stare.errors import ArgumentError

__all__ = ["LogprobSource", "Statistics", "gather_statistics", "loss_mask", "mean_entropy"]

LogprobSource = Literal["auto", "old", "sampling", "forward"]
_KEYS = {"old": "old_per_token_logps", "sampling": "sampling_per_token_logps"}
_POSITIVE = 1e-3
"""Rounding may leave a log-probability a little above zero, as in `stare.algo`."""
_MOST_UNUSABLE = 0.5


@dataclass(frozen=True, slots=True)
class Statistics:
    """What STARE reads of a batch."""

    logprobs: Tensor
    """(B, T), nats."""
    entropy: Tensor | None
    """(B, T) exact, nats; None where only the sampled surprisal is known."""
    source: str
    """old, sampling or forward."""


def loss_mask(batch: dict[str, Any]) -> Tensor:
    """(B, T): tokens that the policy produced and that get a gradient.

    Truncated completions that TRL masks, tool output, and tokens that its importance sampling
    rejects (ratio 0) are out: they would use up the quota.
    """
    mask: Tensor = batch["completion_mask"].bool()
    if batch.get("tool_mask") is not None:
        mask = mask & batch["tool_mask"].bool()
    if batch.get("importance_sampling_ratio") is not None:
        mask = mask & (batch["importance_sampling_ratio"] != 0)
    return mask


def gather_statistics(
    trainer: Any,
    batch: dict[str, Any],
    taped: list[tuple[Tensor, Tensor | None]],
    *,
    source: LogprobSource,
    need_entropy: bool,
) -> Statistics:
    """Take the best source that is there; `taped` are forwards that TRL made by itself.

    Raises:
        ArgumentError: the source asked for is not there, or cannot give what the gate needs.
    """
    old = batch.get(_KEYS["old"])
    if source in ("auto", "old") and old is not None:
        entropy = next((h for logps, h in taped if logps is old), None)
        if entropy is not None or not need_entropy:
            return Statistics(old, entropy, "old")
        if source == "old":
            raise ArgumentError(_lacks_entropy(source))
    sampled = batch.get(_KEYS["sampling"])
    if source in ("auto", "sampling") and sampled is not None and not need_entropy:
        return Statistics(sampled, None, "sampling")
    if source in ("auto", "forward"):
        return _forward(trainer, batch)
    if source == "sampling" and sampled is not None:
        raise ArgumentError(_lacks_entropy(source))
    raise ArgumentError(
        f"logprobs={source!r}: this batch of TRL has no {_KEYS[source]}\n"
        "hint: logprobs='auto' takes them where they are, else makes one forward"
    )


def _lacks_entropy(source: str) -> str:
    return (
        f"the gate needs the entropy of every token, which logprobs={source!r} does not give here\n"
        "hint: set logprobs='forward', or gate='batch' in the StareConfig"
    )


def _forward(trainer: Any, batch: dict[str, Any]) -> Statistics:
    """One forward without gradients, which also gives the exact entropy."""
    compute = trainer._get_per_token_logps_and_entropies
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    attention = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    extra = {
        name: batch[name]
        for name in inspect.signature(compute).parameters
        if name in batch and name not in ("input_ids", "attention_mask")
    }
    with torch.no_grad(), _same_random_state(ids.device):
        out = compute(
            trainer.model,
            ids,
            attention,
            batch["completion_ids"].size(1),
            batch_size=trainer.args.per_device_train_batch_size,
            compute_entropy=True,
            **extra,
        )
    return Statistics(out[0], out[1], "forward")


@contextmanager
def _same_random_state(device: torch.device) -> Iterator[None]:
    """Dropout of the extra forward must not change what training draws afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


def mean_entropy(statistics: Statistics, mask: Tensor, *, distributed: bool) -> float:
    """Token-weighted mean of the whole batch, all ranks together, in nats; NaN without a token.

    Raises:
        ArgumentError: log-probs that no policy gives; raised on every rank.
    """
    logprobs = statistics.logprobs.detach()[mask].double()
    usable = logprobs.isfinite() & (logprobs <= _POSITIVE)
    if statistics.entropy is None:
        values, counted = -logprobs[usable], usable.sum()
    else:
        values = statistics.entropy.detach()[mask].double()
        values = values[values.isfinite()]  # 0 ln 0 of a token that cannot be
        counted = torch.as_tensor(values.numel(), device=values.device)
    sums = torch.stack(
        [
            values.sum(),
            counted.double(),
            torch.as_tensor(float(logprobs.numel()), device=values.device, dtype=torch.double),
            (~usable).sum().double(),
            (logprobs == 0).sum().double(),
        ]
    )
    if distributed:
        dist.all_reduce(sums)
    total, count, tokens, unusable, zero = sums.tolist()
    _check_logprobs(statistics.source, tokens, unusable, zero)
    return total / count if count else float("nan")


def _check_logprobs(source: str, tokens: float, unusable: float, zero: float) -> None:
    if tokens and zero == tokens:
        raise ArgumentError(
            f"log-probs from {source!r} are zero on all {tokens:.0f} tokens, so none is rarer than "
            "another\nhint: the host did not compute them; set logprobs='forward'"
        )
    allowed = _MOST_UNUSABLE if source == "sampling" else 0.0
    if unusable > allowed * tokens:
        raise ArgumentError(
            f"log-probs from {source!r} are not finite or above zero on {unusable:.0f} of "
            f"{tokens:.0f} tokens\n"
            + (
                "hint: set logprobs='forward', so that the trainer computes them"
                if source != "forward"
                else "hint: the policy itself gives them: look for a divergence"
            )
        )
