"""What is installed, what STARE reads of it, and what would silently do nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from stare.errors import ConfigError
from stare.integrations.hosts import HOSTS, Host, at_least, host, installed

__all__ = ["describe", "examine", "summary"]


def summary(name: str) -> tuple[str, str]:
    """Version and state of one host: missing, too old, not loaded, tested or untested.

    The version is `?` for a host that is imported from a checkout.

    Example:
        >>> summary("trl")[1] in ("missing", "too old", "not loaded", "tested", "untested")
        True
    """
    described = host(name)
    version = installed(described.package, described.module)
    if version is None:
        return "-", "missing"
    if version != "?" and not at_least(version, described.oldest):
        return version, "too old"
    if described.trouble(version) is not None:
        return version, "not loaded"
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
    why = described.trouble(version) if state == "not loaded" else None
    extra = [] if why is None else [_filled(why, "  NOT LOADED  ", 14)]
    return "\n".join([f"{name} {version} ({state})", *extra, *_lines(described)])


def _lines(described: Host) -> Iterator[str]:
    oldest = "" if described.oldest == "0" else f">= {described.oldest}; "
    for name, text in (
        ("versions", f"{oldest}tested: {', '.join(described.tested)}"),
        ("how", described.install),
        ("hook", described.hook),
        ("log-probs", "; else ".join(described.logprobs)),
        ("entropy", "; else ".join(described.entropy)),
        ("selection", f"over {described.scope}"),
    ):
        yield _filled(text, f"  {name:<12}", 14)
    for verdict, title in (
        ("refused", "refused, because it would do nothing or something else:"),
        ("note", "works, but:"),
    ):
        chosen = [c for c in described.combinations if c.verdict == verdict]
        if chosen:
            yield f"  {title}"
        for combination in chosen:
            yield _filled(f"{combination.setting}: {combination.reason}", "    ", 6)
            if combination.remedy:
                yield _filled(f"set {combination.remedy}", "      ", 10)


def _filled(text: str, first: str, indent: int) -> str:
    # Flags must stay whole, so that they can be copied.
    return textwrap.fill(
        text,
        width=100,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
