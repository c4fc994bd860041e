"""Who may import whom. Arrows only go down, so that `stare.algo` can be embedded alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import stare

PACKAGE = Path(stare.__file__).parent

# Layer -> the other layers of this package it may import. A layer is a module or a subpackage.
INTERNAL = {
    "errors": set(),
    "types": set(),
    "benchmark_store": set(),
    "chat": {"errors"},
    "coerce": {"errors"},
    "config": {"errors"},
    "passk": {"errors"},
    "seeds": set(),
    "verify": {"_core", "errors", "types"},
    "algo": {"_core", "config", "errors"},
    "rollout": {"errors", "seeds", "types", "verify"},
    "models": {"errors", "rollout", "types"},
    "train": {
        "algo",
        "benchmark_store",
        "chat",
        "coerce",
        "config",
        "errors",
        "passk",
        "rollout",
        "seeds",
        "types",
        "verify",
    },
    "evals": {
        "benchmark_store",
        "chat",
        "coerce",
        "errors",
        "models",
        "passk",
        "rollout",
        "seeds",
        "types",
        "verify",
    },
    "integrations": {"algo", "coerce", "config", "errors"},
    "demo": {"config", "errors", "passk", "rollout", "seeds", "types", "verify"},
}
# What running the demo and summing it up may use beyond its tasks and its policy.
DEMO_RUNNER = {"train"}
DEMO_RUNNER_MODULES = {
    f"stare.demo.{name}" for name in ("__main__", "evaluation", "export", "runner", "summary")
}

# Layer -> the packages from outside it may import; layers that are not named may import any.
EXTERNAL = {
    "errors": set(),
    "types": set(),
    "config": {"tomli"},
    "passk": {"numpy"},
    "seeds": set(),
    "benchmark_store": set(),
    "chat": set(),
    "coerce": set(),
    "verify": {"math_verify", "rich", "sympy"},
    "algo": {"numpy", "torch"},
}
NO_TORCH_WHEN_IMPORTED = {"evals"}


class Import(NamedTuple):
    target: str
    line: int
    when_imported: bool


def imports(tree: ast.Module, module: str, is_package: bool) -> Iterator[Import]:
    """Every import of a module, as the full name of what is imported."""
    base = module.split(".") if is_package else module.split(".")[:-1]

    def walk(node: ast.AST, when_imported: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, when_imported)
        elif isinstance(node, ast.ImportFrom):
            parts = base[: len(base) - node.level + 1] if node.level else []
            prefix = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(f"{prefix}.{alias.name}", node.lineno, when_imported)
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        )
        for child in ast.iter_child_nodes(node):
            yield from walk(child, when_imported and not deferred)

    return walk(tree, True)


def layer_of(name: str) -> str | None:
    """The layer of a dotted name under `stare`; a public name counts as the module it is from."""
    parts = name.split(".")
    if len(parts) == 1 or parts[1] == "__version__":
        return None
    home = stare._HOME.get(parts[1])
    return home.split(".")[1] if home else parts[1]


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the rules, one sentence each."""
    layer = layer_of(module)
    if layer is None:  # `stare` itself resolves names from everywhere, lazily
        layer_internal, layer_external = set(INTERNAL) | {"_core"}, set()
    else:
        layer_internal = INTERNAL[layer] | {layer}
        layer_external = EXTERNAL.get(layer)
        if module in DEMO_RUNNER_MODULES:
            layer_internal = layer_internal | DEMO_RUNNER
    found = []
    own_cli = f"{module.split('.cli')[0]}.cli." if ".cli" in module else None
    for target, line, when_imported in imports(ast.parse(source), module, is_package):
        top = target.split(".")[0]
        if top == "stare":
            to = layer_of(target)
            if to is not None and to not in layer_internal:
                found.append(f"{module}:{line}: {layer} must not import {to} ({target})")
            of_cli = "cli" in target.split(".") and not module.endswith(".__main__")
            if of_cli and not (own_cli and target.startswith(own_cli)):
                found.append(f"{module}:{line}: nobody imports a cli ({target})")
        elif top not in sys.stdlib_module_names:
            if layer_external is not None and top not in layer_external:
                found.append(f"{module}:{line}: {layer or 'stare'} must not import {top}")
            if layer in NO_TORCH_WHEN_IMPORTED and when_imported and top == "torch":
                found.append(f"{module}:{line}: importing {layer} must not import torch")
    return found


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_down(path: Path):
    parts = ["stare", *path.relative_to(PACKAGE).with_suffix("").parts]
    is_package = parts[-1] == "__init__"
    module = ".".join(parts[:-1] if is_package else parts)
    assert violations(path.read_text(), module, is_package=is_package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("stare.types", "import numpy"),
        ("stare.errors", "from stare.types import Verdict"),
        ("stare.verify", "def f():\n    import torch"),
        ("stare.algo.gate", "from stare.types import Verdict"),
        ("stare.algo.gate", "from ..train import learner"),
        ("stare.algo.gate", "import transformers"),
        ("stare.algo.gate", "from stare import grade"),
        ("stare.evals.run", "import torch"),
        ("stare.evals.run", "from stare.algo.reweight import reweight"),
        ("stare.evals.run", "from stare import reweight"),
        ("stare.train.run", "from stare.train.cli import main"),
        ("stare.train.run", "from . import cli"),
        ("stare.rollout.hf", "from stare.train.config import TrainConfig"),
        ("stare.demo.tasks", "from stare.train import run"),
        ("stare.demo.grading", "from stare.train import run"),
        ("stare.demo.evaluation", "from stare.evals.convert import convert"),
        ("stare.evals.graders", "from stare.demo.grading import mod5"),
        ("stare.integrations.trl", "from stare.rollout.sampler import Sampler"),
        ("stare", "import numpy"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str):
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("stare.algo.gate", "import math, torch\nfrom stare.config import StareConfig"),
        ("stare.algo.gate", "from . import arrays\nfrom .reweight import reweight"),
        ("stare.evals.run", "def f():\n    import torch"),
        ("stare.train.__main__", "from stare.train.cli import main"),
        ("stare.evals.cli.run", "from stare.evals.cli.common import words"),
        ("stare.demo.__main__", "from stare.train.run import train"),
        ("stare.demo.evaluation", "from stare.train.session import build_session"),
        ("stare.train.run", "import torch, wandb\nfrom stare import StareConfig"),
    ],
)
def test_a_right_import_is_not(module: str, source: str):
    assert violations(source, module) == []


def test_the_core_crate_knows_no_python(root: Path):
    manifest = (root / "rust/stare-core/Cargo.toml").read_text()
    assert "pyo3" not in manifest
    assert "numpy" not in manifest
    assert 'unsafe_code = "forbid"' in (root / "Cargo.toml").read_text()
