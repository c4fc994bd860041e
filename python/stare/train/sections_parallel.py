"""`[parallel]`: how a run is spread over the GPUs of one machine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from stare.coerce import check_fields, interval
from stare.errors import ConfigError

__all__ = ["ParallelConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelConfig:
    """Several processes, one GPU each, started by `torchrun`.

    Example:
        >>> ParallelConfig(strategy="fsdp2", param_dtype="bfloat16").reduce_dtype
        'float32'
        >>> ParallelConfig(cpu_offload=True)
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: cpu_offload=True has no effect with strategy='single'
        hint: parallel.strategy='fsdp2' shards the policy, on one GPU too
    """

    strategy: Literal["single", "fsdp2"] = "single"
    """`single`: one process. `fsdp2`: weights, gradients and optimiser state are sharded over the
    ranks and each rank generates and trains on its share of the batch; one rank works too."""
    param_dtype: Literal["float32", "bfloat16"] = "float32"
    """Type that shards are gathered and computed in; the shards themselves stay float32."""
    reduce_dtype: Literal["float32", "bfloat16"] = "float32"
    """Type that gradients are added up over the ranks in."""
    reshard_after_forward: bool = True
    """Free a block's gathered weights after its forward and gather them again for its backward:
    less memory, half as much traffic again."""
    cpu_offload: bool = False
    """Keep shards and optimiser state in host memory (CUDA only): the step runs on the CPU."""
    timeout_s: float = 1800.0
    """A rank that waits longer for another gives up with an error: longer than the rollout of the
    slowest rank exceeds that of the fastest."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("timeout_s", self.timeout_s, 0, open_low=True)
        if self.strategy != "single":
            return
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                raise ConfigError(
                    f"{field.name}={value!r} has no effect with strategy='single'\n"
                    "hint: parallel.strategy='fsdp2' shards the policy, on one GPU too"
                )
