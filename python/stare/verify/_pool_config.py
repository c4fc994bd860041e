"""Sizes and limits of the fallback; apart from the pool, which is imported when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, fields

from stare.errors import ArgumentError

__all__ = ["PoolConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolConfig:
    """Sizes and limits of a pool."""

    workers: int = 2
    """Processes at most; each takes about 100 MB with math-verify."""
    deadline_s: float = 5.0
    """Seconds a job may take, from its hand-over to a worker, before the worker is killed."""
    memory_mib: int = 1024
    """MiB a worker may take beyond what it has after start-up."""
    jobs_per_worker: int = 1000
    """Jobs after which a worker is replaced."""
    queue: int = 1024
    """Jobs waiting at most; handing over more waits."""
    start_s: float = 30.0
    """Seconds a worker may take to start."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ArgumentError(f"{field.name} must be positive, got {value}")
