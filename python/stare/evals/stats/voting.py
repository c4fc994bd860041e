"""maj@k: the share of draws of k samples in which the most frequent answer is right.

Answers are classes by canonical key, so `1/2` and `0.5` vote together. Samples without an answer
abstain. Classes with equally many votes share the credit. A class is right if a sample in it was
graded correct.

Exact for up to `EXACT_SAMPLES` samples and any number of classes: for each number of votes m that a
right class may win with, a polynomial over the others counts the draws in which each of them has
fewer than m votes, or m and shares. Beyond that, `DRAWS` draws of a fixed seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError

__all__ = ["DRAWS", "EXACT_SAMPLES", "Ballot", "ballot", "maj_at_k", "maj_variance"]

EXACT_SAMPLES = 1000
"""The number of draws, at most 2^n, must fit in a float."""
DRAWS = 2000
_RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class Ballot:
    """The answers to one problem, as classes.

    Example:
        >>> Ballot(((2, True), (1, False)), abstained=1).n
        4
    """

    classes: tuple[tuple[int, bool], ...]
    """(votes, right) of each class, largest first."""
    abstained: int = 0
    """Samples that do not vote."""

    @property
    def n(self) -> int:
        """Samples."""
        return self.abstained + sum(votes for votes, _ in self.classes)


def ballot(
    keys: Sequence[Hashable | None],
    correct: Sequence[bool],
    *,
    no_answer: Literal["abstain", "vote"] = "abstain",
) -> Ballot:
    """Classes of the samples of one problem.

    Args:
        keys: what equal answers share, such as the canonical key, or the answer's text where there
            is none; None for a sample without an answer.
        correct: whether each sample was graded correct. One that is, but has no key, votes for the
            class of such samples.
        no_answer: `vote` makes the samples without an answer one class, which is never right.

    Raises:
        ArgumentError: unequal lengths, or another `no_answer`.

    Example:
        >>> ballot(["4", "4", "5", None], [True, True, False, False])
        Ballot(classes=((2, True), (1, False)), abstained=1)
    """
    if len(keys) != len(correct):
        raise ArgumentError(f"keys and correct differ in length: {len(keys)} and {len(correct)}")
    if no_answer not in ("abstain", "vote"):
        raise ArgumentError(f"no_answer must be 'abstain' or 'vote', got {no_answer!r}")
    votes: Counter[tuple[str, Hashable]] = Counter()
    right: set[tuple[str, Hashable]] = set()
    abstained = 0
    for key, good in zip(keys, correct, strict=True):
        if key is None and not good and no_answer == "abstain":
            abstained += 1
            continue
        name = ("answer", key) if key is not None else ("no answer", bool(good))
        votes[name] += 1
        if good:
            right.add(name)
    classes = sorted(((count, name in right) for name, count in votes.items()), reverse=True)
    return Ballot(tuple(classes), abstained)


def maj_at_k(ballots: Iterable[Ballot], k: int) -> NDArray[np.float64]:
    """maj@k of each problem: (P,); NaN where k > n.

    The expectation over draws of k of the n samples without replacement. Draws in which nobody
    votes count as wrong.

    Example:
        >>> one = Ballot(((2, True), (2, False)))
        >>> maj_at_k([one], 4).tolist(), maj_at_k([one], 1).tolist()
        ([0.5], [0.5])
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ArgumentError(f"k must be an integer >= 1, got {k!r}")
    return np.array([_maj(one, int(k)) for one in ballots], dtype=np.float64)


def maj_variance(ballots: Iterable[Ballot], k: int) -> NDArray[np.float64]:
    """Variance of each problem's maj@k when the model is sampled again: (P,).

    By the jackknife over samples for k < n, as in `errors.metric_variance`: p(1-p)/(n-1) for
    k = 1, rather too large for large k. For k = n, where a sample cannot be left out and the
    jackknife of n - 1 is far off (the vote jumps), by resampling the answers, times n/(n-1): the
    standard error is then 0.8 to 1.1 times the true one. NaN for n = 1 and k > n.
    """
    return np.array([_variance(one, int(k)) for one in ballots], dtype=np.float64)


@lru_cache(maxsize=1 << 14)
def _maj(one: Ballot, k: int) -> float:
    if k > one.n:
        return math.nan
    if k == one.n:
        return float(_credit(np.array([[votes for votes, _ in one.classes]]), one)[0])
    if one.n > EXACT_SAMPLES:
        return _by_draws(one, k)
    return _exact(one, k)


def _credit(votes: NDArray[np.int64], one: Ballot) -> NDArray[np.float64]:
    """Credit of each row of votes, (draws, classes): the right ones' share of the leaders."""
    if not votes.shape[1]:
        return np.zeros(len(votes))
    most = votes.max(axis=1, keepdims=True)
    leads = (votes == most) & (most > 0)
    right = np.array([good for _, good in one.classes])
    return np.asarray((leads & right).sum(axis=1) / np.maximum(1, leads.sum(axis=1)))


def _exact(one: Ballot, k: int) -> float:
    ways = 0.0
    for votes, count in Counter(votes for votes, good in one.classes if good).items():
        others = [size for size, _ in one.classes]
        others.remove(votes)
        ways += count * math.fsum(
            math.comb(votes, m) * _shared_ways(others, one.abstained, m, k - m)
            for m in range(1, min(votes, k) + 1)
        )
    return min(1.0, ways / math.comb(one.n, k))


def _shared_ways(others: list[int], abstained: int, m: int, rest: int) -> float:
    """Draws of `rest` samples that leave a class of m votes in the lead, each over its sharers."""
    big = [size for size in others if size >= m]
    free = abstained + sum(size for size in others if size < m)
    ties = min(len(big), rest // m)
    table = np.zeros((ties + 1, rest + 1))  # draws by number of sharers and of samples taken
    table[0] = [float(math.comb(free, j)) for j in range(rest + 1)]
    for size in big:
        new = table.copy()
        for j in range(1, min(m, rest + 1)):
            new[:, j:] += math.comb(size, j) * table[:, :-j]
        if m <= rest:
            new[1:, m:] += math.comb(size, m) * table[:-1, :-m]
        table = new
    return float((table[:, rest] / np.arange(1, ties + 2)).sum())


def _by_draws(one: Ballot, k: int) -> float:
    sizes = [votes for votes, _ in one.classes]
    generator = np.random.default_rng(0)
    votes = generator.multivariate_hypergeometric([*sizes, one.abstained], k, size=DRAWS)
    return float(_credit(votes[:, :-1], one).mean())


@lru_cache(maxsize=1 << 14)
def _variance(one: Ballot, k: int) -> float:
    n = one.n
    if n < 2 or k > n:
        return math.nan
    if k == n:
        shares = np.array([*(votes for votes, _ in one.classes), one.abstained]) / n
        votes = np.random.default_rng(0).multinomial(n, shares, size=_RESAMPLES)
        return float(_credit(votes[:, :-1], one).var()) * n / (n - 1)
    left_out = [(count, _maj(smaller, k)) for count, smaller in _leave_one_out(one)]
    mean = sum(count * value for count, value in left_out) / n
    return (n - 1) / n * math.fsum(count * (value - mean) ** 2 for count, value in left_out)


def _leave_one_out(one: Ballot) -> list[tuple[int, Ballot]]:
    """Each ballot with one sample left out, and how many samples leave it."""
    found: Counter[Ballot] = Counter()
    for at, (votes, good) in enumerate(one.classes):
        rest = one.classes[:at] + one.classes[at + 1 :]
        less = ((votes - 1, good),) if votes > 1 else ()
        found[Ballot(tuple(sorted(rest + less, reverse=True)), one.abstained)] += votes
    if one.abstained:
        found[Ballot(one.classes, one.abstained - 1)] += one.abstained
    return [(count, smaller) for smaller, count in found.items()]
