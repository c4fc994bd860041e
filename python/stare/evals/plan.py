"""Which samples are to be made: a pure function of benchmarks, n, shard and what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stare.errors import ArgumentError
from stare.evals.config import Shard, split_list
from stare.evals.records import Key
from stare.types import Problem

__all__ = ["BenchPlan", "missing", "select_problems", "wanted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """What is asked of one benchmark."""

    bench: str
    n: int
    problem_ids: tuple[str, ...]
    """All problems of the benchmark, in order: a problem's place decides its shard."""
    selected: frozenset[str] | None = None
    """None for all."""


def wanted(plans: Iterable[BenchPlan], shard: Shard | None = None) -> list[Key]:
    """Every sample of the plans that belongs to the shard.

    First all problems once, then all a second time and so on: a run that is stopped early has
    sampled every problem about equally often.

    Example:
        >>> plan = BenchPlan(bench="b", n=2, problem_ids=("x", "y"))
        >>> [(key.problem_id, key.sample) for key in wanted([plan])]
        [('x', 0), ('y', 0), ('x', 1), ('y', 1)]
    """
    keys = []
    for plan in plans:
        for sample in range(plan.n):
            for place, problem in enumerate(plan.problem_ids):
                if plan.selected is not None and problem not in plan.selected:
                    continue
                if shard is not None and (place + sample) % shard.of != shard.number - 1:
                    continue
                keys.append(Key(plan.bench, problem, sample))
    return keys


def missing(keys: Iterable[Key], done: set[Key]) -> list[Key]:
    """Keys that are not done, in order."""
    return [key for key in keys if key not in done]


def select_problems(
    problems: Sequence[Problem], *, which: str = "", limit: int | None = None
) -> list[str] | None:
    """Ids of the problems asked for, in the benchmark's order; None for all of them.

    Args:
        problems: the benchmark.
        which: numbers from 1, ranges of them, and ids, separated by commas; empty for all.
        limit: at most so many of them.

    Raises:
        ArgumentError: a number or id that the benchmark does not have.

    Example:
        >>> problems = [Problem(id=f"p{i}", problem="?", answer="0") for i in range(1, 10)]
        >>> select_problems(problems, which="1,3-4,p9"), select_problems(problems, limit=2)
        (['p1', 'p3', 'p4', 'p9'], ['p1', 'p2'])
    """
    ids = [problem.id for problem in problems]
    places = {identity: place for place, identity in enumerate(ids)}
    chosen = {place for item in split_list(which) for place in _places(item, places)}
    found = sorted(chosen) if which.strip() else list(range(len(ids)))
    found = found[:limit]
    return None if len(found) == len(ids) else [ids[place] for place in found]


def _places(item: str, places: dict[str, int]) -> Iterable[int]:
    if item in places:
        return [places[item]]
    first, dash, last = item.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        low, high = int(first), int(last or first)
        if 1 <= low <= high <= len(places):
            return range(low - 1, high)
        raise ArgumentError(f"problems {item!r}: there are problems 1 to {len(places)}")
    some = ", ".join(list(places)[:3])
    raise ArgumentError(f"no problem {item!r}\nhint: ids are like {some}; numbers begin at 1")
