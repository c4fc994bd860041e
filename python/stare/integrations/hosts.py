"""What is known of the trainers that STARE runs in, as data: versions, sources, combinations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, Literal

__all__ = ["HOSTS", "Combination", "Host", "at_least", "host", "installed"]

HOSTS = {"trl": "stare.integrations.trl_rules"}
"""Name of a host -> the module whose `HOST` describes it; importing it imports no host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A setting of the host under which STARE would do nothing, or not what one thinks."""

    setting: str
    """The host's setting, as it is written there."""
    verdict: Literal["refused", "note"]
    """`refused`: an error when STARE is attached; `note`: works, with a consequence."""
    reason: str
    """What would happen, or happens."""
    remedy: str = ""
    """The flag to set instead."""
    applies: Callable[[Any], bool]
    """Whether a trainer is set like that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One trainer."""

    name: str
    package: str
    """Its distribution."""
    oldest: str
    """Oldest version that has the seam."""
    tested: tuple[str, ...]
    """Versions that the tests of the integration ran with."""
    install: str
    """How STARE gets in."""
    hook: str
    """What of the host is extended."""
    logprobs: tuple[str, ...]
    """Sources of log-probabilities, best first."""
    entropy: tuple[str, ...]
    """Sources of the entropy for the gate, best first."""
    scope: str
    """What the selection ranges over."""
    combinations: tuple[Combination, ...]


def host(name: str) -> Host:
    """The description of one of `HOSTS`.

    Example:
        >>> host("trl").oldest
        '0.26.2'
    """
    described: Host = import_module(HOSTS[name]).HOST
    return described


def installed(package: str) -> str | None:
    """Version of an installed distribution, which is not imported."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def at_least(version: str, oldest: str) -> bool:
    """Whether a version is not older than another; what follows the numbers is ignored.

    Example:
        >>> at_least("1.16.0", "0.26.2"), at_least("0.26.1", "0.26.2"), at_least("1.0.0rc1", "1.0")
        (True, False, True)
    """
    return _numbers(version) >= _numbers(oldest)


def _numbers(version: str) -> tuple[int, int, int]:
    numbers = []
    for part in version.split(".")[:3]:
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        numbers.append(int(digits or 0))
    first, second, third = (*numbers, 0, 0, 0)[:3]
    return first, second, third
