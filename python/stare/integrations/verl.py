"""STARE in verl: a plugin that verl loads by itself, switched on by `+stare.enabled=true`.

    python -m verl.trainer.main_ppo ... +stare.enabled=true +stare.variant=O1

verl >= 0.9 finds it by the entry point `verl.plugins` in every process that imports verl, Ray
workers included; verl 0.6 to 0.8 by VERL_USE_EXTERNAL_MODULES=stare.integrations.verl, which must
reach the workers. Importing it only watches for three modules of verl, so that reward and rollout
processes pay nothing. See docs/integrations-verl.md.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from stare.integrations.imports import Hook, after_import

__all__ = ["HOOKS"]


def _later(name: str) -> Hook:
    """The `hook` of a module of ours, imported when it is needed: it needs torch."""

    def hook(module: Any) -> None:
        try:
            import_module(f"stare.integrations.{name}").hook(module)
        except AttributeError as error:
            # The plugin is there for everyone who has stare-rl installed: verl must still import.
            print(
                f"stare: STARE CANNOT BE USED with this verl: {module.__name__} has changed "
                f"({error}); +stare.* would do nothing",
                file=sys.stderr,
                flush=True,
            )

    return hook


HOOKS = {
    "verl.trainer.ppo.v1.trainer_base": _later("verl_v1"),
    "verl.trainer.ppo.ray_trainer": _later("verl_legacy"),
    "verl.workers.utils.losses": _later("verl_loss"),
}
"""Module of verl -> what to do with it once it has been executed."""

after_import(HOOKS)
