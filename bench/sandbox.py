"""Calls per second of the sandbox pool, against what else runs a program, in one go.

    python bench/sandbox.py                    # about half a minute on two cores
    python bench/sandbox.py --calls 1000 --workers 8

- pool: warm sandboxes, new namespaces for each program (`SandboxPool`).
- one sandbox each: the fallback of the pool, a warmed sandbox that is thrown away.
- bwrap python: `bwrap ... python -c PROGRAM` for each program, as many at a time.
- python: `python -c PROGRAM` without a sandbox, as many at a time: the cost of a cold interpreter.
- unsafe pool: the pool without a sandbox: the cost of namespaces is the difference to the first.

Ratios are to the row above them that is named; a busy machine moves all rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from stare.rollout.tools.limits import Limits
from stare.rollout.tools.pool import SandboxPool

PROGRAM = "x = sum(i * i for i in range(100))\nprint(x)"
SYMPY = "import sympy\nx = sympy.symbols('x')\nprint(sympy.integrate(x ** 2, (x, 0, 3)))"
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
BWRAP += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--"]


def pooled(pool: SandboxPool) -> Callable[[Sequence[str]], None]:
    def run(programs: Sequence[str]) -> None:
        statuses = {result.status for result in pool.run_many(programs)}
        if statuses != {"ok"}:
            raise SystemExit(f"programs failed: {statuses}")

    return run


def cold(prefix: list[str], workers: int) -> Callable[[Sequence[str]], None]:
    def one(program: str) -> None:
        subprocess.run([*prefix, sys.executable, "-c", program], check=True, capture_output=True)

    def run(programs: Sequence[str]) -> None:
        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(one, programs))

    return run


def rate(run: Callable[[Sequence[str]], None], program: str, calls: int) -> float:
    run([program] * 4)  # warm-up
    began = time.perf_counter()
    run([program] * calls)
    return calls / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    limits = Limits(processes=64)
    print(f"{args.workers} workers, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print("| program | how | calls/s | ms a call and worker | against bwrap python |")
    print("|---|---|---|---|---|")
    for name, program, preload in (("sum", PROGRAM, ()), ("sympy integral", SYMPY, ("sympy",))):
        rates = {}
        for how, kwargs, share in (
            ("pool", {}, 1),
            ("one sandbox each", {"nested": False}, 10),
            ("unsafe pool", {"unsafe": True}, 1),
        ):
            with SandboxPool(limits, workers=args.workers, preload=preload, **kwargs) as pool:
                rates[how] = rate(pooled(pool), program, max(args.calls // share, 4))
        for how, prefix in (("bwrap python", BWRAP), ("python", [])):
            rates[how] = rate(cold(prefix, args.workers), program, max(args.calls // 10, 4))
        for how, value in rates.items():
            ratio = value / rates["bwrap python"]
            each = 1000 * args.workers / value
            print(f"| {name} | {how} | {value:.1f} | {each:.1f} | {ratio:.1f}x |", flush=True)


if __name__ == "__main__":
    main()
