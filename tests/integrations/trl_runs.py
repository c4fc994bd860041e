"""Tiny GRPO runs of the real TRL: random Llama, character tokenizer, counted reward."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from tiny_llm import tiny_model, tiny_tokenizer

PROMPTS = [f"{a}+{b}=" for a in range(1, 5) for b in range(1, 5)]


@functools.cache
def tokenizer() -> Any:
    return tiny_tokenizer(padding_side="left")


def digits(completions: list[str], **_: Any) -> list[float]:
    """Share of digits: no two completions are alike for long."""
    return [sum(c.isdigit() for c in text) / (1 + len(text)) for text in completions]


def make(
    folder: Path,
    cls: type = GRPOTrainer,
    *,
    extra: dict[str, Any] | None = None,
    model: Any = None,
    reward: Any = digits,
    arguments: type = GRPOConfig,
    **settings: Any,
) -> Any:
    """A trainer of `cls`; `settings` are those of `arguments`, `extra` goes to the trainer."""
    defaults = {
        "output_dir": str(folder),
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 12,
        "max_steps": 3,
        "learning_rate": 1e-2,
        "optim": "sgd",
        "lr_scheduler_type": "constant",
        "max_grad_norm": 0.0,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
        "temperature": 1.0,
        "seed": 3,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(
            model=tiny_model() if model is None else model,
            reward_funcs=reward,
            args=arguments(**defaults | settings),
            train_dataset=Dataset.from_dict({"prompt": PROMPTS}),
            processing_class=tokenizer(),
            **(extra or {}),
        )


def train(trainer: Any, **options: Any) -> dict[str, torch.Tensor]:
    """Parameters after training; what the host warns of is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train(**options)
    return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def difference(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    return max(float((a[name] - b[name]).abs().max()) for name in a)


def logged(trainer: Any, name: str) -> list[float]:
    return [row[name] for row in trainer.state.log_history if name in row]
