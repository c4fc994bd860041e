"""Do the intervals and tests of stare-eval do what they say? Two markdown tables, by simulation.

    python bench/eval_statistics.py                       # about six minutes on one core
    python bench/eval_statistics.py --only tests --simulations 1000

Problems are drawn from a mix of difficulties (`stare.evals.stats.power.MIXES`), samples from the
problems. Intervals: how often the true mean is inside, for the problem bootstrap, Student's t and
the re-sampling error (whose truth is the mean of the problems drawn); and for the interval that
treats all samples as independent, which some harnesses print. Tests: how often p < 0.05, without a
difference and with one of four points, by the code that `compare` runs, and by the unpaired z.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from stare.evals.stats.compare import compare_counts
from stare.evals.stats.counts import BenchCounts
from stare.evals.stats.distributions import normal_quantile
from stare.evals.stats.errors import estimate, rate_variance
from stare.evals.stats.power import MIXES, closed_form

Z = normal_quantile(0.975)
EFFECT = 0.04
DESIGNS = [
    ("AIME, 30 problems, n = 32", 30, 32, "aime"),
    ("AIME24+25, 60 problems, n = 32", 60, 32, "aime"),
    ("AIME, 30 problems, n = 64", 30, 64, "aime"),
    ("AIME, 30 problems, n = 4", 30, 4, "aime"),
    ("MATH-500, n = 4", 500, 4, "math500"),
]


def draw(generator: np.random.Generator, problems: int, n: int, mix: str, effect: float):
    """Counts of two runs of the same problems, and the problems' true rates in the first."""
    difficulty = MIXES[mix]
    logits = generator.choice(difficulty.logits_G, size=problems, p=difficulty.weights_G)
    rates = [1.0 / (1.0 + np.exp(-logits - shift)) for shift in (0.0, difficulty.shift(effect))]
    return [generator.binomial(n, p) for p in rates], rates[0]


def coverage(problems: int, n: int, mix: str, simulations: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    truth = MIXES[mix].mean()
    inside = np.zeros(4)
    for _ in range(simulations):
        (c, _), rates = draw(generator, problems, n, mix, 0.0)
        p = c / n
        got = estimate(p, rate_variance(c, np.full(problems, n)), n_boot=2000)
        naive = math.sqrt(got.value * (1.0 - got.value) / (problems * n))
        inside += [
            got.ci[0] <= truth <= got.ci[1],
            got.ci_t[0] <= truth <= got.ci_t[1],
            abs(got.value - rates.mean()) <= Z * got.se_sampling,
            abs(got.value - truth) <= Z * naive,
        ]
    return inside / simulations


def rejections(problems: int, n: int, mix: str, effect: float, simulations: int) -> np.ndarray:
    generator = np.random.default_rng(2)
    ids = tuple(map(str, range(problems)))
    hits = np.zeros(4)
    for _ in range(simulations):
        counts, _ = draw(generator, problems, n, mix, effect)
        a, b = (
            {"x": BenchCounts(name="x", ids=ids, n=(n,) * problems, c=tuple(c.tolist()))}
            for c in counts
        )
        got = compare_counts(a, b, n_boot=10).overall
        unpaired = math.hypot(*(c.std(ddof=1) / n / math.sqrt(problems) for c in counts))
        hits += [
            got.these.p < 0.05,
            got.like_these.p < 0.05,
            got.p_t < 0.05,
            abs(got.delta.value) > Z * unpaired,
        ]
    return hits / simulations


def heading(*cells: str) -> None:
    print("\n| " + " | ".join(cells) + " |")
    print("|---|" + "--:|" * (len(cells) - 1))


def row(name: str, shares: np.ndarray, *more: str) -> None:
    print(
        "| " + " | ".join([name, *(f"{share:.1%}" for share in shares), *more]) + " |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=4000, help="of each row")
    parser.add_argument("--only", choices=["intervals", "tests"])
    args = parser.parse_args()
    if args.only != "tests":
        heading("95 % intervals cover", "bootstrap", "t", "re-sampling", "all samples independent")
        for name, *design in DESIGNS:
            row(name, coverage(*design, args.simulations))
    if args.only != "intervals":
        heading("p < 0.05", "these", "sign-flip", "paired t", "unpaired z", "closed form")
        for effect in (0.0, EFFECT):
            for name, *design in DESIGNS:
                problems, n, mix = design
                form = closed_form(problems, n, effect, mix=MIXES[mix])
                row(
                    f"{name}, {effect:+.0%}",
                    rejections(*design, effect, args.simulations),
                    f"{form.these:.1%}, {form.like_these:.1%}",
                )


if __name__ == "__main__":
    main()
