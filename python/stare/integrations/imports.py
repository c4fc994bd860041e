"""Doing something to a host's module right after it is first imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["after_import"]

Hook = Callable[[Any], None]


def after_import(hooks: Mapping[str, Hook]) -> None:
    """Call `hooks[name](module)` after each named module is executed, or now if it has been.

    Calling it again with the same names changes nothing but to call the hooks of modules that are
    there already; hooks must bear that.

    Example:
        >>> after_import({"json": lambda module: print(module.__name__)})
        json
    """
    watch = next((finder for finder in sys.meta_path if isinstance(finder, _Watch)), None)
    if watch is None:
        watch = _Watch()
        sys.meta_path.insert(0, watch)
    watch.hooks.update(hooks)
    for name, hook in hooks.items():
        if name in sys.modules:
            hook(sys.modules[name])


class _Watch(MetaPathFinder):
    """Lets the other finders find a module, and runs its hook after it."""

    def __init__(self) -> None:
        self.hooks: dict[str, Hook] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.hooks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Hooked(spec.loader, self.hooks[name])
                return spec
        return None


class _Hooked(Loader):
    """A loader followed by the hook; the module keeps the loader it would have had."""

    def __init__(self, loader: Any, hook: Hook) -> None:
        self._loader = loader
        self._hook = hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._hook(module)
