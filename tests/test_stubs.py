"""The stub of the extension against the binary (`make lint` runs mypy's stubtest besides)."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import stare
from stare import _core

STUB = ast.parse((Path(stare.__file__).parent / "_core.pyi").read_text())


def _public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_stub_and_binary_have_the_same_names():
    stubbed = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stubbed |= {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    assert _public(stubbed) == _public(vars(_core))


def test_parameters_have_the_same_names():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            binary = inspect.signature(getattr(_core, node.name))
            arguments = node.args
            stubbed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            assert [argument.arg for argument in stubbed] == list(binary.parameters), node.name


def test_every_function_is_documented():
    for name in _public(vars(_core)):
        assert getattr(_core, name).__doc__, name
