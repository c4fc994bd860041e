"""Make the warm starts that ship with the demo: supervised training on random valid expressions.

The policy learns the format and the arithmetic, not the task: only a share `q` of the
demonstrations is chosen to be right. `exact` is trained from scratch (about two CPU-minutes),
`mod5` and `tol3` go on from it. No held-out pair and no held-out number triple (`tasks.Split`) of
the task is ever shown, so both splits are clean; `mod5` and `tol3` have the same held-out
triples as the `exact` start they continue.

    python -m stare.demo.warmstart --task mod5 --out mod5.safetensors
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from stare.demo.policy import TinyPolicy, load_weights, save_weights
from stare.demo.reward import reward
from stare.demo.sampler import TinySampler
from stare.demo.tasks import PROMPT_LENGTH, TASKS, Task, expressions, problems, split_pairs
from stare.demo.verifier import RESPONSE_LENGTH
from stare.demo.vocab import TOKEN_ID, Tokenizer
from stare.rollout.sampler import SamplingParams
from stare.types import Completion

__all__ = ["RECIPES", "Demonstrations", "Recipe", "main", "start_metrics", "train"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one warm start is trained (AdamW, betas .9/.98, weight decay .01, cosine, clip 1)."""

    steps: int
    lr: float
    right_share: float
    """Share q of demonstrations that are chosen to be right."""
    batch_size: int = 192
    warmup: int = 50


RECIPES = {
    "exact": Recipe(steps=2500, lr=4e-3, right_share=0.3),
    "mod5": Recipe(steps=750, lr=2e-3, right_share=0.1),
    "tol3": Recipe(steps=750, lr=2e-3, right_share=0.1),
}


class Demonstrations:
    """Draws batches of prompts with valid responses.

    Example:
        >>> batch = Demonstrations(TASKS["mod5"], 0.1).draw(4, np.random.default_rng(0))
        >>> batch.shape
        (4, 20)
    """

    def __init__(self, task: Task, right_share: float) -> None:
        held_out = {p for split in ("pair", "numbers") for p in split_pairs(task, split)[1]}
        pairs = sorted(p for p in split_pairs(task)[0] if p not in held_out)
        self.right_share = right_share
        self.numbers = np.array([p[0] for p in pairs])
        self.targets = np.array([p[1] for p in pairs])
        tables = [expressions(p[0]) for p in pairs]
        right = [
            table[task.accepts(table[:, 10], np.array(target))]
            for (_, target), table in zip(pairs, tables, strict=True)
        ]
        self._all, self._all_start = _stack(tables)
        self._right, self._right_start = _stack(right)

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """(size, 20) token ids: prompt with its numbers in random order, then the response."""
        pick = rng.integers(len(self.numbers), size=size)
        out = np.empty((size, PROMPT_LENGTH + RESPONSE_LENGTH), dtype=np.int64)
        out[:, [0, 4, 6]] = [TOKEN_ID["B"], TOKEN_ID[">"], TOKEN_ID[":"]]
        out[:, 1:4] = rng.permuted(self.numbers[pick], axis=1)
        out[:, 5] = self.targets[pick]
        place = rng.random(size)
        chosen_right = (rng.random(size) < self.right_share)[:, None]
        out[:, PROMPT_LENGTH:] = np.where(
            chosen_right,
            self._right[_row(self._right_start, pick, place)],
            self._all[_row(self._all_start, pick, place)],
        )
        return out


def _stack(tables: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Rows of all tables, and where each table starts (one entry more than tables)."""
    return np.concatenate(tables), np.cumsum([0, *(len(t) for t in tables)])


def _row(start: IntArray, pick: IntArray, place: npt.NDArray[np.float64]) -> IntArray:
    sizes = start[pick + 1] - start[pick]
    row: IntArray = start[pick] + (place * sizes).astype(np.int64)
    return row


def train(policy: TinyPolicy, task: Task, recipe: Recipe, seed: int, *, log: bool = False) -> None:
    """Train in place. Deterministic for one number of threads."""
    demonstrations = Demonstrations(task, recipe.right_share)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(
        policy.parameters(), lr=recipe.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    for step in range(recipe.steps):
        scale = 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
        optimizer.param_groups[0]["lr"] = recipe.lr * scale * min(1.0, (step + 1) / recipe.warmup)
        ids = torch.from_numpy(demonstrations.draw(recipe.batch_size, rng))
        logits = policy(ids[:, :-1], logits_to_keep=RESPONSE_LENGTH).logits
        loss = cross_entropy(logits.flatten(0, 1), ids[:, PROMPT_LENGTH:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if log and (step % 250 == 0 or step + 1 == recipe.steps):
            cpu = time.process_time()
            print(f"step {step + 1} loss {loss.item():.4f} cpu {cpu:.0f} s", file=sys.stderr)


def start_metrics(policy: TinyPolicy, task: Task, *, limit: int = 100) -> dict[str, float]:
    """pass@1, pass@32, greedy accuracy and entropy on the first `limit` held-out problems."""
    held_out = problems(task)[1][:limit]
    sampler = TinySampler(policy, Tokenizer())
    prompts = [p.problem for p in held_out]

    def rewards(params: SamplingParams) -> tuple[npt.NDArray[np.float64], list[Completion]]:
        groups = sampler.sample(prompts, params)
        flat = [c for group in groups for c in group]
        repeated = [p for p in held_out for _ in range(params.n)]
        return np.array(reward(repeated, flat)).reshape(len(held_out), params.n), flat

    sampled, completions = rewards(SamplingParams(n=32, max_tokens=RESPONSE_LENGTH, seed=0))
    greedy, _ = rewards(SamplingParams(temperature=0.0, max_tokens=RESPONSE_LENGTH))
    valid = np.concatenate([c.entropies or [] for c in completions])
    return {
        "pass@1": round(float(sampled.mean()), 4),
        "pass@32": round(float(sampled.any(axis=1).mean()), 4),
        "greedy": round(float(greedy.mean()), 4),
        "entropy": round(float(valid.mean()), 4),
    }


def _half_precision(policy: TinyPolicy) -> None:
    """Round the weights to what the float16 file holds."""
    policy.half().float()


def main(argv: Sequence[str] | None = None) -> int:
    """Train one warm start and write `OUT` and, next to it, `OUT` with the suffix `.json`."""
    parser = argparse.ArgumentParser(prog="python -m stare.demo.warmstart", description=__doc__)
    parser.add_argument("--task", choices=sorted(TASKS), required=True)
    parser.add_argument("--out", type=Path, required=True, help="a .safetensors file")
    parser.add_argument("--start", type=Path, help="an `exact` warm start to go on from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="override the recipe, for a trial")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    started = time.process_time()
    policy = TinyPolicy(seed=args.seed)
    if args.start is not None:
        load_weights(policy, args.start)
    stages = [args.task] if args.task == "exact" or args.start is not None else ["exact", args.task]
    for name in stages:
        recipe = RECIPES[name]
        if args.steps is not None:
            recipe = Recipe(args.steps, recipe.lr, recipe.right_share)
        train(policy, TASKS[name], recipe, args.seed, log=True)
        _half_precision(policy)
    save_weights(policy, args.out, dtype=torch.float16, metadata={"task": args.task})
    words = list(sys.argv[1:] if argv is None else argv)
    record = {
        "command": " ".join(["python -m stare.demo.warmstart", *words]),
        "stages": stages,
        "seed": args.seed,
        "torch": torch.__version__,
        "cpu_seconds": round(time.process_time() - started, 1),
        "sha256": hashlib.sha256(args.out.read_bytes()).hexdigest(),
        "start": start_metrics(policy, TASKS[args.task]),
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record["start"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
