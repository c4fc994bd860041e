"""The one crossing between the caller's arrays and the kernels.

Legend: B rows (responses), T positions, N packed tokens, S packed sequences. Whatever comes in
leaves in the same library, on the same device, in the same shape; inputs are never written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stare.algo.dtypes import float_format, is_torch
from stare.errors import ArgumentError

if TYPE_CHECKING:
    import torch

__all__ = ["Inputs", "prepare", "resolve_threads"]


def resolve_threads(threads: int | None) -> int:
    """Threads of the Rust side: the argument, else STARE_NUM_THREADS, else the usable cores.

    Raises:
        ArgumentError: not a positive number.
    """
    given: object = threads
    if threads is None:
        given = os.environ.get("STARE_NUM_THREADS") or _cores()
    try:
        count = int(given)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        count = 0
    if count < 1:
        name = "STARE_NUM_THREADS" if threads is None else "threads"
        raise ArgumentError(f"{name} must be a positive integer, got {given!r}")
    return int(count)


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Arrays of one call as two-dimensional views, in the caller's library."""

    logprobs: Any
    """(B, T), or (1, N) where packed."""
    advantages: Any
    """As `logprobs`, or (rows, 1)."""
    per_row: bool
    mask: Any
    """As `logprobs`."""
    entropy: Any = None
    """As `logprobs`, or None."""
    row_entropy: Any = None
    """(rows,), or None."""
    concentration: Any = None
    offsets: NDArray[np.int64] | None = None
    """Where packed: row i is offsets[i]:offsets[i + 1]."""
    shape: tuple[int, ...]
    """Shape of the result."""
    ragged: bool = False
    """The result is a list of rows."""

    @property
    def torch(self) -> bool:
        """Whether the arrays are tensors."""
        return is_torch(self.logprobs)

    @property
    def on_device(self) -> bool:
        """Whether the arrays are tensors that the host cannot read in place."""
        return self.torch and self.logprobs.device.type != "cpu"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.logprobs) if self.offsets is None else len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """Number of positions, padding included."""
        return int(self.logprobs.shape[0] * self.logprobs.shape[1])

    @property
    def format(self) -> str:
        """f32, f64, f16 or bf16."""
        return float_format("logprobs", self.logprobs)

    def give(self, flat: Any) -> Any:
        """A flat result in the caller's shape (numpy results of tensors become tensors)."""
        if self.torch and not is_torch(flat):
            import torch

            flat = torch.from_numpy(flat)
        if not self.ragged:
            return flat.reshape(self.shape)
        assert self.offsets is not None
        bounds = self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]


def _as_array(name: str, x: Any, like: Any) -> Any:
    """`x` in the library of `like` (a list becomes an array there)."""
    if is_torch(x) != is_torch(like) and not isinstance(x, list | tuple | float | int):
        ours, theirs = ("a tensor", "an array") if is_torch(x) else ("an array", "a tensor")
        raise ArgumentError(f"{name} is {ours} but logprobs is {theirs}\nhint: convert one of them")
    if is_torch(like):
        import torch

        if not is_torch(x):
            x = torch.as_tensor(x, device=like.device)
        if x.device != like.device:
            raise ArgumentError(f"{name} is on {x.device} but logprobs is on {like.device}")
        return x.detach()
    return np.asarray(x)


def _floats(name: str, x: Any, like: Any) -> Any:
    x = _as_array(name, x, like)
    if is_torch(x):
        return x if x.is_floating_point() else x.double()
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def _concatenate(name: str, rows: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Ragged rows as one packed array: the one copy that ragged input costs."""
    got = [len(row) for row in rows]
    if got != list(lengths):
        raise ArgumentError(f"{name} must have rows of lengths {list(lengths)}, got {got}")
    if rows and is_torch(rows[0]):
        import torch

        return torch.cat([row.detach() for row in rows])
    arrays = [np.asarray(row) for row in rows]
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _is_ragged(x: Any) -> bool:
    return isinstance(x, list | tuple) and all(hasattr(row, "__len__") for row in x)


def _packed_offsets(offsets: Any, total: int) -> NDArray[np.int64]:
    """Offsets checked: integers from 0 to `total`, never decreasing."""
    if is_torch(offsets):
        offsets = offsets.detach().cpu().numpy()
    array = np.asarray(offsets)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise ArgumentError(
            f"offsets must be a non-empty one-dimensional integer array, got {array.dtype} of "
            f"shape {array.shape}"
        )
    array = array.astype(np.int64)
    if array[0] != 0 or array[-1] != total or bool((np.diff(array) < 0).any()):
        raise ArgumentError(
            f"offsets must rise from 0 to the number of tokens ({total}), got "
            f"{array[0]} to {array[-1]}{' with a decrease' if (np.diff(array) < 0).any() else ''}"
        )
    return array


def prepare(
    logprobs: Any,
    advantages: Any,
    mask: Any,
    *,
    entropy: Any = None,
    concentration: Any = None,
    offsets: Any = None,
) -> Inputs:
    """Bring the arrays of a call into one form, without copying them.

    Raises:
        ArgumentError: shapes, libraries or devices that do not go together; the message names the
            argument, what it is and what it may be.
    """
    ragged = _is_ragged(logprobs)
    given = {"mask": mask, "entropy": entropy, "concentration": concentration}
    if ragged:
        if offsets is not None:
            raise ArgumentError("offsets goes with a packed array, got a list of rows as logprobs")
        lengths = [len(row) for row in logprobs]
        offsets = np.cumsum([0, *lengths])
        logprobs = _concatenate("logprobs", logprobs, lengths)
        if _is_ragged(advantages) and len(advantages) == len(lengths):
            advantages = _concatenate("advantages", advantages, lengths)
        for name, value in given.items():
            if _is_ragged(value):
                given[name] = _concatenate(name, value, lengths)
    elif not is_torch(logprobs):
        logprobs = np.asarray(logprobs)
    if logprobs.ndim not in (1, 2):
        raise ArgumentError(
            f"logprobs must be (B, T), packed (N,) or a list of rows, got shape "
            f"{tuple(logprobs.shape)}"
        )
    float_format("logprobs", logprobs)
    logprobs = logprobs.detach() if is_torch(logprobs) else logprobs
    shape = tuple(logprobs.shape)
    packed = len(shape) == 1
    if offsets is not None and not packed:
        raise ArgumentError(f"offsets goes with packed (N,) arrays, got logprobs of shape {shape}")
    bounds = None
    if packed:
        bounds = _packed_offsets([0, shape[0]] if offsets is None else offsets, shape[0])
    rows = shape[0] if bounds is None else len(bounds) - 1

    def tokenwise(name: str, x: Any) -> Any:
        if tuple(x.shape) != shape:
            raise ArgumentError(
                f"{name} must have the shape {shape} of logprobs, got {tuple(x.shape)}"
            )
        return x[None] if packed else x

    advantages = _floats("advantages", advantages, logprobs)
    float_format("advantages", advantages)
    per_row = tuple(advantages.shape) != shape and tuple(advantages.shape) in ((rows,), (rows, 1))
    if not per_row and tuple(advantages.shape) != shape:
        raise ArgumentError(
            f"advantages must have the shape {shape} of logprobs or one value a row ({rows},), "
            f"got {tuple(advantages.shape)}"
        )
    mask = given["mask"]
    mask = _all_on(logprobs) if mask is None else _as_array("mask", mask, logprobs)
    token_entropy = row_entropy = None
    if given["entropy"] is not None:
        value = _floats("entropy", given["entropy"], logprobs)
        if tuple(value.shape) == (rows,) and shape != (rows,):
            row_entropy = value
        else:
            token_entropy = tokenwise("entropy", value)
    if given["concentration"] is not None:
        concentration = tokenwise(
            "concentration", _floats("concentration", given["concentration"], logprobs)
        )
    return Inputs(
        logprobs=logprobs[None] if packed else logprobs,
        advantages=advantages.reshape(rows, 1) if per_row else tokenwise("advantages", advantages),
        per_row=per_row,
        mask=tokenwise("mask", mask),
        entropy=token_entropy,
        row_entropy=row_entropy,
        concentration=concentration,
        offsets=bounds,
        shape=shape,
        ragged=ragged,
    )


def _all_on(like: Any) -> torch.Tensor | NDArray[np.bool_]:
    """A mask of ones that takes no memory."""
    if is_torch(like):
        return like.new_ones(()).bool().expand(like.shape)  # type: ignore[no-any-return]
    return np.broadcast_to(np.True_, like.shape)
