"""Config and gate resolved into what a selection needs, before any array is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stare.algo.rules import MAX_RULES, Rule, rules_for
from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["GateLike", "Plan", "plan_for"]


class GateLike(Protocol):
    """What is read of a `GateState`; its `target`, if it has a finite one, is read too."""

    @property
    def on(self) -> bool:
        """Batch entropy is below the target."""

    @property
    def w(self) -> float:
        """Live amplification."""

    @property
    def m(self) -> float:
        """Live attenuation."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Rules, selector and gate of one call."""

    rules: tuple[Rule, ...]
    selector: str
    threshold: float
    granularity: str
    """`batch` (everywhere or nowhere, by `on`), `sample` or `token`."""
    on: bool
    target: float
    """Target entropy of the `sample` and `token` granularities, nats."""
    w: float
    m: float

    @property
    def needs_concentration(self) -> bool:
        """Whether H and C of every token must be given."""
        return self.selector == "critical"

    @property
    def signature(self) -> int:
        """24 bits that shards compare, so that different settings are found out."""
        text = repr(
            (self.rules, self.selector, self.threshold, self.granularity, self.on, self.target)
        )
        digest = 0
        for byte in text.encode():
            digest = (digest * 1_000_003 + byte) % (1 << 24)
        return digest


def plan_for(
    config: StareConfig,
    gate: GateLike | bool | None,
    rules: Sequence[Rule] | None = None,
) -> Plan:
    """Resolve a call's settings.

    `gate`: None is on with the config's W and M; True or False is on or off with them; else a
    `GateState`, whose `on` counts at `batch` granularity only. False switches every granularity
    off; `off` granularity (open loop) ignores the state's `on`.

    Raises:
        ArgumentError: a gate without `on`, `w` and `m`, or more than eight rules.
    """
    if not isinstance(config, StareConfig):
        raise ArgumentError(f"config must be a StareConfig, got {type(config).__name__}")
    w, m, on = config.reweight_w, config.reweight_m, True
    target, closed = math.nan, False
    if isinstance(gate, bool | np.bool_):
        on = closed = bool(gate)
        closed = not on
    elif gate is not None:
        if not all(hasattr(gate, name) for name in ("on", "w", "m")):
            raise ArgumentError(
                f"gate must be a GateState, a bool or None, got {type(gate).__name__}\n"
                "hint: pass the result of TargetEntropyController.update"
            )
        on, w, m = bool(gate.on), float(gate.w), float(gate.m)
        target = float(getattr(gate, "target", math.nan))
    granularity = config.gate
    if granularity == "off":
        granularity, on = "batch", not closed
    elif granularity in ("sample", "token"):
        on = not closed
        if not math.isfinite(target):
            if config.target_relative:
                raise ArgumentError(
                    f"gate={config.gate!r} with target_relative needs a gate with a target\n"
                    "hint: pass the GateState of a TargetEntropyController"
                )
            target = config.target_entropy
        if closed:
            granularity = "batch"
    chosen = tuple(rules) if rules is not None else rules_for(config, w, m)
    if len(chosen) > MAX_RULES:
        raise ArgumentError(f"at most {MAX_RULES} rules are allowed, got {len(chosen)}")
    return Plan(
        rules=chosen,
        selector=config.selector,
        threshold=config.threshold,
        granularity=granularity,
        on=on,
        target=target if granularity != "batch" else math.nan,
        w=w,
        m=m,
    )
