"""`stare-eval data`: exit codes, what goes to stdout, JSON."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from stare.evals import data


def _verb() -> Any:
    path = Path(data.__file__).parents[1] / "cli" / "data.py"
    spec = importlib.util.spec_from_file_location("stare_eval_data_verb", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VERB = _verb()
ROWS = [{"question": f"{i} + {i}?", "answer": 2 * i} for i in range(1, 4)]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    monkeypatch.setenv("STARE_DATA", str(folder))
    monkeypatch.setenv("COLUMNS", "120")
    return folder


@pytest.fixture
def own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A file, imported as `mine`."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(ROWS), "utf-8")
    assert stare_eval("import", str(path), "--allow-mismatch", "mine") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "mine: 3 rows, identity custom" in err
    return path


def stare_eval(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="stare-eval")
    VERB.add(parser.add_subparsers(required=True))
    args = parser.parse_args(["data", *words])
    return int(args.run(args))


def test_list(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stare_eval("list") == 0
    out, _ = capsys.readouterr()
    assert "aime24" in out
    assert "not imported" in out
    assert "\x1b" not in out
    assert stare_eval("list", "--json") == 0
    listed = {r["bench"]: r for r in json.loads(capsys.readouterr().out)["benchmarks"]}
    assert listed["mine"]["state"] == "custom"
    assert listed["mini"]["state"] == "exact"
    assert listed["olympiadbench"]["rows"] == 675
    assert listed["olympiadbench674"]["state"] == "not imported"


def test_verify(own: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stare_eval("verify") == 0
    assert stare_eval("verify", "aime24") == 3
    assert "aime24: not imported" in capsys.readouterr().err
    path = store / "mine.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    capsys.readouterr()
    assert stare_eval("verify", "--json") == 3
    out, err = capsys.readouterr()
    states = {state["bench"]: state["state"] for state in json.loads(out)}
    assert states == {"mini": "exact", "mine": "damaged"}
    assert "import it again" in err
    assert stare_eval("verify", "nothing") == 2


def test_info(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stare_eval("info", "aime25") == 0
    out = capsys.readouterr().out
    for piece in (
        "AIME 2025",
        "licence:",
        "imported: not imported",
        "part II: rows 16 to 30",
        "opencompass/AIME2025 [AIME2025-I, AIME2025-II], split test, a6ad95f6",
        "revision not known",
    ):
        assert piece in out
    assert stare_eval("info", "mini", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert sum(about["gold_kinds"].values()) == 30
    assert len(about["gold_kinds"]) >= 8
    assert stare_eval("info", "mine") == 0
    assert "imported: custom, from rows.json" in capsys.readouterr().out
    assert stare_eval("info", "aime2025") == 2
    assert "did you mean aime25" in capsys.readouterr().err


def test_import_refusals(own: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stare_eval("import", str(own)) == 3
    assert "--allow-mismatch NAME" in capsys.readouterr().err
    assert stare_eval("import", str(own), "--bench", "aime24") == 3
    assert "3 rows, none of which is a problem of aime24" in capsys.readouterr().err
    assert stare_eval("import", str(own) + "x") == 3
    assert stare_eval("import", str(own), "--bench", "aime2024") == 2
    assert stare_eval("import", str(own), "--bench", "aime24", "--allow-mismatch", "x") == 2
    assert stare_eval("import", str(own), "--allow-mismatch", "aime24") == 2
    assert stare_eval("import", str(own), "--allow-mismatch", "x", "--gold-field", "gold") == 3
    with pytest.raises(SystemExit) as caught:
        stare_eval("import")
    assert caught.value.code == 2
    assert [path.name for path in store.iterdir()] == ["mine.jsonl"]


def test_import_json_and_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("frage,antwort\n1 + 1?,2\n", "utf-8")
    words = ["--problem-field", "frage", "--gold-field", "antwort", "--json"]
    assert stare_eval("import", str(path), "--allow-mismatch", "de", *words) == 0
    (header,) = json.loads(capsys.readouterr().out)["imported"]
    assert (header["bench"], header["rows"], header["identity"]) == ("de", 1, "custom")


def test_each_goes_on_after_a_refusal(
    own: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aime = shared / "benchmarks" / "aime24.jsonl"
    if not aime.is_file():
        pytest.skip(f"no file {aime}")
    assert stare_eval("import", "--each", "--json", str(own), str(aime)) == 3
    out = json.loads(capsys.readouterr().out)
    assert out["failed"] == [str(own)]
    assert [header["bench"] for header in out["imported"]] == ["aime24"]


def test_export(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stare_eval("export", str(tmp_path / "out")) == 0
    assert "import it with --allow-mismatch" in capsys.readouterr().err
    lines = (tmp_path / "out" / "mine.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0]) == {"id": "mine-1", "problem": "1 + 1?", "answer": "2"}
    assert stare_eval("export", str(tmp_path / "out"), "aime24") == 3
    assert stare_eval("export", str(tmp_path / "out"), "mini", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["bench"] == "mini"


def test_fetch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert stare_eval("fetch", "aime24") == 2
    assert "stare-rl[eval]" in capsys.readouterr().err
    assert stare_eval("fetch", "stare66") == 2

    class Offline:
        @staticmethod
        def load_dataset(*_: Any, **__: Any) -> Any:
            raise ConnectionError("no route to host")

    monkeypatch.setitem(sys.modules, "datasets", Offline)
    assert stare_eval("fetch", "stare6", "--json") == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["imported"] == []
    assert len(json.loads(out)["failed"]) == 6
    assert "no route to host" in err
    assert "no network, so not tried: aime25, amc23" in err
    assert "data import PATH --bench aime24" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_store_that_cannot_be_written(own: Path, store: Path) -> None:
    store.chmod(0o500)
    assert stare_eval("import", str(own), "--allow-mismatch", "other") == 1
    store.chmod(0o700)


def test_a_disk_that_refuses(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert stare_eval("import", str(own), "--allow-mismatch", "other") == 1
    assert "No space left" in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["import", "--help"]):
        with pytest.raises(SystemExit) as caught:
            stare_eval(*words)
        assert caught.value.code == 0
        out = capsys.readouterr().out
        assert "exit codes:" in out
        assert "stare-eval data import" in out
