"""The policy over the ranks: FSDP2 shards for training, a full copy for generation.

`shard_policy` turns every parameter into a `DTensor` split over the ranks. Training gathers one
block at a time. Generation calls the model a rank's own number of times, so nothing may be gathered
in it: it runs on a plain copy that holds the full weights only while it is in use.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from torch.distributed.fsdp import fully_shard as _fully_shard
from torch.distributed.tensor import DTensor
from torch.nn import Module, Parameter

from stare.train.sections_parallel import ParallelConfig

__all__ = ["GenerationCopy", "full_parameters", "full_tensor", "layers_of", "shard_policy"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def shard_policy(
    root: Module, blocks: Iterable[Module], config: ParallelConfig, device: torch.device
) -> None:
    """Shard a model in place over all ranks of the default group, block by block.

    Args:
        root: what is called in training; what no block holds (embeddings, head) is its own group,
            gathered for the whole of its forward and backward.
        blocks: modules inside it that are gathered one at a time: the layers.
        config: precision, resharding and offloading.
        device: where this rank computes; full weights move there one block at a time.
    """
    mesh: DeviceMesh = init_device_mesh(device.type, (dist.get_world_size(),))
    precision = MixedPrecisionPolicy(
        param_dtype=_DTYPES[config.param_dtype], reduce_dtype=_DTYPES[config.reduce_dtype]
    )
    offload = CPUOffloadPolicy() if config.cpu_offload else OffloadPolicy()
    for block in blocks:
        _fully_shard(
            block,
            mesh=mesh,
            reshard_after_forward=config.reshard_after_forward,
            mp_policy=precision,
            offload_policy=offload,
        )
    # The root's parameters are needed from its first operation to its last: never in between.
    _fully_shard(
        root, mesh=mesh, reshard_after_forward=False, mp_policy=precision, offload_policy=offload
    )


def layers_of(model: Module) -> list[Module]:
    """The blocks of a Hugging Face model that belong together; empty where it names none.

    Its `_no_split_modules` are what transformers itself never cuts when it places a model.
    """
    names = set(getattr(model, "_no_split_modules", None) or ())
    return [module for module in model.modules() if type(module).__name__ in names]


@torch.no_grad()
def full_parameters(model: Module) -> Iterator[tuple[str, Tensor]]:
    """Every entry of the model's `state_dict`, in full, one at a time.

    Of a sharded model every rank must take every pair: each is a gather. A pair is valid until the
    next one is asked for, so that one full tensor exists at a time. Of an ordinary model it is
    `state_dict().items()`.

    Args:
        model: sharded or not, or a part of a sharded one (names are relative to it).

    Returns:
        (name, tensor) pairs: float32 master weights, on the device that computes.
    """
    for name, value in model.state_dict().items():
        yield name, full_tensor(value)


def full_tensor(value: Any) -> Tensor:
    """The whole of a sharded tensor, gathered by all ranks together; any other tensor as it is."""
    if not isinstance(value, DTensor):
        tensor: Tensor = value
        return tensor
    # Offloaded shards lie in host memory: they are gathered on the device that computes.
    if value.device.type != value.device_mesh.device_type:
        value = value.to(value.device_mesh.device_type)
    full: Tensor = value.full_tensor()
    return full


class GenerationCopy:
    """A plain copy of a model, which has weights only inside `with copy.filled():`.

    Args:
        model: copied before it is sharded. Buffers are copied; weights are not.
        config: the copy's weights are of `param_dtype`.

    Its weights cost parameters x size of the type on every rank, beside that rank's shards.
    """

    def __init__(self, model: Module, config: ParallelConfig, device: torch.device) -> None:
        self._dtype = _DTYPES[config.param_dtype]
        self._source = model
        # deepcopy takes what `memo` already holds for an object, so weights are never duplicated;
        # weights that are tied stay tied.
        memo: dict[int, Any] = {
            id(p): Parameter(torch.empty_like(p, device="meta"), requires_grad=False)
            for p in model.parameters()
        }
        self.model: Module = copy.deepcopy(model, memo).eval()
        for module in self.model.modules():
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else buffer.to(device)
        self._empty = dict(self.model.named_parameters(remove_duplicate=False))

    @contextlib.contextmanager
    def filled(self) -> Iterator[None]:
        """Gather the weights of the model (all ranks together), and drop them at the end."""
        filled: dict[int, Parameter] = {}
        buffers = dict(self.model.named_buffers())
        for name, value in full_parameters(self._source):
            if name in self._empty:
                key = id(self._empty[name])
                if key not in filled:
                    whole = value.to(self._dtype) if value.is_floating_point() else value
                    filled[key] = Parameter(whole, requires_grad=False)
            elif name in buffers:
                buffers[name].copy_(value)
        for name, empty in self._empty.items():
            _put(self.model, name, filled[id(empty)])
        try:
            yield
        finally:
            for name, empty in self._empty.items():
                _put(self.model, name, empty)


def _put(model: Module, name: str, parameter: Parameter) -> None:
    path, _, leaf = name.rpartition(".")
    model.get_submodule(path)._parameters[leaf] = parameter
