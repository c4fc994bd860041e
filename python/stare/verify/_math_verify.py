r"""The engine of the fallback: math-verify on one pair. Runs in a worker process only.

Both sides are answers already and go in as `\boxed{..}`; only the box is read, and a box that does
not parse gives no verdict (by default math-verify takes any number in the text instead).
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from stare.verify.plain import Leaf, is_accounted, leaves_of

__all__ = ["engine"]

_NODES = 256
_POINTS = 3
_DIGITS = 50
_UNDERFLOW = 5e-324
_SETS = {"FiniteSet": "finite-set", "Interval": "interval"}


def engine() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Import math-verify, try it once, and return the function that compares one pair."""
    from math_verify import LatexExtractionConfig, parse, verify
    from math_verify.errors import TimeoutException

    only_the_box = [LatexExtractionConfig(boxed_match_priority=0)]

    def read(text: str, alarm_s: int) -> Any:
        found = parse(
            rf"\boxed{{{text}}}",
            only_the_box,
            fallback_mode="no_fallback",
            extraction_mode="first_match",
            parsing_timeout=alarm_s,
            raise_on_error=True,
        )
        return found[0] if found else None

    def compare(job: dict[str, Any]) -> dict[str, Any]:
        alarm_s: int = job["alarm_s"]
        try:
            gold, answer = read(job["gold"], alarm_s), read(job["answer"], alarm_s)
            if gold is None or answer is None:
                return {"equal": None, "kinds": [_kind(gold), _kind(answer)]}
            equal = verify(
                gold,
                answer,
                float_rounding=job["float_rounding"],
                timeout_seconds=alarm_s,
                raise_on_error=True,
            )
        except TimeoutException:  # not an Exception
            raise TimeoutError from None
        with _alarm(alarm_s):
            return {
                "equal": bool(equal),
                "kinds": [_kind(gold), _kind(answer)],
                "smallest": min(_smallest(gold), _smallest(answer)),
                "gap": _gap(gold, answer),
                "accounted": _accounted(job["gold"], gold) and _accounted(job["answer"], answer),
            }

    compare({"gold": r"\frac{1}{2}", "answer": "0.5", "alarm_s": 5, "float_rounding": 6})
    return compare


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _kind(value: Any) -> str:
    """What sort of object the parser made: only like is compared with like."""
    from sympy import Basic, Expr, MatrixBase, Set, Tuple
    from sympy.core.relational import Relational
    from sympy.logic.boolalg import Boolean

    if isinstance(value, MatrixBase):
        return "matrix"
    if isinstance(value, Relational | Boolean):
        return "relation"
    if isinstance(value, Set):
        return _SETS.get(type(value).__name__, "set")
    if isinstance(value, Tuple):
        return "tuple"
    if isinstance(value, Expr):
        return "number" if not value.free_symbols else "expression"
    return "other" if isinstance(value, Basic) else "unparsed"


def _accounted(text: str, value: Any) -> bool:
    """Whether nothing of the text was dropped on the way to `value`."""
    from sympy import MatrixBase, preorder_traversal

    asked = leaves_of(text)
    roots = list(value) if isinstance(value, MatrixBase) else [value]
    nodes = list(islice((n for root in roots for n in preorder_traversal(root)), _NODES))
    found = [leaf for node in nodes for leaf in _leaves(node)]
    return asked is not None and is_accounted(asked.elements(), found)


def _leaves(node: Any) -> list[Leaf]:
    """What one node of a tree stands for, in the words of `stare.verify.plain`."""
    from fractions import Fraction

    from sympy import Float, Rational, S, Symbol

    if isinstance(node, Rational):
        return [str(abs(Fraction(int(node.p), int(node.q))))]
    if isinstance(node, Float):
        return [str(abs(Fraction(repr(float(node)))))]
    if isinstance(node, Symbol):
        return [node.name]
    constants = {S.Exp1: "e", S.Pi: "pi", S.Infinity: "oo", S.NegativeInfinity: "oo"}
    if node in constants:
        return [constants[node]]
    name = type(node).__name__
    return ["exp()", "e"] if name == "exp" else [f"{name}()"]


def _smallest(value: Any) -> float:
    """Least modulus above zero of the numbers that occur in `value`; infinity if there are none."""
    from sympy import MatrixBase, preorder_traversal

    nodes = value if isinstance(value, MatrixBase) else preorder_traversal(value)
    least = float("inf")
    for node in islice(nodes, _NODES):
        if getattr(node, "is_number", False) and (size := _size(node)):
            least = min(least, size)
    return least


def _size(number: Any) -> float:
    try:
        modulus = abs(number.evalf(15))
        return float(modulus) or (_UNDERFLOW if modulus != 0 else 0.0)
    except (TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError):
        return 0.0


def _gap(gold: Any, answer: Any) -> float | None:
    """Largest relative difference of two expressions at a few points; None if it is unknown."""
    from sympy import Expr

    if not (isinstance(gold, Expr) and isinstance(answer, Expr)):
        return None
    # By name: the two parses may have made different symbols of one name.
    names = sorted({symbol.name for symbol in gold.free_symbols | answer.free_symbols})
    points = [_point(names, index) for index in range(_POINTS if names else 1)]
    gaps = [_relative(_at(gold, point), _at(answer, point)) for point in points]
    return None if None in gaps else max(gap for gap in gaps if gap is not None)


def _point(names: list[str], index: int) -> dict[str, Any]:
    from sympy import Rational

    return {
        name: Rational(37 + 10 * index + 29 * place, 61 + 7 * place)
        for place, name in enumerate(names)
    }


def _at(expression: Any, point: dict[str, Any]) -> Any:
    return expression.subs({s: point[s.name] for s in expression.free_symbols}).evalf(_DIGITS)


def _relative(a: Any, b: Any) -> float | None:
    try:
        a_size, b_size = abs(a), abs(b)
        scale = a_size if a_size > b_size else b_size
        gap = float(abs(a - b) / scale) if scale != 0 else 0.0
    except (TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError):
        return None
    return gap if gap < float("inf") else None
