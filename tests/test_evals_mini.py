"""The bundled benchmark: every gold computed again, by counting or in exact arithmetic.

Nothing here reads a gold to find it: `VALUES` is computed from the question, `READ` says which
value the written gold has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest

from stare.evals.data import load
from stare.verify import equivalent

MINI = load("mini")
SOME = (Fraction(-7, 3), Fraction(-1), Fraction(0), Fraction(2, 5), Fraction(4))


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def matchings(rest: tuple[int, ...]) -> int:
    if not rest:
        return 1
    low = rest[0]
    return sum(
        matchings(tuple(x for x in rest if x not in (low, high)))
        for high in rest[1:]
        if high - low <= 3
    )


def hits_seven_first() -> Fraction:
    """Solve p(k) = (p(k-1) + p(k+1)) / 2, p(0) = 0, p(7) = 1, by shooting from p(1) = 1."""
    p = [Fraction(0), Fraction(1)]
    while len(p) < 8:
        p.append(2 * p[-1] - p[-2])
    return p[2] / p[7]


def zeros_at_the_end(value: int) -> int:
    digits = str(value)
    return len(digits) - len(digits.rstrip("0"))


def simpson(f: Callable[[float], float], a: float, b: float, n: int = 2000) -> float:
    h = (b - a) / n
    inner = sum((4 if i % 2 else 2) * f(a + i * h) for i in range(1, n))
    return (f(a) + inner + f(b)) * h / 3


@cache
def committees() -> int:
    people = [("w", i) for i in range(5)] + [("m", i) for i in range(6)]
    return sum(len({kind for kind, _ in four}) == 2 for four in combinations(people, 4))


def derivative(x: float, h: float = 1e-6) -> float:
    def f(t: float) -> float:
        return t * t * math.exp(3 * t)

    return (f(x + h) - f(x - h)) / (2 * h)


def in_domain(x: Fraction) -> bool:
    return x != 5 and (x + 2) / (5 - x) >= 0


STEPS = [Fraction(k, 4) for k in range(-40, 41)]

CHECKS: dict[str, tuple[str, bool]] = {
    "arith": ("56", sum(7 for _ in range(8)) == 56),
    "coins": ("27", 3 * 12 - 9 == 27),
    "negative": ("-7", -3 * -3 * -3 + 20 == -7),
    "cake": (r"\frac{7}{20}", 1 - Fraction(1, 4) - Fraction(2, 5) == Fraction(7, 20)),
    "sale": (r"15\%", Fraction(80 - 68, 80) == Fraction(15, 100)),
    "decimal": ("0.375", Fraction(3, 8) == Fraction("0.375")),
    "weekday": (
        "Thursday",
        ["Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday"][100 % 7]
        == "Thursday",
    ),
    "angle": (r"55^\circ", 180 - 48 - 77 == 55),
    "prime-pick": (
        "B",
        [
            letter
            for letter, n in zip("ABCD", (91, 97, 111, 119), strict=True)
            if all(n % d for d in range(2, n))
        ]
        == ["B"],
    ),
    "divisors": ("24", sum(360 % d == 0 for d in range(1, 361)) == 24),
    "quadratic": ("-3, 4", [x for x in range(-99, 100) if x * x - x - 12 == 0] == [-3, 4]),
    "diagonal": (r"2\sqrt{13}", 2**2 * 13 == 4**2 + 6**2),
    "meeting": (
        "(3, 1)",
        [(x, y) for x, y in product(range(-20, 21), repeat=2) if 2 * x + y == 7 and x - y == 2]
        == [(3, 1)],
    ),
    "inequality": ("(-1, 4)", all((abs(2 * x - 3) < 5) == (-1 < x < 4) for x in STEPS)),
    "dice": (
        r"\frac{5}{36}",
        Fraction(sum(a + b == 8 for a, b in product(range(1, 7), repeat=2)), 36) == Fraction(5, 36),
    ),
    "expand": ("8x + 8", all((x + 3) ** 2 - (x - 1) ** 2 == 8 * x + 8 for x in SOME)),
    "geometric": (
        r"\frac{5}{3}",
        0 < Fraction(5, 3) - sum(Fraction(2, 5) ** k for k in range(60)) < Fraction(1, 10**20),
    ),
    "mean": (
        "6.5",
        (Fraction("2.5") + 4 + Fraction("6.5") + 7 + Fraction("6.5")) / 5 == Fraction("5.3"),
    ),
    "modpow": ("4", 3**100 % 7 == 4),
    "rationalise": (
        r"\frac{\sqrt{5}+\sqrt{3}}{2}",
        close(1 / (5**0.5 - 3**0.5), (5**0.5 + 3**0.5) / 2),
    ),
    "committee": ("310", committees() == 310),
    "derivative": (
        "(3x^2 + 2x)e^{3x}",
        all(
            math.isclose(derivative(x), (3 * x * x + 2 * x) * math.exp(3 * x), rel_tol=1e-6)
            for x in (-1.5, 0.3, 1.0)
        ),
    ),
    "domain": ("[-2, 5)", all(in_domain(x) == (-2 <= x < 5) for x in STEPS)),
    "system": (
        r"\{5, 9, 14, 15, 20, 24, 29, 30, 35, 39\}",
        [n for n in range(1, 41) if (n * n + n) % 30 == 0]
        == [5, 9, 14, 15, 20, 24, 29, 30, 35, 39],
    ),
    "unitroot": ("32i", math.prod([1 + 1j] * 10, start=1 + 0j) == 32j),
    "lattice": (
        "161",
        sum(x * x + y * y <= 50 for x, y in product(range(-8, 9), repeat=2)) == 161,
    ),
    "trailing": (
        "25",
        zeros_at_the_end(math.factorial(200) // math.factorial(100)) == 25,
    ),
    "integral": (r"\pi", close(simpson(lambda x: x * math.sin(x), 0, math.pi), math.pi)),
    "walk": (r"\frac{2}{7}", hits_seven_first() == Fraction(2, 7)),
    "partition": ("89", matchings(tuple(range(1, 13))) == 89),
}
"""Problem -> (the gold as written, whether that value is what the question asks for)."""


@pytest.mark.parametrize("problem", MINI.problems, ids=lambda p: p.id)
def test_gold(problem: object) -> None:
    name = problem.id.removeprefix("mini-")  # type: ignore[attr-defined]
    gold, holds = CHECKS[name]
    assert problem.answer == gold  # type: ignore[attr-defined]
    assert holds


def test_all_kinds_and_levels() -> None:
    assert len(MINI.problems) == len(CHECKS) == 30
    kinds = {problem.extra["kind"] for problem in MINI.problems}
    assert kinds >= {
        "integer",
        "fraction",
        "radical",
        "interval",
        "tuple",
        "list",
        "expression",
        "percent",
        "degrees",
        "word",
        "choice",
    }
    levels = [problem.extra["level"] for problem in MINI.problems]
    assert levels == sorted(levels)
    assert set(levels) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("problem", MINI.problems, ids=lambda p: p.id)
def test_the_verifier_accepts_its_gold(problem: object) -> None:
    answer = problem.answer  # type: ignore[attr-defined]
    assert str(equivalent(answer, answer)) == "correct"
