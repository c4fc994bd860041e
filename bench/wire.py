"""What ranks tell each other to choose tokens together: bytes a step, counted at the collectives.

    python bench/wire.py

Each rank holds its share of a batch of so many tokens and calls `token_weights_distributed` over
gloo. Counted is what a rank hands to `all_reduce` and `all_gather`; what a backend makes of it
(a ring sends 2 (R - 1) / R times that) is its own. `gathered` is what a rank would hand over to
have one of them choose: a float32 log-prob and a mask byte a token, an advantage a response.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from stare.algo.distributed import token_weights_distributed
from stare.config import StareConfig

TOKENS = (16_384, 262_144, 4_194_304)
RANKS = (1, 2, 4)
RESPONSE = 512
"""Tokens a response."""


@dataclass
class Counter:
    """Bytes and calls that pass through the collectives of this process."""

    sizes: list[int] = field(default_factory=list)

    def follow(self) -> None:
        """Wrap the two collectives that the selection uses."""
        reduce, gather = dist.all_reduce, dist.all_gather

        def all_reduce(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            self.sizes.append(tensor.nbytes)
            return reduce(tensor, *args, **kwargs)

        def all_gather(tensors: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
            self.sizes.append(tensor.nbytes)
            return gather(tensors, tensor, *args, **kwargs)

        dist.all_reduce, dist.all_gather = all_reduce, all_gather


def batch(tokens: int, rank: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Log-probs (B, T) and advantages (B,) of one rank; with ties, of only 64 values."""
    rng = np.random.default_rng([tokens, rank])
    logprobs = -rng.exponential(0.4, (max(2, tokens // RESPONSE), RESPONSE)).astype(np.float32)
    if ties:
        logprobs = np.round(logprobs * 16) / 16
    return logprobs, rng.choice([-1.0, 1.0], len(logprobs)).astype(np.float32)


def measure(rank: int, ranks: int, port: int, ties: bool, variant: str, out: Any) -> None:
    """One process of a group: a line for each number of tokens."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    counter = Counter()
    counter.follow()
    config = StareConfig(variant=variant)
    for tokens in TOKENS:
        logprobs, advantages = batch(tokens // ranks, rank, ties)
        dist.barrier()
        counter.sizes.clear()
        began = time.perf_counter()
        token_weights_distributed(
            logprobs, advantages, np.ones(logprobs.shape, bool), config=config, gate=True, threads=1
        )
        seconds = time.perf_counter() - began
        if rank == 0:
            gathered = logprobs.nbytes + logprobs.size + advantages.nbytes
            out.put((tokens, len(counter.sizes) - 1, sum(counter.sizes), gathered, seconds))
    dist.destroy_process_group()


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    print("| log-probs | variant | ranks | tokens | rounds | bytes a rank | gathered | ms |")
    print("|---|---|---|---|---|---|---|---|")
    for ties in (False, True):
        for variant in ("O1", "C2"):
            for ranks in RANKS:
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    port = probe.getsockname()[1]
                context = mp.get_context("spawn")
                out = context.SimpleQueue()
                mp.spawn(measure, args=(ranks, port, ties, variant, out), nprocs=ranks)
                for _ in TOKENS:
                    tokens, rounds, sent, gathered, seconds = out.get()
                    name = "64 values" if ties else "float32"
                    print(
                        f"| {name} | {variant} | {ranks} | {tokens:,} | {rounds} | {sent:,} | "
                        f"{gathered:,} | {seconds * 1e3:.1f} |"
                    )


if __name__ == "__main__":
    main()
