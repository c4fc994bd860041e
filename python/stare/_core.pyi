"""The compiled core. `stare.algo` and `stare.verify` are the documented front."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ANSWER_PROFILES",
    "ANSWER_REASONS",
    "Batch",
    "__version__",
    "answer_key",
    "compare_answers",
    "explain_answer",
    "extract_answer",
    "grade_answers",
    "group_advantages",
    "mean_weight",
    "quota",
    "surprisal",
]

__version__: Final[str]

_Verdict = Literal["correct", "incorrect", "undecided"]
_Profile = Literal["reward", "eval", "math_verify"]
_Tolerance = float | Literal["gold-digits"] | None  # a number holds for every number

class _ExplainedGold(TypedDict):
    text: str
    tree: str | None  # None: it was not read
    verdict: _Verdict
    reason: str

class _Explanation(TypedDict):
    verdict: _Verdict
    reason: str
    extracted: str | None
    how: Literal["box", "boxes", "hashes", "marker", "line", "maths", "number"] | None
    tree: str | None  # None: there is no answer, or it was not read
    golds: list[_ExplainedGold]  # each compared on its own

_Formatted = tuple[NDArray[Any], str]
_Rule = tuple[int, bool, float, float]

@final
class Batch:
    """The arrays of one batch, checked once; every method reads them in place.

    Floats are (two-dimensional array, format) with format f32, f64, f16 or bf16, half types as the
    bits of uint16. Rules are (sign, whether the high tail, ratio, factor).
    """

    def __new__(
        cls,
        logprobs: _Formatted,
        advantages: _Formatted,
        mask: NDArray[Any],
        *,
        entropy: _Formatted | None = None,
        concentration: _Formatted | None = None,
        offsets: list[int] | None = None,
        per_row: bool = False,
        drop_nonfinite: bool = False,
        threads: int = 1,
    ) -> Batch: ...
    def token_weights(
        self,
        rules: list[_Rule],
        out: NDArray[Any],
        *,
        selector: str = "quantile",
        threshold: float = ...,
        on: bool = True,
        rows_on: NDArray[np.uint8] | None = None,
        target: float | None = None,
    ) -> dict[str, Any]:
        """Writes the weights of the whole batch to `out`; returns the counts."""

    def entropy_of_rows(self) -> NDArray[np.float64]:
        """Mean of the entropy over the mask of each row; NaN for a row without tokens."""

    def survey(
        self, *, first_row: int = 0, rows: NDArray[np.int64] | None = None
    ) -> tuple[int, int, int, int]:
        """(tokens, positive, negative, dropped) of a shard whose candidates are all good."""

    def digit_histogram(
        self,
        rule: _Rule,
        prefix: tuple[int, int, int],
        *,
        first_row: int = 0,
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """256 counts of the next digit among the tokens that agree with (key, tie, level)."""

    def apply_cutoffs(
        self,
        rules: list[_Rule],
        cutoffs: list[tuple[int, int] | None],
        out: NDArray[Any],
        *,
        first_row: int = 0,
        rows: NDArray[np.int64] | None = None,
        selector: str = "quantile",
        threshold: float = ...,
        on: bool = True,
        rows_on: NDArray[np.uint8] | None = None,
        target: float | None = None,
    ) -> tuple[list[int], list[int]]:
        """Writes the weights of a shard to `out`; returns (selected by rule, tokens by pattern)."""

def quota(n: int, ratio: float) -> int:
    """ceil(ratio * n) in exact arithmetic, the ratio read as its shortest decimal."""

def mean_weight(rules: list[_Rule], patterns: list[int], tokens: int) -> float:
    """Mean weight over the mask, from the tokens counted by pattern."""

def surprisal(key: int, format: Literal["f32", "f64", "f16", "bf16"] | str) -> float:
    """Surprisal in nats of an ordered key of a float format."""

def group_advantages(
    rewards: NDArray[np.float64], groups: list[int], n_groups: int, *, eps: float | None = None
) -> tuple[NDArray[np.float64], tuple[int, int, int]]:
    """Advantages and (groups, singletons, groups of equal rewards); no scaling without `eps`."""

ANSWER_REASONS: Final[dict[str, _Verdict]]
"""Every reason and the one verdict that it stands for."""

ANSWER_PROFILES: Final[tuple[str, ...]]
"""Names of the extraction profiles, the default first."""

def extract_answer(text: str, /, *, profile: _Profile | str = "reward") -> str | None:
    """Find the answer of a completion; ValueError for an unknown profile."""

def compare_answers(
    answer: str, gold: str, /, *, tolerance: _Tolerance = None
) -> tuple[_Verdict, str]:
    """Compare an answer with a gold answer; verdict and reason."""

def answer_key(answer: str, /) -> str | None:
    """The same text for equal answers; None if there is nothing to read, or too much."""

def grade_answers(
    pairs: Sequence[tuple[str, Sequence[str]]],
    /,
    *,
    profile: _Profile | str = "reward",
    tolerance: _Tolerance = None,
    threads: int = 1,
) -> list[tuple[_Verdict, str | None, str]]:
    """Grade completions, each against its golds; verdict, extracted answer and reason of each."""

def explain_answer(
    completion: str,
    golds: Sequence[str],
    /,
    *,
    profile: _Profile | str = "reward",
    tolerance: _Tolerance = None,
) -> _Explanation:
    """Grade a completion and say how the verdict came about."""
