"""maj@k against counting every draw."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError
from stare.evals.stats import voting
from stare.evals.stats.errors import rate_variance
from stare.evals.stats.voting import Ballot, ballot, maj_at_k, maj_variance

# Answers of one problem: the letters are classes, None abstains.
answers = st.lists(st.sampled_from([None, *"abcdefg"]), min_size=1, max_size=9)


def counted(keys: list[str | None], right: set[str], k: int) -> Fraction:
    """Mean credit over all draws of k samples."""
    credit, draws = Fraction(0), 0
    for draw in combinations(keys, k):
        draws += 1
        votes = Counter(key for key in draw if key is not None)
        if votes:
            leaders = [key for key, count in votes.items() if count == max(votes.values())]
            credit += Fraction(sum(key in right for key in leaders), len(leaders))
    return credit / draws


def of(keys: list[str | None], right: set[str]) -> Ballot:
    return ballot(keys, [key in right for key in keys])


@given(answers, st.sets(st.sampled_from("abc")), st.data())
def test_equals_counting_every_draw(keys, right, data):
    k = data.draw(st.integers(1, len(keys)))
    got = maj_at_k([of(keys, right)], k)[0]
    assert got == pytest.approx(float(counted(keys, right, k)), abs=1e-12)


@given(answers, st.sets(st.sampled_from("abc")), st.randoms())
def test_order_and_names_do_not_matter(keys, right, random):
    shuffled = list(keys)
    random.shuffle(shuffled)
    renamed = [key and key + "!" for key in shuffled]
    again = of(renamed, {key + "!" for key in right})
    assert again == of(keys, right)


@given(answers, st.sets(st.sampled_from("abc")))
def test_one_vote_is_the_average(keys, right):
    correct = sum(key in right for key in keys)
    one = of(keys, right)
    assert maj_at_k([one], 1)[0] == pytest.approx(correct / len(keys), abs=1e-14)
    if len(keys) > 1:
        assert maj_variance([one], 1)[0] == pytest.approx(
            rate_variance([correct], [len(keys)])[0], abs=1e-14
        )


def test_large_ballots_agree_with_draws():
    one = Ballot(((9, False), (8, True), (5, False), *((1, False),) * 8), abstained=2)
    generator = np.random.default_rng(1)
    keys = np.repeat(np.arange(12), [9, 8, 5, *[1] * 8, 2])
    for k in (3, 8, 16, 31):
        credit = 0.0
        for _ in range(4000):
            votes = np.bincount(generator.choice(keys, k, replace=False), minlength=12)[:11]
            leaders = np.flatnonzero(votes == votes.max())
            credit += (1 in leaders) / len(leaders)
        assert maj_at_k([one], k)[0] == pytest.approx(credit / 4000, abs=0.03)


def test_beyond_the_exact_limit_fixed_draws_take_over(monkeypatch):
    one = Ballot(((12, True), (10, False), (3, False)), abstained=5)
    exact = maj_at_k([one], 11)[0]
    voting._maj.cache_clear()
    monkeypatch.setattr(voting, "EXACT_SAMPLES", 1)
    drawn = maj_at_k([one], 11)[0]
    voting._maj.cache_clear()
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.03)


def test_a_thousand_samples_stay_exact():
    one = Ballot(((400, True), (399, False), *((1, False),) * 151), abstained=50)
    value = maj_at_k([one], 500)[0]
    assert 0.5 < value < 0.6
    assert maj_at_k([one], 1000)[0] == 1.0


def test_ties_share_and_silence_loses():
    assert maj_at_k([of(["a", "b"], {"a"})], 2)[0] == 0.5
    assert maj_at_k([of(["a", "b", "c"], {"a", "b"})], 3)[0] == pytest.approx(2 / 3)
    assert maj_at_k([of([None, None], set())], 2)[0] == 0.0
    assert maj_at_k([of([None, None, "a"], {"a"})], 3)[0] == 1.0  # abstaining is not voting
    assert math.isnan(maj_at_k([of(["a"], {"a"})], 2)[0])


def test_no_answer_can_be_made_to_vote():
    keys, correct = [None, None, "a"], [False, False, True]
    one = ballot(keys, correct, no_answer="vote")
    assert one == Ballot(((2, False), (1, True)))
    assert maj_at_k([one], 3)[0] == 0.0


def test_one_correct_sample_makes_its_class_right():
    # A grader may time out on one spelling of what it accepted in another.
    assert ballot(["x", "x"], [True, False]) == Ballot(((2, True),))
    assert ballot([None, "y"], [True, False]) == Ballot(((1, True), (1, False)))
    assert ballot([None, None], [True, False]) == Ballot(((1, True),), abstained=1)


def test_the_variance_is_that_of_sampling_again():
    generator = np.random.default_rng(0)
    shares, n, k = [0.4, 0.3, 0.2, 0.1], 24, 6
    values, estimates = [], []
    for counts in generator.multinomial(n, shares, size=300):
        classes = tuple((int(v), at == 0) for at, v in enumerate(counts[:3]) if v)
        one = Ballot(classes, abstained=int(counts[3]))
        values.append(maj_at_k([one], k)[0])
        estimates.append(maj_variance([one], k)[0])
    assert np.mean(estimates) == pytest.approx(np.var(values), rel=0.25)
    assert maj_variance([Ballot(((3, True), (1, False)))], 4)[0] > 0.0
    assert math.isnan(maj_variance([Ballot(((1, True),))], 1)[0])


def test_bad_arguments():
    with pytest.raises(ArgumentError, match="differ in length"):
        ballot(["a"], [])
    with pytest.raises(ArgumentError, match="'abstain' or 'vote'"):
        ballot(["a"], [True], no_answer="x")
    with pytest.raises(ArgumentError, match="k must be"):
        maj_at_k([], 0)
