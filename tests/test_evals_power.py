"""Power: closed form against simulation, and against what the specification measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from stare.errors import ArgumentError
from stare.evals.stats.counts import BenchCounts
from stare.evals.stats.power import MIXES, Mix, closed_form, problems_needed, simulate

DESIGNS = [(30, 32, "aime"), (60, 32, "aime"), (30, 4, "aime"), (500, 4, "math500")]


@pytest.mark.parametrize(("problems", "n", "mix"), DESIGNS)
def test_the_closed_form_agrees_with_simulation(problems: int, n: int, mix: str):
    for effect in (0.0, 0.04):
        options = {"mix": MIXES[mix]}
        form = closed_form(problems, n, effect, **options)
        found = simulate(problems, n, effect, simulations=800, **options)
        assert form.these == pytest.approx(found.these_z, abs=0.05)
        assert form.like_these == pytest.approx(found.like_these_t, abs=0.05)


def test_false_alarms_and_power_are_as_promised():
    none = simulate(60, 32, 0.0, simulations=2000)
    for share in (none.these_z, none.like_these_t, none.like_these_sign_flip):
        assert 0.04 <= share <= 0.07
    four = simulate(60, 32, 0.04, simulations=1000)
    assert min(four.these_z, four.like_these_t, four.like_these_sign_flip) >= 0.85


def test_detectable_is_what_has_80_percent_power():
    form = closed_form(40, 16, 0.05)
    again = closed_form(40, 16, form.detectable_like_these)
    # The noise at another effect is a little different.
    assert again.like_these == pytest.approx(0.8, abs=0.04)
    assert closed_form(40, 16, form.detectable_these).these == pytest.approx(0.8, abs=0.06)


def test_problems_needed_is_the_least():
    needed = problems_needed(32, 0.04)
    assert closed_form(needed, 32, 0.04).like_these >= 0.8
    assert closed_form(needed - 1, 32, 0.04).like_these < 0.8
    assert problems_needed(4, 0.04) > needed
    assert problems_needed(32, 1e-6, most=1000) is None


def test_the_beta_mix_has_the_moments_of_beta():
    for a, b in [(0.35, 0.8), (1.2, 0.3), (2.0, 5.0)]:
        mix, beta = Mix.beta(a, b), stats.beta(a, b)
        p = mix.rates()
        assert mix.mean() == pytest.approx(beta.mean(), abs=1e-9)
        assert mix.weights_G @ p**2 - mix.mean() ** 2 == pytest.approx(beta.var(), abs=1e-9)
        assert mix.mean(mix.shift(-0.1)) == pytest.approx(beta.mean() - 0.1, abs=1e-9)


def test_a_mix_like_a_run_has_its_rates():
    counts = BenchCounts(name="x", ids=("p", "q"), n=(4, 4), c=(0, 4))
    np.testing.assert_allclose(Mix.like(counts).rates(), [0.1, 0.9])


def test_a_single_sample_shows_no_noise():
    found = simulate(30, 1, 0.04, simulations=50)
    assert math.isnan(found.these_z)
    assert simulate(30, 4, 0.04, simulations=50) == simulate(30, 4, 0.04, simulations=50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problems": 1}, "problems must be >= 2"),
        ({"n": 0}, "n >= 1"),
        ({"effect": 4.0}, "hint: four points are 0.04"),
        ({"effect": 0.9}, "out of"),
        ({"alpha": 0.0}, "alpha"),
    ],
)
def test_bad_arguments(options, message: str):
    arguments = {"problems": 30, "n": 32, "effect": 0.04, **options}
    for call in (closed_form, simulate):
        with pytest.raises(ArgumentError, match=message):
            call(**arguments)
    with pytest.raises(ArgumentError, match=r"must be > 0\.03"):
        Mix.beta(0.01, 1.0)
    with pytest.raises(ArgumentError, match="must not be 0"):
        problems_needed(4, 0.0)
