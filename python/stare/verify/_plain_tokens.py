r"""The words of plain mathematics: tokens, and the commands that are known."""

from __future__ import annotations

import re

__all__ = [
    "CLOSES",
    "CONSTANTS",
    "END",
    "FRACTIONS",
    "FUNCTIONS",
    "GREEK",
    "MATRICES",
    "OVER",
    "SIZED",
    "SPACES",
    "SUMS",
    "TIMES",
    "TOKEN",
    "is_letter",
]

TOKEN = re.compile(
    r"\s+|\\(?:left|right)(?![A-Za-z])|\\[A-Za-z]+|\\.|[0-9]+\.[0-9]+|[0-9]+|\.[0-9]+|.", re.DOTALL
)
SPACES = frozenset({r"\,", r"\;", r"\:", r"\!", "\\ ", r"\displaystyle"})
GREEK = frozenset(
    {
        r"\alpha", r"\beta", r"\delta", r"\epsilon", r"\varepsilon", r"\eta", r"\theta",
        r"\vartheta", r"\kappa", r"\lambda", r"\mu", r"\nu", r"\xi", r"\rho", r"\sigma", r"\tau",
        r"\phi", r"\varphi", r"\chi", r"\psi", r"\omega",
    }
)  # fmt: skip
CONSTANTS = {r"\pi": "pi", r"\infty": "oo"}
FUNCTIONS = {
    r"\sin": "sin()", r"\cos": "cos()", r"\tan": "tan()",
    r"\cot": "cot()", r"\sec": "sec()", r"\csc": "csc()",
    r"\sinh": "sinh()", r"\cosh": "cosh()", r"\tanh": "tanh()",
    r"\arcsin": "asin()", r"\arccos": "acos()", r"\arctan": "atan()",
    r"\exp": "exp()", r"\ln": "log()",
}  # fmt: skip
FRACTIONS = frozenset({r"\frac", r"\dfrac", r"\tfrac"})
SUMS = {r"\sum": "Sum()", r"\prod": "Product()"}
TIMES = frozenset({"*", r"\cdot", r"\times"})
OVER = frozenset({"/", r"\div"})
CLOSES = {"(": ")", "[": "]", r"\{": r"\}"}
SIZED = {r"\lfloor": (r"\rfloor", "floor()"), r"\lceil": (r"\rceil", "ceiling()")}
MATRICES = frozenset({"pmatrix", "bmatrix"})
END = ""


def is_letter(token: str) -> bool:
    """Lower case only: math-verify takes `A` for `a`; and not the imaginary unit."""
    return len(token) == 1 and "a" <= token <= "z" and token != "i"
