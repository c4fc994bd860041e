"""Comparisons as rows of text, for the terminal and for markdown; percent and points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stare.evals.stats.compare import Comparison, Difference
from stare.evals.stats.published import AgainstPublished

__all__ = ["Table", "comparison_table", "comparison_words", "published_table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of as many cells; the first column is text, the others numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """A markdown table.

        Example:
            >>> print(Table(("a", "b"), (("x", "1"),)).markdown())
            | a | b |
            |---|--:|
            | x | 1 |
        """
        lines = [self.header, *self.rows]
        text = ["| " + " | ".join(cells) + " |" for cells in lines]
        text.insert(1, "|---|" + "--:|" * (len(self.header) - 1))
        return "\n".join(text)

    def columns(self, *names: str) -> Table:
        """The columns of these names."""
        at = [self.header.index(name) for name in names]
        return Table(names, tuple(tuple(row[i] for i in at) for row in self.rows))

    def without_empty(self) -> Table:
        """The columns that say something."""
        used = [name for i, name in enumerate(self.header) if any(row[i] for row in self.rows)]
        return self.columns(*used)


def comparison_table(found: Comparison) -> Table:
    """One row a benchmark, and the average last."""
    level = f"{1.0 - found.alpha:.4g}".replace("0.", "")
    header = (
        "benchmark",
        "problems",
        "n",
        "A",
        "B",
        "B - A",
        f"{level} % re-sampling",
        "p these",
        f"{level} % problems",
        "p like these",
        "Holm",
        "detectable",
    )
    several = found.average is not None
    rows = [_row(one, several) for one in found.benchmarks]
    if found.average is not None:
        rows.append(_row(found.average, several=False))
    return Table(header, tuple(rows))


def _row(one: Difference, several: bool) -> tuple[str, ...]:
    holm = f"{_p(one.these_holm)}, {_p(one.like_these_holm)}" if several else ""
    return (
        one.name,
        str(one.problems),
        _samples(one),
        percent(one.a),
        percent(one.b),
        points(one.delta.value),
        interval(one.ci_sampling),
        _p(one.these.p),
        interval(one.delta.ci_t),
        _p(one.like_these.p),
        holm,
        f"{_size(one.detectable_these)}, {_size(one.detectable_like_these)}",
    )


def comparison_words(found: Comparison) -> list[str]:
    """What the figures allow to be said, and what limits them."""
    one, alpha = found.overall, found.alpha
    these = f"{_p_is(one.these.p)}, {one.these.method}"
    like = f"{_p_is(one.like_these.p)}, {one.like_these.method}"
    if one.delta.value == 0.0:
        first = f"B scores as A does ({one.name})."
    else:
        side = "ahead of" if one.delta.value > 0 else "behind"
        first = (
            f"B is {side} A by {abs(100 * one.delta.value):.1f} points ({one.name}). "
            f"On these very problems that is {_claim(one.these.p, alpha)} ({these}); "
            f"for problems like these it is {_claim(one.like_these.p, alpha)} ({like})."
        )
    lines = [first]
    if not math.isnan(one.detectable_like_these):
        also = "" if math.isnan(one.detectable_these) else f"{_size(one.detectable_these)} and "
        lines.append(
            f"Found in 80 % of such comparisons: a true difference of {also}"
            f"{_size(one.detectable_like_these)} points{' respectively' if also else ''}."
        )
    return lines + list(_limits(found))


def _claim(p: float, alpha: float) -> str:
    return "more than chance explains" if p < alpha else "not shown"


def _p_is(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _limits(found: Comparison) -> Iterable[str]:
    for one in found.benchmarks:
        for side, ids in (("A", one.only_a), ("B", one.only_b)):
            if ids:
                more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
                yield (
                    f"warning: {one.name}: {len(ids)} problems only in {side}, left out: "
                    f"{', '.join(ids[:8])}{more}"
                )
        if one.n_a != one.n_b or one.n_a[0] != one.n_a[1]:
            yield (
                f"warning: {one.name}: samples a problem differ: {_range(one.n_a)} in A, "
                f"{_range(one.n_b)} in B"
            )
        if max(one.n_a[1], one.n_b[1]) == 1:
            yield f"warning: {one.name}: one sample a problem shows no re-sampling noise"
        if one.delta.note:
            yield f"warning: {one.name}: {one.delta.note}"
    for side, names in (("A", found.only_a), ("B", found.only_b)):
        if names:
            yield f"warning: only in {side}, not compared: {', '.join(names)}"


def published_table(found: Sequence[AgainstPublished], alpha: float = 0.05) -> Table:
    """One row a benchmark, and the average last."""
    level = f"{1.0 - alpha:.4g}".replace("0.", "")
    header = (
        "benchmark",
        "problems",
        "published",
        "measured",
        f"{level} % problems",
        "difference",
        f"{level} % re-run band",
        "reading",
    )
    rows = tuple(
        (
            f"{one.name} ({one.metric})" if one.metric else one.name,
            str(one.measured.problems),
            percent(one.published),
            percent(one.measured.value),
            interval(one.measured.ci, signed=False),
            points(one.difference),
            "" if math.isnan(one.band) else f"±{100 * one.band:.1f}",
            one.reading,
        )
        for one in found
    )
    return Table(header, rows)


def percent(value: float) -> str:
    """A score in percent.

    Example:
        >>> percent(0.4416)
        '44.2'
    """
    return "?" if math.isnan(value) else f"{100 * value:.1f}"


def points(value: float) -> str:
    """A difference in points.

    Example:
        >>> points(0.0416), points(-0.0001)
        ('+4.2', '+0.0')
    """
    return "?" if math.isnan(value) else f"{round(100 * value, 1) + 0.0:+.1f}"


def interval(bounds: tuple[float, float], *, signed: bool = True) -> str:
    """An interval of differences, or of scores.

    Example:
        >>> interval((-0.01, 0.09)), interval((0.3, 0.5), signed=False)
        ('-1.0..+9.0', '30.0..50.0')
    """
    if any(map(math.isnan, bounds)):
        return "?"
    show = points if signed else percent
    return f"{show(bounds[0])}..{show(bounds[1])}"


def _p(p: float) -> str:
    return "?" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _size(value: float) -> str:
    return "?" if math.isnan(value) else f"{100 * value:.1f}"


def _samples(one: Difference) -> str:
    a, b = _range(one.n_a), _range(one.n_b)
    return a if a == b else f"{a}, {b}"


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}-{bounds[1]}"
