"""CUDA tensors: the set of the CPU path, and no (B, T) copy to the host."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stare.algo.reweight import reweight, token_weights
from stare.config import StareConfig

pytestmark = pytest.mark.gpu


def batch(rows=64, columns=2048, seed=0):
    rng = np.random.default_rng(seed)
    logprobs = -np.round(rng.exponential(1.0, (rows, columns)), 3).astype(np.float32)
    advantages = rng.integers(-1, 2, rows).astype(np.float32)
    mask = np.arange(columns) < rng.integers(0, columns + 1, rows)[:, None]
    return tuple(map(torch.from_numpy, (logprobs, advantages, mask)))


@pytest.mark.parametrize("variant", ["O1", "C2", "C4"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_equals_the_cpu(variant, dtype):
    logprobs, advantages, mask = batch()
    logprobs = logprobs.to(dtype)
    config = StareConfig(variant=variant)
    expected, stats = token_weights(logprobs, advantages, mask, config=config)
    weights, cuda_stats = token_weights(
        logprobs.cuda(), advantages.cuda(), mask.cuda(), config=config
    )
    assert weights.is_cuda
    assert weights.dtype == expected.dtype
    assert torch.equal(weights.cpu(), expected)
    assert repr(cuda_stats) == repr(stats)
    product, _ = reweight(advantages.cuda(), logprobs.cuda(), mask.cuda(), config=config)
    assert torch.equal(product.cpu(), reweight(advantages, logprobs, mask, config=config)[0])


@pytest.mark.parametrize("ratio", [1e-9, 0.1, 1.0])
def test_all_ties(ratio):
    config = StareConfig(variant="C4", top_p_ratio=ratio)
    logprobs, advantages, mask = batch()
    logprobs.fill_(-0.5)
    expected, _ = token_weights(logprobs, advantages, mask, config=config)
    weights, _ = token_weights(logprobs.cuda(), advantages.cuda(), mask.cuda(), config=config)
    assert torch.equal(weights.cpu(), expected)


class HostTensors(TorchDispatchMode):
    """Sizes of the host tensors that operations return while it is active."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.device.type == "cpu":
            self.sizes.append(result.numel())
        return result


def test_nothing_large_comes_to_the_host():
    logprobs, advantages, mask = (x.cuda() for x in batch(256, 4096))
    with HostTensors() as host:
        logprobs.cpu()
    assert max(host.sizes) == logprobs.numel()
    with HostTensors() as host:
        token_weights(logprobs, advantages, mask, config=StareConfig(variant="C2"))
    assert 0 < max(host.sizes) <= 512
