"""When to reweight, and by how much: the closed loop around the batch's mean token entropy.

Pure Python: one float in, one small frozen value out, once per optimiser batch.

Three laws, chosen by `StareConfig`:

* fixed weights (default): reweight iff H < H_tgt, with W and M as configured;
* the sign rule (`adaptive=True`): the same gate, W and M move by `alpha` a step;
* the PI controller (`controller="pi"`): W = e^u, weights always applied, u = 0 is plain GRPO.

Source: arXiv 2606.19236 sections 4.3 and 4.4 for the first two, as the released code runs them
(the entropy of a batch decides that batch's own weights); the third is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["GateState", "TargetEntropyController"]

_MIN_TARGET = 1e-9
"""Nats. Floor of the PI error's denominator: a target of 0 means 'as low as it goes', not 1/0."""

_MIN_ERROR = -1e6
"""The relative error is at most 1; this bounds it below, so that no gain makes it inf or NaN."""

_UNWIND = 0.2
"""The integral may go below zero by this share of ln W_max: it leaves the rest at once when entropy
falls, but does not forget at the first overshoot that the loop was just above the target."""


@dataclass(frozen=True, slots=True)
class GateState:
    """What the controller decided for one batch.

    Example:
        >>> GateState(on=True, w=1.1, m=0.9, entropy=0.25, target=0.3).w
        1.1
    """

    on: bool
    """Whether the batch is reweighted. With `gate="sample"` or `"token"` it is always True: the
    comparison with `target` is then made for each sample or token where the weights are built."""
    w: float
    """Live amplification W, also while the gate is off."""
    m: float
    """Live attenuation M, also while the gate is off."""
    entropy: float
    """The entropy that decided, nats per token; NaN before the first finite one."""
    target: float = field(default=math.nan, kw_only=True)
    """The target in force, nats per token; NaN while a relative target has no reference yet."""


class TargetEntropyController:
    """Turns the entropy of each batch into a `GateState`.

    Before the first update `state` is that of the released code: the gate is on with the configured
    W and M (plain GRPO, W = M = 1, under the PI controller, which has no evidence yet).
    A non-finite entropy changes nothing but `ignored_nonfinite`; the previous state is returned.

    Args:
        config: the law, its constants and the target. `target_final` and `target_steps` anneal the
            target linearly: the first finite entropy meets `target_entropy`, the one `target_steps`
            later meets `target_final`. `target_relative` multiplies both by that first entropy.

    Attributes:
        steps: finite entropies seen.
        ignored_nonfinite: entropies that were NaN or infinite.
        alarms: finite entropies above `config.entropy_ceiling`.

    Example:
        >>> controller = TargetEntropyController(StareConfig(target_entropy=0.3))
        >>> [controller.update(h).on for h in (0.25, 0.35, float("nan"))]
        [True, False, False]
        >>> controller.ignored_nonfinite
        1
    """

    def __init__(self, config: StareConfig) -> None:
        self.config = config
        pi = config.controller == "pi"
        self.steps = 0
        self.ignored_nonfinite = 0
        self.alarms = 0
        self._integral = 0.0
        self._reference: float | None = None
        self._state = GateState(
            on=not pi or config.gate == "off",
            w=1.0 if pi else config.reweight_w,
            m=1.0 if pi else config.reweight_m,
            entropy=math.nan,
            target=math.nan if config.target_relative else config.target_entropy,
        )

    @property
    def state(self) -> GateState:
        """The decision of the last update that counted."""
        return self._state

    @property
    def target(self) -> float:
        """The target that the next entropy will meet, nats per token; NaN if not known yet."""
        config = self.config
        target = config.target_entropy
        if config.target_final is not None:
            progress = min(self.steps / config.target_steps, 1.0)
            target = (1.0 - progress) * target + progress * config.target_final
        if not config.target_relative:
            return target
        return math.nan if self._reference is None else target * self._reference

    def update(self, entropy: float) -> GateState:
        """Take the mean token entropy of a batch and decide that batch's weights.

        Args:
            entropy: nats per token over the loss mask of the global batch.

        Returns:
            The new state; the previous one where `entropy` is not finite.
        """
        entropy = float(entropy)
        if not math.isfinite(entropy):
            self.ignored_nonfinite += 1
            return self._state
        config = self.config
        if self._reference is None:
            self._reference = entropy
        target = self.target
        self.steps += 1
        if config.entropy_ceiling is not None and entropy > config.entropy_ceiling:
            self.alarms += 1
        if config.controller == "pi":
            w, m, on = self._proportional_integral(entropy, target)
        else:
            w, m, on = self._sign_rule(entropy, target)
        # A finer gate compares with the target itself, token by token or sample by sample.
        if config.gate == "off" or (config.gate != "batch" and config.controller == "gate"):
            on = True
        self._state = GateState(on=on, w=w, m=m, entropy=entropy, target=target)
        return self._state

    def _sign_rule(self, entropy: float, target: float) -> tuple[float, float, bool]:
        config, state = self.config, self._state
        w, m = state.w, state.m
        # As released: alpha = 0 leaves even weights outside [1, W_max] and [M_min, 1] alone.
        if config.adaptive and config.alpha != 0.0:
            step = config.alpha * ((target > entropy) - (target < entropy))
            w = _clip(w + step, 1.0, config.w_max)
            m = _clip(m - step, config.m_min, 1.0)
        return w, m, entropy < target

    def _proportional_integral(self, entropy: float, target: float) -> tuple[float, float, bool]:
        config = self.config
        top = math.log(config.w_max)
        error = _clip((target - entropy) / max(target, _MIN_TARGET), _MIN_ERROR, 1.0)
        self._integral = _clip(self._integral + config.ki * error, -_UNWIND * top, top)
        u = _clip(config.kp * error + self._integral, 0.0, top)
        # O1 has no attenuated quadrant; reporting M = 1 says so.
        m = 1.0 if config.variant == "O1" else max(config.m_min, math.exp(-u))
        return min(math.exp(u), config.w_max), m, u > 0.0

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next update depends on, as plain JSON values (NaN is None)."""
        state = self._state
        return {
            "on": state.on,
            "w": state.w,
            "m": state.m,
            "entropy": _none_if_nan(state.entropy),
            "target": _none_if_nan(state.target),
            "integral": self._integral,
            "reference": self._reference,
            "steps": self.steps,
            "ignored_nonfinite": self.ignored_nonfinite,
            "alarms": self.alarms,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`; nothing changes if any entry is bad.

        Weights that no rule moves are those of the configuration, so a resumed run may change them.

        Raises:
            ArgumentError: a key is missing, unknown or holds an impossible value.
        """
        for key in state:
            if key not in _CHECKS:
                raise ArgumentError(
                    f"unknown key {key!r} in the controller state, allowed: {', '.join(_CHECKS)}"
                )
        for key, (allowed, check) in _CHECKS.items():
            if key not in state:
                raise ArgumentError(f"controller state lacks the key {key!r}")
            if not check(state[key]):
                raise ArgumentError(
                    f"controller state: {key!r} must be {allowed}, got {state[key]!r}"
                )
        w, m = float(state["w"]), float(state["m"])
        if self.config.controller == "gate" and not (self.config.adaptive and self.config.alpha):
            w, m = self.config.reweight_w, self.config.reweight_m  # nothing moves them but these
        self._state = GateState(
            on=state["on"],
            w=w,
            m=m,
            entropy=_nan_if_none(state["entropy"]),
            target=_nan_if_none(state["target"]),
        )
        self._integral = float(state["integral"])
        self._reference = None if state["reference"] is None else float(state["reference"])
        self.steps = state["steps"]
        self.ignored_nonfinite = state["ignored_nonfinite"]
        self.alarms = state["alarms"]


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_positive(value: object) -> bool:
    return _is_finite(value) and value > 0  # type: ignore[operator]


def _is_finite_or_none(value: object) -> bool:
    return value is None or _is_finite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_CHECKS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "on": ("true or false", lambda value: isinstance(value, bool)),
    "w": ("a finite number > 0", _is_positive),
    "m": ("a finite number > 0", _is_positive),
    "entropy": ("a finite number or null", _is_finite_or_none),
    "target": ("a finite number or null", _is_finite_or_none),
    "integral": ("a finite number", _is_finite),
    "reference": ("a finite number or null", _is_finite_or_none),
    "steps": ("an integer >= 0", _is_count),
    "ignored_nonfinite": ("an integer >= 0", _is_count),
    "alarms": ("an integer >= 0", _is_count),
}
