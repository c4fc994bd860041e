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
    listed = capsys.readouterr().out
    assert all(name in listed for name in HOSTS)
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
        ("?", "untested", 0),
    ],
)
def test_state_of_a_host(
    monkeypatch: pytest.MonkeyPatch, version: str | None, state: str, code: int
):
    monkeypatch.setattr(doctor, "installed", lambda *_: version)
    assert doctor.summary("trl")[1] == state
    assert main(["--trainer", "trl"]) == code


@pytest.mark.parametrize("name", HOSTS)
def test_everything_known_of_a_host_is_printed(name: str, capsys: pytest.CaptureFixture[str]):
    main(["--trainer", name])
    words = capsys.readouterr().out.split()
    described = host(name)
    for combination in described.combinations:
        for part in (combination.setting, combination.reason, combination.remedy):
            wanted = part.split()
            assert any(words[i : i + len(wanted)] == wanted for i in range(len(words))) or (
                " ".join(wanted) + ":" in " ".join(words)
            )
    assert all(version in " ".join(words) for version in described.tested)


def test_a_module_without_a_distribution_is_found(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "slime").mkdir()
    (tmp_path / "slime" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert doctor.summary("slime") == ("?", "untested")


@pytest.mark.parametrize(
    ("version", "variables", "found", "why"),
    [
        ("0.9.1", {}, True, None),
        ("0.9.1", {}, False, "entry point is not installed"),
        ("0.9.1", {"VERL_USE_EXTERNAL_PLUGINS": "none"}, True, "switches plugins off"),
        ("0.8.0", {}, True, "does not name stare.integrations.verl"),
        ("0.8.0", {"VERL_USE_EXTERNAL_MODULES": "stare.integrations.verl"}, False, None),
    ],
)
def test_a_verl_that_does_not_load_the_plugin_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    version: str, variables: dict[str, str], found: bool, why: str | None,
):  # fmt: skip
    from importlib.metadata import EntryPoint

    from stare.integrations import verl_rules

    point = EntryPoint("stare", "stare.integrations.verl", "verl.plugins")
    monkeypatch.setattr(verl_rules, "entry_points", lambda group: [point] if found else [])
    monkeypatch.setattr(doctor, "installed", lambda *_: version)
    for name in ("VERL_USE_EXTERNAL_PLUGINS", "VERL_USE_EXTERNAL_MODULES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["--trainer", "verl"]) == int(why is not None)
    said = " ".join(capsys.readouterr().out.split())
    assert ("NOT LOADED" in said) == (why is not None)
    assert why is None or why in said


def test_unknown_trainer(capsys: pytest.CaptureFixture[str]):
    assert main(["--trainer", "tlr"]) == 2
    assert "trl" in capsys.readouterr().err


def test_it_imports_no_host():
    code = (
        "import sys; from stare.integrations.__main__ import main;"
        f"[main(['--trainer', name]) for name in {list(HOSTS)}];"
        "hosts = ('trl', 'verl', 'openrlhf', 'tinker_cookbook', 'torch', 'transformers');"
        "sys.exit(any(name in sys.modules for name in hosts))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
