"""The distribution: versions, entry points, and the wheel itself."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import stare

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _toml(path: Path) -> dict:
    return tomllib.loads(path.read_text())


def test_there_is_one_version(root: Path):
    assert _toml(root / "Cargo.toml")["workspace"]["package"]["version"] == stare.__version__
    assert f"## {stare.__version__}" in (root / "CHANGELOG.md").read_text()


def test_console_scripts_exist(root: Path):
    scripts = _toml(root / "pyproject.toml")["project"]["scripts"]
    assert set(scripts) == {"stare", "stare-eval", "stare-train"}
    for target in scripts.values():
        module, function = target.split(":")
        place = root / "python" / module.replace(".", "/")
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        source = file.read_text()
        defined = [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
        assert function in defined, target


def test_extras_cap_nothing(root: Path):
    project = _toml(root / "pyproject.toml")["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for requirement in [*project["dependencies"], *extras]:
        assert not re.search(r"==|~=|<", requirement.split(";")[0]), requirement


def test_constraints_name_versions_and_nothing_else(root: Path):
    lines = (root / "requirements/constraints.txt").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert pinned
    for line in pinned:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line), line


def test_every_target_of_the_makefile_is_explained(root: Path):
    done = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True)
    text = (root / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    for target in phony[1].split():
        assert re.search(rf"^  make {target} +\w", done.stdout, re.MULTILINE), target


@pytest.mark.slow
def test_the_wheel_works_on_its_own(root: Path, tmp_path: Path):
    build = [sys.executable, "-m", "maturin", "build", "--release", "--out", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert f"stare_rl-{stare.__version__}-cp310-abi3-" in wheel.name

    names = zipfile.ZipFile(wheel).namelist()
    assert {"stare/__init__.py", "stare/py.typed", "stare/_core.pyi"} <= set(names)
    assert sum(name.startswith("stare/_core.") and "abi3" in name for name in names) == 1
    here = {p.relative_to(root / "python").as_posix() for p in (root / "python").rglob("*.py")}
    assert here <= set(names)
    assert all(name.startswith(("stare/", "stare_rl-")) for name in names)

    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    subprocess.run([*pip, str(wheel)], check=True)
    done = subprocess.run(
        [str(site / "bin/stare-eval"), "grade", "-"],
        input='{"completion": "#### 4", "gold": "4.0"}\n',
        env=os.environ | {"PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"verdict": "correct"' in done.stdout
    where = [sys.executable, "-c", "import stare; print(stare.__file__)"]
    found = subprocess.run(
        where, env=os.environ | {"PYTHONPATH": str(site)}, cwd=tmp_path, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(site)
