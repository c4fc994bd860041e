"""TRL as data: what STARE refuses to be attached to, and why."""

from __future__ import annotations

from typing import Any

from stare.integrations.hosts import Combination, Host

__all__ = ["HOST"]

_DETACHED_RATIO = ("cispo", "vespo")
"""Losses whose sequence-level ratio carries no gradient."""


def _setting(trainer: Any, name: str, default: Any = None) -> Any:
    """The trainer's own attribute where it has one, else its argument."""
    return getattr(trainer, name, getattr(trainer.args, name, default))


def _liger_loss(trainer: Any) -> bool:
    asked = any(_setting(trainer, name, False) for name in ("use_liger_kernel", "use_liger_loss"))
    return hasattr(trainer, "compute_liger_loss") and asked


def _sequence_ratio(trainer: Any) -> bool:
    return (
        _setting(trainer, "importance_sampling_level", "token") == "sequence"
        and _setting(trainer, "loss_type") not in _DETACHED_RATIO
    )


def _several_generations_a_step(trainer: Any) -> bool:
    args = trainer.args
    return bool((args.steps_per_generation or 1) < args.gradient_accumulation_steps)


def _several_updates_a_generation(trainer: Any) -> bool:
    args = trainer.args
    steps = (args.steps_per_generation or 1) * getattr(args, "num_iterations", 1)
    return bool(steps > args.gradient_accumulation_steps)


def _truncated_sampling(trainer: Any) -> bool:
    args = trainer.args
    return (getattr(args, "top_p", None) or 1.0) < 1.0 or (getattr(args, "top_k", None) or 0) > 0


HOST = Host(
    name="trl",
    package="trl",
    module="trl",
    oldest="0.26.2",
    tested=("0.29.0", "1.5.0", "1.8.0", "1.12.0", "1.16.0"),
    install="stare.integrations.trl: attach(trainer, config), or StareGRPOTrainer",
    hook="GRPOTrainer._generate_and_score_completions; scope='microbatch': _compute_loss",
    logprobs=(
        "old_per_token_logps, which TRL computes off-policy and for vLLM's importance sampling",
        "sampling_per_token_logps of vLLM",
        "one forward without gradients",
    ),
    entropy=(
        "exact, of the same forward as the log-probs (no extra one where TRL makes it)",
        "mean surprisal of the sampled tokens",
    ),
    scope="the generation batch of all ranks; scope='microbatch': a micro-batch of all ranks",
    combinations=(
        Combination(
            setting="use_liger_kernel or use_liger_loss with TRL's own Liger loss (TRL < 1.14)",
            verdict="refused",
            reason="that loss takes one advantage a sequence, so token weights would be lost",
            remedy="use_liger_kernel=False",
            applies=_liger_loss,
        ),
        Combination(
            setting="importance_sampling_level='sequence' (but loss_type cispo and vespo)",
            verdict="refused",
            reason=(
                "the gradient of a sequence's ratio spreads evenly over its tokens, so a token's "
                "weight would become one of the sequence"
            ),
            remedy="importance_sampling_level='token'",
            applies=_sequence_ratio,
        ),
        Combination(
            setting="steps_per_generation < gradient_accumulation_steps",
            verdict="refused",
            reason=(
                "an optimiser step would be made of several generation batches, each with a "
                "selection and a controller update of its own"
            ),
            remedy="steps_per_generation = gradient_accumulation_steps (TRL's default)",
            applies=_several_generations_a_step,
        ),
        Combination(
            setting="steps_per_generation or num_iterations > 1 update a generation",
            verdict="note",
            reason=(
                "tokens are chosen once, over the generation batch and under the policy that "
                "made it, and keep their weights for all updates on it"
            ),
            applies=_several_updates_a_generation,
        ),
        Combination(
            setting="top_p < 1 or top_k > 0",
            verdict="note",
            reason="log-probs of vLLM and sampled surprisal are then of the truncated policy",
            remedy="top_p=1.0, top_k=0, or logprobs='forward'",
            applies=_truncated_sampling,
        ),
        Combination(
            setting="off_policy_mask_threshold",
            verdict="note",
            reason=(
                "TRL gives sequences that are too far off-policy no gradient after STARE has "
                "chosen among all"
            ),
            applies=lambda trainer: _setting(trainer, "off_policy_mask_threshold") is not None,
        ),
        Combination(
            setting="top_entropy_quantile < 1",
            verdict="note",
            reason="TRL masks tokens of low entropy after STARE has chosen among all",
            applies=lambda trainer: _setting(trainer, "top_entropy_quantile", 1.0) < 1.0,
        ),
    ),
)
