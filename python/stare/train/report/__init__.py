"""Reports of training runs: `build_report` (HTML) and `build_png` (a figure)."""

from __future__ import annotations

from stare.train.report.figure import build_png
from stare.train.report.page import build_report

__all__ = ["build_png", "build_report"]
