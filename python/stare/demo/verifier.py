"""The strict verifier of the arithmetic demo, for a whole batch at once.

A response is `x op y = z ; u op v = w ! $`: 13 tokens, two true equations over the numbers 0..99,
each number of the prompt used exactly once (z, the intermediate result, is used in the second
equation together with the number that the first one left over), and w satisfies the task.
`verify_text` is the slow, obvious twin that the tests hold `verify_tokens` against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stare.demo.vocab import N_NUMBERS, TOKEN_ID, TOKENS
from stare.errors import ArgumentError

if TYPE_CHECKING:
    from stare.demo.tasks import Task

__all__ = ["RESPONSE_LENGTH", "verify_text", "verify_tokens"]

RESPONSE_LENGTH = 13
"""Tokens of a well-formed response, the end token included."""

_NUMBER_COLUMNS = [0, 2, 4, 6, 8, 10]
_SYMBOL_COLUMNS = [3, 5, 9, 11, 12]
_SYMBOLS = np.array([TOKEN_ID[s] for s in ("=", ";", "=", "!", "$")])
_PLUS, _MINUS, _TIMES = (TOKEN_ID[s] for s in ("+", "-", "*"))

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def _equation_holds(left: IntArray, op: IntArray, right: IntArray, result: IntArray) -> BoolArray:
    out: BoolArray = (
        ((op == _PLUS) & (left + right == result))
        | ((op == _MINUS) & (left - right == result))
        | ((op == _TIMES) & (left * right == result))
    )
    return out


def verify_tokens(tokens: IntArray, numbers: IntArray, targets: IntArray, task: Task) -> BoolArray:
    """Which responses are right.

    Args:
        tokens: (N, 13) token ids; rows of another length must be left out by the caller.
        numbers: (N, 3) numbers of the prompt, any order.
        targets: (N,) target of the prompt.
        task: what makes a result right.

    Returns:
        (N,) bool.

    Raises:
        ArgumentError: the shapes do not fit.

    Example:
        >>> from stare.demo.tasks import TASKS
        >>> from stare.demo.vocab import Tokenizer
        >>> row = Tokenizer().encode("7 + 9 = 16 ; 16 * 3 = 48 ! $")
        >>> task = TASKS["mod5"]
        >>> verify_tokens(np.array([row]), np.array([[3, 7, 9]]), np.array([3]), task)
        array([ True])
    """
    n = len(tokens)
    if tokens.shape != (n, RESPONSE_LENGTH) or numbers.shape != (n, 3) or targets.shape != (n,):
        raise ArgumentError(
            f"tokens, numbers, targets must be (N, {RESPONSE_LENGTH}), (N, 3), (N,), got "
            f"{tokens.shape}, {numbers.shape}, {targets.shape}"
        )
    x, op1, y, _, z, _, u, op2, v, _, w, _, _ = tokens.T
    left_over = np.where(u == z, v, u)
    used = np.sort(np.stack([x, y, left_over], axis=1), axis=1)
    ok: BoolArray = (tokens[:, _SYMBOL_COLUMNS] == _SYMBOLS).all(axis=1)
    ok &= (tokens[:, _NUMBER_COLUMNS] < N_NUMBERS).all(axis=1)
    ok &= _equation_holds(x, op1, y, z) & _equation_holds(u, op2, v, w)
    ok &= (u == z) | (v == z)
    ok &= (used == np.sort(numbers, axis=1)).all(axis=1)
    return ok & task.accepts(w, targets)


def verify_text(text: str, numbers: Sequence[int], target: int, task: Task) -> bool:
    """The same for one response as text, end token included; slow and obvious.

    Example:
        >>> from stare.demo.tasks import TASKS
        >>> verify_text("7 + 9 = 16 ; 16 * 3 = 48 ! $", [3, 7, 9], 3, TASKS["mod5"])
        True
    """
    words = text.split(" ")
    if len(words) != RESPONSE_LENGTH or words[-2:] != ["!", "$"] or words[5] != ";":
        return False
    pool = Counter(int(n) for n in numbers)
    result = -1
    for left, op, right, equals, value in (words[0:5], words[6:11]):
        if equals != "=" or any(w not in TOKENS[:N_NUMBERS] for w in (left, right, value)):
            return False
        for operand in (int(left), int(right)):
            if pool[operand] == 0:
                return False
            pool[operand] -= 1
        if op == "+":
            result = int(left) + int(right)
        elif op == "-":
            result = int(left) - int(right)
        elif op == "*":
            result = int(left) * int(right)
        else:
            return False
        if result != int(value):
            return False
        pool[result] += 1  # the intermediate result is what the second equation works with
    return bool(task.accepts(np.array([result]), np.array([target]))[0])
