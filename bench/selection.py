"""Selection against what trainers use today, and against the memory floor: one markdown table.

    python bench/selection.py                       # 2.1 M and 16.8 M tokens, 1 and 2 threads
    python bench/selection.py --sizes 512x4096 --clock cpu --threads 1     # on a busy machine

All contenders do the same job (C2, 10 %: weights of a float32 batch with a boolean mask) on the
same arrays in one run, taking turns; the figure is the best of the rounds.

- topk: gather of the candidates, torch.topk, scatter, for each sign: the authors' code.
- numpy.partition: the same gather, numpy.partition for the threshold, a comparison (ties inexact).
- floor: one read of log-probs and mask and one write of weights (numpy.multiply, fresh output).
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from stare.algo.reweight import token_weights
from stare.config import StareConfig

CONFIG = StareConfig(variant="C2")
FACTORS = ((1, 1.1), (-1, 0.9))


def batch(rows: int, columns: int) -> dict[str, np.ndarray]:
    """70 % of the tokens nearly certain, responses of a quarter of the length to all of it."""
    rng = np.random.default_rng(0)
    scale = np.where(rng.random((rows, columns), np.float32) < 0.7, 0.01, 1.0)
    logprobs = -rng.standard_exponential((rows, columns), np.float32) * scale.astype(np.float32)
    lengths = rng.integers(columns // 4, columns + 1, rows)
    advantages = rng.normal(size=rows).astype(np.float32)
    return {
        "logprobs": logprobs,
        "mask": np.arange(columns) < lengths[:, None],
        "rows": advantages,
        "tokens": np.repeat(advantages[:, None], columns, 1),
    }


def topk(arrays: dict[str, np.ndarray]) -> torch.Tensor:
    """The selection of the released code."""
    logprobs, advantages, mask = (
        torch.from_numpy(arrays[name]) for name in ("logprobs", "tokens", "mask")
    )
    weights = torch.ones_like(advantages)
    for sign, factor in FACTORS:
        candidates = mask & (advantages * sign > 0)
        count = int(candidates.sum())
        k = min(max(1, int(count * 0.1 + 0.999999)), count)
        _, chosen = torch.topk(-logprobs[candidates], k)
        flat = candidates.reshape(-1).nonzero().squeeze(1)[chosen]
        selected = torch.zeros_like(candidates)
        selected.view(-1)[flat] = True
        weights = torch.where(selected, torch.full_like(weights, factor), weights)
    return weights


def partition(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The same with numpy.partition."""
    weights = np.ones_like(arrays["logprobs"])
    for sign, factor in FACTORS:
        index = np.flatnonzero(arrays["mask"] & (arrays["tokens"] * sign > 0))
        values = arrays["logprobs"].reshape(-1)[index]
        k = int(np.ceil(len(values) * 0.1))
        edge = np.partition(values, k - 1)[k - 1]
        weights.reshape(-1)[index[values <= edge]] = factor
    return weights


def floor(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Read log-probs and mask, write weights."""
    return np.multiply(arrays["logprobs"], arrays["mask"])


def chosen_values(weights: np.ndarray, arrays: dict[str, np.ndarray]) -> list[bytes]:
    """Sorted log-probs of each set: topk takes any of the tokens that are equal at its edge."""
    logprobs = arrays["logprobs"]
    return [np.sort(logprobs[weights == np.float32(f)]).tobytes() for _, f in FACTORS]


def ours(advantages: str, threads: int) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """The product, with one advantage a row or a token."""

    def run(arrays: dict[str, np.ndarray]) -> np.ndarray:
        call = arrays["logprobs"], arrays[advantages], arrays["mask"]
        return token_weights(*call, config=CONFIG, threads=threads)[0]

    return run


def peak_extra(
    run: Callable[[dict[str, np.ndarray]], object], arrays: dict[str, np.ndarray]
) -> float | None:
    """Peak resident memory above what was resident before, MiB (Linux)."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        return None

    def field(name: str) -> int:
        line = next(x for x in status.read_text().splitlines() if x.startswith(name))
        return int(line.split()[1])

    ctypes.CDLL(None).malloc_trim(0)  # or the heap would serve it from what was freed before
    clear.write_text("5")  # resets the peak
    before = field("VmRSS")
    result = run(arrays)
    peak = field("VmHWM")
    del result
    return (peak - before) / 1024


def measure(
    contenders: dict[str, Callable[[dict[str, np.ndarray]], object]],
    arrays: dict[str, np.ndarray],
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Best time of each, seconds; the contenders take turns so that load hits all alike."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = clock()
            run(arrays)
            best[name] = min(best[name], clock() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["512x4096", "1024x16384"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options = parser.parse_args()
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    print(
        f"{options.clock} clock, best of {options.rounds}; torch {torch.__version__}, "
        f"numpy {np.__version__}\n"
    )
    print("| tokens | threads | contender | ms | ns/token | x ours (row) | x floor | extra MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for size in options.sizes:
        rows, columns = map(int, size.split("x"))
        arrays = batch(rows, columns)
        total = rows * columns
        for threads in options.threads:
            torch.set_num_threads(threads)
            contenders = {
                "ours, advantages (B,)": ours("rows", threads),
                "ours, advantages (B, T)": ours("tokens", threads),
                "gather + torch.topk + scatter": topk,
                "gather + numpy.partition + scatter (1 thread)": partition,
                "memory floor (1 thread)": floor,
            }
            expected = chosen_values(topk(arrays).numpy(), arrays)
            for name in list(contenders)[:2]:
                assert chosen_values(contenders[name](arrays), arrays) == expected, name
            best = measure(contenders, arrays, options.rounds, clock)
            base, bound = best["ours, advantages (B,)"], best["memory floor (1 thread)"]
            for name, seconds in best.items():
                extra = peak_extra(contenders[name], arrays)
                print(
                    f"| {total:,} | {threads} | {name} | {seconds * 1e3:.2f} "
                    f"| {seconds / total * 1e9:.2f} | {seconds / base:.1f} "
                    f"| {seconds / bound:.1f} | {'-' if extra is None else f'{extra:.1f}'} |"
                )


if __name__ == "__main__":
    main()
