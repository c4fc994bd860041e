r"""When a verdict of the fallback does not count: what math-verify is known to get wrong.

A pure function of the two strings and of what the worker saw. The rules are data; each has an
example in the tests. They keep both verdicts out, not only `equal`: what is misread is as likely to
come out different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stare.verify.plain import leaves_of

__all__ = ["PairReport", "distrust", "distrust_texts"]

_TINY = 1e-6
_SAME = 1e-12
_APART = 1e-9

_COMMAND = re.compile(r"\\[A-Za-z]+|\\.")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_SUBSCRIPT = re.compile(r"_\{[^{}]*\}")
_DIFFERENTIAL = re.compile(r"d[a-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport:
    """What the fallback engine saw of one pair."""

    equal: bool | None
    """Its verdict; None if a side did not parse."""
    kinds: tuple[str, str]
    """What the gold and the answer were parsed to: `number`, `expression`, `relation`,
    `finite-set`, `interval`, `set`, `tuple`, `matrix`, `other`, `unparsed`."""
    accounted: bool = True
    """Whether all that the texts say was found in what they were parsed to."""
    smallest: float = float("inf")
    """Least modulus above zero among the numbers that occur on either side."""
    gap: float | None = None
    """Largest relative difference of two expressions at a few points; None if unknown."""


def _has(pattern: str) -> Callable[[str, str], bool]:
    found = re.compile(pattern).search
    return lambda gold, answer: bool(found(gold) or found(answer))


def _states(pattern: str) -> Callable[[str, str], bool]:
    """The same, outside subscripts: the `k=1` below a sum states nothing."""
    found = re.compile(pattern).search
    return lambda gold, answer: any(found(_SUBSCRIPT.sub("", side)) for side in (gold, answer))


def _words(gold: str, answer: str) -> bool:
    """Letters in a row that differ between the sides: words, or functions without a backslash."""
    sides = (
        sorted(run for run in _LETTERS.findall(_COMMAND.sub(" ", side)) if not _is_dx(run))
        for side in (gold, answer)
    )
    return next(sides) != next(sides)


def _is_dx(run: str) -> bool:
    return _DIFFERENTIAL.fullmatch(run) is not None


_STRING_RULES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    # `\mathrm{e}` at the end is cut off as a unit, words are products of letters.
    ("text", _has(r"\\(text\w*|mbox|math(rm|it|bf|sf|tt)|operatorname|hbox)\b")),
    ("words", _words),
    # All equations without real roots are equal; an inequality never equals its interval.
    (
        "relation",
        _states(r"[=<>]|\\(le|ge|leq|geq|leqslant|geqslant|lt|gt|ne|neq|not)(?![A-Za-z])"),
    ),
    (
        "relation",
        _states(r"\\(in|ni|notin|sim|approx|equiv|cong|to|mapsto|\w*subset\w*)(?![A-Za-z])"),
    ),
    # \gamma is read as a function, \gcd as a product.
    ("function-name", _has(r"\\?gcd|\\?lcm|\\?[gG]amma(?![A-Za-z])|\\(max|min|mod|pmod|bmod)\b")),
    ("set-builder", _has(r"\\\{.*(\\mid|\||\\vert|:|\\colon).*\\\}")),
    # The base is dropped.
    ("base", _has(r"[0-9]\)?\}?_")),
    # i is a symbol like any other.
    ("imaginary-unit", _has(r"(?<![A-Za-z\\])i(?![A-Za-z])|[0-9]i(?![A-Za-z])|\\imath")),
    ("quantity", _has(r"%|\\\$|\\circ|\\degree|\\(euro|pounds|cents)\b")),
    ("notation", _has(r"\\(overline|bar|dot)\b|!!|[0-9]:[0-9]|[0-9][eE][+-]?[0-9]|\\pm|\\mp")),
    ("not-ascii", _has(r"[^\x00-\x7f]")),
)


def distrust(gold: str, answer: str, report: PairReport) -> str | None:
    r"""Name the rule that keeps a verdict of the fallback out; None if the verdict counts.

    Args:
        gold: the gold answer as it was handed to the engine.
        answer: the answer as it was handed to the engine.
        report: what the engine saw.

    Example:
        >>> right = PairReport(equal=True, kinds=("number", "number"), smallest=1.0, gap=0.0)
        >>> distrust(r"\sqrt{2}", r"2^{1/2}", right) is None
        True
        >>> tiny = PairReport(equal=True, kinds=("number", "number"), smallest=1e-9, gap=0.0)
        >>> distrust(r"\frac{1}{2^{30}}", r"2^{-30}", tiny)
        'tiny'
    """
    if report.equal is None or "unparsed" in report.kinds:
        return "unparsed"
    rule = distrust_texts(gold, answer)
    if rule is None and not report.accounted:
        rule = "dropped"
    return rule or _distrust_values(report.equal, report.kinds, report)


def distrust_texts(gold: str, answer: str) -> str | None:
    r"""Name the rule by which a pair need not be asked about; None if it may be.

    Example:
        >>> distrust_texts("x^2+1=0", "x^2+2=0"), distrust_texts("42", "42} 43")
        ('relation', 'plain')
        >>> distrust_texts(r"\frac13", r"\int_0^1 x^2\,dx") is None
        True
    """
    for name, applies in _STRING_RULES:
        if applies(gold, answer):
            return name
    return "plain" if leaves_of(gold) is None or leaves_of(answer) is None else None


def _distrust_values(equal: bool, kinds: Sequence[str], report: PairReport) -> str | None:
    if "relation" in kinds:
        return "relation"
    scalars = {"number", "expression"}
    if (set(kinds) & scalars) != set(kinds) and kinds[0] != kinds[1]:
        return "kinds"
    if equal and report.smallest < _TINY:
        return "tiny"
    if set(kinds) <= scalars:
        if equal and report.gap is not None and report.gap > _SAME:
            return "gap"
        if not equal and (report.gap is None or report.gap < _APART):
            return "gap"
    return None
