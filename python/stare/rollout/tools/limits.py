"""What a program may use. The same limits hold for every executor, as far as it can set them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from stare.errors import ConfigError

__all__ = ["Limits"]

SMALLEST = {
    "wall_seconds": 0.01,
    "memory_mb": 64,
    "processes": 1,
    "output_kb": 1,
    "tmp_mb": 1,
    "file_mb": 1,
    "open_files": 16,
    "source_kb": 1,
}
"""Below these not even an empty program runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one program, its children included where nothing else is said.

    Example:
        >>> Limits(wall_seconds=5).memory_mb
        512
        >>> Limits(memory_mb=16)
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: memory_mb must be an integer of at least 64, got 16
    """

    wall_seconds: float = 10.0
    """Wall time. Processor time of each process is limited to the same, rounded up."""
    memory_mb: int = 512
    """Address space of each process, and resident memory of all together, in MiB."""
    processes: int = 32
    """Processes and threads at one time."""
    output_kb: int = 64
    """Standard output, and again standard error, in KiB; a program that prints more is killed."""
    tmp_mb: int = 64
    """Size of the private /tmp, in MiB; it lives in memory."""
    file_mb: int = 32
    """Size of one file, in MiB."""
    open_files: int = 128
    """Open descriptors of each process."""
    source_kb: int = 1024
    """Length of the source, in KiB; a longer one is not run."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), SMALLEST[field.name]
            kinds = (int, float) if field.name == "wall_seconds" else (int,)
            number = isinstance(value, kinds) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value >= least):
                kind = "a number" if float in kinds else "an integer"
                raise ConfigError(f"{field.name} must be {kind} of at least {least}, got {value!r}")
