"""Selection and weights on a device, against gather + `torch.topk` + scatter there.

    python bench/selection_device.py --device cuda
    python bench/selection_device.py --device cpu --rows 64          # only to see that it runs

C2 over both advantage signs, 10 %, (rows, 4096) log-probs; the same sets are demanded first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from stare.algo.reweight import token_weights
from stare.config import StareConfig

CONFIG = StareConfig(variant="C2")
T = 4096


def by_topk(logprobs_BT: Tensor, advantages_B: Tensor, mask_BT: Tensor) -> Tensor:
    """Weights by one `topk` a sign; ties are cut wherever `topk` cuts them."""
    weights = torch.ones(logprobs_BT.numel(), device=logprobs_BT.device)
    flat = -logprobs_BT.flatten()
    for sign, weight in ((1, CONFIG.reweight_w), (-1, CONFIG.reweight_m)):
        chosen = (mask_BT & (advantages_B[:, None] * sign > 0)).flatten().nonzero()[:, 0]
        count = -(-len(chosen) // 10)
        top = flat[chosen].topk(count).indices
        weights[chosen[top]] = weight
    return weights.view_as(logprobs_BT)


def milliseconds(call: Callable[[], Any], device: str, rounds: int) -> float:
    """Median wall time, the device waited for."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, nargs="+", default=[512, 4096])
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    print("| tokens | ours, ms | topk, ms | ratio |\n|---|---|---|---|")
    for rows in args.rows:
        generator = torch.Generator().manual_seed(0)
        logprobs = -torch.rand(rows, T, generator=generator).mul(30).exp().log()
        # All values differ, so that the set is one whatever the order among ties.
        logprobs = (logprobs - torch.arange(rows * T).view(rows, T) * 1e-7).to(args.device)
        advantages = (torch.arange(rows) % 2 * 2.0 - 1).to(args.device)
        mask = torch.ones(rows, T, dtype=torch.bool, device=args.device)

        def ours(a: Tensor = logprobs, b: Tensor = advantages, c: Tensor = mask) -> Any:
            return token_weights(a, b, c, config=CONFIG, gate=True)[0]

        def theirs(a: Tensor = logprobs, b: Tensor = advantages, c: Tensor = mask) -> Any:
            return by_topk(a, b, c)

        differing = int((ours() != theirs()).sum())
        assert differing <= 4, f"{differing} tokens differ: more than ties of float32 explain"
        one, two = (milliseconds(call, args.device, args.rounds) for call in (ours, theirs))
        print(f"| {rows * T:,} | {one:.2f} | {two:.2f} | {two / one:.1f}x |")


if __name__ == "__main__":
    main()
