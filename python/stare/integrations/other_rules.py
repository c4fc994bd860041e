"""OpenRLHF, slime, NeMo-RL and tinker-cookbook as data: what STARE refuses to run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stare.config import StareConfig
from stare.integrations.hosts import Combination, Host

__all__ = ["NEMO_RL", "OPENRLHF", "SLIME", "TINKER", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, as far as the rules look at it."""

    config: StareConfig
    """STARE's settings."""
    host: Any = None
    """The host's own arguments; None where they are not known yet."""
    context_parallel: int = 1
    """Ranks that share a sequence."""

    def at(self, path: str) -> Any:
        """The argument at a dotted path, None where any part of it is missing."""
        value = self.host
        for name in path.split("."):
            value = getattr(value, name, None)
        return value


_SURPRISAL = "mean surprisal of the sampled tokens"
_SEQUENCE_RATIO = (
    "its ratio is that of the whole response, so its gradient at a token sees the mean of the "
    "weights"
)


def _no_token_entropies(remedy: str) -> Combination:
    return Combination(
        setting="gate sample or token, or selector critical",
        verdict="refused",
        reason="they need the entropy of every token, which this host does not give",
        remedy=remedy,
        applies=lambda run: (
            run.config.gate in ("sample", "token") or run.config.selector == "critical"
        ),
    )


OPENRLHF = Host(
    name="openrlhf",
    package="openrlhf",
    module="openrlhf",
    oldest="0.11.0",
    tested=("0.11.2",),
    install="python -m stare.integrations.openrlhf --stare.KEY VALUE ... -- <its arguments>",
    hook="RemoteExperienceMaker.compute_advantages_and_returns, in Ray's worker processes",
    logprobs=("action_log_probs of the experiences",),
    entropy=(_SURPRISAL,),
    scope="the batch of experiences, in the process that makes them",
    combinations=(
        _no_token_entropies("--stare.gate batch --stare.selector quantile"),
        Combination(
            setting="--actor.policy_loss_type gspo",
            verdict="refused",
            reason=_SEQUENCE_RATIO,
            remedy="--actor.policy_loss_type ppo",
            applies=lambda run: run.at("actor.policy_loss_type") == "gspo",
        ),
    ),
)

SLIME = Host(
    name="slime",
    package="slime",
    module="slime",
    tested=("commit 624b824",),
    install=(
        "--rollout-data-postprocess-path stare.integrations.slime.weigh; settings in the file of "
        "--custom-config-path, under stare"
    ),
    hook="rollout_data_postprocess, on each rank, after advantages are final",
    logprobs=("rollout_log_probs with --use-rollout-logprobs", "log_probs of slime's own forward"),
    entropy=("exact with --use-rollout-entropy", _SURPRISAL),
    scope="the batch of all data-parallel ranks",
    combinations=(
        _no_token_entropies("gate: batch, selector: quantile"),
        Combination(
            setting="--advantage-estimator gspo",
            verdict="refused",
            reason=_SEQUENCE_RATIO,
            remedy="--advantage-estimator grpo",
            applies=lambda run: run.at("advantage_estimator") == "gspo",
        ),
        Combination(
            setting="--context-parallel-size > 1",
            verdict="refused",
            reason="a rank then holds slices of log-probs but whole masks",
            remedy="--context-parallel-size 1",
            applies=lambda run: run.context_parallel > 1,
        ),
    ),
)

NEMO_RL = Host(
    name="nemo_rl",
    package="nemo-rl",
    module="nemo_rl",
    tested=("commit 7ea279a",),
    install=(
        "python -m stare.integrations.nemo_rl SCRIPT ... ++grpo.adv_estimator.stare.KEY=VALUE"
    ),
    hook="_create_advantage_estimator of nemo_rl.algorithms.grpo, on the driver",
    logprobs=("prev_logprobs",),
    entropy=(_SURPRISAL,),
    scope="the batch of a step, on the driver",
    combinations=(
        _no_token_entropies("stare.gate=batch stare.selector=quantile"),
        Combination(
            setting="loss_fn.force_on_policy_ratio=true",
            verdict="refused",
            reason="it computes no prev_logprobs, so there is no surprisal to rank by",
            remedy="loss_fn.force_on_policy_ratio=false",
            applies=lambda run: bool(run.at("loss_fn.force_on_policy_ratio")),
        ),
        Combination(
            setting="loss_fn.sequence_level_importance_ratios=true",
            verdict="refused",
            reason=_SEQUENCE_RATIO,
            remedy="loss_fn.sequence_level_importance_ratios=false",
            applies=lambda run: bool(run.at("loss_fn.sequence_level_importance_ratios")),
        ),
    ),
)

TINKER = Host(
    name="tinker",
    package="tinker-cookbook",
    module="tinker_cookbook",
    oldest="0.6.1",
    tested=("0.6.1",),
    install="stare.integrations.tinker.weigh(data, controller), one line of your training loop",
    hook="none: a pure function from datums to datums",
    logprobs=("logprobs of the datums, the sampler's",),
    entropy=(_SURPRISAL,),
    scope="the datums handed over: those of one optimiser step",
    combinations=(_no_token_entropies("gate='batch', selector='quantile'"),),
)
