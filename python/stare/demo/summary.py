"""What came out: one row an arm, means over seeds, intervals over held-out problems."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.table import Table

from stare.demo.arms import Run
from stare.errors import RunError
from stare.passk import pass_at_k, problem_bootstrap
from stare.train.report.data import BAND, SETTLE, load_runs, tail_mean, within_band
from stare.train.report.data import Run as History

__all__ = ["ArmSummary", "Score", "markdown_table", "rich_table", "summarise", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A mean over problems (and seeds) with its 95 % bootstrap interval over problems."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """One arm on one task."""

    task: str
    arm: str
    label: str
    seeds: int
    steps: int
    entropy: float
    """Mean token entropy of all rollouts at the end, nats."""
    target: float
    """H_tgt, nats."""
    in_band: float
    """Share of steps (after the first 60) whose batch entropy is within 10 % of the target."""
    groups: float
    """Groups with signal per batch at the end."""
    wanted: int
    """Groups that make a full batch."""
    length: float
    """Mean response length at the end, tokens."""
    w: float
    """Live amplification W at the end; NaN without STARE."""
    scores: Mapping[str, Score]
    """pass@1, greedy, pass@8, pass@32 on held-out problems."""


def _scores(evals: Sequence[Mapping[str, object]], ks: Sequence[int]) -> dict[str, Score]:
    """Average each problem over seeds first, then resample problems."""
    first = evals[0]["problem_ids"]
    if any(e["problem_ids"] != first for e in evals):
        raise RunError("runs of one arm were evaluated on different problems\nhint: --fresh")
    columns: dict[str, list[list[float]]] = {
        name: [] for name in (*(f"pass@{k}" for k in ks), "greedy")
    }
    for e in evals:
        n, correct = e["n"], e["correct"]
        assert isinstance(n, int)
        assert isinstance(correct, list)
        for k in ks:
            columns[f"pass@{k}"].append([pass_at_k(n, c, k) for c in correct])
        columns["greedy"].append([float(g) for g in e["greedy"]])  # type: ignore[attr-defined]
    out = {}
    for name, per_seed in columns.items():
        per_problem = np.mean(np.asarray(per_seed), axis=0)
        low, high = problem_bootstrap(per_problem)
        out[name] = Score(mean=float(per_problem.mean()), low=low, high=high)
    return out


def _mean(values: Sequence[float | None]) -> float:
    known = [v for v in values if v is not None]
    return fmean(known) if known else math.nan


def _wanted(run: History) -> int:
    return int(run.config["rollout"]["prompts_per_step"])


def summarise(
    runs: Sequence[Run], folders: Mapping[str, Path], *, ks: Sequence[int] = (1, 8, 32)
) -> list[ArmSummary]:
    """Read the run folders and average over seeds, in the order of the runs."""
    cells: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.preset, run.arm.name), []).append(run)
    out = []
    for (preset, arm), members in cells.items():
        histories = load_runs([folders[r.name] for r in members])
        evals = [json.loads((folders[r.name] / "eval.json").read_text()) for r in members]

        def at_end(key: str, histories: list[History] = histories) -> float:
            return _mean([tail_mean(h, key) for h in histories])

        out.append(
            ArmSummary(
                task=preset.removeprefix("demo-"),
                arm=arm,
                label=members[0].arm.label,
                seeds=len(members),
                steps=max(h.history.rows[-1]["step"] for h in histories),
                entropy=at_end("entropy/rollouts"),
                target=at_end("entropy/target"),
                in_band=_mean([within_band(h) for h in histories]),
                groups=at_end("groups/kept"),
                wanted=_wanted(histories[0]),
                length=at_end("length/mean"),
                w=at_end("stare/w"),
                scores=_scores(evals, ks),
            )
        )
    return out


COLUMNS = (
    "arm",
    "rollout entropy",
    "target",
    f"batch entropy in ±{BAND:.0%}",
    "groups with signal",
    "W",
    "pass@1",
    "greedy",
    "pass@8",
    "pass@32",
)


def _cells(row: ArmSummary) -> list[str]:
    scores = [str(row.scores[name]) for name in ("pass@1", "greedy", "pass@8", "pass@32")]
    return [
        row.label,
        f"{row.entropy:.3f}",
        f"{row.target:.3f}",
        "-" if math.isnan(row.in_band) else f"{row.in_band:.0%}",
        f"{row.groups:.1f}",
        "-" if math.isnan(row.w) else f"{row.w:.2f}",
        *scores,
    ]


def _title(rows: Sequence[ArmSummary]) -> str:
    first = rows[0]
    seeds = "1 seed" if first.seeds == 1 else f"{first.seeds} seeds"
    return (
        f"task {first.task}: {first.steps} steps, {seeds}, held-out problems, "
        "95 % intervals over problems"
    )


def by_task(rows: Sequence[ArmSummary]) -> list[list[ArmSummary]]:
    """Rows grouped by task, in order."""
    tasks: dict[str, list[ArmSummary]] = {}
    for row in rows:
        tasks.setdefault(row.task, []).append(row)
    return list(tasks.values())


def rich_table(rows: Sequence[ArmSummary]) -> Table:
    """The rows of one task for a terminal: an arm a column, so that two fit 80 characters."""
    table = Table(title=_title(rows), title_justify="left")
    table.add_column(COLUMNS[0])
    cells = [_cells(row) for row in rows]
    for label, *_ in cells:
        table.add_column(label, justify="right")
    for i, name in enumerate(COLUMNS[1:], start=1):
        table.add_row(name, *(c[i] for c in cells))
    return table


def markdown_table(rows: Sequence[ArmSummary]) -> str:
    """The rows of one task for a document."""
    lines = [f"**{_title(rows)}**", "", "| " + " | ".join(COLUMNS) + " |"]
    lines.append("|---" * len(COLUMNS) + "|")
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _compare(name: str, base: Score, ours: Score) -> str:
    gap = ours.mean - base.mean
    apart = ours.low > base.high or ours.high < base.low
    how = "above" if gap > 0 else "below"
    sure = "the intervals are apart" if apart else "the intervals overlap: no claim"
    return (
        f"{name} is {abs(gap):.2f} {how} GRPO-ds ({ours.mean:.2f} against {base.mean:.2f}; {sure})"
    )


def _held(row: ArmSummary) -> str:
    return (
        f"STARE's controller kept the batch entropy within {BAND:.0%} of the target in "
        f"{row.in_band:.0%} of the steps after the first {SETTLE}."
    )


def words(rows: Sequence[ArmSummary], *, base: str = "grpo-ds", ours: str = "stare-pi") -> str:
    """What to see, said from the numbers of one task; whatever they are."""
    cells = {row.arm: row for row in rows}
    if base not in cells or ours not in cells:
        return ""
    b, o = cells[base], cells[ours]
    lines = [
        f"GRPO-ds ends at {b.entropy / b.target:.0%} of the target entropy "
        f"({b.entropy:.3f} of {b.target:.3f} nats) and finds {b.groups:.1f} groups with signal "
        f"per batch of {b.wanted}; STARE ends at {o.entropy / o.target:.0%} with {o.groups:.1f}.",
        *([] if math.isnan(o.in_band) else [_held(o)]),
        *(
            _compare(name, b.scores[name], o.scores[name]) + "."
            for name in ("pass@32", "pass@8", "greedy", "pass@1")
        ),
        f"The controller ends at W = {o.w:.1f} (the paper: 1.1 for responses of thousands of "
        "tokens). The weight that balances a batch is W* = 1 + O(1/T), and these responses have "
        f"{o.length:.0f} tokens.",
    ]
    return "\n".join(lines)
