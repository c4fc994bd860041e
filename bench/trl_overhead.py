"""What STARE costs in a step of TRL's GRPOTrainer: plain GRPO and STARE take turns in one run.

    python bench/trl_overhead.py          # needs TRL (requirements/trl.txt); about 3 minutes
    python bench/trl_overhead.py --rounds 20 --width 256 --layers 4

A random Llama on the CPU, 16 responses of 64 tokens a step. Three arms train in alternation, a step
each, with the same settings; the figures are medians of the CPU time of a step and of the ratio to
the plain step before. `old`: TRL computes old log-probs (steps_per_generation=2), so STARE adds no
forward. `forward`: it does not, and STARE adds one. `microbatch`: STARE chooses in the loss.
"""

from __future__ import annotations

import argparse
import os
import string
import tempfile
import time
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

try:
    import torch
    from datasets import Dataset
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    from stare.integrations.trl import attach
except ImportError as missing:
    raise SystemExit(f"bench/trl_overhead.py: skipped, {missing}") from None

from stare.config import StareConfig

CONFIG = StareConfig(variant="C2", target_entropy=99.0)
LENGTH = 64


def tokenizer() -> Any:
    vocabulary = {c: i for i, c in enumerate(["<pad>", "</s>", *string.printable])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=" "))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", padding_side="left"
    )


def trainer(args: argparse.Namespace, folder: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=args.vocabulary,
        hidden_size=args.width,
        intermediate_size=2 * args.width,
        num_hidden_layers=args.layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2 * LENGTH,
        pad_token_id=0,
        eos_token_id=1,
    )
    return GRPOTrainer(
        model=LlamaForCausalLM(config),
        processing_class=tokenizer(),
        reward_funcs=lambda completions, **_: [float(len(set(text))) for text in completions],
        train_dataset=Dataset.from_dict({"prompt": [str(n) for n in range(512)]}),
        args=GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=LENGTH,
            logging_steps=1000,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            **settings,
        ),
    )


def steps(arms: dict[str, Any], rounds: int, each: int) -> dict[str, list[float]]:
    """CPU seconds of `each` steps of every arm, in turns: generation, STARE and update."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    loaders = {name: iter(arm.get_train_dataloader()) for name, arm in arms.items()}
    for round_ in range(rounds + 1):
        for name, arm in arms.items():
            arm.model.train()
            arm.current_gradient_accumulation_steps = 1
            started = time.process_time()
            for _ in range(each):
                arm.training_step(arm.model, next(loaders[name]), None)
                arm.optimizer.step()
                arm.optimizer.zero_grad()
            if round_:  # the first warms up
                times[name].append(time.process_time() - started)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--vocabulary", type=int, default=8192)
    args = parser.parse_args()
    print("| log-probs | plain, s a step | with STARE | ratio | of it forward | of it selection |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for label, each, settings, options in (
            ("old", 2, {"steps_per_generation": 2}, {}),
            ("forward", 1, {}, {}),
            ("microbatch", 1, {}, {"scope": "microbatch"}),
        ):
            arms = {"plain": trainer(args, folder, **settings)}
            arms["stare"] = attach(trainer(args, folder, **settings), CONFIG, **options)
            for arm in arms.values():
                arm.create_optimizer()
            times = steps(arms, args.rounds, each)
            ratio = median(s / p for s, p in zip(times["stare"], times["plain"], strict=True))
            metrics = arms["stare"]._metrics["train"]
            parts = [
                f"{median(metrics[name]) / each:.4f} s" if metrics.get(name) else "-"
                for name in ("stare/forward_seconds", "stare/select_seconds")
            ]
            plain, stare = (median(times[name]) / each for name in arms)
            print(f"| {label} | {plain:.3f} | {stare:.3f} | {ratio:.3f} | {' | '.join(parts)} |")


if __name__ == "__main__":
    main()
