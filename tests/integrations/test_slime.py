"""slime's real `compute_advantages_and_returns`, Megatron stubbed, then our hook; 1 and 2 ranks."""

from __future__ import annotations

import socket
import warnings
from argparse import Namespace

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from stare.errors import ArgumentError, ConfigError
from stare.integrations import slime as ours

pytestmark = pytest.mark.filterwarnings("ignore")

LENGTHS = (4, 6, 3, 5)
SECTION = {"top_p_ratio": 0.25, "target_entropy": 9.0}


def loss_module():
    from stub_modules import stub

    stub("megatron", "ray", "sglang", "sglang_router", "mbridge", "transformer_engine")
    from megatron.core import mpu

    mpu.is_pipeline_last_stage = lambda: True
    mpu.get_context_parallel_world_size = lambda: 1
    mpu.get_context_parallel_rank = lambda: 0
    mpu.get_data_parallel_group = lambda with_context_parallel: dist.group.WORLD
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = "slime.backends.megatron_utils.loss"
        return pytest.importorskip(name, reason="slime is not installed")


def arguments(**changes) -> Namespace:
    values = {
        "advantage_estimator": "grpo",
        "custom_advantage_function_path": None,
        "kl_coef": 0.0,
        "normalize_advantages": False,
        "stare": SECTION,
        "use_opd": False,
        "use_rollout_logprobs": False,
    }
    return Namespace(**(values | changes))


def rollout(rows=range(4)):
    generator = torch.Generator().manual_seed(0)
    logprobs = [-torch.rand(n, generator=generator) * 3 for n in LENGTHS]
    masks = [torch.ones(n, dtype=torch.int32) for n in LENGTHS]
    masks[1][2:4] = 0
    rewards = [0.7, -0.7, 0.5, -0.5]
    return {
        "log_probs": [logprobs[i] for i in rows],
        "loss_masks": [masks[i] for i in rows],
        "rewards": [rewards[i] for i in rows],
        "response_lengths": [LENGTHS[i] for i in rows],
        "total_lengths": [LENGTHS[i] + 2 for i in rows],
    }


def step(args, rows=range(4)):
    data = rollout(rows)
    loss_module().compute_advantages_and_returns(args, data)
    plain = [row.clone() for row in data["advantages"]]
    ours.weigh(args, 3, data)
    return plain, data


@pytest.fixture
def group(tmp_path):
    loss_module()
    ours._CONTROLLERS.clear()
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/s", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_the_real_estimator_is_followed_by_the_weights(group):
    plain, data = step(arguments())
    changed = [a != b for a, b in zip(data["advantages"], plain, strict=True)]
    candidates = torch.cat([data["log_probs"][0], data["log_probs"][2]])
    threshold = candidates.sort().values[1]  # the top ceil(7 / 4) = 2 by surprisal
    for i in (0, 2):
        assert torch.equal(changed[i], data["log_probs"][i] <= threshold)
        assert torch.allclose(data["advantages"][i][changed[i]], plain[i][changed[i]] * 1.1)
    assert not changed[1].any()
    assert not changed[3].any()
    assert all(torch.equal(a, b) for a, b in zip(data["returns"], plain, strict=True))


def test_the_gate_is_among_slimes_own_metrics(group, monkeypatch):
    from slime.observability import train_metric_utils

    logged = {}
    monkeypatch.setattr(
        train_metric_utils, "gather_log_data", lambda _, __, ___, found: logged.update(found)
    )
    args = arguments(
        log_multi_turn=False, log_passrate=False, log_correct_samples=False, ci_test=False
    )
    _, data = step(args)
    data["global_batch_sizes"] = [4]
    with monkeypatch.context() as patch:
        from megatron.core import mpu

        patch.setattr(mpu, "get_tensor_model_parallel_rank", lambda: 0)
        patch.setattr(mpu, "is_pipeline_last_stage", lambda: True)
        patch.setattr(mpu, "get_data_parallel_world_size", lambda **_: 1)
        patch.setattr(mpu, "get_context_parallel_world_size", lambda: 1)
        patch.setattr(
            train_metric_utils, "rollout_log_metric_contribution", lambda *_, **__: (0, 1)
        )
        train_metric_utils.log_rollout_data(0, args, data)
    assert logged["stare_gate"] == (1.0, 1)
    assert logged["stare_selected_positive_high"] == (2.0, 1)
    assert logged["stare_entropy"][0] > 0


def test_missing_log_probs_name_the_flag(group):
    data = rollout()
    loss_module().compute_advantages_and_returns(arguments(), data)
    data["log_probs"] = None
    with pytest.raises(ArgumentError, match="--use-rollout-logprobs"):
        ours.weigh(arguments(), 0, data)


def test_what_cannot_work_is_refused(group):
    data = rollout()
    loss_module().compute_advantages_and_returns(arguments(), data)
    with pytest.raises(ConfigError, match="--advantage-estimator grpo"):
        ours.weigh(arguments(advantage_estimator="gspo"), 0, data)
    with pytest.raises(ConfigError, match=r"did you mean stare\.variant"):
        ours.weigh(arguments(stare={"varient": "C2"}), 0, data)
    with pytest.raises(ConfigError, match="gate: batch"):
        ours.weigh(arguments(stare={"gate": "token"}), 0, data)


def _rank(rank, port, queue):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    _, data = step(arguments(), (0, 1) if rank == 0 else (2, 3))
    queue.put((rank, [row.tolist() for row in data["advantages"]]))
    dist.destroy_process_group()


def test_two_ranks_select_what_one_does(group):
    _, whole = step(arguments())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = mp.get_context("spawn")
    queue = context.Queue()
    ranks = [context.Process(target=_rank, args=(r, port, queue)) for r in range(2)]
    for process in ranks:
        process.start()
    parts = dict(queue.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join()
    assert parts[0] + parts[1] == [row.tolist() for row in whole["advantages"]]
