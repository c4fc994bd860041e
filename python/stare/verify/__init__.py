r"""Answer verification: find the answer in a completion and compare it with the gold answer.

Three verdicts. `correct` and `incorrect` are given only when proved, or when the completion
declares no answer at all (`incorrect`, reason `no-answer`); everything else is `undecided`, which
is not a wrong answer: count it, and leave it out of rewards and scores or decide it by other means.

The work is done in Rust without the GIL and is counted, not timed: over a limit the verdict is
`undecided` with reason `limit`. What Rust does not decide goes to math-verify in processes that are
killed when they overrun (`fallback=False` keeps it out). See docs/verify.md.

Example:
    >>> grade(r"So the sum is \boxed{\frac{1}{2}}.", "0.5")
    ... # doctest: +NORMALIZE_WHITESPACE
    Grade(verdict=<Verdict.CORRECT: 'correct'>, extracted='\\frac{1}{2}', by='rust',
          reason='equal-numbers')
"""

from __future__ import annotations

from stare.verify._arguments import Profile, Tolerance
from stare.verify._pool_config import PoolConfig
from stare.verify.explanation import Explanation, GoldExplanation, explain
from stare.verify.fallback import (
    FallbackStats,
    configure_fallback,
    fallback_stats,
    reset_fallback_stats,
    shut_down_fallback,
)
from stare.verify.grading import (
    Grade,
    answer_key,
    equivalent,
    extract_answer,
    grade,
    grade_batch,
    grade_batch_async,
)
from stare.verify.rewards import (
    math_reward,
    reset_reward_counts,
    reward,
    reward_counts,
    trl_reward,
    trl_reward_with,
    verl_compute_score,
    verl_compute_score_batch,
)

__all__ = [
    "Explanation",
    "FallbackStats",
    "GoldExplanation",
    "Grade",
    "PoolConfig",
    "Profile",
    "Tolerance",
    "answer_key",
    "configure_fallback",
    "equivalent",
    "explain",
    "extract_answer",
    "fallback_stats",
    "grade",
    "grade_batch",
    "grade_batch_async",
    "math_reward",
    "reset_fallback_stats",
    "reset_reward_counts",
    "reward",
    "reward_counts",
    "shut_down_fallback",
    "trl_reward",
    "trl_reward_with",
    "verl_compute_score",
    "verl_compute_score_batch",
]
