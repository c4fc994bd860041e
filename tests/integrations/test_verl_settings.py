"""`+stare.*` keys and one batch's step: what needs no verl."""

from __future__ import annotations

import json

import pytest
import torch

from stare.config import StareConfig
from stare.errors import ArgumentError, ConfigError
from stare.integrations.verl_config import Settings, read
from stare.integrations.verl_rules import check
from stare.integrations.verl_step import Step, load_state, save_state


def on(**keys):
    return {"enabled": True, **keys}


def test_absent_or_off_is_none():
    assert read(None) is None
    assert read({"enabled": False, "variant": "C2"}) is None


def test_every_field_of_the_configuration_has_a_key():
    settings = read(on(variant="C2", reweight_w=2, scope="microbatch", drop_nonfinite=True))
    assert settings == Settings(
        config=StareConfig(variant="C2", reweight_w=2.0), scope="microbatch", drop_nonfinite=True
    )


@pytest.mark.parametrize(
    ("section", "match"),
    [
        (on(scoop="batch"), r"did you mean \+stare\.scope\?"),
        (on(enable=True), r"did you mean \+stare\.enabled\?"),
        (on(zzz=1), "valid keys"),
        ({"variant": "O1"}, r"\+stare\.enabled=true"),
        (on(enabled="yes"), r"\+stare\.enabled must be true or false"),
        (on(scope="rank"), r"\+stare\.scope must be one of batch, microbatch"),
        (on(variant="O9"), r"\+stare\.variant must be one of"),
        (on(top_p_ratio=2), r"\+stare\.top_p_ratio must lie in"),
        ("true", "must be a section"),
        # What would do nothing:
        (on(reweight_w=1.0), r"\+stare\.reweight_w=1 with variant O1"),
        (on(variant="O2", reweight_m=1.0), r"\+stare\.reweight_m=1 with variant O2"),
        (on(variant="C2", reweight_w=1.0, reweight_m=1.0), "leaves every weight at 1"),
        (on(top_p_ratio=0.0), "selects no token"),
        (on(target_entropy=0.0), "the gate never opens"),
        (on(controller="pi", w_max=1.0), r"\+stare\.w_max=1"),
    ],
)
def test_wrong_sections(section, match):
    with pytest.raises(ConfigError, match=match):
        read(section)


@pytest.mark.parametrize(
    "section",
    [
        on(variant="C2", reweight_w=1.0),
        on(reweight_w=1.0, adaptive=True),
        on(controller="pi", reweight_w=1.0),
        on(gate="off", target_entropy=0.0),
        on(target_entropy=0.0, target_final=0.3, target_steps=10),
        on(selector="threshold", top_p_ratio=0.0),
    ],
)
def test_sections_that_do_something(section):
    assert read(section) is not None


def host(**changes):
    tree = {
        "actor_rollout_ref": {
            "actor": {"policy_loss": {"loss_mode": changes.get("mode", "vanilla")}},
            "rollout": {"top_p": changes.get("top_p", 1.0), "top_k": -1},
        },
        "algorithm": {"rollout_correction": {"bypass_mode": changes.get("bypass", False)}},
    }
    if "distillation" in changes:
        tree["distillation"] = changes["distillation"]
    return tree


DISTILLED = {"enabled": True, "distillation_loss": {"use_task_rewards": False}}


@pytest.mark.parametrize(
    ("section", "changes", "legacy", "match"),
    [
        (on(), {"mode": "geo_mean"}, False, r"policy_loss\.loss_mode=vanilla"),
        (on(), {"distillation": DISTILLED}, False, "use_task_rewards=true"),
        (on(selector="critical"), {}, False, r"\+stare\.selector=quantile"),
        (on(gate="token"), {"bypass": True}, False, "bypass_mode=false"),
        (on(gate="sample", scope="microbatch"), {}, False, r"\+stare\.gate=batch"),
        (on(scope="microbatch"), {}, True, r"trainer\.use_v1=true"),
    ],
)
def test_refused_with_the_flag_to_set(section, changes, legacy, match):
    with pytest.raises(ConfigError, match=match):
        check(host(**changes), read(section), legacy=legacy)


@pytest.mark.parametrize(
    ("section", "changes", "word"),
    [
        (on(), {"mode": "kl_cov"}, "selection reads the advantage"),
        (on(), {"mode": "dro"}, "quadratic penalty"),
        (on(), {"mode": "my_loss"}, "does not know"),
        (on(scope="microbatch"), {}, "ppo_max_token_len_per_gpu"),
        (on(), {"bypass": True, "top_p": 0.9}, "reads low"),
    ],
)
def test_warned(section, changes, word):
    (warning,) = check(host(**changes), read(section))
    assert word in warning


def test_a_plain_combination_is_silent():
    assert check(host(), read(on())) == []
    assert check({}, read(on())) == []


def step(**fields):
    return Step(Settings(config=StareConfig(**{"top_p_ratio": 0.5, **fields})))


LOGPROBS = torch.tensor([[-0.1, -0.2, -0.3, -0.4]])


def test_inputs_are_never_written():
    tensors = [torch.ones(1, 4), LOGPROBS.clone(), torch.ones(1, 4), torch.full((1, 4), 0.1)]
    before = [t.clone() for t in tensors]
    advantages, logprobs, mask, entropy = tensors
    weighted, _ = step().weigh(advantages, logprobs, mask, entropy=entropy, importance=mask)
    assert all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
    assert weighted.data_ptr() != advantages.data_ptr()
    expanded = torch.ones(1, 1).expand(1, 4)  # stride 0: writing one would write all
    weighted, _ = step().weigh(expanded, logprobs, mask)
    assert expanded.unique().tolist() == [1.0]
    assert weighted[0].tolist() == pytest.approx([1.0, 1.0, 1.1, 1.1])


def test_the_entropy_is_that_of_the_tokens_in_the_mask():
    _, metrics = step().weigh(
        torch.ones(1, 4),
        LOGPROBS,
        torch.tensor([[1, 0, 0, 1]]),
        entropy=torch.tensor([[0.1, 9.0, 9.0, 0.3]]),
    )
    assert metrics["stare/entropy"] == pytest.approx(0.2)
    _, metrics = step().weigh(torch.ones(1, 4), LOGPROBS, torch.tensor([[1, 0, 0, 1]]))
    assert metrics["stare/entropy"] == pytest.approx(0.25)
    assert metrics["stare/entropy_exact"] == 0.0


def test_a_batch_without_tokens_changes_nothing():
    ours = step()
    weighted, metrics = ours.weigh(torch.ones(1, 4), LOGPROBS, torch.zeros(1, 4))
    assert weighted.tolist() == [[1.0] * 4]
    assert "stare/entropy" not in metrics
    assert ours.controller.ignored_nonfinite == 1


def test_log_probs_of_zero_are_refused():
    with pytest.raises(ArgumentError, match="zero for every token"):
        step().weigh(torch.ones(1, 4), torch.zeros(1, 4), torch.ones(1, 4))


def test_a_token_gate_without_entropy_is_refused():
    with pytest.raises(ArgumentError, match=r"\+stare\.gate=batch"):
        step(gate="token").weigh(torch.ones(1, 4), LOGPROBS, torch.ones(1, 4))


def test_the_state_survives_a_file(tmp_path):
    ours, theirs = step(adaptive=True), step(adaptive=True)
    ours.weigh(torch.ones(1, 4), LOGPROBS, torch.ones(1, 4))
    save_state(ours, str(tmp_path / "global_step_1"))
    assert json.loads((tmp_path / "global_step_1/stare.json").read_text())["steps"] == 1
    assert load_state(theirs, str(tmp_path / "global_step_1"))
    assert theirs.controller.state_dict() == ours.controller.state_dict()
    assert not load_state(theirs, str(tmp_path))


def test_an_entropy_that_is_not_finite_is_left_out_of_the_mean():
    entropy = torch.tensor([[2.0, 2.0, float("nan")]])
    gate, metrics = Step(read(on(target_entropy=0.3))).decide(
        -torch.ones(1, 3), torch.ones(1, 3), entropy
    )
    assert metrics["stare/entropy"] == 2.0
    assert not gate.on
    assert metrics["stare/ignored_nonfinite"] == 0


def test_a_damaged_state_is_named(tmp_path):
    (tmp_path / "stare.json").write_text('{"w": 1.')
    with pytest.raises(ArgumentError, match=r"stare\.json cannot be read(.|\n)*delete it"):
        load_state(Step(read(on())), str(tmp_path))
