"""Whole files or none."""

from __future__ import annotations

import os
from pathlib import Path

from stare.errors import RunError

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 to a temporary name in the same folder, then rename: never half a file.

    Raises:
        RunError: the disk refuses (full, read-only); an older file is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # A lone surrogate of a JSON escape has no UTF-8: a question mark, rather than a crash.
        temporary.write_text(text, encoding="utf-8", errors="replace")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(f"{path} could not be written: {error.strerror or error}") from error
