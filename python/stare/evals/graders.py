r"""Graders as data, and what each makes of a chunk of samples.

A response that the token limit cut off counts, whatever the grader, only with an answer that it
declares (a box, an announcement; never a number in passing) and not while thinking: without one it
is `truncated`. Thinking that never ends declares nothing, except to `math-verify`, which is here to
show what that tool says by itself. What a grader cannot decide stays `undecided`; its own time-outs
and errors are told apart from that.
"""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stare.errors import ArgumentError, MissingExtraError
from stare.evals.own_grader import OwnGrader, judge, own_grader
from stare.evals.records import FinishReason, Outcome
from stare.types import Verdict
from stare.verify import Grade, Profile, Tolerance, answer_key, extract_answer, grade_batch

__all__ = ["DEFAULT_GRADER", "GRADERS", "Graded", "Grader", "Question", "grade_questions"]

DEFAULT_GRADER = "stare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grader:
    """How a grader reads and compares answers."""

    name: str
    version: int | str
    """Raised whenever it may judge differently; grades of another version are made anew."""
    engine: str
    """Name in `_ENGINES`."""
    profile: Profile
    """What declares an answer in a response that ended by itself."""
    about: str
    function: OwnGrader | None = None
    """Of a grader given by import path."""


class Question(NamedTuple):
    """One response to judge."""

    text: str
    golds: tuple[str, ...]
    finish_reason: FinishReason
    problem: str = ""
    """Its text; only graders of your own look at it."""


class Graded(NamedTuple):
    """What a grader made of it: the fields of a `GradeRow`."""

    outcome: Outcome
    extracted: str | None
    answer_key: str | None
    reason: str
    by: str


GRADERS: dict[str, Grader] = {
    one.name: one
    for one in (
        Grader(
            name="stare",
            version=1,
            engine="core",
            profile="eval",
            about="the verifier's core: last box, announcement, formula or number; the default",
        ),
        Grader(
            name="stare-reward",
            version=1,
            engine="core",
            profile="reward",
            about="the same, but only a box or an announcement declares an answer, as in training",
        ),
        Grader(
            name="stare+math-verify",
            version=1,
            engine="core-then-math-verify",
            profile="eval",
            about="stare; what it leaves undecided is put to math-verify, where that is trusted",
        ),
        Grader(
            name="math-verify",
            version=1,
            engine="math-verify",
            profile="math_verify",
            about="math-verify's own extraction and verdicts, trusted or not",
        ),
        Grader(
            name="integer",
            version=1,
            engine="integer",
            profile="eval",
            about="answer and gold read as integers; for golds that are not, undecided",
        ),
    )
}
_DECLARED_BEFORE_THE_CUT: Profile = "reward"
_NOTHING_DECLARED = ("no-answer", "unclosed-think")
_LONGEST_ANSWER = 2_000


def grader_named(name: str) -> Grader:
    """The grader of that name, or at that import path (see `own_grader`).

    Raises:
        ArgumentError: there is none.

    Example:
        >>> grader_named("stare").profile
        'eval'
    """
    if name not in GRADERS and ":" in name:
        return own_grader(name)
    if name not in GRADERS:
        raise ArgumentError(
            f"no grader is named {name!r}\n"
            f"hint: one of {', '.join(GRADERS)}, or package.module:function"
        )
    return GRADERS[name]


def grade_questions(
    grader: Grader,
    questions: Sequence[Question],
    *,
    tolerance: Tolerance = None,
    threads: int = 0,
) -> list[Graded]:
    r"""Judge responses.

    Args:
        grader: one of `GRADERS`.
        questions: [N] responses with their golds.
        tolerance: of decimal golds, see `stare.verify.equivalent`.
        threads: as in `stare.verify.grade_batch`.

    Returns:
        [N] in order; the result does not depend on how questions are put into calls.

    Raises:
        MissingExtraError: the grader needs math-verify, which is not installed.

    Example:
        >>> ended = Question(r"so \boxed{07}", ("7",), "stop")
        >>> asked = [ended, Question("so x = 7, and", ("7",), "length")]
        >>> [one.outcome for one in grade_questions(GRADERS["stare"], asked)]
        ['correct', 'truncated']
    """
    ended = [at for at, one in enumerate(questions) if one.finish_reason == "stop"]
    cut = [at for at, one in enumerate(questions) if one.finish_reason != "stop"]
    found: dict[int, Graded] = {}
    if grader.function is not None:
        judged = judge(grader.function, questions, grader.name)
        return [_finish(*pair) for pair in zip(questions, judged, strict=True)]
    for places, profile in ((ended, grader.profile), (cut, _DECLARED_BEFORE_THE_CUT)):
        if places:
            asked = [questions[at] for at in places]
            engine = _ENGINES[grader.engine]
            graded = engine(asked, profile, tolerance, threads)
            found |= {
                at: _finish(questions[at], one) for at, one in zip(places, graded, strict=True)
            }
    return [found[at] for at in range(len(questions))]


def _finish(question: Question, graded: Graded) -> Graded:
    """Clip what is stored; tell cut off from unanswered."""
    if graded.outcome == "no_answer" and question.finish_reason == "length":
        return graded._replace(outcome="truncated", reason=f"length, {graded.reason}")
    if graded.outcome == "no_answer" and question.finish_reason != "stop":
        return graded._replace(reason=f"{question.finish_reason}, {graded.reason}")
    if graded.extracted is not None and len(graded.extracted) > _LONGEST_ANSWER:
        return graded._replace(extracted=graded.extracted[:_LONGEST_ANSWER] + " ...")
    return graded


def _outcome(graded: Grade) -> Outcome:
    if graded.verdict is Verdict.INCORRECT and graded.reason in _NOTHING_DECLARED:
        return "no_answer"
    outcomes: dict[Verdict, Outcome] = {
        Verdict.CORRECT: "correct",
        Verdict.INCORRECT: "incorrect",
        Verdict.UNDECIDED: "undecided",
    }
    return outcomes[graded.verdict]


def _graded(graded: Grade) -> Graded:
    key = None if graded.extracted is None else answer_key(graded.extracted)
    return Graded(_outcome(graded), graded.extracted, key, graded.reason, graded.by)


def _core(
    asked: Sequence[Question], profile: Profile, tolerance: Tolerance, threads: int
) -> list[Graded]:
    grades = grade_batch(
        [one.text for one in asked],
        [one.golds for one in asked],
        profile=profile,
        tolerance=tolerance,
        fallback=False,
        threads=threads,
    )
    return [_graded(one) for one in grades]


def _core_then_math_verify(
    asked: Sequence[Question], profile: Profile, tolerance: Tolerance, threads: int
) -> list[Graded]:
    from stare.verify.grading import ask_fallback

    _need_math_verify()
    pairs = [(one.text, list(one.golds)) for one in asked]
    grades = grade_batch(
        [text for text, _ in pairs],
        [golds for _, golds in pairs],
        profile=profile,
        tolerance=tolerance,
        fallback=False,
        threads=threads,
    )
    said = ask_fallback(grades, pairs, profile, tolerance)
    rows = []
    for one, judgements in zip(grades, said, strict=True):
        row = _graded(one)
        details = [j.detail for j in judgements.values() if j.verdict is Verdict.UNDECIDED]
        if row.outcome == "undecided" and details:
            row = row._replace(reason=details[0], outcome=_failure(details[0]), by="math-verify")
        rows.append(row)
    return rows


def _failure(detail: str) -> Outcome:
    """What it means that math-verify has no say."""
    if detail == "timeout":
        return "grader_timeout"
    if detail in ("memory", "error", "crashed", "unavailable", "closed"):
        return "grader_error"
    return "undecided"


_INTEGER = re.compile(r"[+-]?\d+(?:\.0*)?")
_GROUPED = re.compile(r"(?<=\d)(?:,|\\,|\{,\}|\\!)+(?=\d{3}(?:\D|$))")
_WRAP = re.compile(r"^(?:\$|\\\(|\\\[|\\text\{|\\mathrm\{)+|(?:\$|\\\)|\\\]|\}|\.)+$")


def integer_of(text: str) -> int | None:
    r"""The integer that is all of an answer, or None.

    Example:
        >>> integer_of("025"), integer_of("$1{,}234$"), integer_of("27.0"), integer_of("27.5")
        (25, 1234, 27, None)
    """
    bare = _GROUPED.sub("", _WRAP.sub("", text.strip()).strip()).replace("\u2212", "-")
    if len(bare) > 100 or not _INTEGER.fullmatch(bare) or not bare.isascii():
        return None
    return int(bare.partition(".")[0])


def _integer(
    asked: Sequence[Question], profile: Profile, tolerance: Tolerance, threads: int
) -> list[Graded]:
    del tolerance, threads
    return [_by_integer(one, profile) for one in asked]


def _by_integer(one: Question, profile: Profile) -> Graded:
    extracted = extract_answer(one.text, profile=profile)
    if extracted is None:
        return Graded("no_answer", None, None, "no-answer", "integer")
    number = integer_of(extracted)
    key = None if number is None else str(number)
    golds = [integer_of(gold) for gold in one.golds]
    if None in golds:
        return Graded("undecided", extracted, key, "gold-no-integer", "integer")
    if number is None:
        return Graded("incorrect", extracted, key, "no-integer", "integer")
    if number in golds:
        return Graded("correct", extracted, key, "equal-integers", "integer")
    return Graded("incorrect", extracted, key, "different-integers", "integer")


class _RawMathVerify:
    """math-verify's own verdict on pairs, in processes that can be killed; each pair asked once."""

    remembered = 200_000
    longest = 200

    def __init__(self) -> None:
        from stare.verify.pool import PoolConfig, WorkerPool

        self.pool = WorkerPool("stare.verify._math_verify:engine", PoolConfig())
        atexit.register(self.pool.close)
        self.known: dict[tuple[str, str], tuple[Outcome, str]] = {}

    def judge(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[Outcome, str]]:
        """Outcome and reason of each pair (answer, gold)."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        jobs: list[Mapping[str, Any]] = [
            {"answer": answer, "gold": gold, "alarm_s": 5, "float_rounding": 6}
            for answer, gold in new
        ]
        found = dict(zip(new, map(_raw_verdict, self.pool.run(jobs)), strict=True)) if new else {}
        found |= {pair: self.known[pair] for pair in pairs if pair in self.known}
        if len(self.known) < self.remembered:
            short = {
                pair: one
                for pair, one in found.items()
                if len(pair[0]) + len(pair[1]) < self.longest and not one[0].startswith("grader_")
            }
            self.known.update(short)
        return found


def _raw_verdict(reply: Any) -> tuple[Outcome, str]:
    if reply.result is None:
        detail = reply.failure or "error"
        return _failure(detail), detail
    if reply.result["equal"] is None:
        return "undecided", "unparsed"
    return ("correct", "equal") if reply.result["equal"] else ("incorrect", "different")


_raw: _RawMathVerify | None = None


def _math_verify(
    asked: Sequence[Question], profile: Profile, tolerance: Tolerance, threads: int
) -> list[Graded]:
    global _raw
    del tolerance, threads
    _need_math_verify()
    _raw = _raw or _RawMathVerify()
    answers = [extract_answer(one.text, profile=profile) for one in asked]
    pairs = [
        (answer, gold)
        for one, answer in zip(asked, answers, strict=True)
        if answer is not None
        for gold in one.golds
    ]
    judged = _raw.judge(pairs)
    rows = []
    for one, answer in zip(asked, answers, strict=True):
        if answer is None:
            rows.append(Graded("no_answer", None, None, "no-answer", "math-verify"))
            continue
        said = [judged[answer, gold] for gold in one.golds]
        # Any gold will do; only all of them make it wrong; a failure is named before a doubt.
        order: tuple[Outcome, ...] = (
            "correct",
            "grader_timeout",
            "grader_error",
            "undecided",
            "incorrect",
        )
        outcome, reason = min(said, key=lambda pair: order.index(pair[0]))
        rows.append(Graded(outcome, answer, answer_key(answer), reason, "math-verify"))
    return rows


def _need_math_verify() -> None:
    from importlib.util import find_spec

    if find_spec("math_verify") is None:
        raise MissingExtraError("math-verify", "verify", "this grader")


Engine = Callable[[Sequence[Question], Profile, Tolerance, int], list[Graded]]
_ENGINES: dict[str, Engine] = {
    "core": _core,
    "core-then-math-verify": _core_then_math_verify,
    "integer": _integer,
    "math-verify": _math_verify,
}
