"""Graders of the demo's tasks for stare-eval: `--grader stare.demo.grading:mod5`.

They judge a response by its text alone, with the slow twin of the reward function.
"""

from __future__ import annotations

from stare.demo.tasks import PROMPT_LENGTH, TASKS, Task
from stare.demo.verifier import RESPONSE_LENGTH, verify_text
from stare.demo.vocab import EOS, TOKENS

__all__ = ["exact", "mod5", "tol3"]

Judged = tuple[bool, str | None]


def mod5(text: str, golds: tuple[str, ...], problem: str) -> Judged:
    """Two valid equations from the three numbers of the prompt; result = target modulo 5.

    Example:
        >>> mod5("7 + 9 = 16 ; 16 * 3 = 48 !", ("3",), "B 3 7 9 > 3 :")
        (True, '48')
        >>> mod5("7 + 9 =", ("3",), "B 3 7 9 > 3 :")
        (False, None)
    """
    return _judge(text, golds, problem, TASKS["mod5"])


def exact(text: str, golds: tuple[str, ...], problem: str) -> Judged:
    """Two valid equations from the three numbers of the prompt; result = target."""
    return _judge(text, golds, problem, TASKS["exact"])


def tol3(text: str, golds: tuple[str, ...], problem: str) -> Judged:
    """Two valid equations from the three numbers of the prompt; result within 3 of the target."""
    return _judge(text, golds, problem, TASKS["tol3"])


def _judge(text: str, golds: tuple[str, ...], problem: str, task: Task) -> Judged:
    """Whether the response is right, and its result; None if it does not end in one."""
    words = text.split(" ")
    if len(words) != RESPONSE_LENGTH - 1 or words[-1] != "!" or words[-2] not in TOKENS:
        return False, None
    asked = problem.split(" ")
    if len(asked) != PROMPT_LENGTH:
        raise ValueError(f"not a problem of the demo: {problem[:40]!r}")
    numbers = [int(word) for word in asked[1:4]]
    return verify_text(f"{text} {EOS}", numbers, int(golds[0]), task), words[-2]
