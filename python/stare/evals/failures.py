"""What can go wrong in a run beyond bad arguments and bad data, each with its exit code."""

from __future__ import annotations

from stare.errors import RunError, StareError

__all__ = ["BackendError", "FolderInUseError", "IncompleteError", "RequestError", "StorageError"]


class BackendError(StareError, RuntimeError):
    """The back end does not work: no model, no server, a missing package. Nothing was lost."""

    exit_code = 4


class RequestError(StareError, RuntimeError):
    """One request was refused for good; it is recorded, and the run goes on."""


class StorageError(StareError, OSError):
    """The disk does not take a line. What was written before is intact."""

    exit_code = 1


class IncompleteError(StareError, RuntimeError):
    """Samples are missing; the same command goes on."""

    exit_code = 5


class FolderInUseError(RunError):
    """Another process writes the run folder."""
