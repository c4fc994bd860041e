"""The examples that need no trainer but our own arrays."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def load(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plain_torch(root: Path) -> ModuleType:
    pytest.importorskip("torch")
    return load(root / "examples" / "plain_torch.py")


def test_plain_loop_reweights_below_the_target_only(plain_torch: ModuleType):
    rows = plain_torch.train(3, prompts=8, target=0.315)
    assert [row["stare/gate"] for row in rows] == [row["entropy"] < 0.315 for row in rows]
    assert {row["stare/gate"] for row in rows} == {0.0, 1.0}
    assert all((row["stare/mean_weight"] != 1) == row["stare/gate"] for row in rows)


def test_plain_loop_without_stare_is_plain_grpo(plain_torch: ModuleType):
    off = plain_torch.train(2, prompts=8, variant="off")
    never = plain_torch.train(2, prompts=8, variant="C2", target=0.0)
    stare = plain_torch.train(2, prompts=8, variant="C2", target=9.0)
    assert [row["entropy"] for row in off] == [row["entropy"] for row in never]
    assert off[0]["entropy"] == stare[0]["entropy"]
    assert off[1]["entropy"] != stare[1]["entropy"]
