"""What is installed, what STARE reads of it, and what would silently do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stare.errors import ConfigError
from stare.integrations.hosts import HOSTS, Host, at_least, host, installed

__all__ = ["describe", "examine", "summary"]


def summary(name: str) -> tuple[str, str]:
    """Version and state of one host: `missing`, `too old`, `tested` or `untested`.

    Example:
        >>> summary("trl")[1] in ("missing", "too old", "tested", "untested")
        True
    """
    described = host(name)
    version = installed(described.package)
    if version is None:
        return "-", "missing"
    if not at_least(version, described.oldest):
        return version, "too old"
    return version, "tested" if version in described.tested else "untested"


def describe(name: str) -> str:
    """Everything known of one host, as text.

    Raises:
        ConfigError: no such host.

    Example:
        >>> "importance_sampling_level='token'" in describe("trl")
        True
    """
    if name not in HOSTS:
        raise ConfigError(f"trainer must be one of {', '.join(HOSTS)}, got {name!r}")
    described = host(name)
    version, state = summary(name)
    return "\n".join([f"{name} {version} ({state})", *_lines(described)])


def _lines(described: Host) -> Iterator[str]:
    tested = ", ".join(described.tested)
    yield f"  versions    >= {described.oldest}; tested: {tested}"
    yield f"  how         {described.install}"
    yield f"  hook        {described.hook}"
    yield f"  log-probs   {'; else '.join(described.logprobs)}"
    yield f"  entropy     {'; else '.join(described.entropy)}"
    yield f"  selection   over {described.scope}"
    for verdict, title in (
        ("refused", "refused, because it would do nothing or something else:"),
        ("note", "works, but:"),
    ):
        yield f"  {title}"
        for combination in described.combinations:
            if combination.verdict == verdict:
                yield f"    {combination.setting}: {combination.reason}"
                if combination.remedy:
                    yield f"      set {combination.remedy}"


def examine(name: str, trainer: Any) -> list[tuple[str, str]]:
    """(verdict, setting) of the combinations that a trainer is set to.

    Example:
        >>> from types import SimpleNamespace
        >>> args = SimpleNamespace(
        ...     importance_sampling_level="sequence", loss_type="dapo", steps_per_generation=1,
        ...     gradient_accumulation_steps=1,
        ... )
        >>> [verdict for verdict, _ in examine("trl", SimpleNamespace(args=args))]
        ['refused']
    """
    return [
        (combination.verdict, combination.setting)
        for combination in host(name).combinations
        if combination.applies(trainer)
    ]
