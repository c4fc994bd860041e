"""The seam: STARE's token weights, and advantages multiplied by them.

Since every weight is positive, weighting the clipped surrogate equals weighting the advantages
(docs/design.md), so a trainer that accepts (B, T) advantages needs no other change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare._core import Batch
from stare.algo.arrays import Inputs, prepare, resolve_threads
from stare.algo.dtypes import as_bits, as_flags, is_torch
from stare.algo.plan import GateLike, Plan, plan_for
from stare.algo.rules import Rule, rules_for
from stare.algo.stats import ReweightStats
from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["ReweightStats", "Rule", "reweight", "rules_for", "token_weights"]


def token_weights(
    logprobs: Any,
    advantages: Any,
    mask: Any,
    *,
    config: StareConfig,
    gate: GateLike | bool | None = None,
    entropy: Any = None,
    concentration: Any = None,
    offsets: Any = None,
    rules: Sequence[Rule] | None = None,
    drop_nonfinite: bool = False,
    threads: int | None = None,
) -> tuple[Any, ReweightStats]:
    """Weights omega > 0 of every token (arXiv 2606.19236, section 4).

    Selection ranks the candidates of each advantage sign over the whole batch by surprisal, then
    by flat index, and takes exactly k = ceil(P n) of them; the gate then decides where the factors
    apply. The set is the same for any padding, packing, thread count and split into shards.

    Args:
        logprobs: log pi of the sampled tokens, nats: (B, T) padded, (N,) packed, or a list of
            rows; float32, float64, float16 or bfloat16, numpy or torch, host or CUDA.
        advantages: the same shape, or one a row: (B,), with `offsets` (S,). Zero is in neither set.
        mask: the same shape, non-zero on tokens the policy produced; None means all.
        config: variant, share, selector and gate granularity.
        gate: a `GateState`, or True/False/None for on/off/on with the config's W and M.
        entropy: H of every token, nats, or for the `sample` gate also (B,): needed by the `sample`
            and `token` gates and the `critical` selector.
        concentration: C of every token, needed by the `critical` selector.
        offsets: packed only, (S + 1,): sequence i is offsets[i]:offsets[i + 1].
        rules: explicit rules instead of the config's variant.
        drop_nonfinite: drop and count candidates whose log-probability is not finite or above
            1e-3, instead of raising.
        threads: of the Rust side; default STARE_NUM_THREADS, else all cores.

    Returns:
        Weights in the library, device and shape of `logprobs` (float64 for float64 log-probs,
        else float32), and the counts. Outside the mask and the sets the weight is exactly 1.

    Raises:
        ArgumentError: arrays that do not go together, or a bad value with its row and column.

    Example:
        >>> import numpy as np
        >>> logprobs = np.array([[-0.1, -2.0], [-0.3, -1.0]])
        >>> weights, stats = token_weights(
        ...     logprobs, np.array([1.0, -1.0]), np.ones((2, 2), bool),
        ...     config=StareConfig(variant="C2", top_p_ratio=0.5),
        ... )
        >>> weights
        array([[1. , 1.1],
               [1. , 0.9]])
        >>> stats.selected
        (1, 1)
    """
    plan = plan_for(config, gate, rules)
    inputs = prepare(
        logprobs, advantages, mask, entropy=entropy, concentration=concentration, offsets=offsets
    )
    flat, stats = _select(inputs, plan, drop_nonfinite, threads, wide=inputs.format == "f64")
    return inputs.give(flat), stats


def reweight(
    advantages: Any,
    logprobs: Any,
    mask: Any,
    *,
    config: StareConfig,
    gate: GateLike | bool | None = None,
    entropy: Any = None,
    concentration: Any = None,
    offsets: Any = None,
    rules: Sequence[Rule] | None = None,
    drop_nonfinite: bool = False,
    threads: int | None = None,
) -> tuple[Any, ReweightStats]:
    """Advantages times `token_weights`, as a new array of the advantages' dtype.

    One advantage a row is broadcast to its tokens and is 0 outside the mask, as
    `broadcast_advantages` gives it; token advantages outside the mask stay what they are.
    Arguments and errors are those of `token_weights`.

    Example:
        >>> import numpy as np
        >>> advantages, _ = reweight(
        ...     np.array([[1.0, 1.0]]), np.array([[-0.1, -2.0]]), np.ones((1, 2)),
        ...     config=StareConfig(top_p_ratio=0.5),
        ... )
        >>> advantages
        array([[1. , 1.1]])
    """
    plan = plan_for(config, gate, rules)
    inputs = prepare(
        logprobs, advantages, mask, entropy=entropy, concentration=concentration, offsets=offsets
    )
    wide = str(inputs.advantages.dtype).endswith("float64")
    flat, stats = _select(inputs, plan, drop_nonfinite, threads, wide=wide)
    return inputs.give(multiply(inputs, flat)), stats


def multiply(inputs: Inputs, weights: Any) -> Any:
    """Flat advantages times flat weights; reuses the memory of the weights where it can."""
    if inputs.torch and not is_torch(weights):
        import torch

        weights = torch.from_numpy(weights)
    advantages = inputs.advantages
    grid = weights.reshape(tuple(inputs.logprobs.shape))
    if inputs.per_row and inputs.offsets is not None:
        lengths = np.diff(inputs.offsets)
        if inputs.torch:
            import torch

            advantages = advantages[:, 0].repeat_interleave(
                torch.from_numpy(lengths).to(advantages.device)
            )[None]
        else:
            advantages = np.repeat(advantages[:, 0], lengths)[None]
    if advantages.dtype == grid.dtype:
        grid *= advantages
    else:
        grid = grid * advantages
        grid = grid.to(advantages.dtype) if inputs.torch else grid.astype(advantages.dtype)
    if inputs.per_row:
        off = inputs.mask == 0
        if inputs.torch:
            grid.masked_fill_(off, 0)
        else:
            np.copyto(grid, grid.dtype.type(0), where=off)
    return grid.reshape(-1)


def _select(
    inputs: Inputs, plan: Plan, drop_nonfinite: bool, threads: int | None, *, wide: bool
) -> tuple[Any, ReweightStats]:
    """Flat weights (float64 if `wide`, else float32) and the counts."""
    check_statistics(inputs, plan)
    if inputs.on_device:
        from stare.algo.device import select_on_device

        return select_on_device(inputs, plan, drop_nonfinite=drop_nonfinite, wide=wide)
    batch = core_batch(inputs, plan, drop_nonfinite, threads)
    weights = np.empty(inputs.tokens, np.float64 if wide else np.float32)
    counts = batch.token_weights(
        [rule.as_tuple() for rule in plan.rules], weights, **gate_arguments(batch, inputs, plan)
    )
    return weights, ReweightStats(
        n_tokens=counts["tokens"],
        n_positive=counts["positive"],
        n_negative=counts["negative"],
        rules=plan.rules,
        selected=tuple(counts["selected"]),
        thresholds=tuple(counts["thresholds"]),
        dropped_nonfinite=counts["dropped"],
        mean_weight=counts["mean_weight"],
        gate_on=plan.on,
        w=plan.w,
        m=plan.m,
    )


def check_statistics(inputs: Inputs, plan: Plan) -> None:
    """Whether entropy and concentration are there where the plan needs them."""
    if plan.needs_concentration and (inputs.entropy is None or inputs.concentration is None):
        raise ArgumentError(
            "selector='critical' needs entropy and concentration of every token\n"
            "hint: token_statistics(..., want_concentration=True) gives both"
        )
    if plan.granularity == "token" and inputs.entropy is None:
        raise ArgumentError("gate='token' needs entropy of every token")
    if plan.granularity == "sample" and inputs.entropy is None and inputs.row_entropy is None:
        raise ArgumentError("gate='sample' needs entropy, of every token or one value a row")


def core_batch(inputs: Inputs, plan: Plan, drop_nonfinite: bool, threads: int | None) -> Batch:
    """The arrays as the extension reads them, in place."""
    statistics: dict[str, tuple[NDArray[Any], str]] = {}
    if inputs.entropy is not None:
        statistics["entropy"] = as_bits("entropy", inputs.entropy)
    if inputs.concentration is not None:
        statistics["concentration"] = as_bits("concentration", inputs.concentration)
    return Batch(
        as_bits("logprobs", inputs.logprobs),
        as_bits("advantages", inputs.advantages),
        as_flags(inputs.mask),
        offsets=None if inputs.offsets is None else inputs.offsets.tolist(),
        per_row=inputs.per_row,
        drop_nonfinite=drop_nonfinite,
        threads=resolve_threads(threads),
        **statistics,
    )


def gate_arguments(batch: Batch, inputs: Inputs, plan: Plan) -> dict[str, Any]:
    """Selector and gate as keyword arguments of the extension."""
    arguments: dict[str, Any] = {
        "selector": plan.selector,
        "threshold": plan.threshold,
        "on": plan.on,
    }
    if plan.granularity == "token":
        arguments["target"] = plan.target
    elif plan.granularity == "sample":
        if inputs.row_entropy is not None:
            means = inputs.row_entropy
            means = means.double().numpy() if is_torch(means) else np.asarray(means, np.float64)
        else:
            means = batch.entropy_of_rows()
        # A mean that is not a number (a row without tokens) is not below the target.
        arguments["rows_on"] = (means < plan.target).astype(np.uint8)
    return arguments
