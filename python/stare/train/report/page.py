"""The HTML report: one file, no network, light and dark."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from stare.train.report.data import BAND, MAX_POINTS, Run, curve, load_runs, replace_file
from stare.train.report.tables import arms_table, config_differences, runs_table

__all__ = ["build_report"]

_PANELS: tuple[tuple[str, tuple[tuple[str, str, tuple[str, ...]], ...]], ...] = (
    (
        "Entropy",
        (
            ("rollouts and batch", "nats", ("entropy/rollouts", "entropy/batch")),
            ("all rollouts", "nats", ("entropy/rollouts",)),
            ("kept batch", "nats", ("entropy/batch",)),
            ("evaluation", "nats", ("eval/entropy",)),
        ),
    ),
    (
        "Reward",
        (
            ("all rollouts", "mean", ("reward/rollouts",)),
            ("kept batch", "mean", ("reward/batch",)),
        ),
    ),
    ("Held-out problems solved", ()),
    (
        "Groups with signal",
        (
            ("in the batch", "per step", ("groups/kept",)),
            ("mixed", "share of sampled", ("groups/mixed_frac",)),
            ("all solved", "share of sampled", ("groups/all_solved_frac",)),
            ("none solved", "share of sampled", ("groups/none_solved_frac",)),
        ),
    ),
    (
        "Gate and weights",
        (
            ("W", "factor on L+", ("stare/w",)),
            ("M", "factor on L-", ("stare/m",)),
            ("gate", "1: entropy below target", ("stare/gate",)),
            ("tokens reweighted", "share", ("stare/selected_frac",)),
        ),
    ),
    (
        "Response length",
        (
            ("mean", "tokens", ("length/mean",)),
            ("longest", "tokens", ("length/max",)),
            ("truncated", "share", ("truncated_frac",)),
        ),
    ),
)
_FROM_ZERO = ("entropy/", "groups/", "eval/entropy", "truncated_frac", "length/")
_TARGETED = ("entropy/rollouts", "entropy/batch", "eval/entropy")


def build_report(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write the curves and tables of several runs as one self-contained HTML file.

    Args:
        runs: Run folders, in the order to show; `arm-s0`, `arm-s1` are seeds of one arm.
        out: The file; replaced whole.

    Returns:
        The path written.

    Raises:
        ArgumentError: no runs, or one given twice.
        RunError: a folder without metrics, or a file that cannot be written.
    """
    page = render(load_runs(runs))
    path = Path(out)
    replace_file(path, "report", lambda temporary: temporary.write_text(page, encoding="utf-8"))
    return path


def render(runs: Sequence[Run]) -> str:
    """The page as a string."""
    longest = max(r.history.rows[-1]["step"] for r in runs)
    bucket = max(1, math.ceil(longest / MAX_POINTS))
    panels = _panels(runs)
    keys = {k for p in panels for v in p["views"] for k in [*v["keys"], v["target"]] if k}
    data = {
        "band": BAND,
        "steps": longest,
        "panels": panels,
        "runs": [{"name": r.name, "arm": r.arm, **_curves(r, sorted(keys), bucket)} for r in runs],
    }
    folder = resources.files("stare.train.report")
    style = (folder / "page.css").read_text("utf-8")
    script = (folder / "page.js").read_text("utf-8")
    note = (
        f"Each point is the mean of {bucket} steps." if bucket > 1 else "Every step is drawn."
    ) + " Dashed: target entropy; grey band: within 10 % of it."
    if any(len([r for r in runs if r.arm == a]) > 1 for a in {r.arm for r in runs}):
        note += " Shaded around a mean: smallest and largest seed."
    plural = "run" if len(runs) == 1 else "runs"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>STARE training report</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>STARE training report</h1>
<p class="soft">{len(runs)} {plural}, {longest} steps. {note}</p>
{_warnings(runs)}
<noscript><p class="warn">The curves need JavaScript; the tables below do not.</p></noscript>
<div class="bar"><div class="legend" id="legend"></div><div class="seg" id="modes"></div>
<label>smoothing <input id="smooth" type="range" min="0" max="98" value="0">
<span id="smooth-value">off</span></label></div>
<div class="panels" id="panels"></div>
{arms_table(runs)}
{runs_table(runs)}
<h2>Configurations</h2>
{config_differences(runs)}
{_configs(runs)}
</main>
<div id="tip"></div>
<script type="application/json" id="data">{_embed(data)}</script>
<script>
{script}</script>
</body>
</html>
"""


def _embed(data: object) -> str:
    # `<` is the only character that could end a script element or open a comment in it.
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _panels(runs: Sequence[Run]) -> list[dict[str, Any]]:
    present = {k for r in runs for row in r.history.rows for k in row}
    passes = sorted(
        (k for k in present if k.startswith("eval/pass@") and not k.endswith("_se")),
        key=lambda k: -int(k.rpartition("@")[2]),
    )
    held_out = [(k[5:], "share", (k,)) for k in passes]
    held_out.append(("greedy", "share", ("eval/greedy",)))
    panels = []
    for title, fixed in _PANELS:
        views = []
        for label, unit, keys in fixed or held_out:
            have = [k for k in keys if k in present]
            if not have:
                continue
            zero = have[0].startswith(_FROM_ZERO)
            target = "entropy/target" if have[0] in _TARGETED and have[0] in keys else None
            views.append(
                {"label": label, "unit": unit, "keys": have, "zero": zero, "target": target}
            )
        if views:
            panels.append({"title": title, "views": views})
    return panels


def _curves(run: Run, keys: Sequence[str], bucket: int) -> dict[str, Any]:
    # Most curves of a run have the same steps: each distinct list is stored once.
    grids: list[list[float]] = []
    data: dict[str, Any] = {}
    for key in keys:
        xs, ys = curve(run, key, bucket)
        if xs:
            if xs not in grids:
                grids.append(xs)
            data[key] = [grids.index(xs), [float(f"{y:.4g}") for y in ys]]
    return {"grids": grids, "data": data}


def _warnings(runs: Sequence[Run]) -> str:
    items = [f"<li><b>{escape(r.name)}</b>: {escape(w)}</li>" for r in runs for w in r.warnings]
    if not items:
        return ""
    return f'<div class="warn"><b>Before you read on</b><ul>{"".join(items)}</ul></div>'


def _configs(runs: Sequence[Run]) -> str:
    out = []
    for run in runs:
        text = json.dumps(run.config, indent=2) if run.config else "unknown"
        out.append(
            f"<details><summary>{escape(run.name)}</summary><pre>{escape(text)}</pre></details>"
        )
    return "\n".join(out)
