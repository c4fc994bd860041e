r"""What the fallback may be asked about: plain mathematics, read in full.

math-verify guesses: it drops what it does not understand, adds numbers that stand side by side, and
reads only the box that it finds in a text. An answer could be built to be misread as the gold. So
an answer goes there only if it belongs to the small grammar here, in which each text has one
reading, and a verdict counts only if all numbers, names and functions of the text are found again
in what math-verify made of it. What is outside is not wrong, it stays undecided.

The grammar: sums, products, quotients and powers of numbers, lower-case letters, Greek letters,
roots, functions, definite integrals, sums and limits; lists, tuples, sets, intervals and their
unions, and matrices of these. No words, units, relations, boxes, primes, ellipses, comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stare.verify._plain_reader import Leaf, NotPlainError, Reader
from stare.verify._plain_tokens import SPACES, TOKEN

__all__ = ["Leaf", "is_accounted", "leaves_of"]

_CHARACTERS = 1024


def leaves_of(text: str) -> Counter[Leaf] | None:
    r"""Numbers, names and functions of a text of plain mathematics; None if it is not one.

    Example:
        >>> sorted(leaves_of(r"\frac{1}{2}\sin(2x_1)").elements())
        ['1/2', '2', 'sin()', 'x_1']
        >>> leaves_of("42 43") is leaves_of("42} 43") is leaves_of(r"42\ldots") is None
        True
    """
    if len(text) > _CHARACTERS or not text.isascii():
        return None
    tokens = [t for t in TOKEN.findall(text) if not t.isspace() and t not in SPACES]
    try:
        reader = Reader(tokens)
        reader.answer()
    except NotPlainError:
        return None
    return reader.leaves


def is_accounted(asked: Iterable[Leaf], found: Iterable[Leaf]) -> bool:
    """Whether all of `asked` is in `found`, as often; a fraction may be there as two numbers.

    Example:
        >>> is_accounted(["2", "x"], ["x", "2", "-1"]), is_accounted(["3/2"], ["3", "2"])
        (True, True)
        >>> is_accounted(["42", "43"], ["42"]), is_accounted(["x", "x"], ["x"])
        (False, False)
    """
    left = Counter(found)
    for leaf in asked:
        if left[leaf] > 0:
            left[leaf] -= 1
            continue
        parts = leaf.split("/")
        if len(parts) == 1 or any(left[part] < 1 for part in parts if part != "1"):
            return False
        left.subtract(part for part in parts if part != "1")
    return True
