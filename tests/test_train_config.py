from __future__ import annotations

import dataclasses
import inspect
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ConfigError, RunError
from stare.train import config as config_module
from stare.train.config import (
    DataConfig,
    EvalConfig,
    ModelConfig,
    OptimConfig,
    RewardConfig,
    RolloutConfig,
    RunConfig,
    TrainConfig,
    from_dict,
    to_dict,
)
from stare.train.overrides import (
    environment,
    known_keys,
    load_config,
    parse_override,
    preset_names,
)
from stare.train.runfolder import RunFolder, differing_keys, read_config, read_status, write_json

NEEDS = {
    "smollm2": ["data.path=d.jsonl"],
    "short-cot": ["model.path=m", "data.path=d.jsonl"],
    "tool-use-7b": ["model.path=m"],
}


def small(**run: object) -> TrainConfig:
    return TrainConfig(
        model=ModelConfig(path="m"), data=DataConfig(path="d.jsonl"), run=RunConfig(**run)
    )


def test_every_preset_resolves_and_survives_json() -> None:
    assert {"demo-mod5", "demo-exact", "demo-tol3", "smollm2", "short-cot"} <= set(preset_names())
    for name in preset_names():
        config = load_config(name, NEEDS.get(name, []))
        assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


def test_the_demo_preset_says_what_the_prototype_ran() -> None:
    c = load_config("demo-mod5")
    assert (c.rollout.prompts_per_step, c.rollout.group_size) == (32, 8)
    assert (c.optim.lr, c.optim.betas, c.optim.warmup_steps) == (1e-3, (0.9, 0.999), 20)
    assert (c.stare.controller, c.stare.kp, c.stare.ki) == ("pi", 4.0, 0.2)
    assert (c.stare.w_max, c.stare.m_min, c.stare.target_entropy) == (6.0, 0.2, 0.7)
    assert c.stare.target_relative
    assert load_config("demo-tol3").model.init == "tol3"
    short = load_config("demo-tol3").stare
    assert replace(short, target_entropy=0.7) == c.stare  # inherited by base, but for the target


def test_short_cot_is_the_papers_setting_and_differs_from_the_defaults_only_where_it_must() -> None:
    base = TrainConfig(model=ModelConfig(path="m"), data=DataConfig(path="d.jsonl"))
    changed = differing_keys(to_dict(base), to_dict(load_config("short-cot", NEEDS["short-cot"])))
    assert set(changed) == {
        "model.dtype",
        "model.gradient_checkpointing",
        "optim.micro_batch_tokens",
        "run.checkpoint_every",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rollout.grup_size=3", r"unknown key rollout.grup_size\nhint: .*rollout.group_size"),
        ("group_size=3", r"unknown key group_size\nhint: .*rollout.group_size"),
        ("zzzz=1", r"hint: valid keys: .*run.steps"),
        ("optim=3", r"optim is a table\nhint: .*optim.lr"),
        ("run.steps", r"expected key=value, got 'run.steps'"),
        ("=3", r"expected key=value"),
        ("rollout.dynamic_sampling=yes", r"rollout.dynamic_sampling must be true or false"),
        ("rollout.dynamic_sampling=1", r"must be true or false, got 1"),
        ("rollout.group_size=8.0", r"rollout.group_size must be an integer, got 8.0"),
        ("rollout.group_size=true", r"rollout.group_size must be an integer, got True"),
        ("optim.lr='1e-3'", r"optim.lr must be a number, got '1e-3'"),
        ("optim.lr=nan", r"optim.lr must lie in \(0, inf\), got nan"),
        ("optim.betas=[0.9]", r"optim.betas must be a list of 2"),
        ("stare.top_p_ratio=1.5", r"stare.top_p_ratio must lie in \[0, 1\], got 1.5"),
        ("stare.gate=sometimes", r"stare.gate must be one of batch, sample, token, off"),
        ("reward.function=math:", r"reward.function must be 'math' or an import path"),
        ("eval.ks=[1, 64]", r"eval.ks\[1\] must lie in \[1, 32\], got 64"),
        ("run.device=gpu", r"run.device must be auto, cpu, cuda or cuda:N, got 'gpu'"),
        ("model.extra={a = 2026-01-01}", r"model.extra must hold only what JSON can"),
        ("model.extra.x=inf", r"model.extra must hold only what JSON can"),
        ("run.steps=none", r"run.steps must be an integer, got None"),
    ],
)
def test_bad_overrides_name_the_key_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("demo-mod5", [text])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.path=m"], "path and factory exclude each other"),
        (["data.path=m"], "factory excludes path and eval_path"),
        (["model.factory=none", "model.init=none"], "model.path is not set, nor is model.factory"),
        (["model.factory=none"], "model.init='mod5' is read by a factory"),
        (["data.factory=none"], "data.path is not set"),
        (["optim.micro_batch_tokens=19"], "must hold one sequence of 20 tokens"),
        (["optim.mini_batches=257"], "must not exceed the 256 sequences"),
        (["rollout.truncation=penalty"], "overlong_buffer goes with truncation='penalty'"),
        (["rollout.overlong_buffer=3"], "overlong_buffer goes with truncation='penalty'"),
        (["run.wandb_project=p"], "needs wandb=true"),
        (["stare.adaptive=true"], "both move W and M"),
        (["loss.max_length=10"], "loss.max_length goes with"),
        (["data.prompt_template=hello"], r"must contain \{problem\}"),
    ],
)
def test_contradictions_are_errors(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("demo-mod5", overrides)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RolloutConfig(group_size=1),
        lambda: RolloutConfig(over_sample=0.5),
        lambda: RolloutConfig(temperature=0),
        lambda: OptimConfig(betas=(0.9, 1.0)),
        lambda: OptimConfig(grad_clip=0),
        lambda: EvalConfig(ks=(1, 1)),
        lambda: RunConfig(keep_checkpoints=0),
        lambda: RunConfig(seed=-1),
        lambda: RewardConfig(undecided="raise"),  # type: ignore[arg-type]
        lambda: ModelConfig(factory="no_colon"),
    ],
)
def test_sections_check_themselves_when_made(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


def test_overrides_win_over_the_file_and_later_over_earlier() -> None:
    c = load_config("demo-mod5", ["run.steps=5", "run.steps=6", "optim.lr=1", "model.extra.a.b=2"])
    assert (c.run.steps, c.optim.lr, c.model.extra) == (6, 1.0, {"a": {"b": 2}})
    assert isinstance(c.optim.lr, float)
    off = load_config("demo-mod5", ["stare.enabled=false", "optim.grad_clip=none"])
    assert (off.stare.enabled, off.optim.grad_clip) == (False, None)


def test_text_keys_keep_what_was_typed() -> None:
    assert parse_override("run.out=2026-11-30") == ("run.out", "2026-11-30")
    assert parse_override("run.out='a b'") == ("run.out", "a b")
    assert parse_override("run.out=runs/x=1") == ("run.out", "runs/x=1")
    assert parse_override("model.path=none") == ("model.path", None)
    assert parse_override("run.out=1\nrun.steps = 3")[1] == "1\nrun.steps = 3"


@given(st.text(max_size=30))
def test_any_argument_is_parsed_or_refused_as_configuration(text: str) -> None:
    try:
        key, _ = parse_override(text)
    except ConfigError:
        return
    assert key in known_keys() or key.startswith(("model.extra.", "data.extra."))


@given(st.sampled_from(known_keys()), st.data())
def test_a_misspelt_key_names_the_right_one(key: str, data: st.DataObject) -> None:
    section, _, leaf = key.rpartition(".")
    at = data.draw(st.integers(0, len(leaf) - 1))
    wrong = f"{section}.{leaf[:at]}q{leaf[at + 1 :]}"
    if wrong in known_keys() or len(leaf) < 6:
        return
    with pytest.raises(ConfigError, match="did you mean"):
        parse_override(f"{wrong}=1")


def test_files_inherit_and_their_mistakes_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('base = "demo-mod5"\n[run]\nsteps = 9\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\n[run]\nseed = 4\n')
    c = load_config(tmp_path / "b.toml")
    assert (c.run.steps, c.run.seed, c.model.init) == (9, 4, "mod5")
    cases = {
        'base = "self.toml"': "refers in a circle",
        "base = 3": "base must be the name of a preset or a path",
        "run = 3": "run must be a table, got 3",
        "a = [": "is no valid TOML",
        "[run]\nstep = 3": "unknown key run.step\nhint: did you mean run.steps",
    }
    for text, message in cases.items():
        (tmp_path / "self.toml").write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_config(tmp_path / "self.toml")
    with pytest.raises(ConfigError, match=r"unknown preset 'demo-mod6'\nhint: .*demo-mod5"):
        load_config("demo-mod6")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config("nowhere/x.toml")
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "bin.toml")


def test_a_round_asks_for_a_multiple_of_what_is_missing() -> None:
    assert RolloutConfig(over_sample=3).prompts_in_round(64) == 192
    assert RolloutConfig(over_sample=1.5, max_round_prompts=6).prompts_in_round(5) == 6
    assert RolloutConfig(over_sample=3, dynamic_sampling=False).prompts_in_round(64) == 64


def test_every_field_has_words_under_it() -> None:
    classes = [getattr(config_module, name) for name in config_module.__all__]
    for cls in classes:
        if dataclasses.is_dataclass(cls) and cls.__module__.startswith("stare.train"):
            block = inspect.getsource(cls)
            for name in cls.__annotations__:
                after = block.partition(f"\n    {name}: ")[2].split("\n    ", 1)[1]
                assert after.lstrip().startswith('"""'), f"{cls.__name__}.{name}"


def test_environment_is_json_with_versions() -> None:
    env = json.loads(json.dumps(environment()))
    assert {"stare", "python", "torch", "transformers", "numpy"} == set(env["versions"])
    assert env["cpu"]


def test_a_new_run_folder_holds_the_resolved_configuration(tmp_path: Path) -> None:
    config = small(seed=3)
    with RunFolder(tmp_path / "deep" / "r", config, environment={"versions": {}}) as folder:
        folder.set_status("running", step=2)
        assert not folder.resumed
    assert from_dict(read_config(folder.path)) == config
    status = read_status(folder.path)
    assert (status["status"], status["step"], status["steps"]) == ("running", 2, 1000)
    assert not list(folder.path.glob("*.tmp")) + list(folder.path.glob(".*.tmp"))


def test_a_folder_with_a_run_is_refused_without_resume(tmp_path: Path) -> None:
    RunFolder(tmp_path / "r", small()).close()
    before = (tmp_path / "r" / "config.json").read_bytes()
    with pytest.raises(RunError, match=r"already holds this run\nhint: --resume"):
        RunFolder(tmp_path / "r", small())
    for resume in (True, False):
        with pytest.raises(RunError, match=r"run.seed: 0 there, 1 here\nhint: .*run.out="):
            RunFolder(tmp_path / "r", small(seed=1), resume=resume)
    assert (tmp_path / "r" / "config.json").read_bytes() == before
    with RunFolder(tmp_path / "r", small(), resume=True) as folder:
        assert folder.resumed


def test_resume_may_change_length_evaluation_and_logging(tmp_path: Path) -> None:
    RunFolder(tmp_path / "r", small()).close()
    new = dataclasses.replace(
        small(steps=2000, log_every=1, out="elsewhere"), eval=EvalConfig(every=7)
    )
    with RunFolder(tmp_path / "r", new, resume=True):
        pass
    assert from_dict(read_config(tmp_path / "r")) == new


def test_foreign_or_damaged_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"is no run folder: .*thesis.tex"):
        RunFolder(tmp_path, small())
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        RunFolder(tmp_path / "file", small())
    (tmp_path / "r").mkdir()
    for text in ("{", "[]", "{}", '{"config": 3}'):
        (tmp_path / "r" / "config.json").write_text(text)
        with pytest.raises(RunError, match=r"config.json"):
            RunFolder(tmp_path / "r", small(), resume=True)


def test_two_writers_never_share_a_folder(tmp_path: Path) -> None:
    message = rf"another process \(pid {os.getpid()}\) is writing"
    with RunFolder(tmp_path / "r", small()), pytest.raises(RunError, match=message):
        RunFolder(tmp_path / "r", small(), resume=True)
    RunFolder(tmp_path / "r", small(), resume=True).close()


def test_a_killed_writer_releases_the_folder(tmp_path: Path) -> None:
    code = (
        "import os, sys; from stare.train.runfolder import RunFolder;"
        "from stare.train.config import *;"
        "c = TrainConfig(model=ModelConfig(path='m'), data=DataConfig(path='d.jsonl'));"
        "f = RunFolder(sys.argv[1], c); f.set_status('running', step=1); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "r")], check=False)
    assert done.returncode == -9
    assert read_status(tmp_path / "r")["status"] == "running"
    with RunFolder(tmp_path / "r", small(), resume=True) as folder:
        assert folder.resumed


def test_wall_time_adds_up_over_resumes(tmp_path: Path) -> None:
    RunFolder(tmp_path / "r", small()).close()
    write_json(tmp_path / "r" / "run.json", {"status": "failed", "wall_seconds": 100.0})
    with RunFolder(tmp_path / "r", small(), resume=True) as folder:
        folder.set_status("finished", step=1000)
    assert 100 <= read_status(tmp_path / "r")["wall_seconds"] < 200


def test_a_run_from_before_a_key_existed_can_be_resumed(tmp_path: Path) -> None:
    config = TrainConfig(model=ModelConfig(path="m"), data=DataConfig(path="d.jsonl"))
    with RunFolder(tmp_path / "run", config):
        pass
    path = tmp_path / "run" / "config.json"
    saved = json.loads(path.read_text())
    del saved["config"]["parallel"]
    path.write_text(json.dumps(saved))
    with RunFolder(tmp_path / "run", config, resume=True) as folder:
        assert folder.resumed
    saved["config"]["optim"]["gone"] = 1
    path.write_text(json.dumps(saved))
    with pytest.raises(RunError, match=r"optim\.gone: 1 there, None here"):
        RunFolder(tmp_path / "run", config, resume=True)
