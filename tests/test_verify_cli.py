"""`python -m stare.verify` and `stare-eval grade`: what they print and how they exit."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stare
from stare import _core
from stare.evals import grade as bulk
from stare.evals.cli import main as stare_eval
from stare.verify import __main__ as explain_module
from stare.verify.__main__ import main as explain_command

# --- python -m stare.verify ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "gold", "code"),
    [(r"\boxed{4}", "4", 0), (r"hm", "4", 1), (r"\boxed{4}", "", 3)],
)
def test_the_exit_code_is_the_verdict(capsys, completion, gold, code):
    assert explain_command([completion, gold, "--no-fallback"]) == code
    assert ("correct", "incorrect", "", "undecided")[code] in capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: completion, gold"),
        (["a"], "required: gold"),
        (["a", "1", "--profile", "lenient"], "invalid choice: 'lenient'"),
        (["a", "1", "--tolerance", "some"], "must be a number or gold-digits, got 'some'"),
        (["a", "1", "--tolerance", "3"], "tolerance is relative and must lie in (0, 1)"),
    ],
)
def test_bad_usage_is_two(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        explain_command(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_it_says_how_the_verdict_came_about(capsys):
    assert explain_command([r"So \boxed{[red]4[/red]}.", "4", r"[red]4[/red]"]) == 0
    out = capsys.readouterr().out
    for part in (
        "identical, by rust",
        "[red]4[/red]",
        r"the last \boxed",
        "read as",
        "alone",
        "us",
    ):
        assert part in out
    assert explain_command(["hm", "4"]) == 1
    assert "none is declared" in capsys.readouterr().out


def test_every_way_to_find_an_answer_has_words(root):
    stub = (root / "python/stare/_core.pyi").read_text()
    listed = re.search(r"how: Literal\[(.*?)\]", stub, re.S)[1]
    assert set(re.findall(r'"(\w+)"', listed)) == set(explain_module._HOW)
    source = (root / "rust/stare-core/src/answer/extract/mod.rs").read_text()
    assert set(re.findall(r'Self::\w+ => "(\w+)"', source)) == set(explain_module._HOW)


def test_json_is_one_object(capsys):
    assert explain_command([r"\boxed{4}", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("core_us") > 0
    assert told.pop("tree") == told["golds"][0].pop("tree")
    assert told == {
        "verdict": "correct", "reason": "identical", "by": "rust", "extracted": "4", "how": "box",
        "golds": [{"gold": "4", "verdict": "correct", "reason": "identical", "fallback": None}],
        "fallback_us": None,
    }  # fmt: skip


def test_a_completion_from_stdin_and_a_profile(capsys, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO("it is $4$ \xff".encode("latin-1")))
    monkeypatch.setattr(sys, "stdin", text)
    assert explain_command(["--profile", "eval", "-", "4", "--no-fallback"]) == 0
    assert "the last formula" in capsys.readouterr().out


def _run(*arguments: str, **env: str) -> subprocess.CompletedProcess:
    path = str(Path(stare.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, "-m", "stare.verify", *arguments],
        capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": path} | env,
    )  # fmt: skip


def test_a_pipe_gets_plain_whole_lines():
    done = _run(r"\boxed{" + "1234567890" * 30 + "}", "1234567890" * 30)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "1234567890" * 30 in done.stdout


def test_no_color_is_respected():
    forced = _run(r"\boxed{4}", "4", FORCE_COLOR="1")
    assert "\x1b[" in forced.stdout
    plain = _run(r"\boxed{4}", "4", FORCE_COLOR="1", NO_COLOR="1")
    assert "\x1b[32m" not in plain.stdout
    assert "\x1b[1;32m" not in plain.stdout


# --- stare-eval grade ----------------------------------------------------------------------------


def write(path: Path, *lines: object) -> str:
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + "\n")
    return str(path)


ROWS = (
    {"id": "a", "completion": r"\boxed{1}", "gold": "1", "model": "m"},
    "",
    {"completion": "hm", "gold": ["2", "3"]},
    {"completion": r"\boxed{x}", "gold": ""},
)
VERDICTS = [
    {"line": 1, "id": "a", "verdict": "correct", "extracted": "1", "by": "rust",
     "reason": "identical"},
    {"line": 3, "verdict": "incorrect", "extracted": None, "by": "rust", "reason": "no-answer"},
    {"line": 4, "verdict": "undecided", "extracted": "x", "by": "rust",
     "reason": "gold-unparsed"},
]  # fmt: skip


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("fallback", ["--fallback", "--no-fallback"])
def test_a_file_is_graded(tmp_path, capsys, fallback):
    file = write(tmp_path / "rows.jsonl", *ROWS)
    assert stare_eval(["grade", file, "--threads", "1", fallback]) == 0
    captured = capsys.readouterr()
    assert records(captured.out) == VERDICTS
    assert "3 rows in" in captured.err
    assert "1 correct, 1 incorrect, 1 undecided; 33.3% correct" in captured.err
    assert "  undecided: 1 gold-unparsed" in captured.err


def test_stdin_is_graded(capsys, monkeypatch):
    text = "\n".join(x if isinstance(x, str) else json.dumps(x) for x in ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert stare_eval(["grade", "-", "--no-fallback"]) == 0
    assert records(capsys.readouterr().out) == VERDICTS


def test_the_output_file_appears_whole_or_not_at_all(tmp_path, capsys, monkeypatch):
    file, out = write(tmp_path / "rows.jsonl", *ROWS), tmp_path / "verdicts.jsonl"
    assert stare_eval(["grade", file, "-o", str(out), "--no-fallback"]) == 0
    assert capsys.readouterr().out == ""
    assert records(out.read_text()) == VERDICTS
    out.write_text("of before")
    pipe = (json.dumps(ROWS[0]) + '\n{"completion": ').encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pipe)))
    assert stare_eval(["grade", "-", "-o", str(out)]) == 1
    assert "stdin:2: not a JSON object" in capsys.readouterr().err
    assert out.read_text() == "of before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl", "verdicts.jsonl"]


def test_chunks_are_bounded_and_change_nothing(tmp_path, capsys, monkeypatch):
    rows = [{"completion": rf"\boxed{{{i}}}", "gold": str(i - i % 2)} for i in range(100)]
    file = write(tmp_path / "rows.jsonl", *rows)
    assert stare_eval(["grade", file, "--no-fallback"]) == 0
    whole = capsys.readouterr().out
    sizes = []
    grade_answers = _core.grade_answers
    monkeypatch.setattr(
        _core, "grade_answers", lambda p, **o: sizes.append(len(p)) or grade_answers(p, **o)
    )
    monkeypatch.setattr(bulk, "_CHUNK_ROWS", 7)
    assert stare_eval(["grade", file, "--no-fallback"]) == 0
    assert capsys.readouterr().out == whole
    assert (max(sizes), sum(sizes)) == (7, 100)
    sizes.clear()
    monkeypatch.setattr(bulk, "_CHUNK_BYTES", 100)
    assert stare_eval(["grade", file, "--no-fallback"]) == 0
    assert capsys.readouterr().out == whole
    assert max(sizes) < 7


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"completion": "\\\\boxed{1}", "go', "rows.jsonl:2: not a JSON object"),
        ("[" * 100_000, "rows.jsonl:2: not a JSON object"),
        ('"text"', "rows.jsonl:2: must be a JSON object, got str"),
        ('{"completion": "a"}', "rows.jsonl:2: field 'gold' is missing, the row has 'completion'"),
        ('{"completion": 1, "gold": "1"}', "rows.jsonl:2: 'completion' must be a string, got int"),
        ('{"completion": "a", "gold": 1}', "'gold' must be a string or a list of at least one"),
        ('{"completion": "a", "gold": []}', "'gold' must be a string or a list of at least one"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_printed(tmp_path, capsys, line, message):
    file = write(tmp_path / "rows.jsonl", {"completion": r"\boxed{1}", "gold": "1"}, line)
    assert stare_eval(["grade", file]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_several_bad_rows_are_named(tmp_path, capsys):
    file = write(tmp_path / "rows.jsonl", ROWS[0], *["1"] * 3)
    assert stare_eval(["grade", file]) == 1
    err = capsys.readouterr().err
    assert all(f"rows.jsonl:{number}: must be a JSON object" in err for number in (2, 3, 4))
    file = write(tmp_path / "rows.jsonl", *["1"] * 50)
    assert stare_eval(["grade", file]) == 1
    err = capsys.readouterr().err
    assert "only the first 5 are named" in err
    assert "rows.jsonl:6" not in err


def test_a_line_without_an_end_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bulk, "_LINE_BYTES", 1000)
    file = write(tmp_path / "rows.jsonl", {"completion": "x" * 2000, "gold": "1"})
    assert stare_eval(["grade", file]) == 1
    assert "rows.jsonl:1: the line is longer than" in capsys.readouterr().err


def test_an_empty_and_a_missing_file_are_errors(tmp_path, capsys):
    assert stare_eval(["grade", write(tmp_path / "empty.jsonl")]) == 1
    assert "has no rows" in capsys.readouterr().err
    assert stare_eval(["grade", str(tmp_path / "absent.jsonl")]) == 1
    assert "absent.jsonl" in capsys.readouterr().err


def test_the_reader_may_stop_early(tmp_path):
    file = write(tmp_path / "rows.jsonl", *[{"completion": "#### 4", "gold": "4"}] * 5000)
    command = f"'{sys.executable}' -m stare.evals.cli grade '{file}' | head -n 1"
    path = str(Path(stare.__file__).parent.parent)
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert json.loads(done.stdout)["verdict"] == "correct"
    assert done.stderr == ""


def test_passk_prints_one_value_a_k(capsys):
    assert stare_eval(["passk", "-n", "4", "-c", "1", "-k", "1", "4", "5"]) == 0
    first, second, third = map(float, capsys.readouterr().out.split())
    assert first == pytest.approx(0.25)
    assert second == 1.0
    assert third != third
