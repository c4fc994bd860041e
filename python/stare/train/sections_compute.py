"""`[compute]`: how an update is computed. Nothing here changes what it is, but for rounding."""

from __future__ import annotations

from dataclasses import dataclass

from stare.coerce import check_fields, interval
from stare.errors import ConfigError

__all__ = ["ComputeConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeConfig:
    """Memory and speed of an update."""

    logit_chunk_tokens: int | None = None
    """Tokens whose logits exist at a time, forward and backward; None: those of a micro-batch. 256
    is a good value where the vocabulary is large."""
    packing: bool = False
    """Put the sequences of a micro-batch behind each other, without padding; attention stays within
    each. On CUDA with `model.attention='flash_attention_2'`; other kernels build an N x N mask."""
    reuse_rollout: bool = False
    """Choose tokens, and set the gate, by the log-probs and entropies that the sampler reported,
    and save the forward that would score the batch first. For on-policy updates (one mini-batch,
    one epoch); what needs C (`stare/lambda` and its kin) is then not logged."""
    compile: bool = False
    """`torch.compile` each block of the model (needs a C++ compiler on a CPU)."""
    offload_optimizer: bool = False
    """Keep AdamW's moments and the float32 weights it steps on in the memory of the CPU."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("logit_chunk_tokens", self.logit_chunk_tokens, 1)
        if self.packing and self.logit_chunk_tokens is None:
            raise ConfigError(
                "packing=true goes with logit_chunk_tokens\nhint: compute.logit_chunk_tokens=256"
            )
