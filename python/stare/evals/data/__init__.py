"""Benchmarks: pinned by hash, fetched or imported once, loaded without a network.

Example:
    >>> from stare.evals import data
    >>> data.load("mini").problems[0].answer
    '56'
"""

from stare.evals.data.identify import DataMismatchError
from stare.evals.data.local import Benchmark, data_folder, load
from stare.evals.data.registry import Manifest, load_manifest, names

__all__ = [
    "Benchmark",
    "DataMismatchError",
    "Manifest",
    "data_folder",
    "load",
    "load_manifest",
    "names",
]
