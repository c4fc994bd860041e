"""The `+stare.*` keys of a verl command line. A wrong one is an error that names the right one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stare.coerce import coerce, field_types, nearest
from stare.config import StareConfig
from stare.errors import ConfigError
from stare.integrations.effect import check_effect

__all__ = ["Settings", "read"]

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
    off = "+stare.enabled=false trains without STARE"
    check_effect(settings.config, prefix="+stare.", off=off)
    return settings
