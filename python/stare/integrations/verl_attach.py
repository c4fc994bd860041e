"""How a trainer of verl becomes a STARE trainer: when it is built, if its configuration says so."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from stare.integrations.verl_config import read
from stare.integrations.verl_rules import check
from stare.integrations.verl_step import Step, load_state, save_state

__all__ = ["attach", "watch"]

Around = Callable[..., Any]
"""`around(trainer, original, *args)` takes the place of `trainer.method(*args)`; `original` is the
bound method it may call."""


def watch(root: Any, then: Callable[[Any], object]) -> None:
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

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        super(root, cls).__init_subclass__(**kwargs)
        follow(cls)

    known: list[Any] = []
    queue = [root]
    while queue:
        cls = queue.pop()
        if cls not in known:
            known.append(cls)
            queue += cls.__subclasses__()
    for cls in known:
        follow(cls)
    root.__init_subclass__ = classmethod(init_subclass)


def attach(trainer: Any, methods: Mapping[str, Around], *, legacy: bool = False) -> bool:
    """Put functions around methods of one trainer; False if its configuration does not ask for it.

    Checkpoints get the controller's state as well. The trainer's class becomes a subclass made for
    it, so other trainers of the process keep theirs.

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
    around = {"_save_checkpoint": _save, "_load_checkpoint": _load, **methods}
    namespace = {
        name: _method(getattr(cls, name), function)
        for name, function in around.items()
        if hasattr(cls, name)
    }
    trainer.stare = Step(settings)
    trainer.__class__ = type(f"Stare{cls.__name__}", (cls,), {"__module__": __name__, **namespace})
    print(f"stare: on in {cls.__name__}, scope={settings.scope}, {settings.config}", flush=True)
    return True


def _method(original: Any, function: Around) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, functools.partial(original, self), *args, **kwargs)

    return method


def _save(trainer: Any, original: Around) -> Any:
    root = trainer.config.trainer.default_local_dir
    save_state(trainer.stare, os.path.join(root, f"global_step_{trainer.global_steps}"))
    return original()


def _load(trainer: Any, original: Around) -> Any:
    result = original()
    config = trainer.config.trainer
    if trainer.global_steps > 0:
        folder = os.path.join(config.default_local_dir, f"global_step_{trainer.global_steps}")
        if config.resume_mode == "resume_path":
            folder = config.resume_from_path
        if not load_state(trainer.stare, folder):
            print(f"stare: no state in {folder}, the controller starts anew", flush=True)
    return result
