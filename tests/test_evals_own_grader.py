"""Graders given by import path: what they may return, and that a run folder cannot name one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from graded_runs import make_run, sample
from stare.errors import ArgumentError
from stare.evals.cli import main
from stare.evals.graders import Question, grade_questions, grader_named
from stare.evals.grading import grade_run, graders_of, read_grades
from stare.evals.results import up_to_date
from stare.evals.store import RunFolder

SOURCE = '''
def ends(text, golds, problem):
    """Right if the response ends with a gold."""
    return any(text.endswith(gold) for gold in golds)

def full(text, golds, problem):
    answer = text.rpartition("=")[2] or None
    if answer == "?":
        return None, answer
    return answer in golds, answer

def asked(text, golds, problem):
    return problem == "What is p?"

def fails(text, golds, problem):
    raise ValueError("no " + text)

def odd(text, golds, problem):
    return "yes"

NUMBER = 7
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_rules.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_rules"
    sys.modules.pop("own_rules", None)


def run_of(path: Path) -> RunFolder:
    rows = [
        sample("a", "p", at, text, finish)
        for at, (text, finish) in enumerate(
            [("x=7", "stop"), ("x=8", "stop"), ("x=?", "stop"), ("x=", "stop"), ("x=", "length")]
        )
    ]
    return make_run(path / "run", {"a": {"p": "7"}}, rows, n=5)


def outcomes(folder: RunFolder, grader: str) -> list[str]:
    grade_run(folder, grader)
    return [row.outcome for _, row in sorted(read_grades(folder, grader).items())]


def test_what_it_returns_decides(own: str, tmp_path: Path):
    folder = run_of(tmp_path)
    wrong = "incorrect"
    assert outcomes(folder, f"{own}:ends") == ["correct", wrong, wrong, wrong, wrong]
    full = ["correct", wrong, "undecided", "no_answer", "truncated"]
    assert outcomes(folder, f"{own}:full") == full
    assert outcomes(folder, f"{own}:asked") == ["correct"] * 5
    grades = read_grades(folder, f"{own}:full")
    assert [row.answer_key for _, row in sorted(grades.items())] == ["7", "8", "?", None, None]


def test_its_failures_are_named(own: str):
    question = Question("x", ("7",), "stop", "p")
    for name, reason in (("fails", "ValueError: no x"), ("odd", "returned 'yes'")):
        (one,) = grade_questions(grader_named(f"{own}:{name}"), [question])
        assert one.outcome == "grader_error"
        assert one.reason.startswith(reason)
        assert one.by == f"{own}:{name}"


@pytest.mark.parametrize("name", ["no_such_module:f", "own_rules:g", "own_rules:", ":f", "a..b:f"])
def test_a_wrong_path_is_an_error(own: str, name: str):
    with pytest.raises(ArgumentError, match="cannot be imported"):
        grader_named(name)


def test_what_is_no_function_is_an_error(own: str):
    with pytest.raises(ArgumentError, match="is a int, not a function"):
        grader_named(f"{own}:NUMBER")


def test_reports_say_who_decided(own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = run_of(tmp_path)
    name = f"{own}:ends"
    assert main(["report", str(folder.path), "--grader", f"{name},stare", "--format", "html"]) == 0
    assert f"graded by {name}, also stare" in capsys.readouterr().out
    results = json.loads((folder.path / "results.json").read_text())
    assert results["graders"][name]["about"] == "Right if the response ends with a gold."
    assert name in (folder.path / "report.html").read_text()


def test_a_folder_does_not_decide_what_code_runs(own: str, tmp_path: Path):
    folder = run_of(tmp_path)
    grade_run(folder, f"{own}:ends")
    assert graders_of(folder) == []
    assert up_to_date(folder)["grader"] == "stare"


def test_changed_source_grades_anew(own: str, tmp_path: Path):
    folder = run_of(tmp_path)
    assert grade_run(folder, f"{own}:ends").graded == 5
    assert grade_run(folder, f"{own}:ends").reused == 5
    sys.modules.pop(own)
    (tmp_path / "own_rules.py").write_text(SOURCE.replace("text.endswith(gold)", "True or text"))
    __import__("linecache").clearcache()
    assert grade_run(folder, f"{own}:ends").graded == 5
    assert {row.outcome for row in read_grades(folder, f"{own}:ends").values()} == {"correct"}
