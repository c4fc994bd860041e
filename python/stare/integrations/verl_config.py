"""The `+stare.*` keys of a verl command line, and what verl settings they can work with.

A combination that would silently do nothing, or something else, is an error that names the flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stare.coerce import coerce, field_types, nearest
from stare.config import StareConfig
from stare.errors import ConfigError

__all__ = ["LOSSES", "Settings", "check", "read"]

Scope = Literal["batch", "microbatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `+stare.*` says."""

    config: StareConfig
    scope: Scope = "batch"
    """`batch`: select over the whole batch, on the driver; `microbatch`: as the released code."""
    drop_nonfinite: bool = False
    """Drop and count candidates without a usable log-probability instead of raising."""


_OPTIONS: dict[str, Any] = {"enabled": bool, "scope": Scope, "drop_nonfinite": bool}

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


def read(section: Any) -> Settings | None:
    """The `stare` section of a composed configuration; None if it is absent or switched off.

    Raises:
        ConfigError: an unknown key (the nearest is named), a wrong value, settings under which
            no weight could ever differ from 1, or no `enabled`.

    Example:
        >>> read({"enabled": True, "target_entropy": 0.2}).config.target_entropy
        0.2
        >>> read({"enabled": True, "top_p": 0.2})
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: unknown key +stare.top_p
        hint: did you mean +stare.top_p_ratio?
    """
    if section is None:
        return None
    if not isinstance(section, Mapping):
        raise ConfigError(f"stare must be a section of keys (+stare.enabled=true), got {section!r}")
    hints = field_types(StareConfig)
    options: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for key, value in section.items():
        name = f"+stare.{key}"
        if key in _OPTIONS:
            options[key] = coerce(value, _OPTIONS[key], name)
        elif key in hints:
            fields[key] = coerce(value, hints[key], name)
        else:
            hint = nearest(key, (*_OPTIONS, *hints)).replace("mean ", "mean +stare.")
            raise ConfigError(f"unknown key {name}\nhint: {hint}")
    if "enabled" not in options:
        raise ConfigError(
            "+stare.* keys are given but stare is not switched on\nhint: add +stare.enabled=true"
        )
    if not options.pop("enabled"):
        return None
    try:
        settings = Settings(config=StareConfig(**fields), **options)
    except ConfigError as error:
        raise ConfigError(f"+stare.{error}") from None
    _check_effect(settings.config)
    return settings


def _check_effect(config: StareConfig) -> None:
    """Refuse what leaves every weight at 1."""
    off = "hint: +stare.enabled=false trains without STARE"
    if config.top_p_ratio == 0.0 and config.selector == "quantile":
        raise ConfigError(f"+stare.top_p_ratio=0 selects no token\n{off}")
    if config.controller == "pi":
        if config.w_max == 1.0:
            raise ConfigError(f"+stare.w_max=1 leaves every weight at 1\n{off}")
        return
    if config.gate != "off" and not config.target_entropy and not config.target_final:
        raise ConfigError(f"+stare.target_entropy=0: the gate never opens\n{off}")
    if config.adaptive and config.alpha != 0.0:
        return
    read = {"O1": "w", "O4": "w", "O2": "m", "O3": "m"}.get(config.variant, "wm")
    factors = {"w": config.reweight_w, "m": config.reweight_m}
    if all(factors[name] == 1.0 for name in read):
        named = " and ".join(f"+stare.reweight_{name}=1" for name in read)
        raise ConfigError(f"{named} with variant {config.variant} leaves every weight at 1\n{off}")


def check(host: Any, settings: Settings, *, legacy: bool = False) -> list[str]:
    """Compare the settings with the rest of verl's configuration; returns warnings.

    Args:
        host: the composed configuration, as plain nested mappings.
        settings: what `read` gave.
        legacy: the trainer is one of those from before `trainer.use_v1`.

    Raises:
        ConfigError: together they would do nothing, or not what they say.
    """
    warnings = []
    bypass = bool(_at(host, "algorithm.rollout_correction.bypass_mode"))
    mode = str(_at(host, "actor_rollout_ref.actor.policy_loss.loss_mode") or "vanilla")
    if mode == "geo_mean":
        raise ConfigError(
            "the policy loss geo_mean averages the advantages of a response, so token weights "
            "would become one weight a response\n"
            "hint: actor_rollout_ref.actor.policy_loss.loss_mode=vanilla (or gspo, cispo, sapo)"
        )
    if mode not in LOSSES:
        warnings.append(
            f"policy loss {mode!r} is not known: token weights act as intended only if its "
            "gradient at a token is linear in that token's advantage"
        )
    elif LOSSES[mode]:
        warnings.append(f"policy loss {mode!r}: {LOSSES[mode]}")
    if _at(host, "distillation.enabled") and not _at(
        host, "distillation.distillation_loss.use_task_rewards"
    ):
        raise ConfigError(
            "distillation without task rewards does not use the advantages that STARE weights\n"
            "hint: distillation.distillation_loss.use_task_rewards=true or +stare.enabled=false"
        )
    if settings.config.selector == "critical":
        raise ConfigError(
            "+stare.selector=critical needs the concentration of every token, which verl does not "
            "compute\nhint: +stare.selector=quantile"
        )
    if settings.config.gate in ("sample", "token"):
        if bypass:
            raise ConfigError(
                f"+stare.gate={settings.config.gate} needs the entropy of every token, which verl "
                "does not compute in bypass mode\n"
                "hint: algorithm.rollout_correction.bypass_mode=false or +stare.gate=batch"
            )
        if settings.scope == "microbatch":
            raise ConfigError(
                f"+stare.scope=microbatch knows the batch gate only, got {settings.config.gate}\n"
                "hint: +stare.scope=batch or +stare.gate=batch"
            )
    if settings.scope == "microbatch":
        if legacy:
            raise ConfigError(
                "+stare.scope=microbatch needs verl >= 0.9 with its current trainer\n"
                "hint: trainer.use_v1=true or +stare.scope=batch"
            )
        warnings.append(
            "scope=microbatch selects inside each micro-batch of each rank, as the released code "
            "does: ppo_max_token_len_per_gpu and the number of ranks change the objective"
        )
    rollout = "actor_rollout_ref.rollout"
    top_p, top_k = _at(host, f"{rollout}.top_p"), _at(host, f"{rollout}.top_k")
    truncated = (top_p is not None and top_p < 1) or (top_k is not None and top_k > 0)
    if truncated and bypass:
        warnings.append(
            f"{rollout}.top_p={top_p}, top_k={top_k}: the entropy is estimated from the sampled "
            "log-probabilities, which reads low under truncated sampling"
        )
    return warnings


def _at(host: Any, path: str) -> Any:
    """The value at a dotted path, None where any part of it is missing."""
    for name in path.split("."):
        if not isinstance(host, Mapping) or name not in host:
            return None
        host = host[name]
    return host
