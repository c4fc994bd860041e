r"""Find the answer in a completion and compare it with the gold answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stare import _core
from stare.types import Verdict
from stare.verify._arguments import (
    Pair,
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
        tolerance: what else is right: nothing (None); what rounds to the digits of a gold written
            as a decimal (`gold-digits`); or, with a number, what is within this relative distance
            of the gold. A number holds for EVERY gold that is a number, exact ones included: at
            1e-3, 2023 is right for 2024, 3.14 for \pi. Do not use one where golds are counts.

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
        tolerance: what else is right, see `equivalent`; a number holds for every gold.
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
        tolerance: what else is right, see `equivalent`; a number holds for every gold.
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
        ask_fallback(grades, pairs, profile, tolerance)
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
    grades: list[Grade], pairs: Sequence[Pair], profile: Profile, tolerance: Tolerance
) -> list[dict[str, Judgement]]:
    """Put what is undecided to the fallback and write what it decides into `grades`.

    Args:
        grades: [N] grades by the core; changed in place.
        pairs: [N] what was graded.
        profile: as in the call.
        tolerance: as in the call.

    Returns:
        [N] what the fallback said about each gold that it was asked about.
    """
    said: list[dict[str, Judgement]] = [{} for _ in grades]
    # Each gold alone: with another gold, another answer may have been taken (one box or several).
    alone = [
        (index, pairs[index][0], gold)
        for index, graded in enumerate(grades)
        if graded.extracted is not None and graded.verdict is Verdict.UNDECIDED
        for gold in dict.fromkeys(pairs[index][1])
    ]
    if not alone:
        return said
    graded_alone = _core.grade_answers(
        [(completion, [gold]) for _, completion, gold in alone],
        profile=profile,
        tolerance=tolerance,
        threads=1,
    )
    verdicts: dict[int, list[Verdict]] = {}
    questions: list[tuple[int, str, str]] = []
    for (index, _, gold), (verdict, answer, reason) in zip(alone, graded_alone, strict=True):
        if reason in FALLBACK_REASONS and answer is not None:
            questions.append((index, answer, gold))
        else:
            verdicts.setdefault(index, []).append(Verdict(verdict))
    judged = judge(
        [(answer, gold) for _, answer, gold in questions],
        any_difference_counts=tolerance is None,
        parity=profile == "math_verify",
    )
    for (index, answer, gold), one in zip(questions, judged, strict=True):
        said[index][gold] = one
        verdicts.setdefault(index, []).append(one.verdict)
        if one.verdict is Verdict.CORRECT:
            grades[index] = Grade(Verdict.CORRECT, answer, "math-verify", "fallback-equal")
    for index, all_of in verdicts.items():
        if set(all_of) == {Verdict.INCORRECT}:
            grades[index] = Grade(
                Verdict.INCORRECT, grades[index].extracted, "math-verify", "fallback-different"
            )
    return said
