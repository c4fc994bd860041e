"""Peak memory and time of one step on long answers: sampler, then learner, on a random policy.

    python bench/long_answers.py                       # the table of docs/training.md
    python bench/long_answers.py --tokens 4096 --mode packed      # one row, as JSON

Each row is a process of its own. A small random Llama (two layers, vocabulary 256) answers one
prompt with four responses of exactly so many tokens (no token ends one), and is updated on them,
with one sequence in a forward pass or with all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from stare.rollout.hf import TransformersSampler
from stare.rollout.sampler import SamplingParams
from stare.train.batch import make_batch
from stare.train.collect import Group
from stare.train.learner import Learner
from stare.train.overrides import load_config
from stare.types import Completion, Problem

PROMPT, RESPONSES, VOCABULARY = 16, 4, 256
MODES = ("padded", "packed", "padded, whole batch")


class Digits:
    """As much of a tokenizer as the sampler needs: three digits a token."""

    eos_token_id = pad_token_id = 0

    def __call__(self, texts: list[str], **options: Any) -> dict[str, list[list[int]]]:
        """Token ids of texts."""
        del options
        return {"input_ids": [[int(word) for word in text.split()] for text in texts]}

    def batch_decode(self, rows: list[list[int]], **options: Any) -> list[str]:
        """Texts of token ids."""
        del options
        return [" ".join(f"{int(i):03d}" for i in row) for row in rows]

    def decode(self, row: list[int], **options: Any) -> str:
        """The text of token ids."""
        return self.batch_decode([row], **options)[0]


def policy(context: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=context,
        initializer_range=0.2,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM(config).eval()


def peak_mb() -> float:
    # Not getrusage: its peak starts at that of the process that started this one.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def one_step(tokens: int, mode: str, *, sample: bool) -> dict[str, Any]:
    """Sample (or make up) four responses, update on them; times, peak memory, metrics."""
    overrides = [
        *(f"rollout.max_prompt_tokens={PROMPT}", f"rollout.max_response_tokens={tokens}"),
        *("rollout.prompts_per_step=1", f"rollout.group_size={RESPONSES}"),
        *("compute.logit_chunk_tokens=256", f"compute.packing={str(mode == 'packed').lower()}"),
    ]
    if "whole" not in mode:
        overrides.append(f"optim.micro_batch_tokens={PROMPT + tokens}")
    config = load_config("demo-mod5", overrides)
    model = policy(PROMPT + tokens)
    prompt = " ".join(f"{i:03d}" for i in range(1, PROMPT + 1))
    began = time.perf_counter()
    if sample:
        sampler = TransformersSampler(
            model,
            Digits(),
            torch.device("cpu"),
            eos_token_ids=[VOCABULARY],
            max_prompt_tokens=PROMPT,
        )
        params = SamplingParams(n=RESPONSES, temperature=1.0, max_tokens=tokens, seed=1)
        (completions,) = sampler.sample([prompt], params)
    else:
        drawn = torch.randint(1, VOCABULARY, (RESPONSES, tokens)).tolist()
        prompt_ids = list(range(1, PROMPT + 1))
        completions = [
            Completion(prompt_ids=prompt_ids, token_ids=row, text="", finish_reason="length")
            for row in drawn
        ]
    sampled = time.perf_counter()
    group = Group(
        problem=Problem(id="p", problem=prompt, answer=""),
        completions=completions,
        rewards=[float(i % 2) for i in range(RESPONSES)],
    )
    batch = make_batch([group], config.rollout, pad_id=0)
    learner = Learner(model, config, torch.device("cpu"))
    before = peak_mb()
    metrics = learner.step(batch)
    return {
        "tokens": tokens,
        "mode": mode,
        "lengths": [len(c.token_ids) for c in completions],
        "sample_s": round(sampled - began, 2) if sample else None,
        "update_s": round(time.perf_counter() - sampled, 2),
        "before_mb": round(before, 1),
        "peak_mb": round(peak_mb(), 1),
        "metrics": metrics,
    }


def in_process(tokens: int, mode: str, *, sample: bool = False) -> dict[str, Any]:
    """`one_step` in a process of its own, whose peak is its own."""
    command = [sys.executable, __file__, "--tokens", str(tokens), "--mode", mode]
    done = subprocess.run(
        command + ["--sample"] * sample, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--mode", choices=MODES, default="padded")
    parser.add_argument("--sample", action="store_true", help="sample the responses as well")
    args = parser.parse_args()
    if args.tokens:
        print(json.dumps(one_step(args.tokens, args.mode, sample=args.sample)))
        return
    print("| tokens | update | growth of the peak, MB | update, s |\n|---|---|---|---|")
    for mode in MODES:
        for tokens in (1024, 2048, 4096, 8192):
            row = in_process(tokens, mode)
            print(f"| {tokens} | {mode} | {row['peak_mb'] - row['before_mb']:.0f} |", end="")
            print(f" {row['update_s']} |", flush=True)


if __name__ == "__main__":
    main()
