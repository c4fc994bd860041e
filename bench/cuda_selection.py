"""Selection on a device against torch.topk on the same device: equality of the sets, then times.

python bench/cuda_selection.py                      # CUDA
python bench/cuda_selection.py --device cpu --size 64x512
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from stare.algo.reweight import token_weights
from stare.config import StareConfig

CONFIG = StareConfig(variant="C2")


def topk(logprobs_BT: Tensor, advantages_B: Tensor, mask_BT: Tensor) -> Tensor:
    """Gather, torch.topk, scatter for each sign."""
    weights_BT = torch.ones_like(logprobs_BT)
    for sign, factor in ((1, 1.1), (-1, 0.9)):
        candidates = mask_BT & (advantages_B * sign > 0)[:, None]
        where = candidates.reshape(-1).nonzero().squeeze(1)
        k = -(-len(where) // 10)
        chosen = torch.topk(-logprobs_BT.reshape(-1)[where], k).indices
        weights_BT.view(-1)[where[chosen]] = factor
    return weights_BT


def main() -> None:
    """Compare, time, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", default="512x4096", help="ROWSxCOLUMNS")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    rows, columns = map(int, args.size.split("x"))
    generator = torch.Generator().manual_seed(0)
    logprobs = torch.rand((rows, columns), generator=generator).log()
    lengths = torch.randint(columns // 4, columns + 1, (rows, 1), generator=generator)
    arrays = (logprobs, (torch.arange(rows) % 2 * 2 - 1).float(), torch.arange(columns) < lengths)
    arrays = tuple(x.to(args.device) for x in arrays)

    def ours() -> Tensor:
        weights_BT: Tensor = token_weights(*arrays, config=CONFIG)[0]
        return weights_BT

    def theirs() -> Tensor:
        return topk(*arrays)

    # Ties at the edge may go to either token, so the chosen log-probs are compared, not places.
    for factor in (1.1, 0.9):
        sets = [arrays[0][run() == torch.tensor(factor).item()].sort()[0] for run in (ours, theirs)]
        if not len(sets[0]) or not torch.equal(*sets):
            raise SystemExit(f"the sets with weight {factor} differ from torch.topk's")

    def seconds(run: Callable[[], Tensor]) -> float:
        began = time.perf_counter()
        run()
        if args.device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    times = [(seconds(ours), seconds(theirs)) for _ in range(args.rounds)]
    mine, other = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
    print(
        f"{rows} x {columns} on {args.device}: same sets; ours {mine:.2f} ms, topk {other:.2f} ms"
    )


if __name__ == "__main__":
    main()
