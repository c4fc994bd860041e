"""The optimiser: AdamW where the weights are, or in the memory of the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from stare.train.config import TrainConfig

__all__ = ["OffloadedAdamW", "make_optimizer"]


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW | OffloadedAdamW:
    """AdamW over the trainable parameters of a model, as `[optim]` and `[compute]` say."""
    optim = config.optim
    parameters = [p for p in model.parameters() if p.requires_grad]
    options: dict[str, Any] = {
        "lr": optim.lr,
        "betas": optim.betas,
        "weight_decay": optim.weight_decay,
        "eps": optim.eps,
        "fused": True,
    }
    if config.compute.offload_optimizer:
        return OffloadedAdamW(parameters, **options)
    return torch.optim.AdamW(parameters, **options)


class OffloadedAdamW:
    """AdamW whose moments, and the weights it steps on, are on the CPU.

    A step copies gradients there and weights back: 8 bytes a parameter over the bus, and 12 bytes a
    parameter less on the device. In float32 the weights are those of AdamW on the CPU, bit for bit.

    Example:
        >>> weight = nn.Parameter(torch.ones(2))
        >>> optimizer = OffloadedAdamW([weight], lr=0.1)
        >>> weight.grad = torch.ones(2)
        >>> optimizer.step()
        >>> bool((weight < 1).all())
        True
    """

    def __init__(self, parameters: Iterable[nn.Parameter], **options: Any) -> None:
        self._device = list(parameters)
        self._host = [nn.Parameter(_host_copy(p)) for p in self._device]
        self._inner = torch.optim.AdamW(self._host, **options)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Settings, as the inner optimiser's; `params` are those of the device."""
        groups = self._inner.param_groups
        assert len(groups) == 1
        return [_Group(groups[0], self._device)]

    @torch.no_grad()
    def step(self) -> None:
        """Step on the CPU, and copy the weights back."""
        for device, host in zip(self._device, self._host, strict=True):
            host.grad = None if device.grad is None else device.grad.to("cpu", host.dtype)
        self._inner.step()
        for device, host in zip(self._device, self._host, strict=True):
            if device.grad is not None:
                device.copy_(host, non_blocking=True)
            host.grad = None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the device."""
        for parameter in self._device:
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """That of the inner optimiser: runs with and without offloading share checkpoints."""
        return self._inner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore it; the weights are taken from the device, so load those first."""
        self._inner.load_state_dict(state)
        with torch.no_grad():
            for device, host in zip(self._device, self._host, strict=True):
                host.copy_(device)


class _Group(dict[str, Any]):
    """A parameter group that writes through to the inner optimiser's."""

    def __init__(self, inner: dict[str, Any], params: list[nn.Parameter]) -> None:
        super().__init__({**inner, "params": params})
        self._inner = inner

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._inner[key] = value


def _host_copy(parameter: Tensor) -> Tensor:
    copy = parameter.detach().to("cpu", torch.float32, copy=True)
    return copy.pin_memory() if parameter.is_cuda else copy
