"""Time and peak memory of `token_statistics` against log_softmax + entropy, in one run.

    OMP_NUM_THREADS=1 python bench/token_statistics.py [--tokens 512] [--device cpu|cuda]

Each figure comes from a process of its own, so that one version's memory cannot serve the other.
Memory is the rise of the peak above what the process held with the logits in place (resident set on
the CPU, allocator on CUDA), forward and backward together, so the logits' gradient is part of it.
Time is CPU time on the CPU (other work on the machine does not count) and wall time on CUDA.
Ratios are naive / ours: above 1 is in our favour.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import torch

from stare.algo.surprisal import token_statistics

VERSIONS = ("naive", "ours")
GRADIENTS = {
    "logprob": (True, False),
    "logprob+entropy": (True, True),
    "forward only": (False, False),
}


def naive(logits: torch.Tensor, targets: torch.Tensor, entropy_grad: bool):
    log_pi = torch.log_softmax(logits.float(), dim=-1)
    logprobs = log_pi.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    with torch.set_grad_enabled(entropy_grad and torch.is_grad_enabled()):
        entropy = -(log_pi.exp() * log_pi).sum(-1)
    return logprobs, entropy


def step(version: str, logits: torch.Tensor, targets: torch.Tensor, gradients: str) -> None:
    logprob_grad, entropy_grad = GRADIENTS[gradients]
    with torch.set_grad_enabled(logprob_grad):
        if version == "naive":
            logprobs, entropy = naive(logits, targets, entropy_grad)
        else:
            logprobs, entropy, _ = token_statistics(logits, targets)
        if logprob_grad:
            loss = logprobs.mean() + (0.01 * entropy.mean() if entropy_grad else 0.0)
            loss.backward()
    logits.grad = None


def peak(device: str) -> int:
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def worker(job: dict) -> dict[str, float]:
    device = job["device"]
    # Warm-up on a small input: code pages and thread pools are not what is measured.
    small = torch.zeros(2, 3, 50, dtype=getattr(torch, job["dtype"]), device=device)
    step(
        job["version"], small.requires_grad_(), small.new_zeros(2, 3, dtype=torch.long), job["grad"]
    )
    shape = (*job["shape"],)
    torch.manual_seed(0)
    logits = torch.empty(shape, dtype=small.dtype, device=device).normal_(0.0, 3.0).requires_grad_()
    targets = torch.randint(shape[-1], shape[:-1], device=device)
    before = peak(device)
    step(job["version"], logits, targets, job["grad"])
    memory = peak(device) - before
    times = []
    for _ in range(job["repeats"]):
        start = clock(device)
        step(job["version"], logits, targets, job["grad"])
        times.append(clock(device) - start)
    return {"ms": min(times) * 1e3, "mib": memory / 2**20}


def measure(job: dict) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", json.dumps(job)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"worker failed on {job}\n{result.stderr}")
    return json.loads(result.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=512, help="positions at V = 49,152")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(worker(json.loads(args.worker))))
        return
    big = (args.tokens // 128, 128, 49152) if args.tokens >= 128 else (1, args.tokens, 49152)
    cases = [((256, 13, 112), "float32", 20), (big, "float32", 3), (big, "bfloat16", 3)]
    threads = torch.get_num_threads() if args.device == "cpu" else "-"
    print(f"torch {torch.__version__}, {args.device}, threads {threads}")
    print("| logits | dtype | gradient of | naive ms | ours ms | time ratio "
          "| naive MiB | ours MiB | memory ratio |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for shape, dtype, repeats in cases:
        for gradients in GRADIENTS:
            job = {"shape": shape, "dtype": dtype, "grad": gradients, "repeats": repeats,
                   "device": args.device}  # fmt: skip
            a, b = (measure({**job, "version": version}) for version in VERSIONS)
            print(
                f"| {' x '.join(map(str, shape))} | {dtype} | {gradients} "
                f"| {a['ms']:.2f} | {b['ms']:.2f} | {a['ms'] / b['ms']:.1f} "
                f"| {a['mib']:.1f} | {b['mib']:.1f} | {a['mib'] / max(b['mib'], 0.1):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
