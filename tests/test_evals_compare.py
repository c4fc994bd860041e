"""Paired comparison: exact tests against enumeration and scipy, error rates by simulation."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stare.errors import ArgumentError, DataError
from stare.evals.stats import significance
from stare.evals.stats.compare import compare_counts
from stare.evals.stats.counts import BenchCounts, load_counts
from stare.evals.stats.power import MIXES
from stare.evals.stats.significance import (
    holm,
    lattice,
    sign_flip,
    stratified_z,
    within_problems,
)


def bench(c, n, name: str = "x", ids=None) -> BenchCounts:
    c = tuple(int(one) for one in c)
    n = (n,) * len(c) if isinstance(n, int) else tuple(n)
    return BenchCounts(name=name, ids=tuple(ids or (f"p{at}" for at in range(len(c)))), n=n, c=c)


def compared(a: BenchCounts, b: BenchCounts, **options):
    return compare_counts({a.name: a}, {b.name: b}, **options).overall


side = st.integers(1, 3).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
paired = st.lists(st.tuples(side, side), min_size=1, max_size=4)


def columns(rows):
    return tuple([row[i][j] for row in rows] for i in (0, 1) for j in (0, 1))


def enumerated_within(rows) -> Fraction:
    """Every relabelling of every problem's samples, by brute force."""
    law = {Fraction(0): Fraction(1)}
    for (ca, na), (cb, nb) in rows:
        here: dict[Fraction, Fraction] = {}
        for x in range(cb + ca + 1):
            if x <= nb and ca + cb - x <= na:
                ways = math.comb(ca + cb, x) * math.comb(na + nb - ca - cb, nb - x)
                delta = Fraction(x, nb) - Fraction(ca + cb - x, na)
                here[delta] = here.get(delta, 0) + Fraction(ways, math.comb(na + nb, nb))
        new: dict[Fraction, Fraction] = {}
        for (one, p), (two, q) in product(law.items(), here.items()):
            new[one + two] = new.get(one + two, 0) + p * q
        law = new
    observed = abs(sum(Fraction(b[0], b[1]) - Fraction(a[0], a[1]) for a, b in rows))
    return sum(p for delta, p in law.items() if abs(delta) >= observed)


@given(paired)
def test_within_problems_equals_enumeration(rows):
    got = within_problems(*columns(rows))
    assert got.method == "exact within problems"
    assert got.p == pytest.approx(float(enumerated_within(rows)), abs=1e-12)


@given(paired)
def test_sign_flip_equals_enumeration(rows):
    differences, scale = lattice(*columns(rows))
    for difference, ((ca, na), (cb, nb)) in zip(differences, rows, strict=True):
        assert Fraction(difference, scale) == Fraction(cb, nb) - Fraction(ca, na)
    flips = list(product((-1, 1), repeat=len(rows)))
    observed = abs(sum(differences))
    extreme = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed
        for signs in flips
    )
    assert sign_flip(differences).p == pytest.approx(extreme / len(flips), abs=1e-12)


def test_sign_flip_equals_scipys_permutation_test():
    differences = [3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5, 0]
    expected = stats.permutation_test(
        (np.array(differences),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(differences).p == pytest.approx(expected.pvalue, abs=1e-12)


def test_draws_agree_with_the_exact_distributions(monkeypatch):
    generator = np.random.default_rng(0)
    a, b = generator.binomial(8, 0.4, 20).tolist(), generator.binomial(8, 0.5, 20).tolist()
    n = [8] * 20
    differences, _ = lattice(a, n, b, n)
    exact = within_problems(a, n, b, n), sign_flip(differences)
    monkeypatch.setattr(significance, "_CELLS", 0)
    drawn = within_problems(a, n, b, n), sign_flip(differences)
    for one, two in zip(exact, drawn, strict=True):
        assert "exact" in one.method
        assert "20,000 draws" in two.method
        assert two.p == pytest.approx(one.p, abs=0.015)
    assert (within_problems(a, n, b, n), sign_flip(differences)) == drawn  # the seed is fixed
    assert within_problems(a, n, a, n).p == sign_flip([0, 0]).p == 1.0


def test_one_sample_a_problem_is_mcnemar():
    generator = np.random.default_rng(2)
    a, b = generator.integers(0, 2, 40), generator.integers(0, 2, 40)
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    got = compared(bench(a, 1), bench(b, 1))
    assert got.these.method == "McNemar, exact"
    assert got.these.p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, abs=1e-12)
    assert got.these.p == pytest.approx(got.like_these.p, abs=1e-12)
    assert (got.worse, got.better) == (only_a, only_b)
    assert math.isnan(got.detectable_these)  # one sample shows no noise


def test_paired_t_equals_scipy():
    generator = np.random.default_rng(4)
    a, b = generator.binomial(32, 0.3, 30), generator.binomial(32, 0.36, 30)
    got = compared(bench(a, 32), bench(b, 32))
    expected = stats.ttest_rel(b / 32, a / 32)
    interval = expected.confidence_interval(0.95)
    assert got.p_t == pytest.approx(expected.pvalue, rel=1e-12)
    assert got.delta.ci_t == (pytest.approx(interval.low), pytest.approx(interval.high))
    p, q = a / 32, b / 32
    se = math.sqrt((p * (1 - p) + q * (1 - q)).sum() / 31) / 30
    assert got.delta.se_sampling == pytest.approx(se)
    assert got.these.method == "stratified z"
    assert got.these.p == pytest.approx(2 * stats.norm.sf(abs(got.delta.value) / se), rel=1e-12)
    assert got.detectable_these == pytest.approx((1.959964 + 0.841621) * se, rel=1e-6)
    assert got.ci_sampling[0] == pytest.approx(got.delta.value - 1.959964 * se, rel=1e-6)


counts_of_two = st.integers(2, 6).flatmap(
    lambda size: st.tuples(*(st.lists(st.integers(0, 8), min_size=size, max_size=size),) * 2)
)


@given(counts_of_two, st.randoms())
def test_exchanging_runs_turns_the_sign_and_order_does_not_matter(found, random):
    a, b = (bench(c, 8) for c in found)
    one, two = compared(a, b), compared(b, a)
    assert two.delta.value == -one.delta.value
    assert two.these == one.these
    assert two.like_these == one.like_these
    ids = list(a.ids)
    random.shuffle(ids)
    assert repr(compared(a.at(ids), b)) == repr(one)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=9), st.sampled_from([1, 4, 8]))
def test_identical_runs_differ_in_nothing(c, n):
    run = bench([min(one, n) for one in c], n)
    got = compared(run, run)
    assert got.delta.value == 0.0
    assert got.these.p == got.like_these.p == got.p_t == 1.0
    assert got.delta.ci[0] < 0.0 < got.delta.ci[1]  # not: certainly equal


def test_a_difference_without_visible_noise_is_not_certain():
    # All samples alike in each problem: z would divide by 0.
    got = compared(bench([0, 8], 8), bench([8, 8], 8))
    assert got.these.method == "exact within problems"
    assert got.these.p == pytest.approx(2 / math.comb(16, 8))
    assert got.like_these.p == 1.0


def test_unequal_samples_weigh_problems_not_samples():
    got = compared(bench([1, 0], [2, 32]), bench([4, 3], [4, 3]))
    assert got.a == 0.25
    assert got.b == 1.0
    assert got.n_a == (2, 32)
    assert got.these.method == "exact within problems"


def test_any_mixture_of_sample_counts_can_be_compared():
    generator = np.random.default_rng(0)
    n_a, n_b = generator.integers(8, 65, (2, 60))
    p = generator.beta(2, 2, 60)
    a = bench(generator.binomial(n_a, p), n_a.tolist())
    b = bench(generator.binomial(n_b, np.minimum(1, p + 0.03)), n_b.tolist())
    got = compared(a, b)
    assert "20,000 draws" in got.like_these.method
    assert got.like_these.p == pytest.approx(got.p_t, abs=0.03)
    within = within_problems(a.c, a.n, b.c, b.n)
    assert "20,000 draws" in within.method
    assert within.p == pytest.approx(got.these.p, abs=0.03)


def test_problems_missing_on_one_side_are_named_and_left_out():
    a = bench([1, 2, 3], 4, ids=["p", "q", "r"])
    b = bench([4, 4, 0], 4, ids=["r", "q", "s"])
    got = compared(a, b)
    assert (got.problems, got.only_a, got.only_b) == (2, ("p",), ("s",))
    assert got.delta.value == pytest.approx((0.5 + 0.25) / 2)
    with pytest.raises(DataError, match=r"x: no problem in common; the first run has p, q, r"):
        compare_counts({"x": a}, {"x": bench([1], 4, ids=["z"])})


def test_several_benchmarks_are_averaged_and_adjusted():
    generator = np.random.default_rng(0)
    a, b = {}, {}
    for name, size, n in (("aime24", 30, 32), ("amc23", 40, 32), ("math500", 100, 4)):
        a[name] = bench(generator.binomial(n, 0.5, size), n, name)
        b[name] = bench(generator.binomial(n, 0.55, size), n, name)
    a["old"] = b["new"] = bench([1], 1)
    got = compare_counts(a, b)
    assert [one.name for one in got.benchmarks] == ["aime24", "amc23", "math500"]
    assert (got.only_a, got.only_b) == (("old",), ("new",))
    average = got.average
    assert average.problems == 170
    assert average.delta.value == pytest.approx(
        sum(one.delta.value for one in got.benchmarks) / 3, abs=1e-15
    )
    assert average.delta.se_sampling == pytest.approx(
        math.sqrt(sum(one.delta.se_sampling**2 for one in got.benchmarks)) / 3
    )
    # Student with Welch's degrees and the permutation ask the same question.
    assert average.like_these.p == pytest.approx(average.p_t, abs=0.02)
    ps = sorted(one.like_these.p for one in got.benchmarks)
    expected = np.maximum.accumulate([min(1.0, (3 - i) * p) for i, p in enumerate(ps)])
    found = sorted(one.like_these_holm for one in got.benchmarks)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    json.dumps(got.to_json(), allow_nan=False)
    only = compare_counts(a, b, benches=["amc23"])
    assert only.average is None
    assert only.overall.name == "amc23"


@given(st.dictionaries(st.text(max_size=3), st.floats(0.0, 1.0), max_size=6))
def test_holm(ps):
    got = holm(ps)
    assert list(got) == list(ps)
    for name, p in ps.items():
        assert p <= got[name] <= min(1.0, p * len(ps))
    if ps:
        least = min(ps, key=ps.__getitem__)
        assert got[least] == min(1.0, ps[least] * len(ps))


def test_bad_arguments():
    run = {"x": bench([1], 2)}
    with pytest.raises(DataError, match="the second run has no 'y'"):
        compare_counts({**run, "y": bench([1], 1, "y")}, run, benches=["y"])
    with pytest.raises(DataError, match="no benchmark in common: x in the first, y in the second"):
        compare_counts(run, {"y": bench([1], 1, "y")})
    with pytest.raises(ArgumentError, match="alpha"):
        compare_counts(run, run, alpha=1.0)
    with pytest.raises(ArgumentError, match="p-values"):
        holm({"a": math.nan})
    assert stratified_z(0.1, 0.0) == 0.0


def test_false_alarms_and_power_of_what_is_printed():
    """AIME24 and AIME25 pooled, 32 samples: 60 problems of AIME's kind, through compare itself."""
    generator = np.random.default_rng(1)
    mix, simulations = MIXES["aime"], 600
    shares = {}
    for effect in (0.0, 0.04):
        shift, hits = mix.shift(effect), np.zeros(3)
        for _ in range(simulations):
            logits = generator.choice(mix.logits_G, size=60, p=mix.weights_G)
            a, b = (
                bench(generator.binomial(32, 1 / (1 + np.exp(-logits - s))), 32) for s in (0, shift)
            )
            got = compared(a, b, n_boot=10)
            hits += [one < 0.05 for one in (got.these.p, got.like_these.p, got.p_t)]
        shares[effect] = hits / simulations
    # 600 trials: the rate of false alarms is known to one point, so 4-7 % is 3-8 % here;
    # bench/eval_statistics.py has the many trials.
    assert ((shares[0.0] >= 0.03) & (shares[0.0] <= 0.08)).all()
    assert (shares[0.04] >= 0.85).all()


def write(path, benchmarks):
    path.write_text(json.dumps({"benchmarks": benchmarks}))
    return path


def test_counts_are_read_from_a_file_or_a_run_folder(tmp_path):
    rows = [{"id": "p", "n": 4, "c": 1, "other": 0}, {"id": 7, "n": 0, "c": 0}]
    file = write(tmp_path / "results.json", {"x": {"per_problem": rows, "score": 1}})
    expected = {"x": BenchCounts(name="x", ids=("p",), n=(4,), c=(1,))}
    assert load_counts(file) == load_counts(tmp_path) == expected


@pytest.mark.parametrize(
    ("benchmarks", "message"),
    [
        ({}, "no 'benchmarks'"),
        ({"x": {}}, "x: 'per_problem' is missing"),
        ({"x": {"per_problem": [{"id": "p", "n": 1}]}}, "x, problem 0: must have id, n and c"),
        ({"x": {"per_problem": [{"id": "p", "n": 1, "c": 2}]}}, "0 <= c <= n, got n=1, c=2"),
        ({"x": {"per_problem": [{"id": "p", "n": 1, "c": True}]}}, "integers"),
        ({"x": {"per_problem": [{"id": "p", "n": 1, "c": 1}] * 2}}, "'p' is there twice"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, benchmarks, message: str):
    with pytest.raises(DataError, match=message):
        load_counts(write(tmp_path / "results.json", benchmarks))


def test_a_folder_without_results_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match="hint: stare-eval report"):
        load_counts(tmp_path)
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        load_counts(tmp_path)
