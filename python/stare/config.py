"""Configuration of the selector, the gate and the loss: frozen, validated, free of torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from stare.errors import ConfigError

__all__ = ["LossConfig", "StareConfig"]

Gate = Literal["batch", "sample", "token", "off"]
Selector = Literal["quantile", "critical", "threshold"]
Controller = Literal["gate", "pi"]
Aggregation = Literal["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "constant-length"]

VARIANTS = ("O1", "O2", "O3", "O4", "C1", "C2", "C3", "C4")


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def _interval(name: str, value: float, low: float, high: float, *, open_low: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{name} must be a number, got {value!r}")
    ok = math.isfinite(value) and (value > low if open_low else value >= low) and value <= high
    if not ok:
        left = "(" if open_low else "["
        right = ")" if math.isinf(high) else "]"
        raise ConfigError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StareConfig:
    """Which tokens STARE reweights, by how much, and when.

    Field names are those of the released code, so its settings carry over, also those that the
    chosen controller or selector does not read. Defaults are the
    paper's main setting (arXiv 2606.19236, section 4; `docs/paper-map.md`).

    Raises:
        ConfigError: a value is out of range; the message names the field and the range.

    Example:
        >>> StareConfig(variant="C2", reweight_w=1.05).top_p_ratio
        0.1
        >>> StareConfig(top_p_ratio=1.2)
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: top_p_ratio must lie in [0, 1], got 1.2
    """

    variant: str = "O1"
    """Which quadrants are reweighted: O1 (amplify L+), C2 (O1 and attenuate L-), or an ablation."""
    top_p_ratio: float = 0.1
    """Share P of the tokens of each advantage sign selected; read as its shortest decimal."""
    reweight_w: float = 1.1
    """Weight W > 0 of tokens whose update raises entropy; the paper amplifies, W > 1."""
    reweight_m: float = 0.9
    """Weight M > 0 of tokens whose update lowers entropy; the paper attenuates, M < 1."""
    target_entropy: float = 0.3
    """H_tgt, nats per token; a multiple of the first batch's entropy if `target_relative`."""
    gate: Gate = "batch"
    """Granularity of 'entropy is below the target'; `off` reweights always (open loop)."""
    selector: Selector = "quantile"
    """`quantile`: top P by surprisal; `critical`: exactly s > s*; `threshold`: pi < tau."""
    adaptive: bool = False
    """The paper's sign rule: W and M move by `alpha` a step."""
    alpha: float = 0.01
    """Step of the sign rule."""
    w_max: float = 1.5
    """Upper bound of W under the sign rule and the PI controller."""
    m_min: float = 0.5
    """Lower bound of M under the sign rule and the PI controller."""
    controller: Controller = "gate"
    """`gate`: the paper's on/off gate; `pi`: our PI controller in log-weight space."""
    kp: float = 4.0
    """Proportional gain of the PI controller."""
    ki: float = 0.2
    """Integral gain of the PI controller, per step."""
    threshold: float = 0.2
    """Probability tau of the `threshold` selector: tokens with pi < tau are selected."""
    target_relative: bool = False
    """Read `target_entropy` (and `target_final`) as multiples of the first finite batch entropy."""
    target_final: float | None = None
    """Anneal the target linearly to this value over `target_steps` steps."""
    target_steps: int = 0
    """Length of the annealing, in updates of the controller."""
    entropy_ceiling: float | None = None
    """Count and report steps whose entropy exceeds this (nats); None switches the alarm off."""

    def __post_init__(self) -> None:
        _choice("variant", self.variant, VARIANTS)
        _choice("gate", self.gate, ("batch", "sample", "token", "off"))
        _choice("selector", self.selector, ("quantile", "critical", "threshold"))
        _choice("controller", self.controller, ("gate", "pi"))
        _interval("top_p_ratio", self.top_p_ratio, 0.0, 1.0)
        _interval("reweight_w", self.reweight_w, 0.0, math.inf, open_low=True)
        _interval("reweight_m", self.reweight_m, 0.0, math.inf, open_low=True)
        _interval("target_entropy", self.target_entropy, 0.0, math.inf)
        _interval("alpha", self.alpha, 0.0, math.inf)
        _interval("w_max", self.w_max, 1.0, math.inf)
        _interval("m_min", self.m_min, 0.0, 1.0, open_low=True)
        _interval("kp", self.kp, 0.0, math.inf)
        _interval("ki", self.ki, 0.0, math.inf)
        _interval("threshold", self.threshold, 0.0, 1.0, open_low=True)
        if self.controller == "pi" and self.adaptive:
            raise ConfigError(
                "adaptive=True and controller='pi' both move W and M\n"
                "hint: keep one: controller='gate' (sign rule) or adaptive=False (PI controller)"
            )
        if (self.target_final is None) != (self.target_steps == 0):
            raise ConfigError(
                "target_final and target_steps go together, got "
                f"target_final={self.target_final!r}, target_steps={self.target_steps!r}"
            )
        if self.target_steps < 0:
            raise ConfigError(f"target_steps must be >= 0, got {self.target_steps!r}")
        if self.target_final is not None:
            _interval("target_final", self.target_final, 0.0, math.inf)
        if self.entropy_ceiling is not None:
            _interval("entropy_ceiling", self.entropy_ceiling, 0.0, math.inf, open_low=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossConfig:
    """The clipped surrogate; defaults are GRPO-ds (arXiv 2606.19236, section 5).

    Raises:
        ConfigError: a value is out of range; the message names the field and the range.
    """

    clip_low: float = 0.2
    """Lower clip: the ratio is clipped at 1 - clip_low."""
    clip_high: float = 0.28
    """Upper clip: the ratio is clipped at 1 + clip_high (clip-higher)."""
    dual_clip: float | None = 10.0
    """c > 1 bounds the loss of negative advantages at c times |A|; None switches it off."""
    aggregation: Aggregation = "token-mean"
    """How token losses become one number; always normalised by the global batch."""
    max_length: int | None = None
    """The constant that `constant-length` divides by (tokens per sequence)."""
    kl_coef: float = 0.0
    """beta of the KL term against the reference policy."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    """Per-token KL estimator."""
    entropy_coef: float = 0.0
    """Coefficient of the entropy bonus."""
    is_correction: Literal["none", "token", "sequence"] = "none"
    """Truncated importance sampling between the sampler and the trainer."""
    is_cap: float = 2.0
    """Upper bound of the importance weight."""

    def __post_init__(self) -> None:
        _choice(
            "aggregation",
            self.aggregation,
            ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "constant-length"),
        )
        _choice("kl_estimator", self.kl_estimator, ("k1", "k2", "k3"))
        _choice("is_correction", self.is_correction, ("none", "token", "sequence"))
        _interval("clip_low", self.clip_low, 0.0, 1.0)
        _interval("clip_high", self.clip_high, 0.0, math.inf)
        _interval("kl_coef", self.kl_coef, 0.0, math.inf)
        _interval("entropy_coef", self.entropy_coef, 0.0, math.inf)
        _interval("is_cap", self.is_cap, 0.0, math.inf, open_low=True)
        if self.dual_clip is not None:
            _interval("dual_clip", self.dual_clip, 1.0, math.inf, open_low=True)
        if (self.aggregation == "constant-length") != (self.max_length is not None):
            raise ConfigError(
                "max_length goes with aggregation='constant-length', got "
                f"aggregation={self.aggregation!r}, max_length={self.max_length!r}"
            )
        if self.max_length is not None and self.max_length < 1:
            raise ConfigError(f"max_length must be >= 1, got {self.max_length!r}")
