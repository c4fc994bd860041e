"""Checks of arguments, shared by everything that grades."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from stare.errors import ArgumentError, ConfigError

__all__ = [
    "Pair",
    "Profile",
    "Tolerance",
    "levels_to_caller",
    "pairs_of",
    "profile_of",
    "thread_count",
    "tolerance_of",
    "utf8",
]

Profile = Literal["reward", "eval", "math_verify"]
Tolerance = float | Literal["gold-digits"] | None
Pair = tuple[str, list[str]]
"""A completion and its gold answers."""


def profile_of(profile: str) -> str:
    """Check the name of an extraction profile."""
    if profile not in get_args(Profile):
        known = ", ".join(map(repr, get_args(Profile)))
        raise ArgumentError(f"profile must be one of {known}, got {profile!r}")
    return profile


def tolerance_of(tolerance: Tolerance) -> Tolerance:
    """Check a tolerance; a relative one is a positive number below 1."""
    if tolerance is None or tolerance == "gold-digits":
        return tolerance
    if isinstance(tolerance, str | bool) or not isinstance(tolerance, int | float):
        raise ArgumentError(f"tolerance must be None, 'gold-digits' or a number, got {tolerance!r}")
    if not (math.isfinite(tolerance) and 0 < tolerance < 1):
        raise ArgumentError(f"tolerance is relative and must lie in (0, 1), got {tolerance}")
    return float(tolerance)


_PRIVATE_USE = {code: 0xF0000 + code - 0xD800 for code in range(0xD800, 0xE000)}


def pairs_of(completions: Sequence[str], golds: Sequence[str | Sequence[str]]) -> list[Pair]:
    """Check completions and golds, and make each gold a list."""
    if isinstance(completions, str) or isinstance(golds, str):
        raise ArgumentError("completions and golds must be lists of strings, got a string")
    if len(completions) != len(golds):
        raise ArgumentError(
            "completions and golds must have the same length, "
            f"got {len(completions)} and {len(golds)}"
        )
    pairs = [
        (utf8(completion), _several(gold))
        for completion, gold in zip(completions, golds, strict=True)
    ]
    for index, (_, several) in enumerate(pairs):
        if not several:
            raise ArgumentError(f"golds[{index}] is empty: at least one gold answer is needed")
    return pairs


def _several(gold: str | Sequence[str]) -> list[str]:
    if isinstance(gold, str):
        return [utf8(gold)]
    if isinstance(gold, Mapping | bytes) or not isinstance(gold, Iterable):
        raise ArgumentError(
            f"a gold answer must be a string or a list of strings, got {gold!r} "
            f"({type(gold).__name__})"
        )
    return [utf8(one) for one in gold]


def utf8(text: str) -> str:
    """Make `text` encodable: a lone surrogate, as JSON can carry one, becomes a private character.

    Each its own, so that two of them stay different.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"completions and answers must be strings, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_PRIVATE_USE)
    return text


def thread_count(threads: int) -> int:
    """Number of threads; 0 means `STARE_NUM_THREADS` or all cores."""
    if threads < 0:
        raise ArgumentError(f"threads must be >= 0, got {threads}")
    if threads:
        return threads
    setting = os.environ.get("STARE_NUM_THREADS", "")
    if not setting:
        return os.cpu_count() or 1
    if not setting.isdecimal() or int(setting) == 0:
        raise ConfigError(f"STARE_NUM_THREADS must be a positive integer, got {setting!r}")
    return int(setting)


def levels_to_caller() -> int:
    """Stack level, for the function that calls this, of the code that called this package."""
    package = __name__.rpartition(".")[0]
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame, level = frame.f_back, level + 1
    return level
