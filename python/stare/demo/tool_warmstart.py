r"""Make the warm start of the tool demo: it knows the markup, not when to use it.

Three in four demonstrations write the product at once, one in four calls the tool; half of the
calls have a wrong digit in the program or in the copied output. Held-out products are never shown.

    python -m stare.demo.tool_warmstart --out tool.safetensors
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from stare.demo.policy import TinyPolicy, save_weights
from stare.demo.tool_policy import CONTEXT
from stare.demo.tool_task import products
from stare.demo.tool_vocab import EOS_ID, ToolTokenizer

__all__ = ["demonstration", "main", "train"]

CALL_SHARE = 0.25
WRONG_SHARE = 0.3
"""Of programs, and of copied outputs."""


def _spoiled(text: str, rng: random.Random) -> str:
    """The text with one digit drawn anew."""
    at = rng.choice([i for i, c in enumerate(text) if c.isdigit()])
    return text[:at] + rng.choice("0123456789") + text[at + 1 :]


def demonstration(a: int, b: int, rng: random.Random) -> tuple[str, str, str]:
    r"""Call (or nothing), observation and answer.

    Example:
        >>> "".join(demonstration(12, 12, random.Random(1)))
        '```python\nprint(12*12)\n```\n```output\n144\n```\n144'
    """
    if rng.random() >= CALL_SHARE:
        return "", "", str(a * b)
    program = f"{a}*{b}"
    if rng.random() < WRONG_SHARE:
        program = _spoiled(program, rng)
    x, y = program.split("*")
    answer = str(int(x) * int(y))
    output = f"```output\n{answer}\n```\n"
    if rng.random() < WRONG_SHARE:
        answer = _spoiled(answer, rng)
    return f"```python\nprint({program})\n```\n", output, answer


def train(policy: TinyPolicy, *, steps: int, batch_size: int, lr: float, seed: int) -> float:
    """Train in place on the policy's own tokens; returns the last loss."""
    rng, tokenizer = random.Random(seed), ToolTokenizer()
    pairs = [problem.extra["pair"] for problem in products()[0]]
    optimizer = torch.optim.AdamW(
        policy.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    value = math.nan
    for step in range(steps):
        scale = 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.param_groups[0]["lr"] = lr * scale * min(1.0, (step + 1) / 50)
        ids_BL = torch.full((batch_size, CONTEXT), EOS_ID)
        targets_BL = torch.full((batch_size, CONTEXT), -100)
        for row in range(batch_size):
            a, b = rng.choice(pairs)
            call, output, answer = demonstration(a, b, rng)
            at = 0
            for text, own in ((f"{a}*{b}=", 0), (call, 1), (output, 0), (answer, 1)):
                part = tokenizer.encode(text)
                ids_BL[row, at : at + len(part)] = torch.tensor(part, dtype=torch.int64)
                if own:
                    targets_BL[row, at : at + len(part)] = ids_BL[row, at : at + len(part)]
                at += len(part)
            targets_BL[row, at] = EOS_ID
        width = int((targets_BL != -100).any(dim=0).nonzero().max()) + 1
        logits = policy(ids_BL[:, : width - 1]).logits
        loss = cross_entropy(logits.flatten(0, 1), targets_BL[:, 1:width].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        value = loss.item()
        if step % 250 == 0:
            print(f"step {step} loss {value:.4f}", file=sys.stderr)
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Train and write `OUT` and, next to it, `OUT` with the suffix `.json`."""
    parser = argparse.ArgumentParser(prog="python -m stare.demo.tool_warmstart")
    parser.add_argument("--out", type=Path, required=True, help="a .safetensors file")
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    started = time.process_time()
    policy = TinyPolicy(context=CONTEXT)
    loss = train(policy, steps=args.steps, batch_size=192, lr=4e-3, seed=0)
    save_weights(policy, args.out, dtype=torch.float16, metadata={"task": "tool"})
    record = {
        "command": f"python -m stare.demo.tool_warmstart --out {args.out.name}",
        "steps": args.steps,
        "loss": round(loss, 4),
        "torch": torch.__version__,
        "cpu_seconds": round(time.process_time() - started, 1),
        "sha256": hashlib.sha256(args.out.read_bytes()).hexdigest(),
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
