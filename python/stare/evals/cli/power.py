"""The verb `power`: how many problems and samples it takes to see a difference."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from stare.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from stare.evals.stats.power import Mix

__all__ = ["add", "run"]

_DESCRIPTION = """\
How often a comparison of two runs finds a true difference, before you pay for the runs.

Both runs draw n samples of the same problems; the difference is tested as by `compare`. "These" is
the test on these very problems, "like these" the one for problems like these. Both in closed form,
which a simulation of the runs and tests checks. More samples shrink the re-sampling noise; the
spread of the difference over problems only shrinks with more problems.

The problems' difficulties decide. --mix: aime (mean 30 %, most problems hard or easy), math500
(mean 80 %), beta:A,B, or a graded run, whose rates are taken (of one --bench).
"""

_EPILOG = """\
examples:
  stare-eval power --problems 30 --n 32 --effect .04
  stare-eval power --problems 60 --n 32            what can AIME24 and AIME25 together detect?
  stare-eval power --problems 500 --n 4 --effect .02 --mix math500
  stare-eval power --problems 30 --n 32 --effect .04 --mix runs/stare --bench aime24

exit codes:
  0  done
  2  bad usage
  3  --mix: no such run or benchmark
"""

_NS = (1, 4, 8, 16, 32, 64, 128)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "power",
        help="what difference a design can detect, before it is run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", type=int, required=True, help="problems in common")
    parser.add_argument("--n", type=int, required=True, help="samples a problem in each run")
    parser.add_argument(
        "--effect", type=float, default=0.04, help="true difference, a fraction (default 0.04)"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level (default 0.05)")
    parser.add_argument(
        "--mix", default="aime", help="aime, math500, beta:A,B, or a run (default aime)"
    )
    parser.add_argument("--bench", help="benchmark of the run in --mix")
    parser.add_argument(
        "--simulations", type=int, default=2000, help="0 for none (default 2000, under a second)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the simulation (default 0)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the power of a design."""
    from stare.evals.stats.errors import jsonable
    from stare.evals.stats.power import closed_form, problems_needed, simulate

    mix = _mix(args.mix, args.bench)
    options: dict[str, Any] = {"mix": mix, "alpha": args.alpha}
    form = closed_form(args.problems, args.n, args.effect, **options)
    if args.simulations < 0:
        raise ArgumentError(f"--simulations must be >= 0, got {args.simulations}")
    simulated = None
    if args.simulations:
        simulated = simulate(
            args.problems,
            args.n,
            args.effect,
            simulations=args.simulations,
            seed=args.seed,
            **options,
        )
    needed = problems_needed(args.n, args.effect, **options) if args.effect else None
    by_n = [closed_form(args.problems, n, args.effect, **options) for n in _NS]
    if args.json:
        content = {
            "mix": {"name": args.mix, "mean": mix.mean()},
            "closed_form": form.to_json(),
            "simulated": simulated.to_json() if simulated else None,
            "problems_for_80_percent": needed,
            "by_n": [one.to_json() for one in by_n],
        }
        print(json.dumps(jsonable(content), indent=1, allow_nan=False))
        return 0
    _print(args, mix, form, simulated, needed, by_n)
    return 0


def _print(
    args: argparse.Namespace, mix: Mix, form: Any, simulated: Any, needed: int | None, by_n: Any
) -> None:
    from stare.evals.cli._show import show_table
    from stare.evals.stats.tables import Table, percent

    print(
        f"{args.problems} problems, n = {args.n}, a true difference of {100 * args.effect:g} "
        f"points from a mean of {percent(mix.mean())} % ({args.mix}), level {args.alpha:g}"
    )
    dash = "-"
    rows = [
        (
            "on these very problems (stratified z)",
            percent(form.these),
            percent(simulated.these_z) if simulated else dash,
            f"{100 * form.detectable_these:.1f}",
        ),
        (
            "for problems like these (paired t)",
            percent(form.like_these),
            percent(simulated.like_these_t) if simulated else dash,
            f"{100 * form.detectable_like_these:.1f}",
        ),
        (
            "for problems like these (sign-flip)",
            dash,
            percent(simulated.like_these_sign_flip) if simulated else dash,
            dash,
        ),
    ]
    header = ("test", "found, %", "simulated, %", "detectable, points")
    show_table(Table(header, tuple(rows)))
    show_table(
        Table(
            ("n", "these, %", "like these, %", "detectable, points"),
            tuple(
                (
                    str(one.n),
                    percent(one.these),
                    percent(one.like_these),
                    f"{100 * one.detectable_these:.1f}, {100 * one.detectable_like_these:.1f}",
                )
                for one in by_n
            ),
        )
    )
    if needed is not None:
        print(f"{needed} problems at n = {args.n} find it in 80 % for problems like these.")


def _mix(name: str, bench: str | None) -> Mix:
    from stare.evals.stats.counts import load_counts
    from stare.evals.stats.power import MIXES, Mix

    if name in MIXES:
        return MIXES[name]
    if name.startswith("beta:"):
        try:
            a, b = map(float, name.removeprefix("beta:").split(","))
        except ValueError:
            raise ArgumentError(f"--mix must be beta:A,B with two numbers, got {name!r}") from None
        return Mix.beta(a, b)
    try:
        counts = load_counts(name)
    except OSError:
        raise DataError(
            f"--mix {name!r} is neither {', '.join(MIXES)}, beta:A,B nor a run"
        ) from None
    if bench is None and len(counts) == 1:
        bench = next(iter(counts))
    if bench not in counts:
        raise DataError(f"--bench must name one of the run's: {', '.join(counts)}")
    return Mix.like(counts[bench])
