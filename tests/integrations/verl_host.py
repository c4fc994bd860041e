"""The real verl for the tests, or a skip; and what stands in for its GPU side."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    verl = pytest.importorskip("verl", reason="verl is not installed (make test-verl)")
    import verl.trainer.ppo.v1 as v1
    from hydra import compose, initialize_config_module
    from omegaconf import DictConfig
    from tensordict import NonTensorStack, TensorDict
    from verl.trainer.ppo.v1 import trainer_base

    import stare.integrations.verl

TINY = (
    "actor_rollout_ref.model.path=/nowhere",
    "actor_rollout_ref.rollout.name=vllm",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1",
    "actor_rollout_ref.rollout.n=2",
    "algorithm.adv_estimator=grpo",
    "data.train_batch_size=2",
)
MODES = ("sync", "colocate_async", "separate_async")
SEPARATE = (
    "actor_rollout_ref.rollout.nnodes=1",
    "actor_rollout_ref.rollout.n_gpus_per_node=1",
    "actor_rollout_ref.rollout.checkpoint_engine.backend=nccl",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "trainer.v1.separate_async.parameter_sync_step=1",
)
"""What separate_async demands beyond the defaults."""


def composed(*overrides: str, base: Sequence[str] = TINY) -> DictConfig:
    """The stock configuration with a command line's overrides."""
    return copy.deepcopy(_composed((*base, *overrides)))


@functools.cache
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", overrides=list(overrides))


def nested(rows: Sequence[Sequence[float]], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.nested.as_nested_tensor(
        [torch.tensor(row, dtype=dtype) for row in rows], layout=torch.jagged
    )


class Queue:
    """A transfer queue in this process: fields by partition and key, copied in and out."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, torch.Tensor]] = {}
        self.puts: list[tuple[str, ...]] = []

    def kv_batch_put(self, keys, partition_id, fields=None, tags=None):
        self.puts.append(tuple(sorted(fields.keys())))
        for name in fields.keys():  # noqa: SIM118
            value = fields[name]
            rows = value.unbind() if isinstance(value, torch.Tensor) else value.tolist()
            for key, row in zip(keys, rows, strict=True):
                row = row.clone() if isinstance(row, torch.Tensor) else row
                self.rows.setdefault(key, {})[name] = row
        return meta(keys)

    def kv_batch_get(self, keys, partition_id, select_fields):
        present = [name for name in select_fields if all(name in self.rows[k] for k in keys)]
        out = TensorDict({}, batch_size=len(keys))
        for name in present:
            rows = [self.rows[key][name] for key in keys]
            if isinstance(rows[0], torch.Tensor):
                rows = [row.clone() for row in rows]
                out[name] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
            else:
                out[name] = NonTensorStack(*rows)
        return out


def meta(keys):
    return trainer_base.KVBatchMeta(
        keys=list(keys), tags=[{} for _ in keys], partition_id="train", extra_info={}
    )


REWARDS = (1.0, 0.0, 0.0, 1.0)
LENGTHS = (5, 3, 4, 6)


def rollout(seed: int = 0, *, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Two prompts with two responses each, as verl holds them when it computes advantages."""
    generator = torch.Generator().manual_seed(seed)
    draw = [torch.rand(n, generator=generator) * 3 + 0.01 for n in LENGTHS]
    scores = [torch.zeros(n) for n in LENGTHS]
    for row, reward in zip(scores, REWARDS, strict=True):
        row[-1] = reward
    jagged = {"layout": torch.jagged}
    return {
        "response_mask": nested([[1] * n for n in LENGTHS], torch.int64),
        "rm_scores": torch.nested.as_nested_tensor(scores, **jagged),
        "old_log_probs": torch.nested.as_nested_tensor([-d.to(dtype) for d in draw], **jagged),
        "entropy": nested([[0.1 + 0.01 * i] * n for i, n in enumerate(LENGTHS)]),
    }


KEYS = [f"p{i // 2}_{i % 2}_0" for i in range(4)]


def trainer(mode: str, queue: Queue, monkeypatch, *overrides: str):
    """A trainer that verl built, on a queue of ours. Its worker group and servers do not exist."""
    monkeypatch.setattr(trainer_base, "tq", queue)
    extra = SEPARATE if mode == "separate_async" else ()
    config = composed(f"trainer.v1.trainer_mode={mode}", *extra, *overrides)
    built = v1.get_trainer_cls(mode)(config=config)
    built.actor_rollout_wg = Workers(queue)
    built.distillation_config = None
    return built


class Workers:
    """The actor's workers: they see what they would train on."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.trained: dict[str, torch.Tensor] = {}
        self.extra: dict[str, object] = {}
        self.saved: list[str] = []
        self.hooked = True

    def update_actor(self, batch):
        self.trained = {key: self.queue.rows[key]["advantages"] for key in batch.keys}
        self.extra = dict(batch.extra_info)
        metrics = {"pg_loss": [0.0], "mfu": [0.0]}
        if "stare" in self.extra and self.hooked:
            metrics["stare/weighted_frac"] = [0.1]
        return {"metrics": metrics}

    def save_checkpoint(self, path, *args, **kwargs):
        self.saved.append(path)

    def load_checkpoint(self, *args, **kwargs):
        pass


def put(queue: Queue, data: dict[str, torch.Tensor]):
    fields = TensorDict(dict(data), batch_size=len(KEYS))
    queue.kv_batch_put(keys=KEYS, partition_id="train", fields=fields)
    for key in KEYS:
        queue.rows[key]["uid"] = key.split("_")[0]
    return meta(KEYS)


def ask(trainer, batch):
    """One advantage step; returns (advantages by row, metrics)."""
    metrics: dict[str, float] = {}
    trainer._compute_advantage(batch, metrics)
    queue = trainer_base.tq
    return [queue.rows[key]["advantages"] for key in batch.keys], metrics


PYTHON = sys.executable
SOURCE = Path(stare.__file__).parent.parent
Namespace = SimpleNamespace
