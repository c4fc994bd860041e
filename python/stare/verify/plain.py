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

import re
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

__all__ = ["Leaf", "is_accounted", "leaves_of"]

Leaf = str
"""A number (`3/2`), a name (`x_1`, `alpha`), or a function with parentheses (`sin()`)."""

_CHARACTERS = 1024
_DEPTH = 24

_TOKEN = re.compile(
    r"\s+|\\(?:left|right)(?![A-Za-z])|\\[A-Za-z]+|\\.|[0-9]+\.[0-9]+|[0-9]+|\.[0-9]+|.", re.DOTALL
)
_SPACES = frozenset({r"\,", r"\;", r"\:", r"\!", "\\ ", r"\displaystyle"})
_GREEK = frozenset(
    {
        r"\alpha", r"\beta", r"\delta", r"\epsilon", r"\varepsilon", r"\eta", r"\theta",
        r"\vartheta", r"\kappa", r"\lambda", r"\mu", r"\nu", r"\xi", r"\rho", r"\sigma", r"\tau",
        r"\phi", r"\varphi", r"\chi", r"\psi", r"\omega",
    }
)  # fmt: skip
_CONSTANTS = {r"\pi": "pi", r"\infty": "oo"}
_FUNCTIONS = {
    r"\sin": "sin()", r"\cos": "cos()", r"\tan": "tan()",
    r"\cot": "cot()", r"\sec": "sec()", r"\csc": "csc()",
    r"\sinh": "sinh()", r"\cosh": "cosh()", r"\tanh": "tanh()",
    r"\arcsin": "asin()", r"\arccos": "acos()", r"\arctan": "atan()",
    r"\exp": "exp()", r"\ln": "log()",
}  # fmt: skip
_FRACTIONS = frozenset({r"\frac", r"\dfrac", r"\tfrac"})
_SUMS = {r"\sum": "Sum()", r"\prod": "Product()"}
_TIMES = frozenset({"*", r"\cdot", r"\times"})
_OVER = frozenset({"/", r"\div"})
_CLOSES = {"(": ")", "[": "]", r"\{": r"\}"}
_SIZED = {r"\lfloor": (r"\rfloor", "floor()"), r"\lceil": (r"\rceil", "ceiling()")}
_MATRICES = frozenset({"pmatrix", "bmatrix"})
_END = ""


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
    tokens = [t for t in _TOKEN.findall(text) if not t.isspace() and t not in _SPACES]
    try:
        reader = _Reader(tokens)
        reader.answer()
    except _NotPlainError:
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


class _NotPlainError(Exception):
    """The text is outside the grammar."""


class _Reader:
    """Recursive descent over tokens; every method reads one thing or gives up."""

    def __init__(self, tokens: list[str]) -> None:
        self.leaves: Counter[Leaf] = Counter()
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._bars = 0
        self._ends_in_operator = False
        self._ends_in_argument = False

    # --- tokens ---

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def _skip(self, token: str) -> bool:
        if self._next != token:
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            raise _NotPlainError

    def _found(self, leaf: Leaf) -> None:
        self.leaves[leaf] += 1

    # --- the whole ---

    def answer(self) -> None:
        if self._next == r"\begin":
            self._matrix()
        else:
            self._item()
            while self._skip(","):
                self._item()
        if self._next != _END:
            raise _NotPlainError

    def _item(self) -> None:
        """One of the answers: an expression, or a tuple, a set, a union of intervals."""
        start, before = self._at, self.leaves.copy()
        try:
            self._sum()
        except _NotPlainError:
            self._at, self.leaves, self._depth, self._bars = start, before, 0, 0
        else:
            if self._next in (_END, ","):
                return
            self._at, self.leaves = start, before
        self._group(several=True)
        while self._skip(r"\cup"):
            self._found("Union()")
            self._group(several=True)

    def _matrix(self) -> None:
        self._expect(r"\begin")
        name = self._environment()
        self._sum()
        while self._next in ("&", r"\\"):
            self._take()
            self._sum()
        self._expect(r"\end")
        if self._environment() != name:
            raise _NotPlainError

    def _environment(self) -> str:
        self._expect("{")
        name = ""
        while self._next.isalpha():
            name += self._take()
        self._expect("}")
        if name not in _MATRICES:
            raise _NotPlainError
        return name

    def _group(self, *, several: bool) -> None:
        """What is in brackets: one expression, or also several or the ends of an interval."""
        sized = self._skip(r"\left")
        opened = self._take()
        closes = _CLOSES.get(opened)
        if closes is None or (not several and opened != "("):
            raise _NotPlainError
        self._sum()
        count = 1
        while several and self._skip(","):
            self._sum()
            count += 1
        if sized:
            self._expect(r"\right")
        closed = self._take()
        half_open = count == 2 and {closes, closed} <= {")", "]"}
        if (closed != closes and not half_open) or (opened == "[" and count == 1):
            raise _NotPlainError

    # --- expressions ---

    def _sum(self, until: str = _END) -> None:
        """Terms with signs between them."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise _NotPlainError
        if self._next in ("+", "-"):
            self._take()
        is_open = self._term(until)
        while self._next in ("+", "-"):
            # Does the sum, the limit or the argument before it end here? Not for all to see.
            if is_open:
                raise _NotPlainError
            self._take()
            is_open = self._term(until)
        self._ends_in_operator = self._ends_in_argument = False
        self._depth -= 1

    def _term(self, until: str) -> bool:
        """A product; whether it ends in a sum or a limit without brackets around it."""
        literal = self._factor()
        divided = False
        while True:
            if self._ends_in_operator:
                return True
            if self._next in _TIMES:
                if divided:
                    raise _NotPlainError
                self._take()
                literal = self._factor()
            elif self._next in _OVER:
                if divided:
                    raise _NotPlainError
                self._take()
                divided, above = True, literal
                below = self._factor()
                self._divide(above, below)
                literal = None
            elif self._at_end or (until and self._next == until):
                return False
            else:
                if divided or not self._may_follow(literal):
                    raise _NotPlainError
                literal = self._factor()

    @property
    def _at_end(self) -> bool:
        return self._next in (
            _END, ",", "+", "-", ")", "]", "}", r"\}", "|", "&", r"\\", r"\right", r"\end",
            r"\rfloor", r"\rceil", r"\cup",
        )  # fmt: skip

    def _may_follow(self, literal: Fraction | None) -> bool:
        """Whether a factor without a sign of multiplication before it has one reading."""
        token = self._next
        if self._ends_in_argument:
            return token in _FUNCTIONS
        if token[0].isdigit() or token[0] == ".":
            return False
        if token in ("(", r"\left") and self._ends_in_letter:
            return False  # the argument of a function?
        return not (literal is not None and token in _FRACTIONS)  # a mixed number?

    @property
    def _ends_in_letter(self) -> bool:
        return self._at > 0 and _is_letter(self._tokens[self._at - 1])

    def _divide(self, above: Fraction | None, below: Fraction | None) -> None:
        """Two numbers make one."""
        if above is None or below is None:
            return
        if below == 0:
            raise _NotPlainError
        self.leaves.subtract((str(above), str(below)))
        self._found(str(above / below))

    def _factor(self) -> Fraction | None:
        """A base with its power and factorial; the number if it is one and no more."""
        self._ends_in_operator = self._ends_in_argument = False
        literal = self._base()
        if self._ends_in_operator or self._ends_in_argument:
            return None
        if self._skip("^"):
            literal = None
            self._script()
        if self._skip("!"):
            literal = None
            self._found("factorial()")
        if self._next in ("^", "!", "_"):
            raise _NotPlainError
        return literal

    def _base(self) -> Fraction | None:
        token = self._next
        if token == _END:
            raise _NotPlainError
        if token[0].isdigit() or (token[0] == "." and len(token) > 1):
            return self._number(self._take())
        if token in _CONSTANTS:
            self._found(_CONSTANTS[self._take()])
        elif _is_letter(token) or token in _GREEK:
            self._name()
        elif token in _FRACTIONS:
            self._take()
            return self._fraction()
        elif token == r"\binom":
            self._take()
            self._found("binomial()")
            self._braced()
            self._braced()
        elif token == r"\sqrt":
            self._take()
            if self._skip("["):
                self._root_index()
            self._argument()
        elif token in _FUNCTIONS or token == r"\log":
            self._function()
        elif token in _SUMS:
            self._series()
        elif token == r"\lim":
            self._limit()
        elif token == r"\int":
            self._integral()
        elif token == "|":
            self._bar()
        elif token in _SIZED or (token == r"\left" and self._after in (*_SIZED, "|")):
            self._sized()
        else:
            self._group(several=False)
        return None

    @property
    def _after(self) -> str:
        return self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else _END

    def _number(self, digits: str) -> Fraction:
        if self._next == "." or (self._next[:1] == "." and len(self._next) > 1):
            raise _NotPlainError
        value = Fraction(digits)
        self._found(str(value))
        return value

    def _name(self) -> None:
        name = self._take().removeprefix("\\")
        if name == "e":
            self._found("e")
            return
        if self._skip("_"):
            index = self._index() if self._next == "{" else self._take()
            if not (len(index) == 1 and index.isalnum()):
                raise _NotPlainError
            name += f"_{index}"
        self._found(name)

    def _index(self) -> str:
        self._expect("{")
        index = self._take()
        self._expect("}")
        return index

    def _root_index(self) -> None:
        """A whole number; the root is a power with its reciprocal."""
        index = self._take()
        self._expect("]")
        if not index.isdigit() or int(index) == 0:
            raise _NotPlainError
        self._found(str(Fraction(1, int(index))))

    def _fraction(self) -> Fraction | None:
        parts = [self._argument(), self._argument()]
        if parts[0] is None or parts[1] is None:
            return None
        self._divide(parts[0], parts[1])
        return parts[0] / parts[1]

    def _argument(self) -> Fraction | None:
        """In braces, or one digit or letter."""
        if self._next == "{":
            return self._braced()
        token = self._take()
        if token[:1].isdigit():
            return self._digits(token)
        if token in _CONSTANTS:
            self._found(_CONSTANTS[token])
        elif _is_letter(token) or token in _GREEK:
            self._found(token.removeprefix("\\"))
        else:
            raise _NotPlainError
        return None

    def _digits(self, token: str) -> Fraction:
        """Without braces only the first digit belongs to an argument."""
        if len(token) > 1:
            if not token.isdigit():
                raise _NotPlainError
            self._at -= 1
            self._tokens[self._at : self._at + 1] = [token[0], token[1:]]
            self._at += 1
        value = Fraction(token[0])
        self._found(str(value))
        return value

    def _braced(self) -> Fraction | None:
        self._expect("{")
        start = self._at
        self._sum()
        self._expect("}")
        only = self._tokens[start : self._at - 1]
        return Fraction(only[0]) if len(only) == 1 and only[0][0] in "0123456789." else None

    def _script(self) -> None:
        if self._next == "{":
            self._braced()
            return
        self._argument()
        if self._next[:1].isdigit():
            raise _NotPlainError  # x^12

    def _function(self) -> None:
        token = self._take()
        if token == r"\log":
            self._found("log()")
            self._expect("_")
            self._script()
        else:
            self._found(_FUNCTIONS[token])
            if self._skip("^"):
                self._power_of_function()
        if self._next in ("(", r"\left"):
            self._group(several=False)
            if self._next in ("^", "!"):
                raise _NotPlainError
            return
        literal = self._simple()
        if literal and (self._next[:1].isalpha() or self._next in _GREEK | _CONSTANTS.keys()):
            self._simple()
        self._ends_in_argument = True

    def _power_of_function(self) -> None:
        """A whole number above zero: to the power -1, it is the inverse."""
        exponent = self._index() if self._next == "{" else self._take()
        if not exponent.isdigit() or (len(exponent) > 1 and self._tokens[self._at - 1] != "}"):
            raise _NotPlainError
        self._found(str(Fraction(exponent)))

    def _simple(self) -> bool:
        """An argument without brackets: a number, a name, a fraction, a root; whether a number."""
        token = self._next
        is_number = token[:1].isdigit() or token[:1] == "."
        if not (
            is_number
            or _is_letter(token)
            or token in _GREEK
            or token in _FRACTIONS
            or token in (r"\pi", r"\sqrt")
        ):
            raise _NotPlainError
        self._base()
        if self._next in ("^", "!", "_"):
            raise _NotPlainError
        return is_number

    def _series(self) -> None:
        self._found(_SUMS[self._take()])
        self._expect("_")
        self._expect("{")
        self._variable()
        self._expect("=")
        self._sum()
        self._expect("}")
        self._expect("^")
        self._script()
        self._body()

    def _limit(self) -> None:
        self._take()
        self._found("Limit()")
        self._expect("_")
        self._expect("{")
        self._variable()
        self._expect(r"\to")
        self._sum()
        self._expect("}")
        self._body()

    def _variable(self) -> None:
        token = self._take()
        if not _is_letter(token) or token == "e":
            raise _NotPlainError
        self._found(token)

    def _body(self) -> None:
        """What is summed up: a product, after which nothing may follow."""
        self._ends_in_operator = False
        self._term(_END)
        self._ends_in_operator = True

    def _integral(self) -> None:
        self._take()
        self._found("Integral()")
        self._expect("_")
        self._script()
        self._expect("^")
        self._script()
        self._sum(until="d")
        self._expect("d")
        self._variable()
        if not self._at_end:
            raise _NotPlainError

    def _bar(self) -> None:
        if self._bars:
            raise _NotPlainError  # |a|b|c|
        self._take()
        self._bars += 1
        self._sum()
        self._expect("|")
        self._bars -= 1
        self._found("Abs()")

    def _sized(self) -> None:
        sized = self._skip(r"\left")
        opened = self._take()
        closes, name = ("|", "Abs()") if opened == "|" else _SIZED[opened]
        bars, self._bars = self._bars, 1
        self._sum()
        self._bars = bars
        if sized:
            self._expect(r"\right")
        self._expect(closes)
        self._found(name)


def _is_letter(token: str) -> bool:
    """Lower case only: math-verify takes `A` for `a`; and not the imaginary unit."""
    return len(token) == 1 and "a" <= token <= "z" and token != "i"
