"""Which benchmarks, and how many samples a problem: `stare6`, `aime24:32,math500:4`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stare.errors import ArgumentError
from stare.evals.data.local import data_folder, imported
from stare.evals.data.registry import load_manifest, names, unknown_benchmark

__all__ = ["SUITES", "BenchRequest", "default_n", "parse"]

SUITES: dict[str, tuple[str, ...]] = {
    "stare6": ("aime24", "aime25", "amc23", "math500", "minerva_math", "olympiadbench"),
}
"""Named lists. `stare6`: the paper's six, whose default n are 32, 32, 32, 4, 4, 4."""


class BenchRequest(NamedTuple):
    """A benchmark and how many samples of each of its problems."""

    name: str
    n: int


def default_n(bench: str) -> int:
    """Samples a problem where none are asked for; 1 for a benchmark of the user's own."""
    return load_manifest(bench).n if bench in names() else 1


def parse(text: str, data_dir: Path | None = None) -> tuple[BenchRequest, ...]:
    """Parse a list of benchmarks and suites, each with its number of samples or the default one.

    Args:
        text: items `NAME` or `NAME:N`, separated by commas; N of a suite holds for all of it.
        data_dir: the local store, whose own benchmarks may be named; None: `data_folder()`.

    Raises:
        ArgumentError: an unknown name (the nearest are offered), an n that is not a positive
            integer, a benchmark named twice, an empty list.

    Example:
        >>> parse("aime24:8, math500")
        (BenchRequest(name='aime24', n=8), BenchRequest(name='math500', n=4))
        >>> [request.n for request in parse("stare6")]
        [32, 32, 32, 4, 4, 4]
    """
    requests: dict[str, BenchRequest] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, count = (part.strip() for part in item.partition(":"))
        n = _count(count, item) if colon else None
        for bench in SUITES[name] if name in SUITES else (_known(name, data_dir),):
            if bench in requests:
                raise ArgumentError(f"benchmark {bench!r} is named twice in {text!r}")
            requests[bench] = BenchRequest(bench, default_n(bench) if n is None else n)
    if not requests:
        raise ArgumentError(
            f"no benchmark in {text!r}\nhint: for example stare6, or aime24:32,math500:4"
        )
    return tuple(requests.values())


def _known(name: str, data_dir: Path | None) -> str:
    if name in names():
        return name
    own = imported(data_folder(data_dir))
    if name not in own:
        raise unknown_benchmark(name, [*SUITES, *names(), *own])
    return name


def _count(text: str, item: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentError(f"the number of samples must be an integer >= 1, got {item!r}")
    return int(text)
