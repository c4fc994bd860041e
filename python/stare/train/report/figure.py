"""The figure: curves of several runs, grouped into arms, as a PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stare.errors import MissingExtraError, RunError
from stare.train.report.data import BAND, Run, curve, load_runs, replace_file

__all__ = ["build_png"]

_COLORS = ("#0b6bb8", "#d1490c", "#0a8a62", "#a63d8f", "#b07d00", "#5a6472", "#8a4b2a", "#6a5acd")
_PANELS = (
    ("entropy/rollouts", "Entropy of rollouts (nats)", True),
    ("groups/kept", "Groups with signal per batch", True),
    ("stare/w", "Amplification W", False),
    ("reward/rollouts", "Training reward", False),
    ("eval/greedy", "Greedy, held out", False),
    ("eval/pass@max", "pass@{k}, held out", False),
)
_POINTS = 250
"""Points of a curve: the figure is 1,200 px wide, and per-step noise hides the level."""


def build_png(runs: Sequence[str | Path], out: str | Path, *, dpi: int = 150) -> Path:
    """Draw up to six panels: entropy against its target, signal, W, reward, held-out accuracy.

    Runs named `arm-s0`, `arm-s1` are drawn as their mean with a band from smallest to largest.

    Args:
        runs: Run folders, in the order to draw.
        out: The PNG; replaced whole.
        dpi: Resolution; 150 gives 1,800 x 960 pixels.

    Raises:
        ArgumentError: no runs, or one given twice.
        MissingExtraError: matplotlib is not installed.
        RunError: a folder without metrics, no curve to draw, or a file that cannot be written.
    """
    loaded = load_runs(runs)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "a PNG report") from None
    panels = [p for p in (_panel(loaded, *spec) for spec in _PANELS) if p is not None]
    if not panels:
        raise RunError("the runs have no curve that the figure shows")
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    # Arms, the target and the shade; five names of ordinary length fill a row.
    legend_rows = math.ceil((len({r.arm for r in loaded}) + 2) / 5)
    height = 3.0 * rows + 0.2 + 0.25 * legend_rows
    figure = Figure(figsize=(4 * columns, height), layout="constrained")
    FigureCanvasAgg(figure)
    handles: dict[str, Any] = {}
    for index, (key, title, zero) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, index + 1)
        _draw(axes, loaded, key, zero, handles)
        axes.set_title(title, fontsize=10.5, loc="left")
        if index >= len(panels) - columns:
            axes.set_xlabel("step", fontsize=9)
    if any(len([r for r in loaded if r.arm == a]) > 1 for a in {r.arm for r in loaded}):
        handles["shade: all seeds"] = Patch(color="#999999", alpha=0.3, linewidth=0)
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center",
        ncols=math.ceil(len(handles) / legend_rows), frameon=False, fontsize=10,
    )  # fmt: skip
    path = Path(out)
    replace_file(
        path, "figure", lambda t: figure.savefig(t, format="png", dpi=dpi, facecolor="white")
    )
    return path


def _panel(runs: Sequence[Run], key: str, title: str, zero: bool) -> tuple[str, str, bool] | None:
    present = {k for r in runs for row in r.history.rows for k in row}
    if key == "eval/pass@max":
        ks = [
            int(k.rpartition("@")[2])
            for k in present
            if k.startswith("eval/pass@") and not k.endswith("_se")
        ]
        if not ks:
            return None
        return f"eval/pass@{max(ks)}", title.format(k=max(ks)), zero
    return (key, title, zero) if key in present else None


def mean_and_range(
    curves: Sequence[tuple[list[float], list[float]]],
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Steps that all curves have, with mean, minimum and maximum there."""
    tables = [dict(zip(xs, ys, strict=True)) for xs, ys in curves]
    common = sorted(set.intersection(*(set(t) for t in tables)))
    values = [[t[x] for t in tables] for x in common]
    means = [math.fsum(v) / len(v) for v in values]
    return common, means, [min(v) for v in values], [max(v) for v in values]


def _draw(axes: Any, runs: Sequence[Run], key: str, zero: bool, handles: dict[str, Any]) -> None:
    longest = max(r.history.rows[-1]["step"] for r in runs)
    bucket = max(1, math.ceil(longest / _POINTS))
    arms = list(dict.fromkeys(r.arm for r in runs))
    if key == "entropy/rollouts":
        targets = [c for r in runs if (c := curve(r, "entropy/target", bucket))[0]]
        if targets:
            xs, means, _, _ = mean_and_range(targets)
            low, high = ([m * (1 + s * BAND) for m in means] for s in (-1, 1))
            axes.fill_between(xs, low, high, color="#777777", alpha=0.18, linewidth=0)
            (line,) = axes.plot(xs, means, "--", color="#555555", linewidth=1.1)
            handles[f"target ±{BAND:.0%}"] = line
    for arm in arms:
        color = _COLORS[arms.index(arm) % len(_COLORS)]
        curves = [c for r in runs if r.arm == arm and (c := curve(r, key, bucket))[0]]
        if not curves:
            continue
        xs, means, low, high = mean_and_range(curves)
        style = {"marker": "o", "markersize": 2.6} if len(xs) <= 40 else {}
        (line,) = axes.plot(xs, means, color=color, linewidth=1.5, **style)
        if len(curves) > 1:
            axes.fill_between(xs, low, high, color=color, alpha=0.18, linewidth=0)
        handles.setdefault(arm, line)
    if zero:
        axes.set_ylim(bottom=0)
    axes.grid(color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5)
