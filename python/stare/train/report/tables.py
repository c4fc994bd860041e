"""The tables of the report: final values of runs and arms, and how configurations differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from stare.train.report.data import BAND, SETTLE, Run, spread, tail_mean, within_band
from stare.train.runfolder import differing_keys

__all__ = ["arms_table", "config_differences", "runs_table", "summary"]

Z95 = 1.96
"""Half-width of a 95 % interval in standard errors (normal approximation)."""

_TAIL: tuple[tuple[str, str], ...] = (
    ("entropy of rollouts", "entropy/rollouts"),
    ("of batch", "entropy/batch"),
    ("target", "entropy/target"),
)
_TAIL_LATER: tuple[tuple[str, str], ...] = (
    ("W", "stare/w"),
    ("groups with signal", "groups/kept"),
    ("reward", "reward/rollouts"),
)


def summary(run: Run) -> dict[str, tuple[float, float | None]]:
    """Column -> (value, half-width of its 95 % interval or None) of one run."""
    out: dict[str, tuple[float, float | None]] = {}

    def tail(columns: tuple[tuple[str, str], ...]) -> None:
        for label, key in columns:
            if (value := tail_mean(run, key)) is not None:
                out[label] = (value, None)

    tail(_TAIL)
    if (share := within_band(run)) is not None:
        out[f"in ±{BAND:.0%}"] = (share, None)
    tail(_TAIL_LATER)
    for key in _eval_keys(run):
        if (value := run.history.last(key)) is not None and math.isfinite(value):
            error = run.history.last(f"{key}_se")
            known = error is not None and math.isfinite(error)
            out[key[5:]] = (value, Z95 * error if known and error is not None else None)
    return out


def _eval_keys(run: Run) -> list[str]:
    keys = {k for row in run.history.rows for k in row if k.startswith("eval/pass@")}
    passes = [k for k in keys if not k.endswith("_se")]
    return [*sorted(passes, key=lambda k: int(k.rpartition("@")[2])), "eval/greedy"]


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in header)
    body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'


def _columns(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(c for r in runs for c in summary(r)))


def runs_table(runs: Sequence[Run]) -> str:
    """Final values of every run, with 95 % intervals where the metrics have standard errors."""
    columns = _columns(runs)

    def cell(value: tuple[float, float | None] | None) -> str:
        if value is None:
            return "-"
        half = "" if value[1] is None else f" <small>±{_number(value[1])}</small>"
        return _number(value[0]) + half

    rows = []
    for run in runs:
        values = summary(run)
        wall = run.status.get("wall_seconds")
        minutes = f"{wall / 60:.1f}" if isinstance(wall, (int, float)) else "-"
        state = escape(str(run.status.get("status", "unknown")))
        rows.append(
            [escape(run.name), state, str(run.history.rows[-1]["step"]), minutes]
            + [cell(values.get(c)) for c in columns]
        )
    note = (
        f"Means over the last tenth of the steps; in ±{BAND:.0%}: share of steps after {SETTLE} "
        "whose batch entropy (what the controller sees) is that close to the target; held-out "
        "values are of the last evaluation, ± 1.96 standard errors over problems."
    )
    table = _table(["run", "status", "steps", "minutes", *columns], rows)
    return f'<h2>Final values</h2>{table}<p class="note">{note}</p>'


def arms_table(runs: Sequence[Run]) -> str:
    """Mean, smallest and largest seed of every arm; empty where no arm has two seeds."""
    arms: dict[str, list[Run]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(run)
    if all(len(members) == 1 for members in arms.values()):
        return ""
    columns = _columns(runs)
    rows = []
    for arm, members in arms.items():
        values = [summary(r) for r in members]
        row = [escape(arm), str(len(members))]
        for column in columns:
            have = [v[column][0] for v in values if column in v]
            row.append(_spread(have))
        rows.append(row)
    note = "Mean over seeds [smallest, largest]; the next table says what the columns are."
    table = _table(["arm", "seeds", *columns], rows)
    return f'<h2>Arms</h2>{table}<p class="note">{note}</p>'


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean, low, high = spread(values)
    if len(values) == 1:
        return _number(mean)
    return f"{_number(mean)} <small>[{_number(low)}, {_number(high)}]</small>"


def config_differences(runs: Sequence[Run]) -> str:
    """The keys on which the configurations differ, one column a run."""
    known = [r for r in runs if r.config]
    if len(known) < 2:
        return ""
    keys: set[str] = set()
    for run in known[1:]:
        keys |= set(differing_keys(known[0].config, run.config))
    keys -= {"run.out"}
    if not keys:
        return '<p class="note">All configurations are equal.</p>'
    rows = []
    for key in sorted(keys):
        rows.append([escape(key), *(escape(_value(r, key)) for r in known)])
    return _table(["key", *(r.name for r in known)], rows, "text")


def _value(run: Run, key: str) -> str:
    value: object = run.config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "none" if value is None else str(value)
