"""A key-value cache that is written in place instead of copied at every token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

__all__ = ["decoding_cache"]

SLACK = 64
"""Columns a layer grows by: the copy that `DynamicLayer` makes at every token, every 64 tokens."""


class _Slab:
    """(B, heads, length, dim) inside a longer buffer."""

    def __init__(self) -> None:
        self.buffer: Tensor | None = None

    def append(self, old: Tensor | None, new: Tensor) -> Tensor:
        """Return `old` and `new` along the length: a view of the buffer that held `old`."""
        length = 0 if old is None else old.shape[-2]
        end = length + new.shape[-2]
        if self.buffer is None or end > self.buffer.shape[-2]:
            batch, heads, _, dim = new.shape
            self.buffer = new.new_empty(batch, heads, end + SLACK, dim)
            if old is not None:
                self.buffer[:, :, :length] = old
        self.buffer[:, :, length:end] = new
        return self.buffer[:, :, :end]

    def select(self, view: Tensor, rows: Tensor) -> Tensor:
        """Keep `rows` of the batch; `view` is what `append` returned last."""
        length = view.shape[-2]
        batch, heads, capacity, dim = len(rows), view.shape[1], length + SLACK, view.shape[-1]
        buffer = view.new_empty(batch, heads, capacity, dim)
        torch.index_select(view, 0, rows, out=buffer[:, :, :length])
        self.buffer = buffer
        return buffer[:, :, :length]


class _SlabLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped here
    """A full-attention layer with the values of `DynamicLayer`, grown in place."""

    keys: Tensor
    values: Tensor
    is_initialized: bool

    def __init__(self) -> None:
        super().__init__()
        self.slabs = (_Slab(), _Slab())

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append, and return all keys and values."""
        old_keys, old_values = (self.keys, self.values) if self.is_initialized else (None, None)
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = self.slabs[0].append(old_keys, key_states)
        self.values = self.slabs[1].append(old_values, value_states)
        self.is_initialized = True
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep `indices` of the batch."""
        if self.get_seq_length() > 0:
            self.keys = self.slabs[0].select(self.keys, indices)
            self.values = self.slabs[1].select(self.values, indices)


def decoding_cache(config: Any) -> Any:
    """Return the cache a model of this config decodes with.

    Only full-attention layers are replaced; sliding-window and recurrent ones stay what
    transformers makes of the config.
    """
    cache = DynamicCache(config=config)
    cache.layers = [_SlabLayer() if type(x) is DynamicLayer else x for x in cache.layers]
    return cache
