r"""When two rows are the same row: normal forms of problems and gold answers, and their hashes.

Mirrors of one benchmark differ in spaces, line ends, `\dfrac` for `\frac`, `27.0` for 27, `$` signs
around a gold. None of that changes the question or its answer, so none of it is hashed:

- a problem is its NFC form with all white space removed (letter case, commands and punctuation
  stay: a reworded problem is another text);
- a gold of an *integer* benchmark is the integer (`025`, `25.0`, `$25$` -> `25`);
- any other gold is its NFC form without white space, `$`, degree signs, `\left` and `\right`, a
  final full stop; `\dfrac` and `\tfrac` are `\frac`; `8.7\times10^{8}` is `8.7e8`.

Normal forms are for identity only. Nothing here decides whether an answer is right.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

__all__ = [
    "SHORT",
    "canonical_gold",
    "gold_hash",
    "golds_sha256",
    "integer_text",
    "normal_problem",
    "problem_hash",
    "rows_sha256",
    "short_hash",
]

SHORT = 8
"""Hexadecimal digits kept a row in a manifest: enough to name a row, too few to hold its text."""

_DROPPED = re.compile(r"\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\^?\{?\\circ\}?|°|\\?\$|\\,|\\!|\\ ")
_TIMES_TEN = re.compile(r"([+-]?\d+(?:\.\d+)?)\\(?:times|cdot)10\^\{?([+-]?\d+)\}?")
_INTEGER = re.compile(r"[+-]?\d+(?:\.\d*)?")
_MAX_DIGITS = 40


def normal_problem(text: str) -> str:
    r"""Normal form of a problem.

    Example:
        >>> normal_problem("Find  $x$\r\n if $x = 1$. ")
        'Find$x$if$x=1$.'
    """
    return "".join(unicodedata.normalize("NFC", text).split())


def integer_text(text: str) -> str | None:
    r"""Canonical integer of a gold, None if it is not one.

    Example:
        >>> [integer_text(t) for t in ("025", "27.0", "$2{,}125$", "-0", "1/2")]
        ['25', '27', '2125', '0', None]
    """
    bare = text.strip().strip("$").replace("{,}", "").replace(",", "").strip()
    if len(bare) > _MAX_DIGITS or not _INTEGER.fullmatch(bare):
        return None
    try:
        value = Decimal(bare)
    except InvalidOperation:
        return None
    return str(int(value)) if value == value.to_integral_value() else None


def canonical_gold(text: str, *, integer: bool) -> str:
    r"""Canonical string of a gold, for identity.

    Args:
        text: the gold as cleaned by the adapter.
        integer: whether the benchmark's golds are integers.

    Example:
        >>> canonical_gold("025", integer=True), canonical_gold("$\\dfrac{1}{2}$", integer=False)
        ('25', '\\frac{1}{2}')
        >>> canonical_gold("8.7 \\times 10^{8}", integer=False)
        '8.7e8'
    """
    if integer and (value := integer_text(text)) is not None:
        return value
    bare = "".join(unicodedata.normalize("NFC", text).split())
    bare = _DROPPED.sub("", bare).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    bare = bare.removesuffix(".")
    if match := _TIMES_TEN.fullmatch(bare):
        return f"{match[1]}e{int(match[2])}"
    return bare


def problem_hash(text: str) -> str:
    """SHA-256 of the normal form of a problem, in hexadecimal."""
    return _sha(normal_problem(text))


def gold_hash(text: str, *, integer: bool) -> str:
    """SHA-256 of the canonical string of a gold, in hexadecimal."""
    return _sha(canonical_gold(text, integer=integer))


def short_hash(digest: str) -> str:
    """What a manifest keeps of a row's hash."""
    return digest[:SHORT]


def rows_sha256(pairs: Iterable[tuple[str, str]]) -> str:
    """Identity of a set of rows: the order of the rows does not matter.

    Args:
        pairs: `(problem_hash, gold_hash)` of each row.

    Example:
        >>> a, b = ("aa", "01"), ("bb", "02")
        >>> rows_sha256([a, b]) == rows_sha256([b, a]) != rows_sha256([a])
        True
    """
    return _sha("\n".join(sorted(f"{problem} {gold}" for problem, gold in pairs)))


def golds_sha256(golds: Sequence[str]) -> str:
    """Weaker identity: the gold hashes alone, as a multiset."""
    return _sha("\n".join(sorted(golds)))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
