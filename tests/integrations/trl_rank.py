"""One rank of a TRL run whose completions depend on the prompt only (started by test_trl.py)."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from trl import GRPOTrainer
from trl_runs import make, train

from stare.config import StareConfig
from stare.integrations.trl import attach

CONFIG = StareConfig(variant="C2", target_entropy=9.0, reweight_w=1.5, reweight_m=0.5)


class Fixed(GRPOTrainer):
    """Completion i of a prompt is the same on whatever rank it is made."""

    poisoned = False
    rows: dict[str, list[float]]

    def log(self, logs: dict[str, float], *args: Any) -> None:
        """Every rank keeps its own metrics; TRL logs those of the first."""
        for name, values in self._metrics["train"].items():
            self.rows[name].extend(values)
        super().log(logs, *args)

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> Any:
        rows = []
        for i, prompt in enumerate(prompt_ids):
            rng = np.random.default_rng([i % self.num_generations, *prompt])
            rows.append(rng.integers(5, 40, rng.integers(3, 12)).tolist())
        return rows, None

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        if self.poisoned:
            bad = float("nan") if self.accelerator.process_index == 1 else -1.0
            batch["old_per_token_logps"] = torch.full(batch["completion_ids"].shape, bad)
        return batch


def main(folder: Path, *words: str) -> None:
    size, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    settings = {"per_device_train_batch_size": 8 // size, "loss_type": "dapo"}
    trainer = attach(make(folder, Fixed, **settings), CONFIG)
    trainer.poisoned, trainer.rows = bool(words), defaultdict(list)
    parameters = train(trainer)
    names = ("stare/n_tokens", "stare/selected_positive_high", "stare/selected_negative_high")
    result: dict[str, Any] = {
        "parameters": {name.removeprefix("module."): p for name, p in parameters.items()},
        "counts": [trainer.rows[name] for name in names],
        "entropies": trainer.rows["stare/entropy"],
    }
    if size == 1:
        plain = make(folder, Fixed, **settings)
        plain.rows = defaultdict(list)
        result["plain"] = train(plain)
    torch.save(result, folder / f"rank{rank}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
