"""STARE in the real TRL: equal to weights in the loss, and to plain GRPO while the gate is off."""

from __future__ import annotations

import inspect
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="TRL is not installed: make test-trl")

import torch
import trl
from trl import GRPOConfig, GRPOTrainer
from trl_runs import difference, logged, make, train

from stare.config import StareConfig
from stare.errors import ArgumentError, ConfigError
from stare.integrations.hosts import at_least
from stare.integrations.trl import StareGRPOTrainer, attach
from tiny_llm import tiny_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
    pytest.mark.filterwarnings("ignore::UserWarning:trl"),
    pytest.mark.filterwarnings("ignore::UserWarning:transformers"),
]

ON = StareConfig(variant="C2", target_entropy=9.0, reweight_w=1.5, reweight_m=0.5)
OFF = StareConfig(variant="C2", target_entropy=1e-9)


def omega(logprobs: np.ndarray, advantages: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Weights of C2 by a sort, written without the package."""
    weights = np.ones(logprobs.shape)
    for sign, factor in ((1, ON.reweight_w), (-1, ON.reweight_m)):
        candidates = np.argwhere(mask & (advantages * sign > 0)[:, None])
        ordered = sorted(candidates.tolist(), key=lambda at: (logprobs[tuple(at)], at))
        for i, t in ordered[: -(-len(candidates) // 10)]:
            weights[i, t] = factor
    return weights


class OmegaInLoss(GRPOTrainer):
    """The paper's form: a loss of our own, omega on the clipped surrogate of every token."""

    def _forward(self, batch: dict[str, Any]) -> torch.Tensor:
        out = self._get_per_token_logps_and_entropies(
            self.model,
            torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
            torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
            batch["completion_ids"].shape[1],
        )
        return out[0]

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        with torch.no_grad():
            logprobs = self._forward(batch)
        mask = batch["completion_mask"].bool()
        weights = omega(logprobs.numpy(), batch["advantages"].numpy(), mask.numpy())
        batch["omega"] = torch.from_numpy(weights).float()
        return batch

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        logprobs, mask = self._forward(inputs), inputs["completion_mask"]
        old = inputs.get("old_per_token_logps")
        ratio = (logprobs - (logprobs.detach() if old is None else old)).exp()
        A = inputs["advantages"][:, None]
        clipped = ratio.clamp(1 - self.epsilon_low, 1 + self.epsilon_high)
        loss = -inputs["omega"] * torch.min(ratio * A, clipped * A) * mask
        return loss.sum() / mask.sum() / self.current_gradient_accumulation_steps


SETTINGS = {
    "on-policy": {},
    "two micro-batches": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
    "four updates a generation": {"steps_per_generation": 4, "max_steps": 6},
    "two iterations": {"num_iterations": 2, "max_steps": 6, "epsilon": 0.02},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_equals_weights_in_the_loss(tmp_path: Path, name: str):
    settings = SETTINGS[name] | {"loss_type": "bnpo"}
    twin = train(make(tmp_path, OmegaInLoss, **settings))
    plain = train(make(tmp_path, **settings))
    trainer = attach(make(tmp_path, **settings), ON)
    got = train(trainer)
    assert difference(got, twin) < 1e-6
    assert difference(got, plain) > 1e-4
    assert all(gate == 1 for gate in logged(trainer, "stare/gate"))


@pytest.mark.parametrize("name", SETTINGS)
def test_gate_off_is_plain_grpo_to_the_bit(tmp_path: Path, name: str):
    settings = SETTINGS[name]
    plain = train(make(tmp_path, **settings))
    assert difference(train(attach(make(tmp_path, **settings), OFF)), plain) == 0.0
    if name == "on-policy":
        alone = train(attach(make(tmp_path, **settings), OFF, scope="microbatch"))
        assert difference(alone, plain) == 0.0


def test_gate_off_is_plain_grpo_with_dropout(tmp_path: Path):
    def model() -> Any:
        model = tiny_model()
        model.config.attention_dropout = 0.3
        for layer in model.model.layers:
            layer.self_attn.attention_dropout = 0.3
        return model

    plain = train(make(tmp_path, model=model()))
    assert difference(train(attach(make(tmp_path, model=model()), OFF)), plain) == 0.0
    assert difference(train(make(tmp_path)), plain) > 0.0


def test_all_ways_to_put_it_in_are_one(tmp_path: Path):
    class Custom(GRPOTrainer):
        pass

    attached = attach(make(tmp_path, Custom), ON)
    assert type(attached).__name__ == "StareCustom"
    got = train(attached)
    assert difference(got, train(make(tmp_path, StareGRPOTrainer, extra={"stare": ON}))) == 0.0
    # One micro-batch a step: choosing in the loss is choosing over the batch.
    assert difference(got, train(attach(make(tmp_path), ON, scope="microbatch"))) == 0.0


def test_micro_batch_size_changes_nothing(tmp_path: Path):
    settings = {"loss_type": "dapo", "max_steps": 2}
    whole = train(attach(make(tmp_path, **settings), ON))
    settings |= {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}
    assert difference(train(attach(make(tmp_path, **settings), ON)), whole) < 1e-6
    assert (
        difference(train(attach(make(tmp_path, **settings), ON, scope="microbatch")), whole) > 1e-5
    )


@pytest.mark.parametrize(
    "loss_type", ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo", "luspo"]
)
def test_every_token_level_loss_passes_the_probe(tmp_path: Path, loss_type: str):
    if f'"{loss_type}"' not in inspect.getsource(GRPOTrainer):
        pytest.skip(f"TRL {trl.__version__} has no such loss")
    options = {"epsilon_high": 5.0} if loss_type == "cispo" else {}
    trainer = make(tmp_path, loss_type=loss_type, max_steps=1, **options)
    reference = make(tmp_path, model=tiny_model(seed=1)).model
    trainer.beta, trainer.ref_model = 0.04, reference
    train(attach(trainer, ON))
    assert logged(trainer, "stare/gate") == [1.0]


# --- the seam: these fail when TRL changes what STARE relies on


def test_canary_the_loss_honours_token_advantages(tmp_path: Path):
    """Without the probe of `attach`: poison one token's advantage, watch its gradient alone."""
    trainer = make(tmp_path, loss_type="bnpo")
    trainer.current_gradient_accumulation_steps = 1
    logprobs = torch.full((2, 4), -1.0, requires_grad=True)
    count = 3 if at_least(trl.__version__, "1.8") else 2
    out = (logprobs, torch.ones(2, 4), None)[:count]
    trainer._get_per_token_logps_and_entropies = lambda *a, **k: out
    ones = torch.ones(2, 4, dtype=torch.long)
    advantages = torch.ones(2, 4)
    advantages[1, 2] = 3.0
    batch = {"prompt_ids": ones, "prompt_mask": ones, "completion_ids": ones}
    batch |= {"completion_mask": ones, "advantages": advantages, "num_items_in_batch": ones.sum()}
    trainer._compute_loss(trainer.model, batch).backward()
    np.testing.assert_allclose(logprobs.grad, -advantages / 8, rtol=1e-6)


def test_canary_keys_and_shapes_of_the_generation_batch(tmp_path: Path):
    seen: list[dict[str, Any]] = []

    class Spy(GRPOTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
            seen.append(super()._generate_and_score_completions(inputs))
            return seen[-1]

    train(make(tmp_path, Spy, steps_per_generation=2, max_steps=1))
    (batch,) = seen
    shape = batch["completion_ids"].shape
    assert shape[0] == 16
    assert batch["advantages"].shape == (16,)
    assert batch["completion_mask"].shape == batch["old_per_token_logps"].shape == shape
    assert {"prompt_ids", "prompt_mask"} <= set(batch)


def test_poisoned_token_is_the_one_that_is_chosen(tmp_path: Path):
    """An adapter off by one would choose a neighbour of the token that the model finds unlikely."""
    rare = 5
    config = StareConfig(target_entropy=9.0, top_p_ratio=1e-9, reweight_w=2.0)
    seen: dict[str, Any] = {}

    class Poisoned(GRPOTrainer):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            out = list(super()._generate(*args, **kwargs))
            for row in out[1]:
                row[:] = [10] * 12
            out[1][2][7] = rare
            return tuple(out)

        def _calculate_rewards(self, *args: Any) -> torch.Tensor:
            return torch.tensor([[0.0], [0.0], [1.0], [0.0]] * 2)

        def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
            seen["advantages"], seen["ids"] = inputs["advantages"], inputs["completion_ids"]
            return super()._compute_loss(model, inputs)

    trainer = make(tmp_path, Poisoned, max_steps=1)
    with torch.no_grad():  # the head makes one id all but impossible, whatever the context
        head = trainer.model.lm_head
        head.weight[rare] = 0.0
        head.weight[10] = head.weight[10] * 0
        bias = torch.zeros(head.out_features)
        bias[rare] = -20.0
        head.bias = torch.nn.Parameter(bias)
    train(attach(trainer, config))
    A, ids = seen["advantages"], seen["ids"]
    (at,) = (ids == rare).nonzero().tolist()
    assert at[1] == 7
    base = A[at[0], 0]
    assert torch.allclose(A[at[0]], base * (1 + (torch.arange(12) == 7).float()))
    others = A[[i for i in range(len(A)) if i != at[0]]]
    assert torch.equal(others, others[:, :1].expand_as(others))


def test_truncated_completions_and_tool_output_are_no_candidates(tmp_path: Path):
    seen: dict[str, Any] = {}

    class Tools(StareGRPOTrainer):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            out = list(super()._generate(*args, **kwargs))
            out[2] = [[0 if 2 <= t < 5 else 1 for t in range(len(row))] for row in out[1]]
            return tuple(out)

        def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
            seen["batch"] = super()._generate_and_score_completions(inputs)
            return seen["batch"]

    trainer = make(
        tmp_path,
        Tools,
        extra={"stare": StareConfig(variant="C2", target_entropy=9.0, top_p_ratio=1.0)},
        mask_truncated_completions=True,
        per_device_train_batch_size=16,
        max_completion_length=24,
        max_steps=1,
    )
    train(trainer)
    batch = seen["batch"]
    mask = (batch["completion_mask"] * batch["tool_mask"]).bool()
    truncated = ~batch["completion_mask"].bool().any(1)
    assert 0 < truncated.sum() < 16
    assert not mask[:, 2:5].any()
    assert logged(trainer, "stare/n_tokens") == [mask.sum()]
    assert (batch["advantages"][~mask] == 0).all()


# --- checkpoints, metrics


def test_controller_is_in_the_checkpoint(tmp_path: Path):
    config = StareConfig(controller="pi", target_entropy=2.5)
    options = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4, "save_total_limit": 5}
    whole = attach(make(tmp_path / "a", **options), config)
    train(whole)
    state = json.loads((tmp_path / "a/checkpoint-2/stare_state.json").read_text())
    assert state["steps"] == 2
    resumed = attach(make(tmp_path / "b", **options), config)
    train(resumed, resume_from_checkpoint=str(tmp_path / "a/checkpoint-2"))
    assert resumed.stare.steps == 4
    assert logged(resumed, "stare/w")[:2] == logged(whole, "stare/w")[:2]
    (tmp_path / "a/checkpoint-2/stare_state.json").unlink()
    anew = attach(make(tmp_path / "c", **options), config)
    train(anew, resume_from_checkpoint=str(tmp_path / "a/checkpoint-2"))
    assert anew.stare.steps == 2


def test_gate_follows_the_exact_entropy_and_is_logged(tmp_path: Path):
    trainer = attach(make(tmp_path), StareConfig(target_entropy=2.2))
    train(trainer)
    entropies = logged(trainer, "stare/entropy")
    np.testing.assert_allclose(entropies, logged(trainer, "entropy"), rtol=1e-5)
    assert logged(trainer, "stare/gate") == [float(h < 2.2) for h in entropies]


def test_old_log_probs_cost_no_forward(tmp_path: Path):
    calls: list[bool] = []

    class Counting(GRPOTrainer):
        def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
            calls.append(kwargs.get("compute_entropy", False))
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)

    settings = {"steps_per_generation": 2, "max_steps": 2}
    trainer = attach(make(tmp_path, Counting, **settings), ON)
    train(trainer)
    assert len(calls) == 3
    assert all(calls)
    assert trainer._stare.sources == ("old", "exact")


# --- ranks


def test_two_ranks_are_one(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    launch(one, 1)
    launch(two, 2)
    a, b, other = (
        torch.load(path / f"rank{rank}") for path, rank in ((one, 0), (two, 0), (two, 1))
    )
    assert difference(b["parameters"], other["parameters"]) == 0.0
    assert difference(a["parameters"], b["parameters"]) < 1e-6
    assert difference(a["parameters"], a["plain"]) > 1e-4
    # Counts are of the whole batch, on every rank, and its entropy decides.
    assert a["counts"] == b["counts"] == other["counts"]
    np.testing.assert_allclose(a["entropies"], b["entropies"], rtol=1e-6)
    assert b["entropies"] == other["entropies"]


def test_bad_log_probs_of_one_rank_stop_both(tmp_path: Path):
    errors = launch(tmp_path, 2, "nan-on-rank-1", check=False)
    assert all("not finite or above zero on" in error for error in errors)


def launch(folder: Path, size: int, *words: str, check: bool = True) -> list[str]:
    """trl_rank.py on every rank of a gloo group."""
    folder.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(__file__).with_name("trl_rank.py")
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}
    common |= {"OMP_NUM_THREADS": "1", "WORLD_SIZE": str(size)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(folder), *words],
            env=os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        errors = [process.communicate(timeout=280)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if check:
        assert [p.returncode for p in processes] == [0] * size, errors
    return errors


# --- refusals and bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"importance_sampling_level": "sequence"}, "importance_sampling_level='token'"),
        (
            {"steps_per_generation": 1, "gradient_accumulation_steps": 2},
            "steps_per_generation = gradient",
        ),
    ],
)
def test_settings_that_would_do_nothing_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
):
    trainer = make(tmp_path, **settings)
    with pytest.raises(ConfigError, match=message):
        attach(trainer, ON)
    assert type(trainer) is GRPOTrainer


def test_sequence_ratios_without_gradient_are_not_refused(tmp_path: Path):
    trainer = make(
        tmp_path, importance_sampling_level="sequence", loss_type="cispo", epsilon_high=5.0
    )
    train(attach(trainer, ON))


def test_liger_loss_is_refused(tmp_path: Path):
    trainer = make(tmp_path)
    trainer.compute_liger_loss = lambda *_: None
    trainer.use_liger_kernel = True
    with pytest.raises(ConfigError, match="use_liger_kernel=False"):
        attach(trainer, ON)


@pytest.mark.parametrize("kind", ["per sequence", "mean over the sequence", "unreadable"])
def test_a_loss_that_loses_the_weights_is_refused(tmp_path: Path, kind: str):
    class Other(GRPOTrainer):
        def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
            A = inputs["advantages"]
            if kind == "unreadable":
                raise ValueError("another loss")
            inputs = dict(inputs, advantages=A[:, 0] if kind == "per sequence" else A.mean(1))
            return super()._compute_loss(model, inputs)

    with pytest.raises(ConfigError, match="token"):
        attach(make(tmp_path, Other), ON)
    attach(make(tmp_path, Other), ON, probe=False)


def test_probe_leaves_the_trainer_alone(tmp_path: Path):
    bonus = {"entropy_coef": 0.01} if hasattr(GRPOConfig, "entropy_coef") else {}
    trainer = make(tmp_path, **bonus)
    before = {name: id(value) for name, value in vars(trainer).items()}
    attach(trainer, ON)
    after = {name: id(value) for name, value in vars(trainer).items() if name != "_stare"}
    assert after == before
    assert not any(trainer._metrics.values())


def test_host_that_replaces_the_advantages_is_found_out(tmp_path: Path):
    class Normalising(GRPOTrainer):
        def _prepare_inputs(self, batch: Any) -> Any:
            inputs = super()._prepare_inputs(batch)
            A = inputs["advantages"]
            return inputs | {"advantages": A.mean(1) if A.dim() == 2 else A}

    with pytest.raises(ConfigError, match="not those that STARE made"):
        train(attach(make(tmp_path, Normalising), ON))


def test_microbatch_needs_a_forward_before_the_advantages(tmp_path: Path):
    class Early(GRPOTrainer):
        def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
            inputs["advantages"].mean()
            return super()._compute_loss(model, inputs)

    with pytest.raises(ConfigError, match="scope='batch'"):
        train(attach(make(tmp_path, Early), ON, scope="microbatch"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": StareConfig(selector="critical")}, "critical"),
        ({"config": {"variant": "O1"}}, "StareConfig"),
        ({"scope": "token"}, "scope"),
        ({"logprobs": "none"}, "logprobs"),
        ({"scope": "microbatch", "logprobs": "old"}, "leave logprobs"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, Any], message: str):
    trainer = make(tmp_path)
    with pytest.raises(ConfigError, match=message):
        attach(trainer, **{"config": ON} | options)
    assert type(trainer) is GRPOTrainer


def test_only_once_and_only_to_grpo(tmp_path: Path):
    trainer = attach(make(tmp_path), ON)
    with pytest.raises(ConfigError, match="already"):
        attach(trainer, ON)
    with pytest.raises(ConfigError, match="GRPOTrainer"):
        attach(object(), ON)


class Sampling(GRPOTrainer):
    """Log-probs as vLLM would hand them over."""

    poison: float | None = None
    everywhere = False

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        logprobs = torch.full(batch["completion_ids"].shape, -1.0)
        logprobs -= 0.01 * torch.arange(logprobs.numel()).reshape(logprobs.shape)
        if self.poison is not None:
            logprobs[slice(None) if self.everywhere else (0, 0)] = self.poison
        batch["sampling_per_token_logps"] = logprobs
        return batch


@pytest.mark.parametrize(
    ("poison", "message"), [(0.0, "zero on all"), (float("nan"), "finite"), (0.5, "above zero")]
)
def test_bad_log_probs_name_the_flag(tmp_path: Path, poison: float, message: str):
    trainer = make(tmp_path, Sampling)
    trainer.poison, trainer.everywhere = poison, True
    with pytest.raises(ArgumentError, match=message) as caught:
        train(attach(trainer, ON))
    assert "logprobs='forward'" in str(caught.value)


def test_single_nan_of_the_sampler_is_dropped_and_counted(tmp_path: Path):
    trainer = make(tmp_path, Sampling, max_steps=1)
    trainer.poison = float("nan")
    train(attach(trainer, ON))
    assert trainer._stare.sources == ("sampling", "sampled surprisal")
    assert logged(trainer, "stare/dropped_nonfinite") == [1.0]
    assert logged(trainer, "stare/entropy")[0] > 1.0


def test_missing_entropy(tmp_path: Path):
    token = StareConfig(gate="token", target_entropy=9.0)
    with pytest.raises(ArgumentError, match="logprobs='forward'"):
        train(attach(make(tmp_path, Sampling), token, logprobs="sampling"))
    with pytest.raises(ArgumentError, match="no old_per_token_logps"):
        train(attach(make(tmp_path), ON, logprobs="old"))
    trainer = attach(make(tmp_path, Sampling), token)
    train(trainer)
    assert trainer._stare.sources == ("forward", "exact")


@pytest.mark.parametrize(
    "config",
    [
        StareConfig(top_p_ratio=0.0),
        StareConfig(variant="O1", reweight_w=1.0),
        StareConfig(target_entropy=0.0),
    ],
)
def test_settings_of_ours_that_would_do_nothing_are_refused(tmp_path: Path, config: StareConfig):
    with pytest.raises(ConfigError, match="leave STARE out"):
        attach(make(tmp_path), config)
