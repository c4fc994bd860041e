"""A run against a published figure, which comes without its problems and without its error.

So there is no paired test and no p-value: only our own uncertainty is known. The published score is
of the same problems; whoever measured it had re-sampling noise of about our size if they drew as
many samples. That makes the band in which a faithful re-run is expected: sqrt(2) times ours.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from stare.errors import DataError
from stare.evals.stats.counts import BenchCounts
from stare.evals.stats.distributions import normal_quantile
from stare.evals.stats.errors import Estimate, estimate, jsonable, macro_estimate, rate_variance
from stare.evals.stats.metrics import rate

__all__ = ["AgainstPublished", "Published", "compare_published", "find_published"]

_TABLES = {"paper": "paper-table2.json"}
_SAME_SCORES = {"olympiadbench674": "olympiadbench"}
"""Versions of a benchmark that the published table does not tell apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One row of a published table."""

    title: str
    """Where it is printed."""
    origin: str
    """Whose measurement it is."""
    scenario: str
    method: str
    model: str
    scores: Mapping[str, float]
    """Fraction correct by benchmark."""
    metrics: Mapping[str, str]
    """What each score is, such as avg@32."""
    sizes: Mapping[str, Sequence[int]]
    """Problems of each benchmark; several where versions differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstPublished:
    """Measured minus published on one benchmark, or averaged over the common ones."""

    name: str
    published: float
    measured: Estimate
    difference: float
    band: float
    """A faithful re-run differs by less in 1 - alpha of cases, if as many samples were drawn for
    the published figure; NaN where the run has one sample a problem."""
    metric: str = ""

    @property
    def reading(self) -> str:
        """What may be said of the difference."""
        if math.isnan(self.band):
            return "not known: one sample a problem"
        if abs(self.difference) <= self.band:
            return "within the band"
        return "above the band" if self.difference > 0 else "below the band"

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        row: dict[str, Any] = jsonable(asdict(self)) | {"reading": self.reading}
        return row


def find_published(name: str) -> Published:
    """The row of `TABLE:METHOD:MODEL`, such as `paper:STARE-O1:Qwen2.5-Math-7B`.

    Case, the organisation before the model's name and a closing `-Base` do not matter.

    Raises:
        DataError: no such row; the nearest names are offered.

    Example:
        >>> row = find_published("paper:STARE-O1:Qwen2.5-Math-7B")
        >>> row.model, row.scores["aime24"]
        ('Qwen2.5-Math-7B-Base', 0.442)
    """
    table, _, rest = name.partition(":")
    if table not in _TABLES:
        raise DataError(
            f"unknown baseline {name!r}\nhint: {', '.join(_TABLES)}:METHOD:MODEL, such as "
            "paper:STARE-O1:Qwen2.5-Math-7B"
        )
    content = _table(_TABLES[table])
    rows = {f"{table}:{row['method']}:{row['model']}": row for row in content["rows"]}
    plain = {_plain_name(full): full for full in rows}
    found = plain.get(_plain_name(name))
    if found is None:
        near = difflib.get_close_matches(_plain_name(name), plain, n=4, cutoff=0.5)
        method, _, model = rest.partition(":")
        if not model:
            near = [one for one in plain if f":{method.lower()}:" in one][:6] or near
        offered = "\n  ".join(plain[one] for one in near or list(plain)[:6])
        raise DataError(f"no {name!r} in {content['title']}\nhint: nearest are\n  {offered}")
    row = rows[found]
    return Published(
        title=content["title"],
        origin=content["sources"][row["source"]],
        scenario=row["scenario"],
        method=row["method"],
        model=row["model"],
        scores={bench: round(score / 100.0, 6) for bench, score in row["scores"].items()},
        metrics=content["metrics"],
        sizes=content["problems"],
    )


def compare_published(
    counts: Mapping[str, BenchCounts],
    row: Published,
    *,
    benches: Sequence[str] = (),
    alpha: float = 0.05,
) -> tuple[list[AgainstPublished], list[str]]:
    """Measured against published, and warnings.

    The published average is that of the benchmarks compared, not the printed one.

    Args:
        counts: of the run.
        row: what to compare with.
        benches: benchmarks to compare; default: all that both have.
        alpha: intervals and bands cover 1 - alpha.

    Returns:
        One entry a benchmark and, for several, their average last; what limits the comparison.

    Raises:
        DataError: a benchmark is not in both.
    """
    names = list(dict.fromkeys(benches)) or [name for name in counts if _key(name) in row.scores]
    for name in names:
        if name not in counts:
            raise DataError(f"the run has no {name!r}, it has {', '.join(counts)}")
        if _key(name) not in row.scores:
            raise DataError(f"no published {name!r}, only {', '.join(row.scores)}")
    if not names:
        raise DataError(
            f"no benchmark in common: the run has {', '.join(counts)}, published are "
            f"{', '.join(row.scores)}"
        )
    level, z = 1.0 - alpha, normal_quantile(1.0 - alpha / 2.0)

    def entry(name: str, published: float, measured: Estimate) -> AgainstPublished:
        return AgainstPublished(
            name=name,
            published=published,
            measured=measured,
            difference=measured.value - published,
            band=z * math.sqrt(2.0) * measured.se_sampling,
            metric=row.metrics.get(_key(name), ""),
        )

    rates = {name: rate(counts[name].c, counts[name].n) for name in names}
    variances = {name: rate_variance(counts[name].c, counts[name].n) for name in names}
    found = [
        entry(
            name,
            row.scores[_key(name)],
            estimate(rates[name], variances[name], level=level),
        )
        for name in names
    ]
    if len(found) > 1:
        mean = math.fsum(one.published for one in found) / len(found)
        average = macro_estimate(rates, variances, level=level)
        found.append(entry(f"mean of {len(found)}", mean, average))
    return found, _warnings(counts, row, names)


def _warnings(counts: Mapping[str, BenchCounts], row: Published, names: list[str]) -> list[str]:
    warnings = [
        f"{row.title}: {row.origin}; one figure a benchmark, its own error is not published"
    ]
    for name in names:
        have, sizes = len(counts[name].ids), row.sizes[_key(name)]
        if have not in sizes:
            size = " or ".join(map(str, sizes))
            warnings.append(f"{name}: {have} problems measured, published is over {size}")
    missing = [name for name in row.scores if name not in map(_key, names)]
    if missing:
        warnings.append(f"published but not compared: {', '.join(missing)}")
    return warnings


@lru_cache
def _table(file: str) -> dict[str, Any]:
    text = (resources.files("stare.evals") / "baselines" / file).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _key(name: str) -> str:
    return _SAME_SCORES.get(name, name)


def _plain_name(name: str) -> str:
    parts = name.strip().lower().split(":")
    parts[-1] = parts[-1].rsplit("/", 1)[-1].removesuffix("-base")
    return ":".join(part.strip() for part in parts)
