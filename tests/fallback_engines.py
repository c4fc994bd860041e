"""Engines for the tests of the fallback; workers import them by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def by_gold() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An engine that goes by the first digit of the gold."""

    def run(job: dict[str, Any]) -> dict[str, Any]:
        match job["gold"][0]:
            case "1":
                return {"equal": True, "kinds": ["expression"] * 2, "gap": 0.0, "accounted": True}
            case "2":
                return {"equal": False, "kinds": ["expression"] * 2, "gap": 0.5, "accounted": True}
            case "3":
                return {"equal": None, "kinds": ["expression", "unparsed"]}
            case "5":
                time.sleep(60)
        raise ValueError

    return run


def gullible() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An engine that takes everything for equal."""
    return lambda job: {"equal": True, "kinds": ["number"] * 2, "gap": 0.0, "accounted": True}


def broken() -> None:
    """An engine that is not there."""
    raise ImportError("no engine")
