"""The page's first view, readable without scripts: warnings, scores, charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from stare.evals.report.charts import curves, stacked_bars
from stare.evals.report.table import (
    LEGEND,
    agreement_table,
    number,
    run_lines,
    score_table,
    warning_lines,
)
from stare.evals.stats.tables import Table
from stare.evals.tally import OUTCOMES, ProblemTally

__all__ = ["overview"]

_BINS = 12
_KEY = {
    "correct": "correct",
    "incorrect": "incorrect",
    "truncated": "cut off",
    "no_answer": "no answer",
    "undecided": "undecided",
    "grader_error": "grader failed",
}


def overview(
    results: Mapping[str, Any],
    benches: Mapping[str, Sequence[ProblemTally]],
    name: str,
    left_out: str,
) -> str:
    """HTML of header and overview, and an empty place for the drill-down."""
    lines = "".join(f'<p class="soft">{escape(line)}</p>' for line in run_lines(results))
    parts = [
        f"<header><div><h1>{escape(name)}</h1>{lines}</div>"
        '<button type="button" id="theme" aria-label="switch between light and dark">'
        "light / dark</button></header>\n<main>\n"
        '<div id="detail" hidden></div>\n<div id="overview">\n',
        _warnings(results),
        "<h2>Scores</h2>\n",
        _scores(results),
        f'<p class="legend">{escape(LEGEND)}</p>\n',
        _curve_cards(results),
    ]
    if results["agreement"]:
        table = agreement_table(results)
        parts += ["<h2>Graders</h2>\n", _table(table)]
    parts.append("<h2>Problems</h2>\n" + _outcome_key())
    if left_out:
        parts.append(f'<p class="legend">{escape(left_out)}</p>\n')
    for at, (bench, problems) in enumerate(benches.items()):
        parts.append(_bench(at, bench, problems, len(benches)))
    fingerprint = results["run"].get("fingerprint")
    known = "" if fingerprint is None else f"Fingerprint of what decides the samples: {fingerprint}"
    parts.append(
        "<noscript><p>Problems and responses need JavaScript; nothing is loaded from anywhere."
        f"</p></noscript>\n<footer>{escape(known)}</footer>\n</div>\n</main>\n{_HATCH}"
    )
    return "".join(parts)


_HATCH = (
    '<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs>'
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="2" height="4" fill="var(--cut)"/></pattern>'
    "</defs></svg>\n"
)


def _warnings(results: Mapping[str, Any]) -> str:
    items = "".join(
        f'<li class="{escape(level)}"><b>{escape(level)}</b>{escape(words)}</li>\n'
        for level, words in warning_lines(results)
    )
    return f'<ul class="warnings" aria-label="warnings">\n{items}</ul>\n' if items else ""


def _scores(results: Mapping[str, Any]) -> str:
    return _table(score_table(results).without_empty(), average=results["macro"] is not None)


def _table(table: Table, *, average: bool = False) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = []
    for at, (first, *cells) in enumerate(table.rows):
        last = ' class="average"' if average and at == len(table.rows) - 1 else ""
        text = "".join(
            f'<td class="main">{escape(cell)}</td>'
            if name == "avg@n"
            else f"<td>{escape(cell)}</td>"
            for name, cell in zip(table.header[1:], cells, strict=True)
        )
        rows.append(f'<tr{last}><th scope="row">{escape(first)}</th>{text}</tr>\n')
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="table">'
        f'<table class="scores"><thead><tr>{head}</tr></thead>\n<tbody>\n{"".join(rows)}</tbody>'
        "</table></div>\n"
    )


def _curve_cards(results: Mapping[str, Any]) -> str:
    cards = []
    for metric in ("pass@k", "maj@k"):
        series = {
            bench: [
                (
                    int(k),
                    one["value"],
                    *(one["ci"] if None not in one["ci"] else [one["value"]] * 2),
                )
                for k, one in sorted(entry[metric].items(), key=lambda item: int(item[0]))
                if one["value"] is not None
            ]
            for bench, entry in results["benchmarks"].items()
        }
        if all(len(points) < 2 for points in series.values()):
            continue
        said = "; ".join(
            f"{bench}: " + ", ".join(f"{number(v)} % at {k}" for k, v, _, _ in points)
            for bench, points in series.items()
        )
        key = "".join(
            f'<li><i style="background:var(--s{at % 8})"></i>{escape(bench)}</li>'
            for at, bench in enumerate(series)
        )
        cards.append(
            f'<div class="card"><h3>{metric}, with the 95 % interval over problems</h3>'
            f'{curves(series, label=f"{metric}. {said}")}<ul class="key">{key}</ul></div>\n'
        )
    return (
        f'<h2>More than one try</h2>\n<div class="cards">{"".join(cards)}</div>\n' if cards else ""
    )


def _outcome_key() -> str:
    items = "".join(f'<li><i class="o-{name}"></i>{words}</li>' for name, words in _KEY.items())
    return f'<ul class="key">{items}</ul>\n'


def _bench(at: int, bench: str, problems: Sequence[ProblemTally], of: int) -> str:
    opened = " open" if at == 0 or of <= 3 else ""
    return (
        f'<details class="bench" id="bench-{at}"{opened}><summary>{escape(bench)}</summary>\n'
        f'<div class="cards">{_reliability(problems)}'
        f"{_lengths(problems)}</div>\n"
        '<div class="tools"><h3>Problems and their samples</h3>'
        f'<button type="button" id="order-{at}" aria-pressed="false">'
        "order: by name</button></div>\n"
        f'<div class="heat" id="heat-{at}"></div>\n</details>\n'
    )


def _reliability(problems: Sequence[ProblemTally]) -> str:
    """How many problems are solved how often."""
    n = max(one.n for one in problems)
    bins = min(n + 1, 11)
    counts = [0] * bins
    for one in problems:
        counts[min(bins - 1, int(one.c / one.n * (bins - 1) + 0.5))] += 1
    bars = [
        (
            f"{100 * at / (bins - 1):.0f} %" if at % 2 == 0 or bins <= 6 else "",
            [("o-correct", count)],
        )
        for at, count in enumerate(counts)
    ]
    never, always = (sum(one.c == k * one.n for one in problems) for k in (0, 1))
    said = f"of {len(problems)} problems, {never} never and {always} always solved"
    chart = stacked_bars(
        bars,
        label=f"Problems by share of correct samples: {said}",
        below="share of correct samples of a problem",
    )
    return (
        f'<div class="card"><h3>Reliability</h3>{chart}<p class="legend">{escape(said)}</p></div>\n'
    )


def _lengths(problems: Sequence[ProblemTally]) -> str:
    """Outcomes by length of the response."""
    pairs = [
        (fact.n_tokens if fact.n_tokens is not None else fact.characters, row.outcome)
        for one in problems
        for fact, row in zip(one.facts, one.grades, strict=True)
    ]
    unit = "tokens"
    if any(fact.n_tokens is None for one in problems for fact in one.facts):
        unit = "characters"
        pairs = [
            (fact.characters, row.outcome)
            for one in problems
            for fact, row in zip(one.facts, one.grades, strict=True)
        ]
    longest = max(size for size, _ in pairs) or 1
    step = _round_up(-(-longest // _BINS))
    bins = longest // step + 1
    table = [dict.fromkeys(OUTCOMES, 0) for _ in range(bins)]
    for size, outcome in pairs:
        table[min(bins - 1, size // step)][outcome] += 1
    bars = [
        (_short(at * step) if at % 2 == 0 else "", [(f"o-{name}", n) for name, n in row.items()])
        for at, row in enumerate(table)
    ]
    right = [size for size, outcome in pairs if outcome == "correct"]
    wrong = [size for size, outcome in pairs if outcome != "correct"]
    said = ", ".join(
        f"{words} {sum(sizes) / len(sizes):.0f} {unit} on average"
        for words, sizes in (("correct", right), ("others", wrong))
        if sizes
    )
    chart = stacked_bars(bars, label=f"Outcomes by length: {said}", below=f"{unit} of a response")
    return (
        f'<div class="card"><h3>Length and correctness</h3>{chart}'
        f'<p class="legend">{escape(said)}</p></div>\n'
    )


def _round_up(size: int) -> int:
    """The next 1, 2 or 5 times a power of ten.

    Example:
        >>> _round_up(334), _round_up(1), _round_up(12)
        (500, 1, 20)
    """
    power = int(10 ** (len(str(max(1, size))) - 1))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= size)


def _short(size: int) -> str:
    return str(size) if size < 10_000 else f"{size / 1000:.0f}k"
