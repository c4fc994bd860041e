r"""Answer verification: find the answer in a completion and compare it with the gold answer.

Three verdicts. `correct` and `incorrect` are given only when proved, or when the completion
declares no answer at all (`incorrect`, reason `no-answer`); everything else is `undecided`, which
is not a wrong answer: count it, and leave it out of rewards and scores or decide it by other means.

What is decided: integers, decimals and fractions, compared as exact rationals, and answers written
identically. Percentages, units, mixed numbers, exponents, lists and expressions are `undecided`
unless they are written the same. The work is done in Rust without the GIL and is bounded by the
length of the input, so no time-out is needed; over the limits (1 MiB a completion, 4,096 bytes an
answer) the verdict is `undecided` with reason `limit`.

Example:
    >>> grade(r"So the sum is \boxed{\frac{1}{2}}.", "0.5")
    ... # doctest: +NORMALIZE_WHITESPACE
    Grade(verdict=<Verdict.CORRECT: 'correct'>, extracted='\\frac{1}{2}', by='rust',
          reason='equal-numbers')
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stare import _core
from stare.errors import ArgumentError, ConfigError
from stare.types import Completion, Problem, Verdict

__all__ = ["Grade", "equivalent", "extract_answer", "grade", "grade_batch", "math_reward"]

_REWARD: dict[Verdict, float | None] = {
    Verdict.CORRECT: 1.0,
    Verdict.INCORRECT: 0.0,
    Verdict.UNDECIDED: None,
}


@dataclass(frozen=True, slots=True)
class Grade:
    """What became of one completion."""

    verdict: Verdict
    """`correct`, `incorrect` or `undecided`."""
    extracted: str | None
    """The answer found in the completion; None if there is none."""
    by: Literal["rust"]
    """The engine that answered."""
    reason: str
    """Why: `identical`, `equal-numbers`, `rounded-decimal` (correct); `different-numbers`,
    `no-answer`, `unclosed-think` (incorrect); `gold-unparsed`, `answer-unparsed`, `limit`
    (undecided)."""


def extract_answer(text: str) -> str | None:
    r"""Find the declared answer of a completion.

    Text up to the last `</think>` is dropped. The last `\boxed` or `\fbox` decides, even if it is
    empty or unterminated; without one, the last `####`, `answer is` or `answer:`; without one of
    those, the last line if it is a number and nothing else. A number in passing is no answer.

    Args:
        text: the completion, at most 1 MiB of UTF-8.

    Returns:
        The answer as written, trimmed; None if there is none or the text is too long.

    Example:
        >>> extract_answer("6 * 7 = 42, so\n**Answer:** 42")
        '42'
        >>> extract_answer(r"\boxed{42} ... or is it \boxed{") is None
        True
    """
    return _core.extract_answer(_utf8(text))


def equivalent(answer: str, gold: str, *, fallback: bool = True) -> Verdict:
    r"""Compare an answer, already extracted, with a gold answer.

    Both are answers and are never searched for one; a `$`, `\(` or `\boxed{}` around all of it is
    taken off.

    Args:
        answer: the answer.
        gold: the gold answer.
        fallback: whether an undecided pair may be handed to a second engine. This version has none,
            so it stays undecided either way.

    Example:
        >>> str(equivalent(r"\dfrac{3}{4}", "0.75")), str(equivalent("3", "4"))
        ('correct', 'incorrect')
        >>> str(equivalent("1 + x", "x + 1"))
        'undecided'
    """
    verdict, _ = _core.compare_answers(_utf8(answer), _utf8(gold))
    return Verdict(verdict)


def grade(completion: str, gold: str | Sequence[str], *, fallback: bool = True) -> Grade:
    r"""Extract the answer of a completion and compare it with the gold answer.

    Args:
        completion: the text of the response.
        gold: the gold answer, or several of which any counts as right.
        fallback: whether an undecided pair may be handed to a second engine. This version has none,
            so it stays undecided either way.

    Raises:
        ArgumentError: `gold` is an empty list.

    Example:
        >>> grade("I guess 42, 43 or 44.", "42").reason
        'no-answer'
        >>> str(grade(r"\boxed{2}", ["1", "2"]).verdict)
        'correct'
    """
    return grade_batch([completion], [gold], threads=1)[0]


def grade_batch(
    completions: Sequence[str], golds: Sequence[str | Sequence[str]], *, threads: int = 0
) -> list[Grade]:
    r"""Grade completions, each against its own gold answer or answers.

    Args:
        completions: [N] texts.
        golds: [N] gold answers; a list in place of a string means that any of them is right.
        threads: at most this many; 0 means `STARE_NUM_THREADS`, or all cores where that is not
            set. The result does not depend on it.

    Returns:
        [N] grades, in order.

    Raises:
        ArgumentError: lengths differ, a list of golds is empty, or `threads` is negative.
        ConfigError: `STARE_NUM_THREADS` is not a positive integer.

    Example:
        >>> [str(g.verdict) for g in grade_batch([r"\boxed{1}", r"\boxed{2}"], ["1", ["3", "4"]])]
        ['correct', 'incorrect']
    """
    if isinstance(completions, str) or isinstance(golds, str):
        raise ArgumentError("completions and golds must be lists of strings, got a string")
    if len(completions) != len(golds):
        raise ArgumentError(
            "completions and golds must have the same length, "
            f"got {len(completions)} and {len(golds)}"
        )
    pairs = [
        (_utf8(completion), [_utf8(gold)] if isinstance(gold, str) else [_utf8(g) for g in gold])
        for completion, gold in zip(completions, golds, strict=True)
    ]
    for index, (_, several) in enumerate(pairs):
        if not several:
            raise ArgumentError(f"golds[{index}] is empty: at least one gold answer is needed")
    graded = _core.grade_answers(pairs, threads=_thread_count(threads))
    return [Grade(Verdict(verdict), found, "rust", reason) for verdict, found, reason in graded]


def math_reward(
    problems: Sequence[Problem], completions: Sequence[Completion]
) -> list[float | None]:
    r"""Reward of each completion: 1.0 correct, 0.0 incorrect, None undecided.

    Args:
        problems: [N] the problem of each completion.
        completions: [N] responses, flat.

    Raises:
        ArgumentError: lengths differ.

    Example:
        >>> problem = Problem(id="1", problem="6 * 7?", answer="42")
        >>> response = Completion(
        ...     prompt_ids=[], token_ids=[], text=r"\boxed{42}", finish_reason="stop"
        ... )
        >>> math_reward([problem], [response])
        [1.0]
    """
    if len(problems) != len(completions):
        raise ArgumentError(
            "problems and completions must have the same length, "
            f"got {len(problems)} and {len(completions)}"
        )
    grades = grade_batch([c.text for c in completions], [p.answer for p in problems])
    return [_REWARD[graded.verdict] for graded in grades]


def _utf8(text: str) -> str:
    """Make `text` encodable: a lone surrogate, as JSON can carry one, becomes a question mark."""
    if not isinstance(text, str):
        raise ArgumentError(f"completions and answers must be strings, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def _thread_count(threads: int) -> int:
    if threads < 0:
        raise ArgumentError(f"threads must be >= 0, got {threads}")
    if threads:
        return threads
    setting = os.environ.get("STARE_NUM_THREADS", "")
    if not setting:
        return os.cpu_count() or 1
    if not setting.isdecimal() or int(setting) == 0:
        raise ConfigError(f"STARE_NUM_THREADS must be a positive integer, got {setting!r}")
    return int(setting)
