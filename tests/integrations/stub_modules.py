"""Empty modules for what a host imports and a CPU cannot have (flash-attn, vLLM, Megatron)."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock


class _Stub(ModuleType):
    """A package whose every attribute exists."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (), {}) if name[:1].isupper() else MagicMock(name=name)
        setattr(self, name, value)
        return value


class _Stubs(MetaPathFinder, Loader):
    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = _Stub(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def stub(*names: str) -> None:
    """Stand in for top-level packages that are not installed; the rest is the real thing."""
    missing = tuple(name for name in names if name not in sys.modules)
    sys.meta_path.append(_Stubs(missing))
