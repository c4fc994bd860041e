"""Charts as SVG text, drawn without scripts; colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["curves", "stacked_bars"]

_WIDTH, _HEIGHT = 460, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 10, 36
_SERIES = 8


def curves(series: Mapping[str, Sequence[tuple[int, float, float, float]]], *, label: str) -> str:
    """Lines of shares over k on a logarithmic axis, with the band of their intervals.

    Args:
        series: name -> (k, value, low, high) in order of k.
        label: what the chart says, for those who do not see it.
    """
    ks = sorted({point[0] for points in series.values() for point in points})
    if not ks:
        return ""
    span = math.log2(ks[-1]) or 1.0

    def x(k: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log2(k) / span

    parts = [_grid("k")]
    for k in ks:
        if k & (k - 1) == 0 or k == ks[-1]:
            parts.append(_text(x(k), _HEIGHT - _BOTTOM + 15, str(k), "middle"))
    for at, points in enumerate(series.values()):
        colour = f"var(--s{at % _SERIES})"
        dash = ' stroke-dasharray="5 3"' if at >= _SERIES else ""
        if len(points) > 1:
            ahead = [f"{x(k):.1f},{_y(high):.1f}" for k, _, _, high in points]
            behind = [f"{x(k):.1f},{_y(low):.1f}" for k, _, low, _ in reversed(points)]
            parts.append(
                f'<polygon class="band" fill="{colour}" points="{" ".join(ahead + behind)}"/>'
            )
            line = " ".join(f"{x(k):.1f},{_y(value):.1f}" for k, value, _, _ in points)
            parts.append(
                f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dash} points="{line}"/>'
            )
        for k, value, _, _ in points:
            parts.append(f'<circle cx="{x(k):.1f}" cy="{_y(value):.1f}" r="3" fill="{colour}"/>')
    return _svg(parts, label)


def stacked_bars(
    bars: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, label: str, below: str
) -> str:
    """Bars of counts, each a stack of (CSS class, count), with a caption under some of them.

    Args:
        bars: (caption, stack) from left to right; an empty caption is not written.
        label: what the chart says, for those who do not see it.
        below: what the axis is.
    """
    most = max((sum(count for _, count in stack) for _, stack in bars), default=0)
    if not most:
        return ""
    room = _WIDTH - _LEFT - _RIGHT
    step = room / len(bars)
    parts = [_counts_grid(most, below)]
    for at, (caption, stack) in enumerate(bars):
        height = 0
        left = _LEFT + at * step
        for name, count in stack:
            if count:
                top = _y((height + count) / most)
                parts.append(
                    f'<rect class="{escape(name)}" x="{left + 1:.1f}" y="{top:.1f}" '
                    f'width="{max(1.0, step - 2):.1f}" height="{_y(height / most) - top:.1f}"/>'
                )
                height += count
        if caption:
            parts.append(_text(left + step / 2, _HEIGHT - _BOTTOM + 15, caption, "middle"))
    return _svg(parts, label)


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1.0 - share)


def _grid(below: str) -> str:
    lines = [_level(share, f"{100 * share:.0f} %") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return "".join(lines) + _text((_WIDTH + _LEFT) / 2, _HEIGHT - 4, below, "middle")


def _counts_grid(most: int, below: str) -> str:
    ticks = sorted({0, most // 2, most})
    lines = [_level(tick / most, str(tick)) for tick in ticks]
    return "".join(lines) + _text((_WIDTH + _LEFT) / 2, _HEIGHT - 4, below, "middle")


def _level(share: float, caption: str) -> str:
    y = _y(share)
    return (
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        + _text(_LEFT - 6, y + 4, caption, "end")
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )
