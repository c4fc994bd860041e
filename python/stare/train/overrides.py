"""Configuration from its sources: defaults <- preset or TOML file <- `key=value` arguments."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from types import NoneType
from typing import Any

from stare.coerce import build, field_types, nearest
from stare.errors import ConfigError
from stare.train.config import TrainConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "environment",
    "known_keys",
    "load_config",
    "parse_override",
    "parse_value",
    "preset_names",
    "put",
]


def preset_names() -> list[str]:
    """Names of the packaged presets, for the command line and its help."""
    folder = resources.files("stare.train") / "presets"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def known_keys() -> list[str]:
    """Every dotted key of the configuration, in order."""
    return [key for key, _ in _leaves(TrainConfig)]


def _leaves(cls: type, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, annotation in field_types(cls).items():
        if isinstance(annotation, type) and is_dataclass(annotation):
            yield from _leaves(annotation, f"{prefix}{name}.")
        else:
            yield prefix + name, annotation


def parse_override(text: str) -> tuple[str, Any]:
    """Split `key=value`; the value is a TOML literal, or else the bare string.

    Raises:
        ConfigError: there is no `=`, or the key is not one of the configuration.

    Example:
        >>> parse_override("optim.betas=[0.9, 0.95]"), parse_override("run.out=runs/a-s0")
        (('optim.betas', [0.9, 0.95]), ('run.out', 'runs/a-s0'))
    """
    key, equals, raw = text.partition("=")
    key, raw = key.strip(), raw.strip()
    if not equals or not key:
        raise ConfigError(f"expected key=value, got {text!r}\nhint: e.g. run.steps=200")
    keys = known_keys()
    if key not in keys and not key.startswith(("model.extra.", "data.extra.")):
        sections = [k for k in keys if k.startswith(f"{key}.")]
        if sections:
            raise ConfigError(f"{key} is a table\nhint: set one of {', '.join(sections)}")
        raise ConfigError(f"unknown key {key}\nhint: {nearest(key, keys)}")
    value = parse_value(raw)
    # `run.out=2026` is meant as text: a key that takes only strings keeps what was typed.
    is_text = key in _text_keys() and not isinstance(value, (str, NoneType))
    return key, raw if is_text else value


def parse_value(raw: str) -> Any:
    """A TOML literal; None for a bare `none` or `null`; else the text itself.

    Example:
        >>> parse_value("[1, 2]"), parse_value("none"), parse_value("runs/a")
        ([1, 2], None, 'runs/a')
    """
    try:
        table = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return None if raw in ("none", "null") else raw
    # A newline in the argument could smuggle in further keys: then it was no literal.
    return table["value"] if len(table) == 1 else raw


@cache
def _text_keys() -> frozenset[str]:
    return frozenset(k for k, a in _leaves(TrainConfig) if a is str or a == (str | None))


def load_config(source: str | Path | None = None, overrides: Sequence[str] = ()) -> TrainConfig:
    """The resolved configuration.

    Args:
        source: Name of a preset (`demo-mod5`) or path of a TOML file; None starts from the
            defaults. A file may say `base = "name or path"` on its first level to inherit; a path
            is relative to the file.
        overrides: `key=value` strings; later ones win. `none` (bare) means None.

    Raises:
        ConfigError: an unknown preset or key, invalid TOML, a wrong type or a contradiction.

    Example:
        >>> load_config("demo-mod5", ["run.steps=3"]).run.steps
        3
    """
    table = _read(source, seen=()) if source is not None else {}
    for text in overrides:
        key, value = parse_override(text)
        put(table, key, value)
    return build(TrainConfig, table)


def _read(source: str | Path, seen: tuple[str, ...]) -> dict[str, Any]:
    name = str(source)
    if name in seen:
        raise ConfigError(f"base refers in a circle: {' -> '.join((*seen, name))}")
    path = Path(source)
    is_name = isinstance(source, str) and "/" not in name and not name.endswith(".toml")
    try:
        if is_name:
            if name not in preset_names():
                hint = nearest(name, preset_names())
                also = f", or {name}/ is meant as a file: add .toml" if path.exists() else ""
                raise ConfigError(f"unknown preset {name!r}\nhint: {hint}{also}")
            text = (resources.files("stare.train") / "presets" / f"{name}.toml").read_text("utf-8")
        else:
            text = path.read_text(encoding="utf-8")
        table: dict[str, Any] = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {name} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is no valid TOML: {error}") from None
    base = table.pop("base", None)
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"base must be the name of a preset or a path, got {base!r}")
    if base.endswith(".toml") and not is_name:
        base = str(path.parent / base)
    return _merge(_read(base, (*seen, name)), table)


def _merge(low: dict[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(low)
    for key, value in high.items():
        old = out.get(key)
        both = isinstance(old, dict) and isinstance(value, Mapping)
        out[key] = _merge(old, value) if both else value  # type: ignore[arg-type]
    return out


def put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key in nested tables.

    Raises:
        ConfigError: a part of the key is there and is no table.
    """
    *parents, leaf = key.split(".")
    for part in parents:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{key} cannot be set: {part} is not a table")
        table = inner
    table[leaf] = value


def environment() -> dict[str, Any]:
    """Versions and hardware, for `config.json`: what a reader needs to repeat the run."""
    packages = ("torch", "transformers", "numpy")
    return {
        "versions": {"stare": _own_version(), "python": platform.python_version()}
        | {name: _version(name) for name in packages},
        "platform": platform.platform(),
        "cpu": _cpu_name(),
        "gpus": _gpu_names(),
    }


def _own_version() -> str | None:
    import stare

    try:
        return str(stare.__version__)
    except ImportError:  # a tree whose extension was not built
        return _version("stare-rl")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [x.partition(":")[2].strip() for x in text.splitlines() if x.startswith("model name")]
    return names[0] if names else platform.machine()


def _gpu_names() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
