"""`stare doctor`: runs without any host."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stare.integrations import doctor
from stare.integrations.__main__ import main
from stare.integrations.hosts import HOSTS, host


@pytest.mark.parametrize("name", HOSTS)
def test_every_refusal_has_a_remedy(name: str):
    for combination in host(name).combinations:
        assert combination.verdict == "note" or combination.remedy


def test_list_and_description(capsys: pytest.CaptureFixture[str]):
    assert main(["doctor"]) == 0
    assert all(name in capsys.readouterr().out for name in HOSTS)
    main(["--trainer", "trl"])
    text = capsys.readouterr().out
    assert "old_per_token_logps" in text
    assert "use_liger_kernel=False" in text


@pytest.mark.parametrize(
    ("version", "state", "code"),
    [
        (None, "missing", 1),
        ("0.25.1", "too old", 1),
        ("1.16.0", "tested", 0),
        ("9.0.dev0", "untested", 0),
    ],
)
def test_state_of_a_host(
    monkeypatch: pytest.MonkeyPatch, version: str | None, state: str, code: int
):
    monkeypatch.setattr(doctor, "installed", lambda _: version)
    assert doctor.summary("trl")[1] == state
    assert main(["--trainer", "trl"]) == code


def test_unknown_trainer(capsys: pytest.CaptureFixture[str]):
    assert main(["--trainer", "tlr"]) == 2
    assert "trl" in capsys.readouterr().err


def test_it_imports_no_host():
    code = (
        "import sys; from stare.integrations.__main__ import main; main(['--trainer', 'trl']);"
        "sys.exit(any(name in sys.modules for name in ('trl', 'torch', 'transformers')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
