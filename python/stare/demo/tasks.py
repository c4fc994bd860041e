"""Tasks of the arithmetic demo: combine three numbers so that the result meets a target.

The prompt is `B a b c > t :` (7 tokens; a, b, c in 1..12), the response two equations
(`verifier`). `mod5` has many right answers a problem and is learned slowly, `exact` few, `tol3`
is learned quickly; together they span what decides how strong an intervention has to be
(`docs/design.md`).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stare.demo.verifier import RESPONSE_LENGTH
from stare.demo.vocab import N_NUMBERS, OPERATORS, TOKEN_ID
from stare.errors import ArgumentError, ConfigError
from stare.types import Problem

__all__ = [
    "MAX_NUMBER",
    "PROMPT_LENGTH",
    "TASKS",
    "Split",
    "Task",
    "all_numbers",
    "exact_problems",
    "expressions",
    "modular_problems",
    "pairs",
    "problems",
    "prompt_text",
    "split_pairs",
    "tolerance_problems",
]

PROMPT_LENGTH = 7
MAX_NUMBER = 12
HELD_OUT = {"pair": 0.2, "numbers": 0.1}
"""Share of the pairs, or of the number triples, that is held out."""

Numbers = tuple[int, int, int]
Pair = tuple[Numbers, int]
"""Sorted numbers and target: what a problem is, whatever the order in its prompt."""
Split = Literal["pair", "numbers"]
"""`pair`: held-out (numbers, target) pairs, whose numbers occur in training with other targets;
`numbers`: held-out number triples, none of which occurs in training."""
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Task:
    """What makes a result right, as data.

    Example:
        >>> TASKS["mod5"].accepts(np.array([17, 18]), np.array([2, 2]))
        array([ True, False])
    """

    name: str
    accepts: Callable[[IntArray, IntArray], npt.NDArray[np.bool_]]
    """(N,) results in 0..99, (N,) targets -> (N,) bool."""
    targets: range
    """Targets that problems are made of."""
    poses: Callable[[IntArray, IntArray], npt.NDArray[np.bool_]]
    """Like `accepts`: (numbers, target) is a problem where some expression satisfies this."""


def _equal(w: IntArray, t: IntArray) -> npt.NDArray[np.bool_]:
    return np.equal(w, t)


def _within_3(w: IntArray, t: IntArray) -> npt.NDArray[np.bool_]:
    near: npt.NDArray[np.bool_] = np.abs(w - t) <= 3
    return near


def _modulo_5(w: IntArray, t: IntArray) -> npt.NDArray[np.bool_]:
    return np.equal(w % 5, t)


TASKS = {
    "exact": Task("exact", _equal, range(5, 61), poses=_equal),
    "tol3": Task("tol3", _within_3, range(5, 61), poses=_equal),
    "mod5": Task("mod5", _modulo_5, range(5), poses=_modulo_5),
}
"""Mean right answers a problem: 4.5, 10.4, 10.6 (of 50 valid expressions on average)."""


def all_numbers() -> list[Numbers]:
    """The 364 sorted triples of numbers in 1..12."""
    return list(itertools.combinations_with_replacement(range(1, MAX_NUMBER + 1), 3))


def _results(a: int, b: int) -> list[tuple[str, int]]:
    values = {"+": a + b, "-": a - b, "*": a * b}
    return [(op, values[op]) for op in OPERATORS if 0 <= values[op] < N_NUMBERS]


@cache
def expressions(numbers: Numbers) -> IntArray:
    """Every valid response to `numbers`, whatever its result: (E, 13) token ids, each once.

    Column 10 is the result. Read-only, since it is cached.
    """
    rows: dict[tuple[str | int, ...], None] = {}
    for x, y, rest in itertools.permutations(numbers):
        for op1, z in _results(x, y):
            for u, v in ((z, rest), (rest, z)):
                for op2, w in _results(u, v):
                    rows[x, op1, y, "=", z, ";", u, op2, v, "=", w, "!", "$"] = None
    ids = [[TOKEN_ID[str(token)] for token in row] for row in rows]
    table = np.array(ids, dtype=np.int64).reshape(-1, RESPONSE_LENGTH)
    table.setflags(write=False)
    return table


def pairs(task: Task) -> list[Pair]:
    """All (sorted numbers, target) pairs of a task, in lexicographic order."""
    found: list[Pair] = []
    targets = np.array(task.targets)
    for numbers in all_numbers():
        results = expressions(numbers)[:, 10]
        posed = task.poses(results[None, :], targets[:, None]).any(axis=1)
        found += [(numbers, int(t)) for t in targets[posed]]
    return found


def _digest(text: str) -> bytes:
    """A fixed pseudo-random sort key, the same on every platform and for every numpy."""
    return hashlib.sha256(f"stare demo: {text}".encode()).digest()


def _join(numbers: Numbers) -> str:
    return " ".join(map(str, numbers))


def split_pairs(task: Task, split: Split = "pair") -> tuple[list[Pair], list[Pair]]:
    """Training and held-out pairs, each in a fixed shuffled order.

    A pair or triple is held out, or not, for all tasks alike. Under `pair`, held-out problems are
    new (numbers, target) pairs; their numbers may occur in training with another target.

    Raises:
        ArgumentError: an unknown split.
    """
    if split not in ("pair", "numbers"):
        raise ArgumentError(f"split must be pair or numbers, got {split!r}")
    found = sorted(pairs(task), key=lambda p: _digest(f"{_join(p[0])} > {p[1]}"))
    if split == "pair":
        cut = round(HELD_OUT["pair"] * len(found))
        return found[cut:], found[:cut]
    triples = sorted(all_numbers(), key=lambda n: _digest(_join(n)))
    held_out = set(triples[: round(HELD_OUT["numbers"] * len(triples))])
    return [p for p in found if p[0] not in held_out], [p for p in found if p[0] in held_out]


def prompt_text(numbers: Numbers, target: int) -> str:
    """The prompt, numbers in the order given.

    Example:
        >>> prompt_text((3, 7, 9), 2)
        'B 3 7 9 > 2 :'
    """
    return f"B {_join(numbers)} > {target} :"


def _problem(task: Task, pair: Pair) -> Problem:
    numbers, target = pair
    key = f"{_join(numbers)} > {target}"
    a, b, c = numbers
    orders = [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
    order = orders[int.from_bytes(_digest(f"order {key}")[:4], "big") % len(orders)]
    return Problem(
        id=f"{task.name}:{'-'.join(map(str, numbers))}:{target}",
        problem=prompt_text(order, target),
        answer=str(target),
        extra={"task": task.name, "numbers": numbers, "target": target},
    )


def problems(task: Task, split: Split = "pair") -> tuple[list[Problem], list[Problem]]:
    """Training and held-out problems, one prompt a pair, in a fixed shuffled order.

    Example:
        >>> train, held_out = problems(TASKS["mod5"])
        >>> set(p.id for p in train) & set(p.id for p in held_out)
        set()
    """
    train, held_out = split_pairs(task, split)
    return [_problem(task, p) for p in train], [_problem(task, p) for p in held_out]


def _configured(task: Task, data_cfg: Any) -> tuple[list[Problem], list[Problem]]:
    extra = dict(getattr(data_cfg, "extra", None) or {})
    split = extra.pop("split", "pair")
    if extra:
        raise ConfigError(f"data.extra of the demo may hold split, got {', '.join(sorted(extra))}")
    return problems(task, split)


def modular_problems(data_cfg: Any = None) -> tuple[list[Problem], list[Problem]]:
    """Data factory of the modular task (w mod 5 = t: about every fifth expression is right).

    Args:
        data_cfg: a `DataConfig`; `extra = {split = "numbers"}` holds out number triples.
    """
    return _configured(TASKS["mod5"], data_cfg)


def exact_problems(data_cfg: Any = None) -> tuple[list[Problem], list[Problem]]:
    """Data factory of the exact task (w = t); `data_cfg` as in `modular_problems`."""
    return _configured(TASKS["exact"], data_cfg)


def tolerance_problems(data_cfg: Any = None) -> tuple[list[Problem], list[Problem]]:
    """Data factory of the tolerance task (|w - t| <= 3); `data_cfg` as in `modular_problems`."""
    return _configured(TASKS["tol3"], data_cfg)
