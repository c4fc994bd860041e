"""How a verdict came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stare import _core
from stare.types import Verdict
from stare.verify._arguments import Profile, Tolerance, pairs_of, profile_of, tolerance_of
from stare.verify.fallback import Judgement, count_pairs
from stare.verify.grading import Grade, ask_fallback

if TYPE_CHECKING:
    from stare._core import _ExplainedGold

__all__ = ["Explanation", "GoldExplanation", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldExplanation:
    """How an answer compares with one gold answer."""

    text: str
    """The gold answer."""
    tree: str | None
    """How it was read; None if it was not."""
    verdict: Verdict
    """Verdict against this gold alone."""
    reason: str
    """Why, according to the core."""
    fallback: str | None = None
    """What the fallback said: `equal`, `different`, or why it has no say; None if not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A grade and how it came about."""

    grade: Grade
    """The same as `grade` returns."""
    how: str | None
    """What the answer was found by: `box`, `boxes`, `hashes`, `marker`, `line`, `maths`,
    `number`."""
    tree: str | None
    """How the answer was read; None if it was not, or there is none."""
    golds: tuple[GoldExplanation, ...]
    """The golds, each compared on its own."""


def explain(
    completion: str,
    gold: str | Sequence[str],
    *,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
) -> Explanation:
    r"""Grade a completion and say how the verdict came about.

    Takes the arguments of `grade` and raises what it raises.

    Example:
        >>> explanation = explain(r"\boxed{0.5}", ["1/2", "2"])
        >>> explanation.how, [g.reason for g in explanation.golds]
        ('box', ['equal-numbers', 'different-numbers'])
    """
    ((completion, golds),) = pairs_of([completion], [gold])
    tolerance = tolerance_of(tolerance)
    told = _core.explain_answer(completion, golds, profile=profile_of(profile), tolerance=tolerance)
    graded = [Grade(Verdict(told["verdict"]), told["extracted"], "rust", told["reason"])]
    judged: dict[str, Judgement] = {}
    if fallback:
        count_pairs(1)
        judged = ask_fallback(graded, [(completion, golds)], profile, tolerance)[0]
    return Explanation(
        grade=graded[0],
        how=told["how"],
        tree=told["tree"],
        golds=tuple(_gold(one, judged.get(one["text"])) for one in told["golds"]),
    )


def _gold(told: _ExplainedGold, judged: Judgement | None) -> GoldExplanation:
    return GoldExplanation(
        text=told["text"],
        tree=told["tree"],
        verdict=Verdict(told["verdict"]) if judged is None else judged.verdict,
        reason=told["reason"],
        fallback=None if judged is None else judged.detail,
    )
