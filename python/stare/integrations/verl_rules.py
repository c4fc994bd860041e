"""verl as data: what STARE refuses to run with, and what it warns about."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from stare.integrations.hosts import Combination, Host, at_least, enforce
from stare.integrations.verl_config import Settings

__all__ = ["HOST", "LOSSES", "Run", "check"]

LOSSES: dict[str, str] = {
    "vanilla": "",
    "dppo_kl": "",
    "dppo_tv": "",
    "gspo": "",
    "sapo": "",
    "gpg": "",
    "cispo": "",
    "bypass_mode": "",
    "dro": "its quadratic penalty is not weighted: it does not multiply the advantage",
    "clip_cov": "its own selection reads the advantage, so the weights move which tokens it clips",
    "kl_cov": "its own selection reads the advantage, so the weights move where it adds KL",
}
"""Policy losses of verl whose gradient at a token is linear in that token's advantage, or nearly:
then with a warning. `geo_mean` is not among them."""
_ROLLOUT = "actor_rollout_ref.rollout"
_MODE = "actor_rollout_ref.actor.policy_loss.loss_mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of verl, as far as STARE's rules look at it."""

    host: Any
    """The composed configuration, as plain nested mappings."""
    settings: Settings
    """What `+stare.*` says."""
    legacy: bool = False
    """Its trainer is one of those from before `trainer.use_v1`."""

    def at(self, path: str) -> Any:
        """The value at a dotted path, None where any part of it is missing."""
        value = self.host
        for name in path.split("."):
            if not isinstance(value, Mapping) or name not in value:
                return None
            value = value[name]
        return value

    @property
    def loss_mode(self) -> str:
        """The policy loss."""
        return str(self.at(_MODE) or "vanilla")

    @property
    def bypass(self) -> bool:
        """Whether the log-probs are the rollout engine's and no entropy is computed."""
        return bool(self.at("algorithm.rollout_correction.bypass_mode"))

    @property
    def per_token_gate(self) -> bool:
        """Whether the gate reads the entropy of every token."""
        return self.settings.config.gate in ("sample", "token")


def _is_loss(name: str, run: Run) -> bool:
    return run.loss_mode == name


def _distilled_only(run: Run) -> bool:
    uses_rewards = run.at("distillation.distillation_loss.use_task_rewards")
    return bool(run.at("distillation.enabled")) and not uses_rewards


def _truncated(run: Run) -> bool:
    top_p, top_k = run.at(f"{_ROLLOUT}.top_p"), run.at(f"{_ROLLOUT}.top_k")
    return (top_p is not None and top_p < 1) or (top_k is not None and top_k > 0)


_REFUSED = (
    Combination(
        setting="policy loss geo_mean",
        verdict="refused",
        reason=(
            "it averages the advantages of a response, so token weights would become one weight a "
            "response"
        ),
        remedy=f"{_MODE}=vanilla (or gspo, cispo, sapo)",
        applies=partial(_is_loss, "geo_mean"),
    ),
    Combination(
        setting="distillation without task rewards",
        verdict="refused",
        reason="it does not use the advantages that STARE weights",
        remedy="distillation.distillation_loss.use_task_rewards=true or +stare.enabled=false",
        applies=_distilled_only,
    ),
    Combination(
        setting="+stare.selector=critical",
        verdict="refused",
        reason="it needs the concentration of every token, which verl does not compute",
        remedy="+stare.selector=quantile",
        applies=lambda run: run.settings.config.selector == "critical",
    ),
    Combination(
        setting="+stare.gate=sample or token, in bypass mode",
        verdict="refused",
        reason="it needs the entropy of every token, which verl does not compute in bypass mode",
        remedy="algorithm.rollout_correction.bypass_mode=false or +stare.gate=batch",
        applies=lambda run: run.per_token_gate and run.bypass,
    ),
    Combination(
        setting="+stare.gate=sample or token, with +stare.scope=microbatch",
        verdict="refused",
        reason="the gate is decided on the driver, for the batch, and sent to the workers",
        remedy="+stare.scope=batch or +stare.gate=batch",
        applies=lambda run: run.per_token_gate and run.settings.scope == "microbatch",
    ),
    Combination(
        setting="+stare.scope=microbatch with a trainer from before trainer.use_v1",
        verdict="refused",
        reason="its workers cannot be told the gate",
        remedy="trainer.use_v1=true (verl >= 0.9) or +stare.scope=batch",
        applies=lambda run: run.settings.scope == "microbatch" and run.legacy,
    ),
)
_NOTES = (
    *(
        Combination(
            setting=f"policy loss {name}",
            verdict="note",
            reason=caveat,
            applies=partial(_is_loss, name),
        )
        for name, caveat in LOSSES.items()
        if caveat
    ),
    Combination(
        setting="a policy loss that STARE does not know",
        verdict="note",
        reason=(
            "token weights act as intended only if its gradient at a token is linear in that "
            "token's advantage"
        ),
        applies=lambda run: run.loss_mode not in LOSSES,
    ),
    Combination(
        setting="+stare.scope=microbatch",
        verdict="note",
        reason=(
            "selects inside each micro-batch of each rank, as the released code does: "
            "ppo_max_token_len_per_gpu and the number of ranks change the objective"
        ),
        applies=lambda run: run.settings.scope == "microbatch",
    ),
    Combination(
        setting=f"{_ROLLOUT}.top_p < 1 or top_k > 0, in bypass mode",
        verdict="note",
        reason=(
            "the entropy is estimated from the sampled log-probabilities, which reads low under "
            "truncated sampling"
        ),
        applies=lambda run: run.bypass and _truncated(run),
    ),
)


def _trouble(version: str) -> str | None:
    if not at_least(version, "0.9"):
        named = os.environ.get("VERL_USE_EXTERNAL_MODULES", "")
        if "stare.integrations.verl" in named.split(","):
            return None
        return (
            "VERL_USE_EXTERNAL_MODULES does not name stare.integrations.verl, so this verl does "
            "not load it"
        )
    if os.environ.get("VERL_USE_EXTERNAL_PLUGINS") == "none":
        return "VERL_USE_EXTERNAL_PLUGINS=none switches plugins off"
    if not any(p.value == "stare.integrations.verl" for p in entry_points(group="verl.plugins")):
        return "its entry point is not installed: pip install stare-rl where verl runs"
    return None


HOST = Host(
    name="verl",
    package="verl",
    module="verl",
    oldest="0.6.1",
    tested=("0.6.1", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
    install=(
        "+stare.enabled=true on its command line; before 0.9 also "
        "VERL_USE_EXTERNAL_MODULES=stare.integrations.verl"
    ),
    hook="_compute_advantage of its trainers; before 0.9 compute_advantage of ray_trainer",
    logprobs=("old_log_probs; in bypass mode those are the rollout engine's",),
    entropy=(
        "exact, which verl computes with old_log_probs",
        "mean surprisal of the sampled tokens (bypass mode, verl 0.6)",
    ),
    scope="the batch of an optimiser step, on the driver; +stare.scope=microbatch: a micro-batch",
    combinations=(*_REFUSED, *_NOTES),
    trouble=_trouble,
)


def check(host: Any, settings: Settings, *, legacy: bool = False) -> list[str]:
    """Compare the settings with the rest of verl's configuration; returns warnings.

    Args:
        host: the composed configuration, as plain nested mappings.
        settings: what `read` gave.
        legacy: the trainer is one of those from before `trainer.use_v1`.

    Raises:
        ConfigError: together they would do nothing, or not what they say.

    Example:
        >>> from stare.config import StareConfig
        >>> check({}, Settings(config=StareConfig(selector="critical")))
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: STARE does not work with +stare.selector=critical: it needs the \
concentration of every token, which verl does not compute
        hint: +stare.selector=quantile
    """
    return enforce(HOST, Run(host=host, settings=settings, legacy=legacy))
