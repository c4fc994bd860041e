"""The arms of the demonstration, as data: a name, what it is, and the settings that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ARMS", "FULL", "QUICK", "Arm", "Plan", "Run"]

Settings = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way of training."""

    name: str
    label: str
    """One line for tables."""
    settings: Settings
    """Configuration keys that differ from the preset (which is STARE C2 with the PI controller)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training run of a plan."""

    name: str
    preset: str
    arm: Arm
    seed: int
    settings: Settings

    def overrides(self) -> list[str]:
        """`key=value` arguments for `stare-train`."""
        merged = {**self.arm.settings, **self.settings, "run.seed": self.seed}
        return [f"{k}={_toml(v)}" for k, v in merged.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs of one command."""

    tasks: Mapping[str, int]
    """Preset -> steps."""
    arms: tuple[str, ...]
    seeds: tuple[int, ...]

    def runs(self) -> list[Run]:
        """Every run, the longest first, so that two workers finish at about the same time."""
        return [
            Run(
                name=f"{preset.removeprefix('demo-')}-{arm}-s{seed}",
                preset=preset,
                arm=ARMS[arm],
                seed=seed,
                settings={"run.steps": steps},
            )
            for preset, steps in sorted(self.tasks.items(), key=lambda item: -item[1])
            for seed in self.seeds
            for arm in self.arms
        ]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


_FIXED = {"stare.controller": "gate"}

ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm(name="grpo-ds", label="GRPO-ds (no STARE)", settings={"stare.enabled": False}),
        Arm(name="stare-pi", label="STARE C2, PI controller", settings={}),
        Arm(
            name="stare-o1",
            label="STARE O1, gate, W=1.5",
            settings=_FIXED | {"stare.variant": "O1", "stare.reweight_w": 1.5},
        ),
        Arm(
            name="stare-c2",
            label="STARE C2, gate, W=1.5 M=.67",
            settings=_FIXED | {"stare.reweight_w": 1.5, "stare.reweight_m": 0.67},
        ),
        Arm(
            name="sign-rule",
            label="STARE C2, sign rule",
            settings=_FIXED
            | {
                "stare.adaptive": True,
                "stare.alpha": 0.02,
                "stare.w_max": 4.0,
                "stare.m_min": 0.25,
            },
        ),
        Arm(
            name="open-loop",
            label="STARE C2, no gate, W=1.5 M=.67",
            settings=_FIXED
            | {"stare.gate": "off", "stare.reweight_w": 1.5, "stare.reweight_m": 0.67},
        ),
    )
}

QUICK = Plan(tasks={"demo-mod5": 1500}, arms=("grpo-ds", "stare-pi"), seeds=(0,))
FULL = Plan(
    tasks={"demo-mod5": 2500, "demo-exact": 400, "demo-tol3": 400},
    arms=tuple(ARMS),
    seeds=(0, 1, 2),
)
