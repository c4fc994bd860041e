"""The presets of the paper's settings, against `recipes/verl`, which hold the same settings."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

from stare.train.cli import main
from stare.train.overrides import load_config, preset_names

NAMES = ["short-cot-7b", "short-cot-14b", "short-cot-32b", "long-cot-1.5b", "long-cot-8b"]
ALL = [*NAMES, "tool-use-7b"]


def recipe(root: Path, name: str) -> dict[str, str]:
    """Plain assignments of a recipe, `${STEPS:-5000}` read as 5000."""
    text = (root / f"recipes/verl/{name}.sh").read_text("utf-8")
    found = re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE)
    return {k: re.sub(r"\$\{\w+:-(\d+)\}", r"\1", v) for k, v in found}


def common(root: Path) -> dict[str, str]:
    text = (root / "recipes/verl/common.sh").read_text("utf-8")
    pairs = (line.strip().partition("=") for line in text.splitlines() if "=" in line)
    return {k.lstrip("+"): v.strip('"') for k, _, v in pairs}


@pytest.mark.parametrize("name", ALL)
def test_a_preset_agrees_with_the_recipe(root: Path, name: str) -> None:
    config = load_config(name, ["model.path=m"] if name == "tool-use-7b" else [])
    ours, verl, shared = config, recipe(root, name), common(root)
    if name in NAMES:
        assert ours.model.path == verl["DEFAULT_MODEL"]
    assert ours.stare.reweight_w == float(verl["W"])
    assert ours.stare.reweight_m == float(verl["M"])
    assert ours.rollout.max_prompt_tokens == int(verl["PROMPT_LENGTH"])
    assert ours.rollout.max_response_tokens == int(verl["RESPONSE_LENGTH"])
    assert ours.run.steps == int(verl["STEPS"])
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    for value, key in (
        (ours.loss.clip_low, f"{actor}.clip_ratio_low"),
        (ours.loss.clip_high, f"{actor}.clip_ratio_high"),
        (ours.loss.dual_clip, f"{actor}.clip_ratio_c"),
        (ours.rollout.prompts_per_step, "data.train_batch_size"),
        (ours.rollout.group_size, f"{rollout}.n"),
        (ours.optim.epochs, f"{actor}.ppo_epochs"),
        (ours.rollout.over_sample, "algorithm.filter_groups.max_inflight_gen_batches"),
        (ours.optim.lr, f"{actor}.optim.lr"),
        (ours.optim.grad_clip, f"{actor}.grad_clip"),
        (ours.optim.weight_decay, f"{actor}.optim.weight_decay"),
        (ours.optim.warmup_steps, f"{actor}.optim.lr_warmup_steps"),
        (ours.rollout.temperature, f"{rollout}.temperature"),
        (ours.rollout.top_p, f"{rollout}.top_p"),
        (ours.eval.temperature, f"{rollout}.val_kwargs.temperature"),
        (ours.eval.top_p, f"{rollout}.val_kwargs.top_p"),
        (ours.eval.n, f"{rollout}.val_kwargs.n"),
        (ours.eval.every, "trainer.test_freq"),
        (ours.run.checkpoint_every, "trainer.save_freq"),
        (ours.stare.top_p_ratio, "stare.top_p_ratio"),
        (ours.stare.target_entropy, "stare.target_entropy"),
    ):
        assert float(value) == float(shared[key]), key
    assert ours.loss.aggregation == shared[f"{actor}.loss_agg_mode"]
    assert ours.stare.gate == shared["stare.gate"]
    assert (ours.stare.variant, ours.loss.kl_coef, ours.optim.mini_batches) == ("O1", 0.0, 1)
    entries = [s.entry for s in ours.data.sources]
    assert entries == ["deepscaler", "skywork-or1", "polaris", "dapo-math-17k"]


@pytest.mark.parametrize("name", ALL)
def test_the_commands_in_a_preset_work_and_its_plan_fits(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (root / f"python/stare/train/presets/{name}.toml").read_text("utf-8")
    command = re.search(r"stare-train (plan .*)", text)
    assert command is not None
    words = ["model.path=Qwen/Qwen2.5-7B" if w == "model.path=CHECKPOINT" else w
             for w in shlex.split(command[1])]  # fmt: skip
    assert main(words) == 0, capsys.readouterr().out
    assert main(["show", words[1], "model.path=m"]) == 0


@pytest.mark.parametrize("name", [*ALL, "short-cot"])
def test_every_key_is_published_or_says_that_it_is_not(root: Path, name: str) -> None:
    """The paper states the keys of PUBLISHED; any other key has the words beside or above it."""
    published = {
        *("path", "max_response_tokens", "variant", "reweight_w", "reweight_m", "base", "entry"),
        *("prompts_per_step", "group_size", "max_prompt_tokens", "temperature", "top_p", "n"),
        *("over_sample", "max_refills", "top_p_ratio", "target_entropy", "controller", "clip_low"),
        *("clip_high", "dual_clip", "aggregation", "lr", "grad_clip"),
        # Names of ours for what needs none: the verifier, this machine, our own sampler.
        *("function", "sampler", "device"),
    }
    lines = (root / f"python/stare/train/presets/{name}.toml").read_text("utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        key = re.match(r"([a-z_]+) =", line)
        if key is None or key[1] in published:
            continue
        said = "not stated in the paper" in line or "not stated in the paper" in before
        assert said or (key[1] == "steps" and ("published" in line or name == "short-cot-7b")), line


def test_there_is_a_preset_for_every_setting_of_the_paper() -> None:
    assert set(ALL) <= set(preset_names())
