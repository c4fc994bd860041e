"""Metrics of a benchmark against exact fractions, scipy and counting every draw."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from stare.errors import ArgumentError
from stare.evals.stats.metrics import (
    best_at_k_verl,
    curve,
    g_pass_at_k,
    macro,
    mg_pass_at_k,
    pass_at_k,
    pass_pow_k,
    rate,
    score_bounds,
    usual_ks,
)

TAUS = ["0", "0.25", "0.5", "0.7", "0.75", "1"]


def counts(max_n: int = 40) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    problem = st.integers(1, max_n).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
    return st.lists(problem, min_size=1, max_size=12).map(
        lambda rows: ([c for c, _ in rows], [n for _, n in rows])
    )


def test_pass_at_k_is_exact_to_two_ulp_where_it_matters():
    worst = 0.0
    for n in (1, 2, 7, 32, 64, 256, 1024):
        for c in sorted({0, 1, min(2, n), n // 3, n // 2, n - 1, n}):
            for k in usual_ks(n):
                exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
                got = pass_at_k([c], [n], k)[0]
                worst = max(worst, abs(float(Fraction(got) / exact - 1)) if exact else abs(got))
    assert worst < 2e-15


@pytest.mark.parametrize("n", [1, 2, 5, 32, 64])
def test_pass_pow_and_g_pass_equal_the_hypergeometric_distribution(n: int):
    for c in range(0, n + 1, max(1, n // 7)):
        for k in range(1, n + 1, max(1, n // 9)):
            x = hypergeom(n, c, k)
            assert pass_pow_k([c], [n], k)[0] == pytest.approx(x.pmf(k), abs=1e-12)
            for tau in TAUS:
                least = max(1, math.ceil(Fraction(tau) * k))
                assert g_pass_at_k([c], [n], k, tau)[0] == pytest.approx(x.sf(least - 1), abs=1e-12)
            tails = [x.sf(i - 1) for i in range(math.ceil(k / 2) + 1, k + 1)]
            assert mg_pass_at_k([c], [n], k)[0] == pytest.approx(2 / k * sum(tails), abs=1e-12)


def test_they_equal_counting_every_draw():
    for n in range(1, 8):
        for c in range(n + 1):
            for k in range(1, n + 1):
                hits = [sum(i < c for i in draw) for draw in combinations(range(n), k)]
                share = [sum(h >= m for h in hits) / len(hits) for m in range(k + 1)]
                assert pass_at_k([c], [n], k)[0] == pytest.approx(share[1])
                assert pass_pow_k([c], [n], k)[0] == pytest.approx(share[k])
                assert g_pass_at_k([c], [n], k, 0.5)[0] == pytest.approx(share[(k + 1) // 2])


def test_the_threshold_is_a_whole_number_of_a_rational_share():
    # In floats 0.07 * 100 is 7.000000000000001, whose ceil is 8.
    assert g_pass_at_k([7], [100], 100, 0.07)[0] == 1.0
    assert g_pass_at_k([7], [100], 100, Fraction(7, 100))[0] == 1.0
    assert g_pass_at_k([7], [100], 100, "0.0701")[0] == 0.0


@given(counts(), st.integers(1, 50))
def test_how_the_metrics_are_ordered(found: tuple[list[int], list[int]], k: int):
    c, n = found
    defined = np.array(n) >= k
    values = {
        "all": pass_pow_k(c, n, k),
        "most": g_pass_at_k(c, n, k, "0.75"),
        "half": g_pass_at_k(c, n, k, "0.5"),
        "any": pass_at_k(c, n, k),
    }
    for one in values.values():
        assert np.isnan(one[~defined]).all()  # never padded
        assert ((one[defined] >= 0.0) & (one[defined] <= 1.0)).all()
    ordered = [one[defined] for one in values.values()]
    for low, high in pairwise(ordered):
        assert (low <= high + 1e-12).all()
    np.testing.assert_allclose(g_pass_at_k(c, n, k, 1), values["all"], atol=1e-15)
    np.testing.assert_allclose(g_pass_at_k(c, n, k, 0), values["any"], atol=1e-12)
    # Drawing with replacement can only repeat samples.
    assert (best_at_k_verl(c, n, k)[defined] <= values["any"][defined] + 1e-12).all()


@given(counts())
def test_monotone_in_k_and_equal_to_the_average_at_one(found: tuple[list[int], list[int]]):
    c, n = found
    ks = range(1, min(n) + 1)
    rising, falling = curve(pass_at_k, c, n, ks), curve(pass_pow_k, c, n, ks)
    for k in list(ks)[1:]:
        assert rising[k] >= rising[k - 1] - 1e-12
        assert falling[k] <= falling[k - 1] + 1e-12
    for one in (rising, falling):
        assert one[1] == pytest.approx(macro(rate(c, n)), abs=1e-14)
    assert math.isnan(macro(pass_at_k(c, n, min(n) + 1)))


@given(counts(), st.randoms())
def test_the_order_of_problems_does_not_matter(found: tuple[list[int], list[int]], random):
    rows = list(zip(*found, strict=True))
    random.shuffle(rows)
    c, n = zip(*rows, strict=True)
    assert macro(rate(c, n)) == macro(rate(*found))
    assert macro(mg_pass_at_k(c, n, 1)) == macro(mg_pass_at_k(*found, 1))


def test_problems_weigh_the_same_whatever_their_samples():
    assert macro(rate([1, 0], [1, 99])) == 0.5


def test_undecided_samples_bound_the_score():
    assert score_bounds([0, 1], [2, 0], [2, 2]) == (0.25, 0.75)
    with pytest.raises(ArgumentError, match="problem 0 has c=3, n=2"):
        score_bounds([1, 1], [2, 0], [2, 2])


@pytest.mark.parametrize(
    ("c", "n", "message"),
    [
        ([], [], "one count a problem"),
        ([1], [0], "1 problems have no sample"),
        ([3], [2], "c=3, n=2"),
        ([-1], [2], "c=-1"),
        ([1], [2, 2], "equal length"),
        ([0.5], [2], "integers"),
    ],
)
def test_impossible_counts_are_refused(c, n, message: str):
    with pytest.raises(ArgumentError, match=message):
        rate(c, n)


@pytest.mark.parametrize("k", [0, -1, 1.0, True])
def test_impossible_k_is_refused(k):
    with pytest.raises(ArgumentError, match="k must be an integer >= 1"):
        pass_pow_k([1], [2], k)


@pytest.mark.parametrize("tau", [-0.1, 1.1, "x", float("nan")])
def test_impossible_tau_is_refused(tau):
    with pytest.raises(ArgumentError, match="tau must"):
        g_pass_at_k([1], [2], 1, tau)


def test_usual_ks():
    assert usual_ks(32) == (1, 2, 4, 8, 16, 32)
    assert usual_ks(1) == (1,)
    assert usual_ks(0) == ()
