"""Real trainers of verl with `+stare.*`: `_compute_advantage`, masks, alignment, checkpoints."""

from __future__ import annotations

import json
import math

import pytest
import torch
from verl_host import (
    KEYS,
    LENGTHS,
    MODES,
    Queue,
    ask,
    composed,
    meta,
    nested,
    put,
    rollout,
    trainer,
    trainer_base,
    v1,
)

import stare
from stare.errors import ArgumentError, ConfigError

pytestmark = pytest.mark.filterwarnings("ignore")

ON = ("+stare.enabled=true", "+stare.top_p_ratio=0.2")


def twin(plain, logprobs, mask, *, ratio=0.2, w=1.1):
    """Weighted advantages by sorting: the top ceil(P n) of A > 0, ties by position."""
    cells = [
        (-float(logprobs[i][t]), i, t)
        for i, row in enumerate(plain)
        for t in range(len(row))
        if mask[i][t] and row[t] > 0
    ]
    cells.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    out = [row.clone() for row in plain]
    for _, i, t in cells[: math.ceil(ratio * len(cells))]:
        out[i][t] *= w
    return out


def plain_advantages(monkeypatch, data, mode="sync", *overrides):
    queue = Queue()
    rows, _ = ask(trainer(mode, queue, monkeypatch, *overrides), put(queue, data))
    return [row.clone() for row in rows]


@pytest.mark.parametrize("mode", MODES)
def test_every_trainer_weighs_as_the_twin_does(mode, monkeypatch):
    data = rollout()
    plain = plain_advantages(monkeypatch, data, mode)
    queue = Queue()
    built = trainer(mode, queue, monkeypatch, *ON)
    assert type(built).__name__ == f"Stare{v1.get_trainer_cls(mode).__name__}"
    rows, metrics = ask(built, put(queue, data))
    logprobs = data["old_log_probs"].unbind()
    expected = twin(plain, logprobs, data["response_mask"].unbind())
    for row, want in zip(rows, expected, strict=True):
        assert torch.equal(row, want)
    changed = sum(int((a != b).sum()) for a, b in zip(rows, plain, strict=True))
    assert changed == math.ceil(0.2 * (LENGTHS[0] + LENGTHS[3])) == 3
    assert metrics["stare/selected_positive_high"] == 3
    assert metrics["stare/entropy_exact"] == 1.0
    token_mean = sum((0.1 + 0.01 * i) * n for i, n in enumerate(LENGTHS)) / sum(LENGTHS)
    assert metrics["stare/entropy"] == pytest.approx(token_mean, abs=1e-7)
    # What the critic would fit is not weighted.
    returns = [queue.rows[key]["returns"] for key in KEYS]
    assert all(torch.equal(a, b) for a, b in zip(returns, plain, strict=True))


def test_without_the_section_the_trainer_is_verls_own(monkeypatch):
    built = trainer("sync", Queue(), monkeypatch)
    assert type(built) is v1.PPOTrainerSync
    assert not hasattr(built, "stare")
    off = trainer("sync", Queue(), monkeypatch, "+stare.enabled=false", "+stare.variant=C2")
    assert type(off) is v1.PPOTrainerSync


def test_a_closed_gate_is_plain_grpo_bit_for_bit(monkeypatch):
    data = rollout()
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON, "+stare.target_entropy=0.05")
    rows, metrics = ask(built, put(queue, data))
    assert metrics["stare/gate"] == 0.0
    assert all(torch.equal(a, b) for a, b in zip(rows, plain, strict=True))


def test_c2_weighs_both_signs(monkeypatch):
    data = rollout()
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON, "+stare.variant=C2")
    rows, metrics = ask(built, put(queue, data))
    ratios = torch.cat([a / b for a, b in zip(rows, plain, strict=True)])
    assert sorted(set(ratios.round(decimals=4).tolist())) == pytest.approx([0.9, 1.0, 1.1])
    assert metrics["stare/selected_negative_high"] == math.ceil(0.2 * (LENGTHS[1] + LENGTHS[2]))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 4), (3, 2)])
def test_a_poisoned_token_is_the_one_that_is_weighed(row, column, monkeypatch):
    """Off by one would be silent: the least likely token must be exactly the weighted one."""
    data = rollout()
    rows = [r.clone() for r in data["old_log_probs"].unbind()]
    rows[row][column] = -50.0
    data["old_log_probs"] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, "+stare.enabled=true", "+stare.top_p_ratio=0.01")
    weighted, metrics = ask(built, put(queue, data))
    places = [
        (i, int(t)) for i in range(4) for t in torch.nonzero(weighted[i] != plain[i]).flatten()
    ]
    assert places == [(row, column)]
    assert metrics["stare/threshold_positive_high"] == 50.0


def test_through_verls_own_log_prob_step_the_shift_is_right(monkeypatch):
    """Full-sequence log-probs of the model, cut and shifted by the host before we see them."""
    data = rollout()
    prompt = 3
    full, entropies = [], []
    for row in data.pop("old_log_probs").unbind():
        # The model's output at position p scores token p + 1.
        full.append(torch.cat([torch.full((prompt - 1,), -9.0), row, torch.tensor([-99.0])]))
        entropies.append(torch.full((prompt + len(row),), 0.1))
    data.pop("entropy")
    queue = Queue()
    built = trainer(
        "sync",
        queue,
        monkeypatch,
        "+stare.enabled=true",
        "+stare.top_p_ratio=0.01",
        "actor_rollout_ref.rollout.calculate_log_probs=false",
    )
    batch = put(queue, data)
    full[3][prompt - 1 + 2] = -50.0

    class Group:
        def compute_log_prob(self, batch):
            jagged = {"layout": torch.jagged}
            output = {
                "log_probs": torch.nested.as_nested_tensor(full, **jagged),
                "entropy": torch.nested.as_nested_tensor(entropies, **jagged),
            }
            fields = trainer_base.TensorDict(output, batch_size=4)
            return queue.kv_batch_put(batch.keys, "train", fields)

    built.actor_rollout_wg = Group()
    built._compute_old_log_prob(batch, {})
    weighted, metrics = ask(built, batch)
    assert metrics["stare/threshold_positive_high"] == 50.0
    assert torch.nonzero(weighted[3] != weighted[3][0]).flatten().tolist() == [2]


def test_tool_tokens_and_padding_rows_are_never_selected(monkeypatch):
    data = rollout()
    mask = [r.clone() for r in data["response_mask"].unbind()]
    mask[0][1:4] = 0  # a tool's answer
    mask[3][:] = 0  # a padding row
    logprobs = [r.clone() for r in data["old_log_probs"].unbind()]
    logprobs[0][1:4] = -80.0
    logprobs[3][:] = -90.0
    jagged = {"layout": torch.jagged}
    data["response_mask"] = torch.nested.as_nested_tensor(mask, **jagged)
    data["old_log_probs"] = torch.nested.as_nested_tensor(logprobs, **jagged)
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    rows, metrics = ask(
        trainer("sync", queue, monkeypatch, "+stare.enabled=true", "+stare.top_p_ratio=1.0"),
        put(queue, data),
    )
    assert metrics["stare/n_tokens"] == sum(LENGTHS) - 3 - LENGTHS[3]
    assert (rows[0][1:4] == plain[0][1:4]).all()
    assert torch.equal(rows[3], plain[3])
    assert torch.allclose(rows[0][[0, 4]], plain[0][[0, 4]] * 1.1)


def test_tokens_that_rollout_correction_rejects_are_no_candidates(monkeypatch):
    data = rollout()
    old = [r.clone() for r in data["old_log_probs"].unbind()]
    sampled = [r.clone() for r in old]
    old[0][2] -= 60.0  # by far the rarest token, and far from what the sampler said
    jagged = {"layout": torch.jagged}
    data["old_log_probs"] = torch.nested.as_nested_tensor(old, **jagged)
    data["rollout_log_probs"] = torch.nested.as_nested_tensor(sampled, **jagged)
    correction = "algorithm.rollout_correction"
    overrides = (
        f"{correction}.rollout_rs=token_k1",
        f'{correction}.rollout_rs_threshold="0.5_2.0"',
    )
    queue = Queue()
    built = trainer(
        "sync", queue, monkeypatch, "+stare.enabled=true", "+stare.top_p_ratio=0.01", *overrides
    )
    _, metrics = ask(built, put(queue, data))
    assert queue.rows[KEYS[0]]["response_mask"].tolist()[2] == 0
    assert metrics["stare/n_tokens"] == sum(LENGTHS) - 1
    assert metrics["stare/threshold_positive_high"] < 50.0


def test_tokens_of_no_importance_are_no_candidates(monkeypatch):
    from stare.integrations.verl_config import Settings
    from stare.integrations.verl_step import Step

    step = Step(Settings(config=stare.StareConfig(top_p_ratio=0.5, target_entropy=5.0)))
    weighted, metrics = step.weigh(
        torch.ones(1, 3),
        torch.tensor([[-0.1, -0.2, -9.0]]),
        torch.ones(1, 3),
        importance=torch.tensor([[1.0, 0.5, 0.0]]),
    )
    assert weighted[0].tolist() == pytest.approx([1.0, 1.1, 1.0])
    assert metrics["stare/n_tokens"] == 2


def test_nothing_that_the_host_gave_is_written(monkeypatch):
    data = rollout()
    before = {name: value.values().clone() for name, value in data.items()}
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON)
    batch = put(queue, data)
    queue.puts.clear()
    ask(built, batch)
    for name, value in before.items():
        assert torch.equal(data[name].values(), value)
        assert torch.equal(torch.cat([queue.rows[key][name] for key in KEYS]), value)
    assert queue.puts == [("advantages", "returns"), ("advantages",)]


def test_bypass_mode_estimates_the_entropy_from_the_sampled_tokens(monkeypatch):
    data = rollout()
    data.pop("entropy")
    data["rollout_log_probs"] = data.pop("old_log_probs")
    queue = Queue()
    built = trainer(
        "sync", queue, monkeypatch, *ON, "algorithm.rollout_correction.bypass_mode=true"
    )
    batch = put(queue, data)
    built._compute_old_log_prob(batch, {})
    _, metrics = ask(built, batch)
    mean = -data["rollout_log_probs"].values().double().mean()
    assert metrics["stare/entropy"] == pytest.approx(float(mean), abs=1e-12)
    assert metrics["stare/entropy_exact"] == 0.0


def test_bf16_log_probs_and_the_token_gate(monkeypatch):
    data = rollout(dtype=torch.bfloat16)
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    built = trainer(
        "sync", queue, monkeypatch, *ON, "+stare.gate=token", "+stare.target_entropy=0.115"
    )
    rows, _ = ask(built, put(queue, data))
    # Rows 0 and 1 have an entropy below the target, rows 2 and 3 above.
    assert not torch.equal(rows[0], plain[0])
    assert torch.equal(rows[3], plain[3])


def test_the_controller_moves_with_every_batch(monkeypatch):
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON, "+stare.adaptive=true", "+stare.alpha=0.05")
    seen = [ask(built, put(queue, rollout(seed)))[1]["stare/w"] for seed in range(3)]
    assert seen == pytest.approx([1.15, 1.2, 1.25])


# --- what is trained on --------------------------------------------------------------------------


def test_the_workers_train_on_the_weighted_advantages(monkeypatch):
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON)
    batch = put(queue, rollout())
    rows, _ = ask(built, batch)
    metrics = {}
    built._update_actor(batch, metrics)
    for key, row in zip(KEYS, rows, strict=True):
        assert torch.equal(built.actor_rollout_wg.trained[key], row)
    assert "actor/pg_loss" in metrics
    assert "stare" not in built.actor_rollout_wg.extra


def test_advantages_written_again_by_the_host_are_found_out(monkeypatch):
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON)
    batch = put(queue, rollout())
    rows, _ = ask(built, batch)
    first = nested([[float(row[0])] * len(row) for row in rows])
    fields = trainer_base.TensorDict({"advantages": first}, batch_size=4)
    queue.kv_batch_put(KEYS, "train", fields)
    with pytest.raises(ArgumentError, match="written again after STARE"):
        built._update_actor(batch, {})


def test_microbatch_scope_leaves_the_advantages_and_sends_the_gate(monkeypatch):
    data = rollout()
    plain = plain_advantages(monkeypatch, data)
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON, "+stare.scope=microbatch")
    batch = put(queue, data)
    rows, metrics = ask(built, batch)
    assert all(torch.equal(a, b) for a, b in zip(rows, plain, strict=True))
    built._update_actor(batch, {})
    message = json.loads(built.actor_rollout_wg.extra["stare"])
    assert (message["on"], message["w"], message["m"]) == (True, 1.1, 0.9)
    assert message["config"]["top_p_ratio"] == 0.2
    assert metrics["stare/gate"] == 1.0
    built.actor_rollout_wg.hooked = False  # a worker in which the plugin was not loaded
    with pytest.raises(ArgumentError, match="trained without STARE"):
        built._update_actor(batch, {})


# --- bad input -----------------------------------------------------------------------------------


def bad(monkeypatch, change, *overrides):
    data = rollout()
    rows = [r.clone() for r in data["old_log_probs"].unbind()]
    change(rows)
    data["old_log_probs"] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    queue = Queue()
    return ask(trainer("sync", queue, monkeypatch, *ON, *overrides), put(queue, data))


def zero(rows):
    for row in rows:
        row.zero_()


def nan(rows):
    rows[0][1] = math.nan


def positive(rows):
    rows[3][0] = 0.5


@pytest.mark.parametrize("change", [zero, nan, positive])
def test_bad_log_probs_name_the_flag(change, monkeypatch):
    with pytest.raises(ArgumentError, match=r"rollout_correction\.bypass_mode=false"):
        bad(monkeypatch, change)


def test_unusable_log_probs_can_be_left_out(monkeypatch):
    _, metrics = bad(monkeypatch, nan, "+stare.drop_nonfinite=true")
    assert metrics["stare/dropped_nonfinite"] == 1


def test_rows_that_do_not_align_are_refused(monkeypatch):
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON)
    batch = put(queue, {**rollout(), "entropy": nested([[0.1]] * 4)})
    with pytest.raises(ArgumentError, match="rows of entropy and advantages differ in length"):
        ask(built, batch)


@pytest.mark.parametrize(
    ("overrides", "match"),
    [
        (["+stare.enabled=true", "+stare.top_p=0.1"], r"did you mean \+stare\.top_p_ratio"),
        (["+stare.enabled=true", "+stare.varient=O1"], r"did you mean \+stare\.variant"),
        (["+stare.variant=O1"], r"\+stare\.enabled=true"),
        (["+stare.enabled=true", "+stare.reweight_w=big"], r"\+stare\.reweight_w must be a number"),
        (
            ["+stare.enabled=true", "actor_rollout_ref.actor.policy_loss.loss_mode=geo_mean"],
            "averages the advantages of a response",
        ),
    ],
)
def test_a_wrong_command_line_stops_before_anything_starts(overrides, match, monkeypatch):
    with pytest.raises(ConfigError, match=match):
        trainer("sync", Queue(), monkeypatch, *overrides)


# --- checkpoints and metrics ---------------------------------------------------------------------


@pytest.mark.parametrize("resume", ["auto", "resume_path"])
def test_the_controller_survives_a_checkpoint(resume, tmp_path, monkeypatch):
    class Loader:
        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    overrides = (*ON, "+stare.adaptive=true", f"trainer.default_local_dir={tmp_path}")
    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *overrides)
    built.train_dataloader, built.global_steps = Loader(), 7
    ask(built, put(queue, rollout()))
    built._save_checkpoint()
    assert json.loads((tmp_path / "global_step_7" / "stare.json").read_text())["w"] > 1.1
    if resume == "resume_path":
        overrides = (
            *overrides,
            "trainer.resume_mode=resume_path",
            f"trainer.resume_from_path={tmp_path}/global_step_7",
        )
    again = trainer("sync", queue, monkeypatch, *overrides)
    again.train_dataloader = Loader()
    again._load_checkpoint()
    assert again.global_steps == 7
    assert again.stare.controller.state_dict() == built.stare.controller.state_dict()


def test_a_checkpoint_of_plain_grpo_starts_the_controller_anew(tmp_path, monkeypatch, capsys):
    (tmp_path / "global_step_3" / "actor").mkdir(parents=True)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("3")
    built = trainer("sync", Queue(), monkeypatch, *ON, f"trainer.default_local_dir={tmp_path}")
    built._load_checkpoint()
    assert built.global_steps == 3
    assert "the controller starts anew" in capsys.readouterr().out


def test_metrics_are_averaged_over_local_updates_by_verls_aggregator(monkeypatch):
    from verl.trainer.ppo.v1.utils import MetricsAggregator

    queue = Queue()
    built = trainer("sync", queue, monkeypatch, *ON, "+stare.variant=C4")
    _, metrics = ask(built, put(queue, rollout()))
    aggregator = MetricsAggregator()
    kinds = {name: aggregator._get_aggregation_type(name) for name in metrics}
    assert set(kinds.values()) == {"weighted_avg"}
    assert {"stare/w", "stare/m", "stare/gate", "stare/mean_weight"} <= set(kinds)


# --- canaries: the seams of this version ---------------------------------------------------------


def test_the_seams_are_where_they_were():
    """Fails when verl moves what the hook stands on."""
    assert set(v1.trainer_base.TRAINER_REGISTRY) >= set(MODES)
    for name in ("_compute_advantage", "_update_actor", "_save_checkpoint", "_load_checkpoint"):
        assert name in vars(v1.PPOTrainer), name
    for mode in MODES:
        assert issubclass(v1.get_trainer_cls(mode), v1.PPOTrainer)
        assert "_compute_advantage" not in vars(v1.get_trainer_cls(mode))
    assert composed("+stare.enabled=true").stare.enabled is True
    assert meta(KEYS).extra_info == {}
