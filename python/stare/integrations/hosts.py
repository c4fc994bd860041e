"""What is known of the trainers that STARE runs in, as data: versions, sources, combinations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal

from stare.errors import ConfigError

__all__ = ["HOSTS", "Combination", "Host", "at_least", "enforce", "host", "installed"]

HOSTS = {
    "trl": "stare.integrations.trl_rules:HOST",
    "verl": "stare.integrations.verl_rules:HOST",
    "openrlhf": "stare.integrations.other_rules:OPENRLHF",
    "slime": "stare.integrations.other_rules:SLIME",
    "nemo_rl": "stare.integrations.other_rules:NEMO_RL",
    "tinker": "stare.integrations.other_rules:TINKER",
}
"""Name of a host -> where its description is; importing that imports no host."""


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
    """Whether a run is set like that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One trainer."""

    name: str
    package: str
    """Its distribution."""
    module: str
    """What is imported."""
    oldest: str = "0"
    """Oldest version that has the seam; `0` where the host is run from a checkout."""
    tested: tuple[str, ...]
    """Versions or commits that the tests of the integration ran with."""
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
    trouble: Callable[[str], str | None] = lambda version: None
    """Why STARE would not get into an installed host of this version; None if it would."""


def host(name: str) -> Host:
    """The description of one of `HOSTS`.

    Example:
        >>> host("trl").oldest
        '0.26.2'
    """
    module, _, attribute = HOSTS[name].partition(":")
    described: Host = getattr(import_module(module), attribute)
    return described


def enforce(described: Host, run: Any) -> list[str]:
    """Refuse what `described` refuses, and return what it notes.

    Args:
        described: the rules.
        run: what their `applies` look at: a trainer, its arguments or its configuration.

    Raises:
        ConfigError: the first combination that is refused; the message names the flag to set.
    """
    notes = []
    for combination in described.combinations:
        if not combination.applies(run):
            continue
        if combination.verdict == "refused":
            raise ConfigError(
                f"STARE does not work with {combination.setting}: {combination.reason}\n"
                f"hint: {combination.remedy}"
            )
        notes.append(f"{combination.setting}: {combination.reason}")
    return notes


def installed(package: str, module: str) -> str | None:
    """Version of a distribution; `?` for a module without one, None for neither.

    Neither is imported.

    Example:
        >>> installed("no-such-package", "no_such_module") is None
        True
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        spec = find_spec(module)
        # A folder of that name is no host: a package has a file that it is loaded from.
        return "?" if spec is not None and spec.origin is not None else None


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
