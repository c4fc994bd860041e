"""What `import stare` costs and brings in."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import stare

HEAVY = ["torch", "transformers", "math_verify", "numpy", "matplotlib", "rich"]


def _child(code: str) -> dict:
    """Run `code` in a fresh interpreter; it prints one JSON object."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_brings_in_nothing_heavy():
    loaded = _child(
        "import sys, json, stare; print(json.dumps({name: name in sys.modules "
        f"for name in {HEAVY}}}))"
    )
    assert loaded == dict.fromkeys(HEAVY, False)


def test_resolving_every_public_name_does_not_import_torch():
    result = _child(
        "import sys, json, stare\n"
        "names = [name for name in stare.__all__ if getattr(stare, name) is None]\n"
        "print(json.dumps({'none': names, 'torch': 'torch' in sys.modules,"
        " 'math_verify': 'math_verify' in sys.modules}))"
    )
    assert result == {"none": [], "torch": False, "math_verify": False}


def test_import_takes_less_than_150_ms():
    # CPU time and the best of five: the load of the machine is not what is measured.
    code = (
        "import json, time\nstart = time.process_time()\nimport stare\n"
        "print(json.dumps({'seconds': time.process_time() - start}))"
    )
    assert min(_child(code)["seconds"] for _ in range(5)) < 0.15


@pytest.mark.parametrize("name", stare.__all__)
def test_public_names_resolve_and_are_documented(name: str):
    value = getattr(stare, name)
    assert name in dir(stare)
    assert isinstance(value, str) or value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        stare.nonsense  # noqa: B018
