"""Settings of STARE that would do nothing."""

from __future__ import annotations

from stare.config import StareConfig
from stare.errors import ConfigError

__all__ = ["check_effect"]


def check_effect(
    config: StareConfig, *, prefix: str = "", off: str = "leave STARE out to train without it"
) -> None:
    """Refuse settings under which no weight could ever differ from 1.

    Args:
        config: the settings.
        prefix: what the host puts before their names.
        off: how to train without STARE there.

    Raises:
        ConfigError: they are such.

    Example:
        >>> check_effect(StareConfig(top_p_ratio=0.0))
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: top_p_ratio=0 selects no token
        hint: leave STARE out to train without it
    """
    hint = f"hint: {off}"
    if config.top_p_ratio == 0.0 and config.selector == "quantile":
        raise ConfigError(f"{prefix}top_p_ratio=0 selects no token\n{hint}")
    if config.controller == "pi":
        if config.w_max == 1.0:
            raise ConfigError(f"{prefix}w_max=1 leaves every weight at 1\n{hint}")
        return
    if config.gate != "off" and not config.target_entropy and not config.target_final:
        raise ConfigError(f"{prefix}target_entropy=0: the gate never opens\n{hint}")
    if config.adaptive and config.alpha != 0.0:
        return
    read = {"O1": "w", "O4": "w", "O2": "m", "O3": "m"}.get(config.variant, "wm")
    factors = {"w": config.reweight_w, "m": config.reweight_m}
    if all(factors[name] == 1.0 for name in read):
        named = " and ".join(f"{prefix}reweight_{name}=1" for name in read)
        raise ConfigError(f"{named} with variant {config.variant} leaves every weight at 1\n{hint}")
