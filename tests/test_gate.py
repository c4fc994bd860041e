"""The closed loop: golden traces of the released code, the PI law against its formula, edges."""

from __future__ import annotations

import ast
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stare.algo import gate as gate_module
from stare.algo.gate import GateState, TargetEntropyController
from stare.config import StareConfig
from stare.errors import ArgumentError, ConfigError

SHARED = Path(os.environ.get("STARE_SHARED", Path(__file__).parents[2] / "shared"))
GOLDEN = SHARED / "golden" / "official_stare.json"

ENTROPIES = st.lists(
    st.one_of(st.floats(0.0, 2.0), st.sampled_from([math.nan, math.inf, -math.inf, 0.3])),
    min_size=1,
    max_size=40,
)
CONFIGS = st.builds(
    StareConfig,
    variant=st.sampled_from(["O1", "C2"]),
    target_entropy=st.sampled_from([0.0, 0.2, 0.3, 1.0]),
    gate=st.sampled_from(["batch", "sample", "token", "off"]),
    w_max=st.sampled_from([1.0, 1.5, 6.0]),
    m_min=st.sampled_from([0.2, 0.5, 1.0]),
    kp=st.sampled_from([0.0, 1.0, 4.0]),
    ki=st.sampled_from([0.0, 0.05, 0.2]),
    controller=st.sampled_from(["gate", "pi"]),
    target_relative=st.booleans(),
    entropy_ceiling=st.sampled_from([None, 0.5]),
) | st.builds(
    StareConfig,
    adaptive=st.just(True),
    alpha=st.sampled_from([0.0, 0.01, 0.05]),
    target_entropy=st.sampled_from([0.2, 0.3]),
    target_final=st.just(0.1),
    target_steps=st.integers(1, 20),
)


@pytest.mark.skipif(not GOLDEN.exists(), reason=f"no recorded outputs at {GOLDEN}")
def test_traces_of_the_released_controller_are_equal() -> None:
    traces = json.loads(GOLDEN.read_text())["controller"]
    assert len(traces) == 20
    compared = 0
    for trace in traces:
        controller = TargetEntropyController(StareConfig(**trace["config"]))
        for step in trace["steps"]:
            entropy = math.nan if step["entropy"] is None else step["entropy"]
            state = controller.update(entropy)
            assert (state.on, state.w, state.m) == (step["gate_on"], step["W"], step["M"])
            compared += 1
    assert compared == 800


def naive_pi(config: StareConfig, entropies: list[float]) -> list[tuple[float, float, bool]]:
    """The formula of method.md section 7, word by word, for a positive target and a C2 variant."""
    integral, out = 0.0, []
    for h in entropies:
        e = (config.target_entropy - h) / config.target_entropy
        integral = min(
            max(integral + config.ki * e, -0.2 * math.log(config.w_max)), math.log(config.w_max)
        )
        u = min(max(config.kp * e + integral, 0.0), math.log(config.w_max))
        out.append((math.exp(u), max(config.m_min, math.exp(-u)), u > 0.0))
    return out


@settings(deadline=None)
@given(
    st.lists(st.floats(0.0, 3.0), min_size=1, max_size=60),
    st.floats(0.05, 2.0),
    st.floats(1.0, 8.0),
    st.floats(0.0, 8.0),
    st.floats(0.0, 1.0),
)
def test_pi_follows_its_formula(
    entropies: list[float], target: float, w_max: float, kp: float, ki: float
) -> None:
    config = StareConfig(
        variant="C2", controller="pi", target_entropy=target, w_max=w_max, m_min=0.2, kp=kp, ki=ki
    )
    controller = TargetEntropyController(config)
    for h, (w, m, on) in zip(entropies, naive_pi(config, entropies), strict=True):
        state = controller.update(h)
        assert state.w == pytest.approx(w, rel=1e-12)
        assert state.m == pytest.approx(m, rel=1e-12)
        assert state.on == on


@settings(deadline=None)
@given(CONFIGS, ENTROPIES)
def test_weights_stay_in_their_bounds_and_nothing_is_nan(
    config: StareConfig, entropies: list[float]
) -> None:
    controller = TargetEntropyController(config)
    for h in entropies:
        state = controller.update(h)
        moving = config.controller == "pi" or (config.adaptive and config.alpha > 0)
        if moving and controller.steps:
            assert 1.0 <= state.w <= config.w_max
            assert config.m_min <= state.m <= 1.0
        elif not moving:
            assert (state.w, state.m) == (config.reweight_w, config.reweight_m)
        if config.gate == "off":
            assert state.on
        elif config.controller == "gate" and config.gate == "batch" and controller.steps:
            assert state.on == (state.entropy < state.target)
        assert state.w * state.m > 0.0  # false for NaN
    assert controller.steps == sum(map(math.isfinite, entropies))
    assert controller.steps + controller.ignored_nonfinite == len(entropies)


@settings(deadline=None)
@given(CONFIGS, ENTROPIES)
def test_a_nonfinite_entropy_changes_nothing_but_its_count(
    config: StareConfig, entropies: list[float]
) -> None:
    noisy, clean = TargetEntropyController(config), TargetEntropyController(config)
    for h in entropies:
        before = noisy.state
        state = noisy.update(h)
        if math.isfinite(h):
            clean.update(h)
        else:
            assert state is before
        assert noisy.state == clean.state
    assert noisy.alarms == clean.alarms
    assert {**noisy.state_dict(), "ignored_nonfinite": 0} == clean.state_dict()


@settings(deadline=None)
@given(CONFIGS, ENTROPIES, ENTROPIES)
def test_state_dict_round_trip_continues_bit_for_bit(
    config: StareConfig, before: list[float], after: list[float]
) -> None:
    straight, resumed = TargetEntropyController(config), TargetEntropyController(config)
    for h in before:
        straight.update(h)
    resumed.load_state_dict(json.loads(json.dumps(straight.state_dict(), allow_nan=False)))
    assert resumed.state == straight.state
    for h in after:
        assert resumed.update(h) == straight.update(h)
    assert resumed.state_dict() == straight.state_dict()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("on", 1),
        ("w", 0.0),
        ("w", "1.1"),
        ("m", math.nan),
        ("entropy", math.inf),
        ("target", True),
        ("integral", None),
        ("reference", "x"),
        ("steps", -1),
        ("steps", 1.5),
        ("ignored_nonfinite", True),
        ("alarms", None),
    ],
)
def test_bad_state_names_the_key_and_changes_nothing(key: str, value: object) -> None:
    controller = TargetEntropyController(StareConfig())
    controller.update(0.1)
    before = controller.state_dict()
    for bad in ({**before, "w": 1.2, key: value}, {k: v for k, v in before.items() if k != key}):
        with pytest.raises(ArgumentError, match=repr(key)):
            controller.load_state_dict(bad)
        assert controller.state_dict() == before
    with pytest.raises(ArgumentError, match="'extra'"):
        controller.load_state_dict({**before, "extra": 1})


def test_state_before_any_update() -> None:
    assert TargetEntropyController(StareConfig()).state.on
    plain = TargetEntropyController(StareConfig(controller="pi", variant="C2")).state
    assert (plain.on, plain.w, plain.m) == (False, 1.0, 1.0)
    assert math.isnan(TargetEntropyController(StareConfig(target_relative=True)).state.target)


def test_target_is_annealed_linearly_and_may_be_relative() -> None:
    config = StareConfig(target_entropy=0.9, target_final=0.1, target_steps=4, target_relative=True)
    controller = TargetEntropyController(config)
    controller.update(math.nan)
    targets = [controller.update(h).target for h in (2.0, 9.0, 9.0, math.inf, 9.0, 9.0, 9.0)]
    assert targets == pytest.approx([1.8, 1.4, 1.0, 1.0, 0.6, 0.2, 0.2])


def test_pi_reports_no_attenuation_for_o1() -> None:
    state = TargetEntropyController(StareConfig(controller="pi")).update(0.0)
    assert state.w > 1.0
    assert state.m == 1.0


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1e308), min_size=1, max_size=5), st.sampled_from([0.0, 4.0]))
def test_pi_with_target_zero_is_plain_grpo(entropies: list[float], kp: float) -> None:
    config = StareConfig(controller="pi", variant="C2", target_entropy=0.0, kp=kp)
    controller = TargetEntropyController(config)
    for h in entropies:
        state = controller.update(h)
        assert (state.on, state.w, state.m) == (False, 1.0, 1.0)


def test_sign_rule_without_a_step_leaves_weights_outside_its_bounds_alone() -> None:
    """As released: the bounds apply to what the rule moves."""
    config = StareConfig(adaptive=True, alpha=0.0, reweight_w=3.0, reweight_m=0.1)
    state = TargetEntropyController(config).update(0.1)
    assert (state.w, state.m) == (3.0, 0.1)


def test_alarm_counts_entropy_above_the_ceiling() -> None:
    controller = TargetEntropyController(StareConfig(entropy_ceiling=1.0))
    for h in (0.5, 1.0, 1.5, math.inf, 2.0):
        controller.update(h)
    assert controller.alarms == 2


def test_pi_holds_a_leaky_plant_that_a_fixed_weight_does_not() -> None:
    """A toy plant whose entropy drifts as ln(W / W*): fixed W < W* sags, PI finds W*."""
    w_star, finals = 2.0, {}
    for name, config in {
        "fixed": StareConfig(target_entropy=0.25, reweight_w=1.1),
        "pi": StareConfig(target_entropy=0.25, controller="pi", w_max=6.0),
    }.items():
        controller, h = TargetEntropyController(config), 0.3
        for _ in range(400):
            state = controller.update(h)
            h *= math.exp(0.02 * math.log((state.w if state.on else 1.0) / w_star))
        finals[name] = h
    assert finals["fixed"] < 0.1
    assert finals["pi"] == pytest.approx(0.25, rel=0.02)


def test_gate_state_is_frozen_and_its_module_needs_no_torch() -> None:
    with pytest.raises(AttributeError):
        GateState(on=True, w=1.0, m=1.0, entropy=0.3).w = 2.0  # type: ignore[misc]
    tree = ast.parse(Path(gate_module.__file__).read_text())
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert not {name for name in imported if name.split(".")[0] in ("torch", "numpy")}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_p_ratio": -0.1}, r"top_p_ratio must lie in \[0, 1\], got -0.1"),
        ({"top_p_ratio": math.nan}, "got nan"),
        ({"reweight_w": 0.0}, r"reweight_w must lie in \(0, inf\), got 0.0"),
        ({"reweight_m": "0.9"}, "reweight_m must be a number, got '0.9'"),
        ({"kp": True}, "kp must be a number, got True"),
        ({"target_entropy": -0.1}, "target_entropy must lie"),
        ({"controller": "pid"}, "controller must be one of gate, pi, got 'pid'"),
        ({"controller": "pi", "adaptive": True}, "both move W and M\nhint"),
        ({"target_final": 0.1}, "go together"),
        ({"target_steps": 10}, "go together"),
        ({"target_final": 0.1, "target_steps": -1}, "target_steps must be >= 0, got -1"),
        ({"entropy_ceiling": 0.0}, "entropy_ceiling must lie"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StareConfig(**settings)


def test_weights_that_no_rule_moves_are_those_of_the_configuration_after_a_resume() -> None:
    before = TargetEntropyController(StareConfig(reweight_w=1.1))
    before.update(0.1)
    after = TargetEntropyController(StareConfig(reweight_w=1.4))
    after.load_state_dict(before.state_dict())
    assert after.state.w == 1.4
    assert after.update(0.1).w == 1.4
    moving = TargetEntropyController(StareConfig(adaptive=True, alpha=0.01, reweight_w=1.1))
    moving.update(0.1)
    other = TargetEntropyController(StareConfig(adaptive=True, alpha=0.01, reweight_w=1.4))
    other.load_state_dict(moving.state_dict())
    assert other.state.w == moving.state.w != 1.4
