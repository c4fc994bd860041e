"""The grammar of plain mathematics (`stare.verify.plain`): recursive descent over tokens."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from stare.verify._plain_tokens import (
    CLOSES,
    CONSTANTS,
    END,
    FRACTIONS,
    FUNCTIONS,
    GREEK,
    MATRICES,
    OVER,
    SIZED,
    SUMS,
    TIMES,
    is_letter,
)

__all__ = ["Leaf", "NotPlainError", "Reader"]

Leaf = str
"""A number (`3/2`), a name (`x_1`, `alpha`), or a function with parentheses (`sin()`)."""

_DEPTH = 24


class NotPlainError(Exception):
    """The text is outside the grammar."""


class Reader:
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
        return self._tokens[self._at] if self._at < len(self._tokens) else END

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
            raise NotPlainError

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
        if self._next != END:
            raise NotPlainError

    def _item(self) -> None:
        """One of the answers: an expression, or a tuple, a set, a union of intervals."""
        start, before = self._at, self.leaves.copy()
        try:
            self._sum()
        except NotPlainError:
            self._at, self.leaves, self._depth, self._bars = start, before, 0, 0
        else:
            if self._next in (END, ","):
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
            raise NotPlainError

    def _environment(self) -> str:
        self._expect("{")
        name = ""
        while self._next.isalpha():
            name += self._take()
        self._expect("}")
        if name not in MATRICES:
            raise NotPlainError
        return name

    def _group(self, *, several: bool) -> None:
        """What is in brackets: one expression, or also several or the ends of an interval."""
        sized = self._skip(r"\left")
        opened = self._take()
        closes = CLOSES.get(opened)
        if closes is None or (not several and opened != "("):
            raise NotPlainError
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
            raise NotPlainError

    # --- expressions ---

    def _sum(self, until: str = END) -> None:
        """Terms with signs between them."""
        self._deeper()
        if self._next in ("+", "-"):
            self._take()
        is_open = self._term(until)
        while self._next in ("+", "-"):
            # Does the sum, the limit or the argument before it end here? Not for all to see.
            if is_open:
                raise NotPlainError
            self._take()
            is_open = self._term(until)
        self._ends_in_operator = self._ends_in_argument = False
        self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise NotPlainError

    def _term(self, until: str) -> bool:
        """A product; whether it ends in a sum or a limit without brackets around it."""
        literal = self._factor()
        divided = False
        while True:
            if self._ends_in_operator:
                return True
            if self._next in TIMES:
                if divided:
                    raise NotPlainError
                self._take()
                literal = self._factor()
            elif self._next in OVER:
                if divided:
                    raise NotPlainError
                self._take()
                divided, above = True, literal
                below = self._factor()
                self._divide(above, below)
                literal = None
            elif self._at_end or (until and self._next == until):
                return False
            else:
                if divided or not self._may_follow(literal):
                    raise NotPlainError
                literal = self._factor()

    @property
    def _at_end(self) -> bool:
        return self._next in (
            END, ",", "+", "-", ")", "]", "}", r"\}", "|", "&", r"\\", r"\right", r"\end",
            r"\rfloor", r"\rceil", r"\cup",
        )  # fmt: skip

    def _may_follow(self, literal: Fraction | None) -> bool:
        """Whether a factor without a sign of multiplication before it has one reading."""
        token = self._next
        if self._ends_in_argument:
            return token in FUNCTIONS
        if token[0].isdigit() or token[0] == ".":
            return False
        if token in ("(", r"\left") and self._ends_in_letter:
            return False  # the argument of a function?
        return not (literal is not None and token in FRACTIONS)  # a mixed number?

    @property
    def _ends_in_letter(self) -> bool:
        return self._at > 0 and is_letter(self._tokens[self._at - 1])

    def _divide(self, above: Fraction | None, below: Fraction | None) -> None:
        """Two numbers make one."""
        if above is None or below is None:
            return
        if below == 0:
            raise NotPlainError
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
            raise NotPlainError
        return literal

    def _base(self) -> Fraction | None:
        token = self._next
        if token == END:
            raise NotPlainError
        if token[0].isdigit() or (token[0] == "." and len(token) > 1):
            return self._number(self._take())
        if token in CONSTANTS:
            self._found(CONSTANTS[self._take()])
        elif is_letter(token) or token in GREEK:
            self._name()
        elif token in FRACTIONS:
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
        elif token in FUNCTIONS or token == r"\log":
            self._function()
        elif token in SUMS:
            self._series()
        elif token == r"\lim":
            self._limit()
        elif token == r"\int":
            self._integral()
        elif token == "|":
            self._bar()
        elif token in SIZED or (token == r"\left" and self._after in (*SIZED, "|")):
            self._sized()
        else:
            self._group(several=False)
        return None

    @property
    def _after(self) -> str:
        return self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else END

    def _number(self, digits: str) -> Fraction:
        if self._next == "." or (self._next[:1] == "." and len(self._next) > 1):
            raise NotPlainError
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
                raise NotPlainError
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
            raise NotPlainError
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
        if token in CONSTANTS:
            self._found(CONSTANTS[token])
        elif is_letter(token) or token in GREEK:
            self._found(token.removeprefix("\\"))
        else:
            raise NotPlainError
        return None

    def _digits(self, token: str) -> Fraction:
        """Without braces only the first digit belongs to an argument."""
        if len(token) > 1:
            if not token.isdigit():
                raise NotPlainError
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
            raise NotPlainError  # x^12

    def _function(self) -> None:
        token = self._take()
        if token == r"\log":
            self._found("log()")
            self._expect("_")
            self._script()
        else:
            self._found(FUNCTIONS[token])
            if self._skip("^"):
                self._power_of_function()
        if self._next in ("(", r"\left"):
            self._group(several=False)
            if self._next in ("^", "!"):
                raise NotPlainError
            return
        literal = self._simple()
        if literal and (self._next[:1].isalpha() or self._next in GREEK | CONSTANTS.keys()):
            self._simple()
        self._ends_in_argument = True

    def _power_of_function(self) -> None:
        """A whole number above zero: to the power -1, it is the inverse."""
        exponent = self._index() if self._next == "{" else self._take()
        if not exponent.isdigit() or (len(exponent) > 1 and self._tokens[self._at - 1] != "}"):
            raise NotPlainError
        self._found(str(Fraction(exponent)))

    def _simple(self) -> bool:
        """An argument without brackets: a number, a name, a fraction, a root; whether a number."""
        token = self._next
        is_number = token[:1].isdigit() or token[:1] == "."
        if not (
            is_number
            or is_letter(token)
            or token in GREEK
            or token in FRACTIONS
            or token in (r"\pi", r"\sqrt")
        ):
            raise NotPlainError
        self._base()
        if self._next in ("^", "!", "_"):
            raise NotPlainError
        return is_number

    def _series(self) -> None:
        self._found(SUMS[self._take()])
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
        if not is_letter(token) or token == "e":
            raise NotPlainError
        self._found(token)

    def _body(self) -> None:
        """What is summed up: a product, after which nothing may follow."""
        self._deeper()
        self._term(END)
        self._depth -= 1
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
            raise NotPlainError

    def _bar(self) -> None:
        if self._bars:
            raise NotPlainError  # |a|b|c|
        self._take()
        self._bars += 1
        self._sum()
        self._expect("|")
        self._bars -= 1
        self._found("Abs()")

    def _sized(self) -> None:
        sized = self._skip(r"\left")
        opened = self._take()
        closes, name = ("|", "Abs()") if opened == "|" else SIZED[opened]
        bars, self._bars = self._bars, 1
        self._sum()
        self._bars = bars
        if sized:
            self._expect(r"\right")
        self._expect(closes)
        self._found(name)
