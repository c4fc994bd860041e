import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graded_runs import GOLDS, drawn_samples, make_run, sample
from stare.errors import ArgumentError, DataError, MissingExtraError, RunError
from stare.evals import grading
from stare.evals.agreement import agreement, disagreements
from stare.evals.failures import StorageError
from stare.evals.graders import GRADERS, Question, grade_questions, integer_of
from stare.evals.grading import StaleGradesError, bench_settings, grade_run, read_grades
from stare.evals.records import Key
from stare.evals.store import RunFolder
from stare.verify import grade


def outcomes(folder: RunFolder, grader: str = "stare") -> dict[int, tuple[str, str]]:
    grade_run(folder, grader)
    return {k.sample: (r.outcome, r.reason) for k, r in read_grades(folder, grader).items()}


def one_problem(tmp_path: Path, texts: list[tuple[str, str]], gold: str = "7", **kw) -> RunFolder:
    rows = [sample("b", "p", at, text, finish) for at, (text, finish) in enumerate(texts)]
    return make_run(tmp_path / "run", {"b": {"p": gold}}, rows, n=len(rows), **kw)


def test_every_outcome_is_told_apart(tmp_path):
    folder = one_problem(
        tmp_path,
        [
            (r"so \boxed{7}", "stop"),
            (r"so \boxed{8}", "stop"),
            ("no idea", "stop"),
            ("let x = 7 and then", "length"),
            (r"so \boxed{7}. To check,", "length"),
            (r"<think> maybe \boxed{7}", "stop"),
            (r"<think> maybe \boxed{7}", "length"),
            (r"<think> hm </think> \boxed{7}", "stop"),
            (r"\boxed{\int_0^1 f(x)\,dx}", "stop"),
            ("the sum is 7", "stop"),
            ("the sum is 7", "abort"),
        ],
    )
    found = outcomes(folder)
    assert [found[at][0] for at in range(11)] == [
        "correct",
        "incorrect",
        "no_answer",
        "truncated",
        "correct",
        "no_answer",
        "truncated",
        "correct",
        "undecided",
        "correct",
        "no_answer",
    ]
    assert found[6][1] == "length, unclosed-think"
    assert found[10][1] == "abort, no-answer"


def test_a_number_in_passing_declares_nothing_in_training(tmp_path):
    folder = one_problem(tmp_path, [("the sum is 7", "stop")])
    assert outcomes(folder, "stare")[0][0] == "correct"
    assert outcomes(folder, "stare-reward")[0][0] == "no_answer"


def test_a_prompt_may_open_the_thinking(tmp_path):
    texts = [(r"maybe \boxed{7}", "stop"), (r"hm</think> \boxed{7}", "stop")]
    folder = one_problem(tmp_path, texts, prompt_end="<think>\n")
    assert [one for one, _ in outcomes(folder).values()] == ["no_answer", "correct"]


def test_failed_requests_are_no_samples(tmp_path):
    folder = one_problem(tmp_path, [(r"\boxed{7}", "stop"), ("", "error")])
    assert list(outcomes(folder)) == [0]


def test_grades_are_kept_and_changed_texts_are_graded_again(tmp_path):
    texts = [(r"\boxed{7}", "stop"), (r"\boxed{8}", "stop")]
    folder = one_problem(tmp_path, texts)
    assert (one := grade_run(folder, "stare")).graded == 2
    assert (one.graded, one.reused) == (2, 0)
    again = grade_run(folder, "stare")
    assert (again.graded, again.reused) == (0, 2)
    path = folder.path / "samples" / "b.0.jsonl"
    path.write_text(path.read_text().replace("boxed{8}", "boxed{7}"))
    changed = grade_run(RunFolder(folder.path), "stare")
    assert (changed.graded, changed.reused) == (1, 1)
    assert [row.outcome for row in read_grades(folder, "stare").values()] == ["correct"] * 2


def test_other_golds_are_graded_again(tmp_path):
    folder = one_problem(tmp_path, [(r"\boxed{7}", "stop")])
    assert outcomes(folder)[0][0] == "correct"
    problems = folder.path / "problems.jsonl"
    problems.write_text(problems.read_text().replace('["7"]', '["8"]'))
    assert outcomes(folder)[0][0] == "incorrect"


def test_another_version_of_the_grader_grades_again(tmp_path, monkeypatch):
    from dataclasses import replace

    folder = one_problem(tmp_path, [(r"\boxed{7}", "stop")])
    grade_run(folder, "stare")
    newer = replace(GRADERS["stare"], version=GRADERS["stare"].version + 1)
    monkeypatch.setitem(GRADERS, "stare", newer)
    with pytest.raises(StaleGradesError, match="no grades by 'stare'"):
        read_grades(folder, "stare")
    assert grade_run(folder, "stare").graded == 1


def test_a_killed_grading_goes_on(tmp_path, monkeypatch):
    rows = drawn_samples(GOLDS, 4)
    folder = make_run(tmp_path / "run", GOLDS, rows, n=4)
    monkeypatch.setattr(grading, "_CHUNK_ROWS", 10)
    chunks = []

    def stop_after(most: int) -> Callable[[int], None]:
        def tick(done: int) -> None:
            chunks.append(done)
            if len(chunks) == most:
                raise KeyboardInterrupt

        return tick

    with pytest.raises(KeyboardInterrupt):
        grade_run(folder, "stare", tick=stop_after(3))
    part = folder.path / "grades" / "stare.part.jsonl"
    with part.open("a") as file:
        file.write('{"v": 1, "bench": "su')  # a line cut short
    chunks.clear()
    with pytest.raises(KeyboardInterrupt):  # a second time, behind the torn line
        grade_run(folder, "stare", tick=stop_after(5))
    summary = grade_run(folder, "stare")
    assert (summary.reused, summary.graded) == (48, len(rows) - 48)
    assert not part.exists()
    whole = make_run(tmp_path / "whole", GOLDS, rows, n=4)
    grade_run(whole, "stare")
    name = Path("grades") / "stare.jsonl"
    assert (folder.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_order_and_sharding_do_not_matter(tmp_path):
    rows = drawn_samples(GOLDS, 4)
    files = set()
    for workers in (1, 2, 7):
        random.Random(workers).shuffle(rows)
        folder = make_run(tmp_path / str(workers), GOLDS, rows, n=4, workers=workers)
        grade_run(folder, "stare")
        files.add((folder.path / "grades" / "stare.jsonl").read_bytes())
    assert len(files) == 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=30) | st.sampled_from([r"\boxed{7}", r"a \boxed{8}", "<think>"]),
            st.sampled_from(["stop", "length", "abort"]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 12),
)
def test_chunks_do_not_matter(texts, size):
    asked = [Question(text, ("7",), finish) for text, finish in texts]
    whole = grade_questions(GRADERS["stare"], asked)
    pieces = [
        one
        for at in range(0, len(asked), size)
        for one in grade_questions(GRADERS["stare"], asked[at : at + size])
    ]
    assert whole == pieces
    for question, graded in zip(asked, whole, strict=True):  # the verifier itself is the slow twin
        profile = "eval" if question.finish_reason == "stop" else "reward"
        slow = grade(question.text, "7", profile=profile, fallback=False)
        assert (graded.outcome == "correct") == (str(slow.verdict) == "correct")


def test_integer_grader(tmp_path):
    folder = one_problem(
        tmp_path,
        [
            (r"\boxed{007}", "stop"),
            (r"\boxed{7.0}", "stop"),
            (r"\boxed{7.5}", "stop"),
            (r"\boxed{14/2}", "stop"),
            ("what", "stop"),
            ("so 7", "length"),
        ],
    )
    found = [one for one, _ in outcomes(folder, "integer").values()]
    assert found == ["correct", "correct", "incorrect", "incorrect", "no_answer", "truncated"]


@given(st.integers(-(10**12), 10**12))
def test_integers_are_read_back(number):
    assert integer_of(str(number)) == number
    assert integer_of(f"${number:,}$".replace(",", "{,}")) == number


def test_golds_that_are_no_integers_are_undecided(tmp_path):
    folder = one_problem(tmp_path, [(r"\boxed{7}", "stop")], gold=r"\frac{7}{2}")
    assert outcomes(folder, "integer")[0] == ("undecided", "gold-no-integer")


def test_disagreements(tmp_path):
    folder = one_problem(tmp_path, [(r"\boxed{14/2}", "stop"), (r"\boxed{7}", "stop")])
    for name in ("stare", "integer"):
        grade_run(folder, name)
    a, b = read_grades(folder, "stare"), read_grades(folder, "integer")
    (one,) = disagreements(a, b)
    assert (one.key, one.a.outcome, one.b.outcome) == (Key("b", "p", 0), "correct", "incorrect")
    found = agreement(a, b)
    assert found["matrix"] == {"correct": {"incorrect": 1, "correct": 1}}
    assert found["benchmarks"]["b"] == {"samples": 2, "a": 2, "b": 1, "differ": 1}


def test_tolerance_is_a_setting_of_the_benchmark(tmp_path):
    assert bench_settings("minerva_math") == {"tolerance": "gold-digits"}
    assert bench_settings("math500") == bench_settings("b") == {"tolerance": None}
    rows = [
        sample("minerva_math", "p", 0, r"\boxed{9.5998}"),
        sample("b", "q", 0, r"\boxed{9.5998}"),
    ]
    golds = {"minerva_math": {"p": "9.6"}, "b": {"q": "9.6"}}
    folder = make_run(tmp_path / "run", golds, rows, n=1)
    grade_run(folder, "stare")
    found = {key.bench: row.outcome for key, row in read_grades(folder, "stare").items()}
    assert found["minerva_math"] == "correct"
    assert found["b"] == "incorrect"


def test_math_verify_grades_or_says_what_is_missing(tmp_path):
    from importlib.util import find_spec

    texts = [(r"\boxed{\frac{14}{2}}", "stop"), (r"\boxed{8}", "stop"), ("hm", "length")]
    folder = one_problem(tmp_path, texts)
    if find_spec("math_verify") is None:
        for name in ("math-verify", "stare+math-verify"):
            with pytest.raises(MissingExtraError, match="math-verify"):
                grade_run(folder, name)
        return
    assert [o for o, _ in outcomes(folder, "math-verify").values()] == [
        "correct",
        "incorrect",
        "truncated",
    ]


def test_time_outs_and_failures_of_a_grader_are_named(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from stare.evals import graders

    answers = {
        "1": SimpleNamespace(result=None, failure="timeout"),
        "2": SimpleNamespace(result=None, failure="crashed"),
        "3": SimpleNamespace(result={"equal": None}, failure=None),
        "4": SimpleNamespace(result={"equal": True}, failure=None),
        "5": SimpleNamespace(result={"equal": False}, failure=None),
    }
    raw = graders._RawMathVerify.__new__(graders._RawMathVerify)
    raw.pool = SimpleNamespace(run=lambda jobs: [answers[job["answer"]] for job in jobs])
    raw.known = {}
    monkeypatch.setattr(graders, "_raw", raw)
    monkeypatch.setattr(graders, "_need_math_verify", lambda: None)
    folder = one_problem(tmp_path, [(f"\\boxed{{{at}}}", "stop") for at in range(1, 6)])
    found = [one for one, _ in outcomes(folder, "math-verify").values()]
    assert found == ["grader_timeout", "grader_error", "undecided", "correct", "incorrect"]
    answers["1"] = answers["4"]  # a second try of what failed, and of nothing else
    assert grade_run(folder, "math-verify").graded == 2
    found = [row.outcome for row in read_grades(folder, "math-verify").values()]
    assert found == ["correct", "grader_error", "undecided", "correct", "incorrect"]


def test_errors_are_named(tmp_path):
    folder = one_problem(tmp_path, [(r"\boxed{7}", "stop")])
    with pytest.raises(ArgumentError, match=r"no grader is named 'star'\nhint: one of stare"):
        grade_run(folder, "star")
    with pytest.raises(StaleGradesError, match="no grades by 'integer'"):
        read_grades(folder, "integer")
    (folder.path / "problems.jsonl").write_text(
        json.dumps({"bench": "b", "id": "q", "problem": "?", "golds": ["1"]}) + "\n"
    )
    with pytest.raises(DataError, match="'b' has no such problem"):
        grade_run(folder, "stare")
    empty = make_run(tmp_path / "empty", {"b": {"p": "7"}}, [], n=1)
    with pytest.raises(RunError, match="has no samples"):
        grade_run(empty, "stare")


def test_golds_of_other_data_are_refused(tmp_path):
    from dataclasses import replace

    from stare.evals import data

    mini = data.load("mini")
    rows = [sample("mini", one.id, 0, r"\boxed{1}") for one in mini.problems]
    folder = make_run(tmp_path / "run", {"mini": dict.fromkeys(mini.golds, "1")}, rows, n=1)
    (folder.path / "problems.jsonl").unlink()
    entry = folder.manifest().benchmarks["mini"]
    for fingerprint, fits in ((mini.fingerprint(), True), ({"sha256": "0" * 64}, False)):
        changed = replace(entry, data=fingerprint)
        folder.write_manifest(replace(folder.manifest(), benchmarks={"mini": changed}))
        if fits:
            assert grade_run(folder, "stare").graded == len(rows)
        else:
            with pytest.raises(DataError, match="is not the one of this run: sha256"):
                grade_run(folder, "stare")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_named_and_loses_nothing(tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 2), n=2)
    with monkeypatch.context() as patch:
        patch.setattr(grading._Files, "journal", lambda *_: Path("/dev/full").open("w"))  # noqa: SIM115
        with pytest.raises(StorageError, match=r"cannot write .*stare.part.jsonl: No space left"):
            grade_run(folder, "stare")
    assert grade_run(folder, "stare").graded == 30
