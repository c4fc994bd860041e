r"""Find the answer in a completion and compare it with the gold answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stare import _core
from stare.types import Verdict
from stare.verify._arguments import (
    Profile,
    Tolerance,
    pairs_of,
    profile_of,
    thread_count,
    tolerance_of,
    utf8,
)
from stare.verify.fallback import FALLBACK_REASONS, Judgement, count_pairs, judge

__all__ = [
    "Grade",
    "answer_key",
    "ask_fallback",
    "equivalent",
    "extract_answer",
    "grade",
    "grade_batch",
    "grade_batch_async",
]


@dataclass(frozen=True, slots=True)
class Grade:
    """What became of one completion."""

    verdict: Verdict
    """`correct`, `incorrect` or `undecided`."""
    extracted: str | None
    """The answer found in the completion; None if there is none."""
    by: Literal["rust", "math-verify"]
    """The engine that answered: `rust` or `math-verify`."""
    reason: str
    """Why: one of the reasons in docs/verify.md, `fallback-equal` or `fallback-different`."""


def extract_answer(text: str, *, profile: Profile = "reward") -> str | None:
    r"""Find the declared answer of a completion.

    Text up to the last `</think>` is dropped. The last `\boxed` or `\fbox` decides, even if it is
    empty or unterminated; without one, the last `####`, `answer is` or `answer:`. The profile
    `eval` goes on to the last formula and the last number; in `reward` a number in passing is no
    answer.

    Args:
        text: the completion, at most 1 MiB of UTF-8.
        profile: `reward` (strict), `eval` (lenient) or `math_verify` (as math-verify does).

    Returns:
        The answer as written, trimmed; None if there is none or the text is too long.

    Raises:
        ArgumentError: there is no such profile.

    Example:
        >>> extract_answer("6 * 7 = 42, so\n**Answer:** 42")
        '42'
        >>> extract_answer(r"\boxed{42} ... or is it \boxed{") is None
        True
    """
    return _core.extract_answer(utf8(text), profile=profile_of(profile))


def equivalent(
    answer: str, gold: str, *, fallback: bool = True, tolerance: Tolerance = None
) -> Verdict:
    r"""Compare an answer, already extracted, with a gold answer.

    Both are answers and are never searched for one; a `$`, `\(` or `\boxed{}` around all of it is
    taken off.

    Args:
        answer: the answer.
        gold: the gold answer.
        fallback: whether an undecided pair may be put to math-verify.
        tolerance: what else equals a decimal gold: nothing; what rounds to its digits
            (`gold-digits`); or what is within this relative distance.

    Raises:
        ArgumentError: the tolerance is not one of these.

    Example:
        >>> str(equivalent(r"\dfrac{3}{4}", "0.75")), str(equivalent("3", "4"))
        ('correct', 'incorrect')
    """
    answer, gold, tolerance = utf8(answer), utf8(gold), tolerance_of(tolerance)
    verdict, reason = _core.compare_answers(answer, gold, tolerance=tolerance)
    if fallback:
        count_pairs(1)
        if reason in FALLBACK_REASONS:
            (judged,) = judge([(answer, gold)], any_difference_counts=tolerance is None)
            return judged.verdict
    return Verdict(verdict)


def answer_key(answer: str) -> str | None:
    """Return the same text for equal answers, to count votes with; None if it is not read.

    Keys tell what is proved equal by form: different keys do not prove different answers.

    Example:
        >>> answer_key("0.5") == answer_key("0.5")
        True
    """
    return _core.answer_key(utf8(answer))


def grade(
    completion: str,
    gold: str | Sequence[str],
    *,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
) -> Grade:
    r"""Extract the answer of a completion and compare it with the gold answer.

    Args:
        completion: the text of the response.
        gold: the gold answer, or several of which any counts as right.
        profile: what counts as declaring an answer, see `extract_answer`.
        tolerance: what else equals a decimal gold, see `equivalent`.
        fallback: whether an undecided pair may be put to math-verify.

    Raises:
        ArgumentError: `gold` is an empty list, or there is no such profile or tolerance.

    Example:
        >>> grade("I guess 42, 43 or 44.", "42").reason
        'no-answer'
        >>> str(grade(r"\boxed{2}", ["1", "2"]).verdict)
        'correct'
    """
    (graded,) = grade_batch(
        [completion], [gold], threads=1, profile=profile, tolerance=tolerance, fallback=fallback
    )
    return graded


def grade_batch(
    completions: Sequence[str],
    golds: Sequence[str | Sequence[str]],
    *,
    threads: int = 0,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
) -> list[Grade]:
    r"""Grade completions, each against its own gold answer or answers.

    Args:
        completions: [N] texts.
        golds: [N] gold answers; a list in place of a string means that any of them is right.
        threads: at most this many; 0 means `STARE_NUM_THREADS`, or all cores where that is not
            set. The result does not depend on it.
        profile: what counts as declaring an answer, see `extract_answer`.
        tolerance: what else equals a decimal gold, see `equivalent`.
        fallback: whether undecided pairs may be put to math-verify.

    Returns:
        [N] grades, in order.

    Raises:
        ArgumentError: lengths differ, a list of golds is empty, `threads` is negative, or there is
            no such profile or tolerance.
        ConfigError: `STARE_NUM_THREADS` is not a positive integer.

    Example:
        >>> [str(g.verdict) for g in grade_batch([r"\boxed{1}", r"\boxed{2}"], ["1", ["3", "4"]])]
        ['correct', 'incorrect']
    """
    pairs = pairs_of(completions, golds)
    tolerance = tolerance_of(tolerance)
    graded = _core.grade_answers(
        pairs, profile=profile_of(profile), tolerance=tolerance, threads=thread_count(threads)
    )
    grades = [Grade(Verdict(verdict), found, "rust", reason) for verdict, found, reason in graded]
    if fallback:
        count_pairs(len(grades))
        ask_fallback(grades, [several for _, several in pairs], profile, tolerance)
    return grades


async def grade_batch_async(
    completions: Sequence[str],
    golds: Sequence[str | Sequence[str]],
    *,
    threads: int = 0,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
) -> list[Grade]:
    """Do what `grade_batch` does in a thread, so that the event loop goes on meanwhile."""
    import asyncio

    return await asyncio.to_thread(
        grade_batch,
        completions,
        golds,
        threads=threads,
        profile=profile,
        tolerance=tolerance,
        fallback=fallback,
    )


def ask_fallback(
    grades: list[Grade], golds: Sequence[list[str]], profile: Profile, tolerance: Tolerance
) -> list[dict[str, Judgement]]:
    """Put what is undecided to the fallback and write what it decides into `grades`.

    Returns:
        [N] what the fallback said about each gold it was asked about.
    """
    said: list[dict[str, Judgement]] = [{} for _ in grades]
    questions: list[tuple[int, str, str]] = []
    decided: dict[int, list[Verdict]] = {}
    for index, graded in enumerate(grades):
        answer = graded.extracted
        if answer is None or graded.verdict is not Verdict.UNDECIDED:
            continue
        for gold in golds[index]:
            verdict, reason = _core.compare_answers(answer, gold, tolerance=tolerance)
            if reason in FALLBACK_REASONS:
                questions.append((index, answer, gold))
            else:
                decided.setdefault(index, []).append(Verdict(verdict))
    if not questions:
        return said
    judged = judge(
        [(answer, gold) for _, answer, gold in questions],
        any_difference_counts=tolerance is None,
        parity=profile == "math_verify",
    )
    for (index, _, gold), one in zip(questions, judged, strict=True):
        said[index][gold] = one
    for index in {index for index, _, _ in questions}:
        verdicts = [one.verdict for one in said[index].values()] + decided.get(index, [])
        grades[index] = _combined(grades[index], verdicts)
    return said


def _combined(graded: Grade, verdicts: Sequence[Verdict]) -> Grade:
    """Right against any gold is right, wrong against all of them is wrong."""
    if Verdict.CORRECT in verdicts:
        return Grade(Verdict.CORRECT, graded.extracted, "math-verify", "fallback-equal")
    if all(verdict is Verdict.INCORRECT for verdict in verdicts):
        return Grade(Verdict.INCORRECT, graded.extracted, "math-verify", "fallback-different")
    return graded
