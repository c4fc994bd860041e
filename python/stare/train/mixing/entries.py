"""Ready entries: data sets whose place and fields are known (`entries.toml`)."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from typing import Any

from stare.coerce import nearest
from stare.errors import ConfigError
from stare.train.sections_data import SourceConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["entries", "resolved"]


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Every ready entry: the keys of a source, and `checked`, which says where they were looked up.

    Example:
        >>> sorted(entries())
        ['dapo-math-17k', 'deepscaler', 'polaris', 'skywork-or1']
    """
    text = (resources.files("stare.train.mixing") / "entries.toml").read_text("utf-8")
    table: dict[str, dict[str, Any]] = tomllib.loads(text)
    return table


def resolved(source: SourceConfig) -> SourceConfig:
    """The source with the keys of its entry filled in; what was given wins.

    Raises:
        ConfigError: there is no such entry; the nearest is named.

    Example:
        >>> resolved(SourceConfig(entry="skywork-or1")).answer
        'reward_model.ground_truth'
    """
    if source.entry is None:
        return source
    known = entries()
    if source.entry not in known:
        raise ConfigError(
            f"there is no data entry {source.entry!r}\nhint: {nearest(source.entry, known)}"
        )
    entry = {k: v for k, v in known[source.entry].items() if k != "checked"}
    defaults = {f.name: f.default for f in fields(SourceConfig)}
    given = {k for k, default in defaults.items() if getattr(source, k) != default}
    changes = {k: v for k, v in entry.items() if k not in given}
    if source.path is not None:
        changes.pop("hub", None)
        changes.pop("split", None)
    return replace(source, name=source.label, entry=None, **changes)
