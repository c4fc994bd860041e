"""Standard errors and intervals: against scipy, enumeration and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stare.errors import ArgumentError
from stare.evals.stats.distributions import (
    normal_quantile,
    normal_two_sided,
    t_quantile,
    t_sf,
    t_two_sided,
)
from stare.evals.stats.errors import (
    estimate,
    macro_estimate,
    metric_variance,
    rate_variance,
    resampled_means,
    se_problems,
    se_sampling,
)
from stare.evals.stats.metrics import pass_at_k, pass_pow_k, rate
from stare.evals.stats.power import MIXES
from stare.passk import bootstrap_means

DEGREES = [0.5, 1.0, 2.0, 3.7, 5.0, 29.0, 58.3, 79.0, 80.0, 81.0, 499.0, 1546.0, 1e5]


@pytest.mark.parametrize("df", DEGREES)
def test_student_equals_scipy(df: float):
    for t in (0.001, 0.1, 0.5, 1.0, 1.96, 2.5, 5.0, 10.0, -1.3):
        assert t_sf(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-12)
        assert t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-12)
    for q in (1e-6, 0.01, 0.3, 0.6, 0.8, 0.9, 0.975, 0.995, 0.9999):
        assert t_quantile(q, df) == pytest.approx(stats.t.ppf(q, df), rel=1e-12)
    assert t_quantile(0.5, df) == 0.0
    assert t_sf(0.0, df) == 0.5


def test_normal_equals_scipy_and_is_the_limit():
    for q in (1e-6, 0.01, 0.3, 0.8, 0.975, 0.9999):
        assert normal_quantile(q) == pytest.approx(stats.norm.ppf(q), rel=1e-12)
        assert t_quantile(q, math.inf) == pytest.approx(stats.norm.ppf(q), rel=1e-12)
        assert t_quantile(q, 1e9) == pytest.approx(stats.norm.ppf(q), rel=1e-7)
    for z in (0.0, 0.3, 1.96, -5.0, 9.0):
        assert normal_two_sided(z) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12)
    assert t_sf(math.inf, 3.0) == 0.0


@pytest.mark.parametrize("call", [(0.0, 0.0), (math.nan, 1.0), (1.0, -1.0)])
def test_no_student_without_degrees(call):
    with pytest.raises(ArgumentError):
        t_sf(*call)


@pytest.mark.parametrize("q", [0.0, 1.0, math.nan])
def test_no_quantile_outside(q: float):
    for quantile in (normal_quantile, lambda q: t_quantile(q, 3.0)):
        with pytest.raises(ArgumentError, match=r"q must lie in \(0, 1\)"):
            quantile(q)


def test_the_two_standard_errors_are_their_formulas():
    c, n = np.array([0, 5, 16, 31]), np.array([4, 8, 16, 32])
    p = c / n
    score = estimate(rate(c, n), rate_variance(c, n))
    assert score.value == pytest.approx(p.mean(), rel=1e-15)
    assert score.se_sampling == pytest.approx(math.sqrt(sum(p * (1 - p) / (n - 1))) / 4)
    assert score.se_problems == pytest.approx(p.std(ddof=1) / 2)
    low, high = stats.t.interval(0.95, 3, p.mean(), p.std(ddof=1) / 2)
    assert score.ci_t == (pytest.approx(low), pytest.approx(high))


def test_macro_weighs_benchmarks_and_has_welchs_degrees():
    generator = np.random.default_rng(0)
    a, b = generator.random(12), generator.random(50)
    got = macro_estimate({"a": a, "b": b}, {"a": a / 10, "b": b / 10})
    errors = [stats.sem(a), stats.sem(b)]
    assert got.value == pytest.approx((a.mean() + b.mean()) / 2)
    assert got.se_problems == pytest.approx(math.hypot(*errors) / 2)
    assert got.se_sampling == pytest.approx(
        math.hypot(se_sampling(a / 10), se_sampling(b / 10)) / 2
    )
    # The interval of a sum of means is Welch's for a difference, one sign turned.
    low, high = stats.ttest_ind(a, -b, equal_var=False).confidence_interval(0.95)
    assert got.ci_t == (pytest.approx(low / 2), pytest.approx(high / 2))
    assert got.ci == pytest.approx(got.ci_t, abs=0.02)
    assert got.problems == 62


def test_the_bootstrap_is_that_of_the_mean_expanded():
    p = np.random.default_rng(3).beta(0.35, 0.8, 30)
    got = estimate(p)
    tail = stats.norm.cdf(-math.sqrt(30 / 29) * stats.t.ppf(0.975, 29))
    expected = stats.bootstrap(
        (p,),
        np.mean,
        confidence_level=1 - 2 * tail,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert got.ci == (pytest.approx(expected.low, abs=0.01), pytest.approx(expected.high, abs=0.01))
    assert got.ci == pytest.approx(got.ci_t, abs=0.02)


def test_drawing_repeated_values_at_once_is_the_same_law():
    values = np.random.default_rng(0).binomial(4, 0.6, 200) / 4
    fast, slow = resampled_means(values, 20_000, [1]), bootstrap_means(values, n_boot=20_000)
    for q in (0.025, 0.5, 0.975):
        assert np.quantile(fast, q) == pytest.approx(np.quantile(slow, q), abs=0.002)
    # The means are multiples of 1 / 800: ties are not for Kolmogorov and Smirnov to judge.
    cells = np.histogram_bin_edges(slow, 25)
    table = [np.histogram(one, cells)[0][5:20] for one in (fast, slow)]
    assert stats.chi2_contingency(table).pvalue > 0.01


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.randoms())
def test_the_order_of_problems_does_not_matter(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    once, again = (repr(estimate(one, n_boot=200)) for one in (values, shuffled))
    assert once == again  # as text: NaN is not equal to itself


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_unanimous_problems_do_not_make_a_score_certain(value: float):
    got = estimate([value] * 30)
    assert got.se_problems == 0.0
    assert "exact bound" in got.note
    u = 1 - 0.025 ** (1 / 30)
    assert (
        got.ci == got.ci_t == (pytest.approx(value * (1 - u)), pytest.approx(value * (1 - u) + u))
    )
    # Were the truth above the upper bound, all 30 at the value would be rarer than 2.5 %.
    assert (1 - u) ** 30 == pytest.approx(0.025)


def test_what_cannot_be_known_is_nan():
    one = estimate([0.5], [0.1])
    assert math.isnan(one.se_problems)
    assert all(map(math.isnan, (*one.ci, *one.ci_t)))
    assert "one problem" in one.note
    assert math.isnan(estimate([0.5, 0.0], rate_variance([1, 0], [1, 1])).se_sampling)
    gap = estimate([0.5, math.nan])
    assert math.isnan(gap.value)
    assert gap.to_json()["ci"] == [None, None]
    assert math.isnan(se_problems([1.0]))


def test_a_benchmark_without_spread_is_named():
    got = macro_estimate({"a": [0.0] * 5, "b": [0.1, 0.9]})
    assert got.note == "no spread between the problems of a: too narrow"
    assert macro_estimate({"a": [0.0] * 5, "b": [1.0] * 5}).ci[0] < 0.5


def test_bad_arguments():
    with pytest.raises(ArgumentError, match="no benchmark"):
        macro_estimate({})
    with pytest.raises(ArgumentError, match="level"):
        estimate([0.1, 0.2], level=1.0)
    with pytest.raises(ArgumentError, match="equal length"):
        estimate([0.1, 0.2], [0.1])


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(12, 20)), min_size=1, max_size=8))
def test_the_general_variance_is_the_closed_form_for_the_rate(rows):
    c, n = zip(*rows, strict=True)
    for metric in (pass_at_k, pass_pow_k):
        np.testing.assert_allclose(
            metric_variance(metric, c, n, 1), rate_variance(c, n), atol=1e-13
        )


def test_the_jackknife_leaves_out_one_sample_at_a_time():
    for c, n, k in [(0, 5, 2), (2, 5, 3), (5, 5, 4), (3, 7, 6)]:
        left = [pass_at_k([c - (i < c)], [n - 1], k)[0] for i in range(n)]
        expected = (n - 1) / n * sum((one - np.mean(left)) ** 2 for one in left)
        assert metric_variance(pass_at_k, [c], [n], k)[0] == pytest.approx(expected, abs=1e-15)
    assert metric_variance(pass_at_k, [3], [7], 7) == metric_variance(pass_at_k, [3], [7], 6)
    assert np.isnan(metric_variance(pass_at_k, [3, 1], [7, 1], 8)).all()


@pytest.mark.parametrize(("k", "most"), [(1, 1.1), (4, 1.15), (16, 1.3), (32, 1.5)])
def test_the_error_of_pass_at_k_is_that_of_sampling_again_or_a_little_more(k: int, most: float):
    generator = np.random.default_rng(0)
    p = generator.choice(MIXES["aime"].rates(), size=40, p=MIXES["aime"].weights_G)
    runs = generator.binomial(32, p, size=(1500, 40))
    n = np.full(33, 32)
    values = pass_at_k(np.arange(33), n, k)[runs].mean(axis=1)
    errors = np.sqrt(metric_variance(pass_at_k, np.arange(33), n, k)[runs].sum(axis=1)) / 40
    assert 0.93 <= errors.mean() / values.std() <= most


def test_intervals_cover_what_they_say():
    """30 problems of AIME's kind, 32 samples: the mean of such problems is inside."""
    generator = np.random.default_rng(5)
    mix = MIXES["aime"]
    simulations = 1500
    p = generator.choice(mix.rates(), size=(simulations, 30), p=mix.weights_G)
    rates = generator.binomial(32, p) / 32
    truth, fixed = mix.mean(), p.mean(axis=1)
    inside = np.zeros(3)
    for row, these in zip(rates, fixed, strict=True):
        got = estimate(row, rate_variance(np.rint(row * 32).astype(int), [32] * 30), n_boot=1000)
        half = 1.96 * got.se_sampling
        inside += [
            got.ci[0] <= truth <= got.ci[1],
            got.ci_t[0] <= truth <= got.ci_t[1],
            abs(got.value - these) <= half,
        ]
    bootstrap, student, sampling = inside / simulations
    assert 0.93 <= bootstrap <= 0.96
    assert 0.93 <= student <= 0.96
    assert 0.93 <= sampling <= 0.96
