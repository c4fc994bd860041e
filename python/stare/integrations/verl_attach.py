"""How a trainer of verl becomes a STARE trainer: when it is built, if its configuration says so."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from stare.integrations.verl_config import check, read
from stare.integrations.verl_step import Step, load_state, save_state

__all__ = ["attach", "watch", "with_checkpoints"]


def watch(root: Any, then: Callable[[Any], None]) -> None:
    """Call `then(trainer)` after each construction of `root` or a subclass of it.

    Some subclasses do not call `root.__init__`, so the `__init__` of every subclass is followed,
    those defined later included. `then` may be called more than once for a trainer.
    """
    if "stare_watched" in vars(root):
        return
    root.stare_watched = True

    def follow(cls: Any) -> None:
        original = vars(cls).get("__init__")
        if original is None:
            return

        @functools.wraps(original)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            then(self)

        cls.__init__ = init

    def init_subclass(cls: Any, **kwargs: Any) -> None:
        super(root, cls).__init_subclass__(**kwargs)
        follow(cls)

    known, queue = [], [root]
    while queue:
        cls = queue.pop()
        if cls not in known:
            known.append(cls)
            queue += cls.__subclasses__()
    for cls in known:
        follow(cls)
    root.__init_subclass__ = classmethod(init_subclass)


def attach(trainer: Any, extend: Callable[[type], type], *, legacy: bool = False) -> bool:
    """Make the trainer one of `extend(its class)`; False if its configuration does not ask for it.

    A subclass made on the spot, not a mixin: Python refuses to give an object a class of two bases.

    Raises:
        ConfigError: from `read` and `check`.
    """
    if hasattr(trainer, "stare"):
        return False
    from omegaconf import OmegaConf

    host: Any = OmegaConf.to_container(trainer.config, resolve=True, throw_on_missing=False)
    settings = read(host.get("stare"))
    if settings is None:
        return False
    for warning in check(host, settings, legacy=legacy):
        print(f"stare: warning: {warning}", flush=True)
    cls = type(trainer)
    trainer.stare = Step(settings)
    extended = extend(cls)
    extended.__name__ = extended.__qualname__ = f"Stare{cls.__name__}"
    trainer.__class__ = extended
    print(f"stare: on in {cls.__name__}, scope={settings.scope}, {settings.config}", flush=True)
    return True


def with_checkpoints(base: Any) -> type:
    """A subclass of a trainer class that keeps the controller's state beside the checkpoints."""

    class Checkpointed(base):  # type: ignore[misc]
        def _save_checkpoint(self) -> Any:
            save_state(self.stare, self._stare_folder(self.config.trainer.default_local_dir))
            return super()._save_checkpoint()

        def _load_checkpoint(self) -> Any:
            result = super()._load_checkpoint()
            trainer = self.config.trainer
            if self.global_steps > 0:
                resumed = trainer.resume_mode == "resume_path"
                root = trainer.default_local_dir
                folder = trainer.resume_from_path if resumed else self._stare_folder(root)
                if not load_state(self.stare, folder):
                    print(f"stare: no state in {folder}, the controller starts anew", flush=True)
            return result

        def _stare_folder(self, root: str) -> str:
            return os.path.join(root, f"global_step_{self.global_steps}")

    return Checkpointed
