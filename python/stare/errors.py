"""Exceptions of the package.

`StareError` is the base of all. Those for bad arguments, configuration and data are also
`ValueError`, so code that knows nothing of us still catches them as what they are.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ConfigError",
    "DataError",
    "MissingExtraError",
    "RunError",
    "SandboxError",
    "StareError",
]


class StareError(Exception):
    """Base of every exception raised on purpose by this package."""


class ArgumentError(StareError, ValueError):
    """An argument has the wrong shape, dtype, device or value."""


class ConfigError(StareError, ValueError):
    """A configuration has an unknown key, an impossible value or a contradiction."""


class DataError(StareError, ValueError):
    """A data file has a missing field, a duplicate id or a torn line."""


class RunError(StareError, RuntimeError):
    """A run folder or a checkpoint is not what the command needs."""


class SandboxError(StareError, RuntimeError):
    """A policy's programs cannot be confined here, so they do not run."""


class MissingExtraError(StareError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed\n"
            f"hint: pip install 'stare-rl[{extra}]'"
        )
