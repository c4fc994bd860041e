r"""What sort of thing a gold is, for people to look at. Grading does not use it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["gold_kind", "gold_kinds"]

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("integer", re.compile(r"[+-]?\d+")),
    ("decimal", re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?|[+-]?\d+e[+-]?\d+")),
    ("percent", re.compile(r".*%")),
    ("degrees", re.compile(r".*(\\circ\}?|°)")),
    ("fraction", re.compile(r"[+-]?(\\[dt]?frac\{?\d+\}?\{?\d+\}?|\d+/\d+)")),
    ("set", re.compile(r"(\\left)?\\\{.*\\\}")),
    ("interval or tuple", re.compile(r"(\\left)?[(\[][^()\[\]]*,[^()\[\]]*[)\]]")),
    ("equation", re.compile(r".*=.*")),
    ("list", re.compile(r".*,.*")),
    ("words", re.compile(r"(\\text\{)?[A-Za-z][A-Za-z .()]*\}?")),
)


def gold_kind(gold: str) -> str:
    r"""Name of the first kind whose form the gold has; `expression` if none.

    Example:
        >>> [gold_kind(g) for g in ("-7", "4.5e33", "\\frac{1}{2}", "[-2, 5)", "2\\sqrt{3}", "B")]
        ['integer', 'decimal', 'fraction', 'interval or tuple', 'expression', 'words']
    """
    bare = gold.replace(" ", "").replace("$", "")
    for name, form in _KINDS:
        if form.fullmatch(bare):
            return name
    return "expression"


def gold_kinds(golds: Iterable[str]) -> dict[str, int]:
    """How many golds are of each kind, the most frequent first."""
    return dict(Counter(map(gold_kind, golds)).most_common())
