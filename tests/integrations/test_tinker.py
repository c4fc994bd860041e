"""tinker-cookbook's real training data, weighed."""

from __future__ import annotations

import warnings

import pytest
import torch

from stare import StareConfig, TargetEntropyController
from stare.errors import ConfigError
from stare.integrations.tinker import weigh

pytestmark = pytest.mark.filterwarnings("ignore")

CONFIG = StareConfig(top_p_ratio=0.25, target_entropy=9.0)


@pytest.fixture(scope="module")
def data():
    """Two groups of two trajectories, the first with two turns, through the real assembly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tinker = pytest.importorskip("tinker", reason="tinker is not installed")
        processing = pytest.importorskip(
            "tinker_cookbook.rl.data_processing", reason="tinker-cookbook is not installed"
        )
        from tinker_cookbook.completers import TokensWithLogprobs
        from tinker_cookbook.rl.types import Trajectory, TrajectoryGroup, Transition

    generator = torch.Generator().manual_seed(0)

    def transition(seen, tokens):
        draws = (-torch.rand(len(tokens), generator=generator) * 3).tolist()
        return Transition(
            ob=tinker.ModelInput.from_ints(seen),
            ac=TokensWithLogprobs(tokens=tokens, maybe_logprobs=draws),
            reward=0.0,
            episode_done=True,
        )

    two = [transition([1, 2], [3, 4, 5]), transition([1, 2, 3, 4, 5, 9, 9], [6, 7])]
    trajectories = [
        Trajectory(transitions=two, final_ob=tinker.ModelInput.empty()),
        *(
            Trajectory(transitions=[transition([1], [7] * n)], final_ob=tinker.ModelInput.empty())
            for n in (3, 4, 5)
        ),
    ]
    groups = [
        TrajectoryGroup(trajectories[i : i + 2], [0.0, 0.0], [{}, {}]) for i in range(0, 4, 2)
    ]
    advantages = [torch.tensor([1.0, -1.0]), torch.tensor([0.5, -0.5])]
    return processing.assemble_training_data(groups, advantages)[0]


def column(datum, name):
    return datum.loss_fn_inputs[name].to_torch()


def test_the_rarest_action_tokens_are_weighed_and_nothing_else(data):
    before = [(str(d), column(d, "advantages").tolist()) for d in data]
    controller = TargetEntropyController(CONFIG)
    out, metrics = weigh(data, controller)
    assert [(str(d), column(d, "advantages").tolist()) for d in data] == before
    logprobs = torch.cat([column(d, "logprobs") for d in data])
    plain = torch.cat([column(d, "advantages") for d in data])
    mask = torch.cat([column(d, "mask") for d in data])
    got = torch.cat([column(d, "advantages") for d in out])
    candidates = torch.nonzero((plain > 0) & (mask > 0)).flatten()
    top = candidates[logprobs[candidates].argsort(stable=True)][: -(-len(candidates) // 4)]
    want = plain.clone()
    want[top] *= 1.1
    assert torch.allclose(got, want)
    assert set(torch.nonzero(got != plain).flatten().tolist()) == set(top.tolist())
    assert metrics["stare/n_tokens"] == int(mask.sum())
    mean = float(-(logprobs.double() * mask.double()).sum() / mask.double().sum())
    assert metrics["stare/entropy"] == pytest.approx(mean)
    for name in ("logprobs", "mask", "target_tokens"):
        for a, b in zip(data, out, strict=True):
            assert torch.equal(column(a, name), column(b, name))


def test_a_token_gate_is_refused(data):
    with pytest.raises(ConfigError, match="gate='batch'"):
        weigh(data, TargetEntropyController(StareConfig(gate="token")))
