"""Element types: which are read, and as what the extension takes them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare.errors import ArgumentError

__all__ = ["as_bits", "as_flags", "float_format", "is_torch"]

_FORMATS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def is_torch(x: object) -> bool:
    """Whether this is a tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def float_format(name: str, x: Any) -> str:
    """The short name of a floating-point dtype.

    Raises:
        ArgumentError: another dtype.
    """
    dtype = str(x.dtype).removeprefix("torch.")
    try:
        return _FORMATS[dtype]
    except KeyError:
        raise ArgumentError(
            f"{name} must be float32, float64, float16 or bfloat16, got {dtype}"
        ) from None


def _plain(x: Any) -> NDArray[Any]:
    """A numpy view that the extension can read: host memory, native byte order, aligned."""
    if is_torch(x):
        x = x.detach()
        if x.element_size() == 2 and x.is_floating_point():
            import torch

            x = x.view(torch.int16)
        x = x.numpy()
    if x.dtype.name in ("bfloat16", "float16", "int16") and x.dtype.itemsize == 2:
        x = x.view(np.uint16)
    if not (x.dtype.isnative and x.flags.aligned):
        x = x.astype(x.dtype.newbyteorder("="), copy=True)
    return x  # type: ignore[no-any-return]


def as_bits(name: str, x: Any) -> tuple[NDArray[Any], str]:
    """(array, format) as the extension takes floats; half types as the bits of uint16."""
    kind = float_format(name, x)
    return _plain(x), kind


def as_flags(x: Any) -> NDArray[Any]:
    """A mask as the extension takes it; one byte a token is made for unusual dtypes only."""
    dtype = str(x.dtype).removeprefix("torch.")
    if dtype in ("bool", "uint8", "int8"):
        flags = x.detach().numpy() if is_torch(x) else x
        return flags.view(np.uint8)  # type: ignore[no-any-return]
    if dtype in ("int32", "int64", *_FORMATS):
        return _plain(x)
    return as_flags(x != 0)
