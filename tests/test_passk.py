"""pass@k against exact fractions; the bootstrap's coverage."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stare.errors import ArgumentError
from stare.passk import mean_and_standard_error, pass_at_k, problem_bootstrap


def exact(n: int, c: int, k: int) -> Fraction:
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@settings(deadline=None)
@given(st.data())
def test_equals_the_exact_fraction(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 2000))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, k) == pytest.approx(float(exact(n, c, k)), rel=1e-13, abs=0.0)


def test_equals_counting_the_draws() -> None:
    for n in range(1, 8):
        for c in range(n + 1):
            for k in range(1, n + 1):
                draws = list(combinations(range(n), k))
                hits = sum(any(i < c for i in draw) for draw in draws)
                assert pass_at_k(n, c, k) == pytest.approx(hits / len(draws), rel=1e-14)


@settings(deadline=None)
@given(st.integers(1, 300), st.data())
def test_edges_and_monotonicity(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    values = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    assert values[0] == pytest.approx(c / n, rel=1e-14)
    assert values[-1] == float(c > 0)
    assert all(0.0 <= a <= b + 1e-15 for a, b in pairwise(values))
    assert math.copysign(1.0, pass_at_k(n, 0, 1)) == 1.0  # not -0.0
    assert math.isnan(pass_at_k(n, c, n + 1))
    assert math.isnan(pass_at_k(0, 0, 1))


def test_tiny_probabilities_keep_their_digits() -> None:
    assert pass_at_k(10**9, 1, 3) == pytest.approx(3e-9, rel=1e-12)


def test_arrays_broadcast_and_scalars_stay_floats() -> None:
    n, c = np.array([[8], [4]]), np.array([0, 2, 4], dtype=np.int32)
    got = pass_at_k(n, c, 8)
    assert got.shape == (2, 3)
    assert got[0].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(got[1]).all()
    assert isinstance(pass_at_k(np.int64(4), np.int64(1), 2), float)
    assert pass_at_k([], [], 1).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 5, 1), r"\[0, n\].*c=5"),
        ((4, -1, 1), "c=-1"),
        ((-1, 0, 1), "n=-1"),
        ((4, 1, 0), "k must be >= 1, got 0"),
        ((4.0, 1, 1), "n must be an integer, got float64"),
        ((4, True, 1), "c must be an integer, got bool"),
        (([4, 4], [1, 1, 1], 1), "must broadcast"),
    ],
)
def test_bad_counts_are_named(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pass_at_k(*arguments)


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=50))
def test_standard_error_is_that_of_the_mean(values: list[float]) -> None:
    mean, error = mean_and_standard_error(values)
    exact_mean = sum(map(Fraction, values)) / len(values)
    variance = sum((Fraction(v) - exact_mean) ** 2 for v in values) / (len(values) - 1)
    assert mean == pytest.approx(float(exact_mean), rel=1e-9, abs=1e-9)
    assert error == pytest.approx(math.sqrt(variance / len(values)), rel=1e-9, abs=1e-9)


def test_one_problem_has_no_standard_error() -> None:
    mean, error = mean_and_standard_error([0.25])
    assert mean == 0.25
    assert math.isnan(error)


def test_bootstrap_is_reproducible_and_covers() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        low, high = problem_bootstrap(rng.normal(size=60), n_boot=400, seed=trial)
        hits += low <= 0.0 <= high
    assert 180 <= hits <= 198  # 95 % of 200 is 190, five standard deviations are 15
    values = rng.random(100)
    first = problem_bootstrap(values)
    assert first == problem_bootstrap(values)
    assert first != problem_bootstrap(values, seed=1)
    narrow = problem_bootstrap(values, level=0.5)
    assert first[0] < narrow[0] < values.mean() < narrow[1] < first[1]


def test_bootstrap_agrees_with_the_normal_interval() -> None:
    values = np.random.default_rng(2).random(2000)
    mean, error = mean_and_standard_error(values)
    low, high = problem_bootstrap(values, n_boot=4000)
    assert (low - mean) / error == pytest.approx(-1.96, abs=0.15)
    assert (high - mean) / error == pytest.approx(1.96, abs=0.15)


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert problem_bootstrap([0.5] * 8) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "got shape"),
        ([[1.0]], {}, r"got shape \(1, 1\)"),
        ([0.1, math.nan, math.inf], {}, "got 2 that are not\nhint"),
        ([0.1], {"n_boot": 0}, "n_boot must be >= 1"),
        ([0.1], {"level": 1.0}, r"level must lie in \(0, 1\), got 1.0"),
    ],
)
def test_bad_values_are_named(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        problem_bootstrap(values, **options)
