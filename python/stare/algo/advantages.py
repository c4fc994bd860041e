"""Group-relative advantages (arXiv 2606.19236, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stare import _core
from stare.algo.dtypes import is_torch
from stare.errors import ArgumentError

__all__ = ["GroupStats", "broadcast_advantages", "group_advantages", "group_stats"]

_UNDECIDED = (
    "hint: an undecided reward must be settled or its response dropped before advantages are taken"
)


@dataclass(frozen=True, slots=True)
class GroupStats:
    """How many groups there are, and how many of them give no signal."""

    groups: int
    """Groups with at least one response."""
    singletons: int
    """Groups of one response: their advantage is 0."""
    all_equal: int
    """Groups of several responses whose rewards are all equal: their advantages are exactly 0."""


def group_advantages(
    rewards: Any,
    group_ids: Any,
    *,
    scale: Literal["std", "none"] = "std",
    eps: float = 1e-6,
) -> Any:
    """(r - mean) / (std + eps) within each group.

    Args:
        rewards: (B,), numpy, torch or a list of numbers.
        group_ids: (B,), integers or strings in any order: equal ids are one group.
        scale: `std` divides by the unbiased standard deviation (n - 1) plus `eps`; `none` only
            subtracts the mean.
        eps: added to the deviation.

    Returns:
        (B,) in the library, device and dtype of `rewards` (float64 for integers and lists, torch's
        default for integer tensors). Groups of one and groups of equal rewards get exactly 0;
        `group_stats` counts them.

    Raises:
        ArgumentError: ids of another length, or a reward that is not finite.

    Example:
        >>> group_advantages([1.0, 0.0, 3.0, 3.0], ["a", "a", "b", "b"], scale="none").tolist()
        [0.5, -0.5, 0.0, 0.0]
    """
    if scale not in ("std", "none"):
        raise ArgumentError(f"scale must be 'std' or 'none', got {scale!r}")
    values, groups, count = _numbered(rewards, group_ids)
    advantages, _ = _core.group_advantages(
        values, groups, count, eps=float(eps) if scale == "std" else None
    )
    if is_torch(rewards):
        import torch

        dtype = rewards.dtype if rewards.is_floating_point() else torch.get_default_dtype()
        return torch.from_numpy(advantages).to(rewards.device, dtype)
    dtype = getattr(rewards, "dtype", None)
    floating = dtype is not None and np.dtype(dtype).kind == "f"
    return advantages.astype(dtype) if floating else advantages


def group_stats(rewards: Any, group_ids: Any) -> GroupStats:
    """Groups, groups of one, and groups of equal rewards; arguments of `group_advantages`.

    Example:
        >>> group_stats([1.0, 0.0, 3.0, 3.0, 5.0], [7, 7, 1, 1, 2])
        GroupStats(groups=3, singletons=1, all_equal=1)
    """
    values, groups, count = _numbered(rewards, group_ids)
    _, counts = _core.group_advantages(values, groups, count, eps=None)
    return GroupStats(*counts)


def _numbered(rewards: Any, group_ids: Any) -> tuple[NDArray[np.float64], list[int], int]:
    """Rewards as float64 and groups as consecutive numbers."""
    if is_torch(rewards):
        rewards = rewards.detach().double().cpu().numpy()
    values = np.asarray(rewards)
    if values.dtype.kind == "O":
        undecided = [i for i, reward in enumerate(values.ravel()) if reward is None]
        if undecided:
            raise ArgumentError(f"reward {undecided[0]} must be a number, got None\n{_UNDECIDED}")
    try:
        values = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"rewards must be numbers, got dtype {values.dtype}") from None
    if values.ndim != 1:
        raise ArgumentError(f"rewards must have shape (B,), got {values.shape}")
    if is_torch(group_ids):
        group_ids = group_ids.detach().cpu().numpy()
    ids = np.asarray(group_ids)
    if ids.shape != values.shape:
        raise ArgumentError(
            f"group_ids must have shape {values.shape}, one for each reward, got {ids.shape}"
        )
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        raise ArgumentError(f"group id {int(np.argmax(np.isnan(ids)))} is nan")
    try:
        unique, groups = np.unique(ids, return_inverse=True)
    except TypeError:
        kinds = sorted({type(i).__name__ for i in ids.tolist()})
        raise ArgumentError(
            f"group_ids must be all integers or all strings, got {', '.join(kinds)}"
        ) from None
    return values, groups.ravel().tolist(), len(unique)


def broadcast_advantages(advantages: Any, mask: Any) -> Any:
    """One advantage a response, on each of its tokens: (B,), (B, T) -> (B, T), 0 outside the mask.

    Example:
        >>> import numpy as np
        >>> broadcast_advantages(np.array([1.0, -1.0]), np.array([[1, 1], [1, 0]])).tolist()
        [[1.0, 1.0], [-1.0, 0.0]]
    """
    if not hasattr(advantages, "shape"):
        advantages = np.asarray(advantages, np.float64)
    if not hasattr(mask, "shape"):
        mask = np.asarray(mask)
    if is_torch(advantages) != is_torch(mask):
        raise ArgumentError("advantages and mask must both be arrays or both be tensors")
    shape = tuple(mask.shape)
    if len(shape) != 2 or tuple(advantages.shape) != shape[:1]:
        raise ArgumentError(
            f"advantages must have shape (B,) and mask (B, T), got {tuple(advantages.shape)} and "
            f"{shape}"
        )
    if is_torch(advantages):
        import torch

        if advantages.device != mask.device:
            raise ArgumentError(
                f"advantages is on {advantages.device} but mask is on {mask.device}"
            )
        return torch.where(mask != 0, advantages[:, None], advantages.new_zeros(()))
    return np.where(mask != 0, advantages[:, None], advantages.dtype.type(0))
