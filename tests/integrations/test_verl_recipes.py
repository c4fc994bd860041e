"""recipes/verl: every script's command line through Hydra and verl's own checks. No GPU, no run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from verl_host import composed, v1

from stare.integrations.verl_config import read
from stare.integrations.verl_rules import check

pytestmark = pytest.mark.filterwarnings("ignore")

# Published (method.md of the paper's reading); None: not published, our choice.
PUBLISHED = {
    "short-cot-7b": ("Qwen/Qwen2.5-Math-7B", 1.1, 0.9, 1024, 3072, 5000),
    "short-cot-14b": ("Qwen/Qwen2.5-14B-Instruct", 1.05, 0.95, 1024, None, 1500),
    "short-cot-32b": ("Qwen/Qwen2.5-32B", 1.05, 0.95, 1024, None, 1500),
    "long-cot-1.5b": ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1.1, 0.9, None, None, None),
    "long-cot-8b": ("Qwen/Qwen3-8B-Base", 1.1, 0.9, None, None, None),
    "tool-use-7b": ("sft", 1.1, 0.9, None, None, None),
}


@pytest.fixture(scope="module")
def folder(root: Path) -> Path:
    return root / "recipes" / "verl"


def command_line(script: Path, tmp_path: Path, *extra: str, **variables: str) -> list[str]:
    """The arguments that the script gives python, by a python that only writes them down."""
    recorder = tmp_path / "python"
    recorder.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    recorder.chmod(0o755)
    environment = {
        **os.environ,
        "PYTHON": str(recorder),
        "TRAIN": "a.parquet,b.parquet",
        "VAL": "v.parquet",
        **variables,
    }
    done = subprocess.run(
        ["bash", str(script), *extra], env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_script_is_in_the_table(folder):
    assert {path.stem for path in folder.glob("*-*.sh")} == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_recipe_composes_and_passes_verls_checks(name, folder, tmp_path):
    model, w, m, prompt, response, steps = PUBLISHED[name]
    variables = {"MODEL": "sft", "TOOLS": "tools.py"} if name == "tool-use-7b" else {}
    line = command_line(folder / f"{name}.sh", tmp_path, "trainer.test_freq=5", **variables)
    assert line[:2] == ["-m", "verl.trainer.main_ppo"]
    config = composed(*line[2:], base=())

    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    assert not need_critic(config)
    assert not need_reference_policy(config)
    validate_config(config=config, use_reference_policy=False, use_critic=False)
    trainer = v1.get_trainer_cls(config.trainer.v1.trainer_mode)(config=config)
    assert type(trainer).__name__ == "StarePPOTrainerSync"

    plain = OmegaConf.to_container(config, resolve=True)
    settings = read(plain["stare"])
    assert check(plain, settings) == []
    stare = settings.config
    assert (stare.variant, stare.top_p_ratio, stare.target_entropy) == ("O1", 0.1, 0.3)
    assert (stare.reweight_w, stare.reweight_m, stare.gate) == (w, m, "batch")

    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert config.actor_rollout_ref.model.path == model
    assert (actor.clip_ratio_low, actor.clip_ratio_high, actor.clip_ratio_c) == (0.2, 0.28, 10.0)
    assert (actor.optim.lr, actor.grad_clip, actor.loss_agg_mode) == (1e-6, 1.0, "token-mean")
    assert (actor.use_kl_loss, actor.entropy_coeff) == (False, 0)
    assert (config.data.train_batch_size, rollout.n, actor.ppo_mini_batch_size) == (64, 8, 64)
    assert (rollout.temperature, rollout.top_p) == (1.0, 1.0)
    assert (rollout.val_kwargs.temperature, rollout.val_kwargs.top_p) == (1.0, 0.7)
    assert rollout.val_kwargs.n == 32
    assert config.algorithm.filter_groups.enable
    assert config.algorithm.filter_groups.max_inflight_gen_batches == 3
    assert prompt in (None, config.data.max_prompt_length)
    assert response in (None, config.data.max_response_length)
    assert response or config.data.max_response_length > 3072
    assert steps in (None, config.trainer.total_training_steps)
    assert (config.trainer.nnodes, config.trainer.n_gpus_per_node) == (2, 8)
    assert config.trainer.test_freq == 5
    assert list(config.data.train_files) == ["a.parquet", "b.parquet"]
    # A whole sequence fits into a micro-batch, shared by the GPUs of its sequence-parallel group.
    room = actor.ppo_max_token_len_per_gpu * actor.ulysses_sequence_parallel_size
    assert room >= config.data.max_prompt_length + config.data.max_response_length
    assert rollout.multi_turn.enable == (name == "tool-use-7b")


def test_a_recipe_says_what_it_needs(folder, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("TRAIN", "VAL", "MODEL")}
    for script, word in (("short-cot-7b.sh", "TRAIN"), ("tool-use-7b.sh", "MODEL")):
        done = subprocess.run(
            ["bash", str(folder / script)], env=environment, capture_output=True, text=True
        )
        assert done.returncode != 0
        assert word in done.stderr


def test_the_data_script_makes_what_verl_reads(folder, tmp_path):
    import pyarrow.parquet as pq

    source, target = tmp_path / "p.jsonl", tmp_path / "p.parquet"
    source.write_text('{"problem": "1+1?", "answer": 2}\n\n{"problem": "x", "answer": "\\\\pi"}\n')
    subprocess.run(
        [sys.executable, str(folder / "prepare.py"), str(source), str(target)], check=True
    )
    rows = pq.read_table(target).to_pylist()
    assert rows[0]["prompt"][0]["content"].endswith("within \\boxed{}.")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["2", "\\pi"]
