"""STARE in verl: a plugin that verl loads by itself, switched on by `+stare.enabled=true`.

    python -m verl.trainer.main_ppo ... +stare.enabled=true +stare.variant=O1

verl >= 0.9 finds it by the entry point `verl.plugins` in every process that imports verl, Ray
workers included; verl 0.6 to 0.8 by VERL_USE_EXTERNAL_MODULES=stare.integrations.verl, which must
reach the workers. Importing it only watches for three modules of verl, so that reward and rollout
processes pay nothing. See docs/integrations-verl.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["HOOKS", "install"]


def _current(module: ModuleType) -> None:
    from stare.integrations.verl_v1 import hook

    hook(module)


def _legacy(module: ModuleType) -> None:
    from stare.integrations.verl_legacy import hook

    hook(module)


def _loss(module: ModuleType) -> None:
    from stare.integrations.verl_loss import hook

    hook(module)


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "verl.trainer.ppo.v1.trainer_base": _current,
    "verl.trainer.ppo.ray_trainer": _legacy,
    "verl.workers.utils.losses": _loss,
}
"""Module of verl -> what to do with it once it has been executed."""


class _Watch(MetaPathFinder):
    """Lets the other finders find a module of `HOOKS`, and runs its hook after it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in HOOKS:
            return None
        for finder in sys.meta_path:
            if isinstance(finder, _Watch) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Hooked(spec.loader)
                return spec
        return None


class _Hooked(Loader):
    """A loader followed by the hook; the module keeps the loader it would have had."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        HOOKS[module.__name__](module)


def install() -> None:
    """Watch for verl's trainers and loss; those that are loaded already are hooked at once."""
    if not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())
    for name, hook in HOOKS.items():
        if name in sys.modules:
            hook(sys.modules[name])


install()
