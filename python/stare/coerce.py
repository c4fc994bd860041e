"""Strict conversion of plain values (TOML, JSON, command line) to the types of dataclass fields."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from stare.errors import ConfigError

__all__ = ["build", "check_fields", "choice", "coerce", "field_types", "interval", "nearest"]

T = TypeVar("T")


def field_types(cls: type) -> dict[str, Any]:
    """Field name -> resolved annotation of a dataclass, in declaration order."""
    return _field_types(cls)


@cache
def _field_types(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def coerce(value: Any, annotation: Any, name: str) -> Any:
    """Return `value` as the annotated type, or raise.

    Only lossless conversions happen: int -> float, list -> tuple. A bool is never an int and a
    string is never a number.

    Raises:
        ConfigError: the value has another type; the message names the field and the type.

    Example:
        >>> coerce(1, float, "optim.lr")
        1.0
        >>> coerce("yes", bool, "rollout.dynamic_sampling")
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: rollout.dynamic_sampling must be true or false, got 'yes'
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        inner = [a for a in args if a is not type(None)]
        if len(inner) == 1:
            return coerce(value, inner[0], name)
    elif origin is Literal:
        choice(name, value, args)
        return value
    elif origin is tuple and isinstance(value, (list, tuple)):
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(coerce(v, args[0], f"{name}[{i}]") for i, v in enumerate(value))
        if len(args) == len(value):
            return tuple(
                coerce(v, a, f"{name}[{i}]")
                for i, (v, a) in enumerate(zip(value, args, strict=True))
            )
    elif origin in (dict, Mapping) or annotation is dict:
        if isinstance(value, Mapping):
            return dict(value)
    elif isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        if isinstance(value, annotation):
            return value
        if isinstance(value, Mapping):
            return build(annotation, value, name)
    elif annotation is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    elif annotation is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(annotation, type) and isinstance(value, annotation):
        return value
    raise ConfigError(f"{name} must be {_describe(annotation)}, got {value!r}")


def _describe(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    plain = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
    if annotation in plain:
        return plain[annotation]
    if origin in (Union, types.UnionType):
        return " or ".join(_describe(a) for a in args if a is not type(None))
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return f"a list, each item {_describe(args[0])}"
        return f"a list of {len(args)}, each item {_describe(args[0])}"
    return (
        "a table" if origin in (dict, Mapping) or dataclasses.is_dataclass(annotation) else "valid"
    )


def build(cls: type[T], table: Mapping[str, Any], prefix: str = "") -> T:
    """Build a (nested) configuration dataclass from plain tables.

    Raises:
        ConfigError: an unknown key (the nearest valid one is named), a value of the wrong type, or
            one that the dataclass refuses. Names are dotted paths.
    """
    hints = field_types(cls)
    dot = f"{prefix}." if prefix else ""
    values = {}
    for key, value in table.items():
        if key not in hints:
            raise ConfigError(
                f"unknown key {dot}{key}\nhint: {nearest(f'{dot}{key}', (dot + k for k in hints))}"
            )
        values[key] = coerce(value, hints[key], dot + key)
    try:
        return cls(**values)
    except ConfigError as error:  # a section knows its fields, not its own name
        raise ConfigError(f"{dot}{error}") from None


def nearest(key: str, valid: Iterable[str]) -> str:
    """Words that point from a misspelt key to the valid ones."""
    names = sorted(valid)
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    if not close:  # the right leaf in the wrong section is the next most likely slip
        leaf = key.rpartition(".")[2]
        close = [n for n in names if n.rpartition(".")[2] == leaf][:1]
    return f"did you mean {close[0]}?" if close else f"valid keys: {', '.join(names)}"


def check_fields(config: Any) -> None:
    """Coerce every field of a frozen dataclass in place; called first in `__post_init__`."""
    for name, annotation in field_types(type(config)).items():
        object.__setattr__(config, name, coerce(getattr(config, name), annotation, name))


def choice(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is one of `allowed`."""
    options = tuple(allowed)
    if not any(value == o and type(value) is type(o) for o in options):
        raise ConfigError(f"{name} must be one of {', '.join(map(str, options))}, got {value!r}")


def interval(
    name: str,
    value: float | None,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> None:
    """Raise unless `value` is None or a finite number between `low` and `high`."""
    if value is None:
        return
    above = value > low if open_low else value >= low
    below = value < high if open_high else value <= high
    if not (math.isfinite(value) and above and below):
        left = "(" if open_low else "["
        right = ")" if open_high or math.isinf(high) else "]"
        raise ConfigError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {value!r}")
