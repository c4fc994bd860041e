"""Reading the files of a checkpoint, with their sizes and checksums compared."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from stare.errors import RunError

__all__ = ["check_file", "checksum", "read_meta", "read_state"]

_CHUNK = 1 << 20


def checksum(path: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file, read in pieces."""
    crc = size = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc, size = zlib.crc32(chunk, crc), size + len(chunk)
    return size, crc


def read_meta(path: Path) -> dict[str, Any]:
    """`meta.json` of a checkpoint's folder `step-000123`.

    Raises:
        RunError: it is missing or damaged, or of another step.
    """
    try:
        meta: dict[str, Any] = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        if int(meta["step"]) != int(path.name.rpartition("-")[2]):
            raise RunError(f"checkpoint {path} says it is of step {meta['step']}")
    except FileNotFoundError as error:
        raise RunError(f"checkpoint {path} is incomplete: no {error.filename}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"checkpoint {path} cannot be read: {error!r}") from None
    return meta


def check_file(path: Path, want: Sequence[int]) -> None:
    """Compare a file with the size and CRC-32 it was written with.

    Raises:
        RunError: it is missing or differs.
    """
    try:
        size, crc = checksum(path)
        expected = (int(want[0]), int(want[1]))
    except FileNotFoundError:
        raise RunError(f"checkpoint {path.parent} is incomplete: no {path}") from None
    except (OSError, ValueError, IndexError, KeyError, TypeError) as error:
        raise RunError(f"checkpoint {path.parent} cannot be read: {error!r}") from None
    if (size, crc) != expected:
        raise RunError(
            f"checkpoint {path.parent} is damaged: {path.name} has {size} bytes with CRC-32 "
            f"{crc:08x}, written were {expected[0]} with {expected[1]:08x}"
        )


def read_state(path: Path, *, device: str | torch.device = "cpu") -> dict[str, Any]:
    """`state.pt` of a checkpoint's folder, found intact.

    Raises:
        RunError: it is missing, incomplete or damaged; the message says which.
    """
    meta = read_meta(path)
    check_file(path / "state.pt", (meta.get("size", -1), meta.get("crc32", -1)))
    try:
        state: dict[str, Any] = torch.load(
            path / "state.pt", map_location=device, weights_only=True
        )
    except pickle.UnpicklingError as error:
        raise RunError(f"checkpoint {path} holds more than tensors and plain data") from error
    return state
