"""The optimiser: AdamW where the weights are, or in the memory of the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from stare.train.config import TrainConfig

__all__ = ["OffloadedAdamW", "make_optimizer"]


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """AdamW over the trainable parameters of a model, as `[optim]` and `[compute]` say."""
    optim = config.optim
    kind = OffloadedAdamW if config.compute.offload_optimizer else torch.optim.AdamW
    return kind(
        [p for p in model.parameters() if p.requires_grad],
        lr=optim.lr,
        betas=optim.betas,
        weight_decay=optim.weight_decay,
        eps=optim.eps,
        fused=True,
    )


class OffloadedAdamW(torch.optim.AdamW):
    """AdamW whose moments, and the weights it steps on, are on the CPU.

    A step copies gradients there and weights back: 8 bytes a parameter over the bus, and 12 bytes a
    parameter less on the device. In float32 the weights are those of AdamW on the CPU, bit for bit,
    and runs with and without offloading share checkpoints.

    Args:
        parameters: on any device; float32.
        **options: of `torch.optim.AdamW`.

    Example:
        >>> weight = nn.Parameter(torch.ones(2))
        >>> optimizer = OffloadedAdamW([weight], lr=0.1)
        >>> weight.grad = torch.ones(2)
        >>> optimizer.step()
        >>> bool((weight < 1).all())
        True
    """

    def __init__(self, parameters: Iterable[nn.Parameter], **options: Any) -> None:
        device = list(parameters)
        host = [nn.Parameter(_host_copy(p)) for p in device]
        super().__init__(host, **options)
        self._pairs = list(zip(device, host, strict=True))

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Step on the CPU, and copy the weights back."""
        for device, host in self._pairs:
            host.grad = None if device.grad is None else device.grad.to("cpu", host.dtype)
        super().step(closure)
        for device, host in self._pairs:
            if device.grad is not None:
                device.copy_(host, non_blocking=True)
            host.grad = None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the device."""
        for device, _ in self._pairs:
            device.grad = None

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore moments; the weights are taken from the device, so load those first."""
        super().load_state_dict(state_dict)
        for device, host in self._pairs:
            host.copy_(device)


def _host_copy(parameter: Tensor) -> Tensor:
    copy = parameter.detach().to("cpu", torch.float32, copy=True)
    return copy.pin_memory() if parameter.is_cuda else copy
