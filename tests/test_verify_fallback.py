"""What goes to the fallback, what of it counts, and how it is counted."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import stare
from stare import _core
from stare.errors import ConfigError
from stare.types import Verdict
from stare.verify import (
    FallbackStats,
    configure_fallback,
    explain,
    fallback,
    fallback_stats,
    grade,
    grade_batch,
    grade_batch_async,
    reset_fallback_stats,
    shut_down_fallback,
)
from stare.verify.fallback import FALLBACK_REASONS, judge
from stare.verify.pool import PoolConfig

needs_math_verify = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None,
    reason="math-verify is not installed (pip install 'stare-rl[verify]')",
)

# What the fake engine says, by the gold.
SAME, OTHER, UNREAD, ERROR, HANG = "1", "2", "3", "4", "5"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    shut_down_fallback()
    reset_fallback_stats()
    yield
    configure_fallback(None)
    reset_fallback_stats()


@pytest.fixture
def fake(monkeypatch):
    """Replace the engine by one that says what the gold says."""

    def use(factory: str = "by_gold") -> None:
        monkeypatch.setattr(fallback, "_ENGINE", f"fallback_engines:{factory}")
        monkeypatch.setattr(fallback, "_missing", lambda: "")

    return use


@pytest.fixture
def undecided_core(monkeypatch):
    """Replace the core by one that decides nothing, for any reason you want."""

    def use(reason: str = "unproved") -> None:
        def grade_answers(pairs, **_):
            return [("undecided", completion, reason) for completion, _ in pairs]

        monkeypatch.setattr(_core, "grade_answers", grade_answers)
        monkeypatch.setattr(_core, "compare_answers", lambda *_, **__: ("undecided", reason))

    return use


# --- what is put to it -------------------------------------------------------------------------


def test_the_reasons_are_reasons_of_the_core():
    undecided = {r for r, verdict in _core.ANSWER_REASONS.items() if verdict == "undecided"}
    assert undecided > FALLBACK_REASONS


@pytest.mark.parametrize(
    "reason",
    [r for r, verdict in _core.ANSWER_REASONS.items() if verdict == "undecided"],
)
def test_only_some_reasons_go_to_the_fallback(fake, undecided_core, reason: str):
    fake()
    undecided_core(reason)
    graded = grade("a", SAME)
    sent = reason in FALLBACK_REASONS
    assert fallback_stats().sent == int(sent)
    assert graded.by == ("math-verify" if sent else "rust")
    assert graded.reason == ("fallback-equal" if sent else reason)


def test_without_fallback_nothing_is_sent_and_nothing_starts(fake, undecided_core):
    fake()
    undecided_core()
    assert grade("a", SAME, fallback=False).verdict is Verdict.UNDECIDED
    assert stare.equivalent("a", SAME, fallback=False) is Verdict.UNDECIDED
    assert fallback_stats() == FallbackStats()


def test_what_the_core_decides_is_not_sent(fake):
    fake()
    assert grade(r"\boxed{7}", "7").by == "rust"
    assert grade("nothing", "7").by == "rust"
    assert fallback_stats() == FallbackStats(pairs=2)


def test_the_same_pair_is_asked_once(fake, undecided_core):
    fake()
    undecided_core()
    grades = grade_batch(["a"] * 10 + ["b"], [SAME] * 11)
    assert {g.verdict for g in grades} == {Verdict.CORRECT}
    stats = fallback_stats()
    assert (stats.pairs, stats.sent, stats.decided) == (11, 2, 2)
    assert stats.share == pytest.approx(2 / 11)
    assert stats.ms > 0


def test_blank_sides_are_not_sent(fake):
    fake()
    assert [j.detail for j in judge([("", "1"), ("1", "  ")])] == ["blank", "blank"]
    assert fallback_stats().sent == 0


# --- what comes of it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("golds", "verdict", "reason"),
    [
        ([SAME], "correct", "fallback-equal"),
        ([OTHER], "incorrect", "fallback-different"),
        ([UNREAD], "undecided", "unproved"),
        ([ERROR], "undecided", "unproved"),
        ([OTHER, SAME], "correct", "fallback-equal"),
        ([OTHER, UNREAD], "undecided", "unproved"),
        ([ERROR, SAME], "correct", "fallback-equal"),
        ([OTHER, "25"], "incorrect", "fallback-different"),
    ],
)
def test_several_golds(fake, undecided_core, golds, verdict, reason):
    fake()
    undecided_core()
    graded = grade("a", golds)
    assert (str(graded.verdict), graded.reason) == (verdict, reason)


def test_a_difference_does_not_count_where_a_tolerance_is_allowed(fake, undecided_core):
    fake()
    undecided_core()
    assert grade("a", OTHER, tolerance=1e-3).verdict is Verdict.UNDECIDED
    assert stare.equivalent("a", OTHER, tolerance=1e-3) is Verdict.UNDECIDED
    assert grade("a", SAME, tolerance=1e-3).verdict is Verdict.CORRECT


def test_distrusted_verdicts_are_counted_apart(fake, undecided_core):
    fake()
    undecided_core()
    assert grade("a = 1", SAME).verdict is Verdict.UNDECIDED
    assert judge([("a = 1", SAME)])[0].detail == "distrust:relation"
    assert fallback_stats().distrusted == 2


def test_a_job_that_overruns_is_counted_and_stays_undecided(fake, undecided_core):
    fake()
    undecided_core()
    configure_fallback(PoolConfig(workers=1, deadline_s=0.5))
    grades = grade_batch(["a", "b"], [HANG, SAME])
    assert [str(g.verdict) for g in grades] == ["undecided", "correct"]
    stats = fallback_stats()
    assert (stats.timeouts, stats.killed, stats.decided, stats.errors) == (1, 1, 1, 0)


def test_an_engine_that_cannot_be_loaded_is_said_once(fake, undecided_core, monkeypatch):
    fake("broken")
    undecided_core()
    monkeypatch.setattr(fallback._state, "warned", False)
    with pytest.warns(UserWarning, match="ImportError: no engine") as caught:
        assert grade("a", SAME).verdict is Verdict.UNDECIDED
    assert [warning.filename for warning in caught] == [__file__]
    assert grade("a", SAME).verdict is Verdict.UNDECIDED
    assert fallback_stats().errors == 2


def test_absent_math_verify_is_said_once_with_what_to_install(undecided_core, monkeypatch):
    undecided_core()
    monkeypatch.setattr(fallback, "find_spec", lambda _: None)
    monkeypatch.setattr(fallback._state, "warned", False)
    with pytest.warns(UserWarning, match=r"pip install 'stare-rl\[verify\]'") as caught:
        grades = grade_batch(["a", "b"], [SAME, SAME])
    assert [warning.filename for warning in caught] == [__file__]
    assert {g.verdict for g in grades} == {Verdict.UNDECIDED}
    assert fallback_stats().sent == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grade("a", SAME).verdict is Verdict.UNDECIDED
        assert stare.equivalent("a", SAME) is Verdict.UNDECIDED


def test_an_explanation_says_what_the_fallback_said(fake, monkeypatch):
    fake()
    gold = {"text": SAME, "tree": None, "verdict": "undecided", "reason": "unproved"}
    told = {"verdict": "undecided", "reason": "unproved", "extracted": "a", "how": "box"}
    undecided = [("undecided", "a", "unproved")]
    monkeypatch.setattr(
        _core, "explain_answer", lambda *_, **__: told | {"tree": None, "golds": [gold]}
    )
    monkeypatch.setattr(_core, "grade_answers", lambda pairs, **_: undecided * len(pairs))
    explanation = explain(r"\boxed{a}", SAME)
    assert explanation.grade.reason == "fallback-equal"
    assert explanation.golds[0].fallback == "equal"
    assert explain(r"\boxed{a}", SAME, fallback=False).golds[0].fallback is None


def test_the_number_of_workers_is_checked(fake, undecided_core, monkeypatch):
    fake()
    undecided_core()
    monkeypatch.setenv("STARE_FALLBACK_WORKERS", "none")
    with pytest.raises(ConfigError, match="STARE_FALLBACK_WORKERS must be a positive integer"):
        grade("a", SAME)
    monkeypatch.setenv("STARE_FALLBACK_WORKERS", "1")
    grade_batch(["a", "b", "c"], [SAME] * 3)
    assert fallback_stats().started == 1


# --- from everywhere -----------------------------------------------------------------------------


def test_from_threads(fake, undecided_core):
    fake()
    undecided_core()
    with ThreadPoolExecutor(8) as pool:
        batches = list(
            pool.map(lambda t: grade_batch([f"{t}+{i}x" for i in range(9)], [SAME] * 9), range(8))
        )
    assert {g.verdict for batch in batches for g in batch} == {Verdict.CORRECT}
    assert fallback_stats().sent == fallback_stats().decided == 72


def test_inside_an_event_loop(fake, undecided_core):
    fake()
    undecided_core()

    async def main():
        blocking = grade_batch(["a"], [SAME])  # allowed, if not nice
        return blocking + await grade_batch_async(["b", "c"], [OTHER, SAME])

    verdicts = [str(g.verdict) for g in asyncio.run(main())]
    assert verdicts == ["correct", "incorrect", "correct"]


FORKED = """
import json, os, sys
sys.path[:0] = {path!r}
from stare import _core
from stare.verify import fallback, fallback_stats, grade
fallback._ENGINE, fallback._missing = "fallback_engines:by_gold", lambda: ""
_core.grade_answers = lambda pairs, **_: [("undecided", c, "unproved") for c, _ in pairs]
def look():
    graded = grade("a", "1")
    return [str(graded.verdict), sorted(fallback._state.pool.pids), fallback_stats().sent]
before = look()
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.write(write, json.dumps(look()).encode())
    sys.exit()  # with everything that runs at exit
assert os.waitpid(child, 0)[1] == 0
print(json.dumps([before, json.loads(os.read(read, 9999)), look()]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_starts_its_own_workers():
    path = [str(Path(__file__).parent), str(Path(stare.__file__).parent.parent)]
    done = subprocess.run(
        # Python 3.12 warns of a fork in a program with threads; this one is on purpose.
        [sys.executable, "-Werror", "-Wignore::DeprecationWarning", "-c", FORKED.format(path=path)],
        capture_output=True, text=True, timeout=60,
        env=os.environ | {"STARE_FALLBACK_WORKERS": "1"},
    )  # fmt: skip
    assert done.stderr == ""
    before, child, after = json.loads(done.stdout)
    assert before[0] == child[0] == after[0] == "correct"
    assert before[1] == after[1] != child[1]
    assert (before[2], child[2], after[2]) == (1, 1, 2)


# --- math-verify itself --------------------------------------------------------------------------


@needs_math_verify
def test_math_verify_decides_what_it_is_good_at():
    equal, different = judge([(r"\frac13", r"\int_0^1 x^2\,dx"), (r"\frac14", r"\int_0^1 x^2\,dx")])
    assert (equal.verdict, different.verdict) == (Verdict.CORRECT, Verdict.INCORRECT)


@needs_math_verify
def test_what_math_verify_errs_on_stays_undecided():
    pairs = [
        (r"\frac{1}{3^{70}}", r"\frac{1}{3^{69}}"),
        (r"\frac{1}{2003!}", r"\frac{1}{2005!}"),
        (r"1-\frac{7}{10^{25}}", r"1-\frac{8}{10^{25}}"),
        ("x^2+3=0", "x^2+5=0"),
        (r"\gcd(m,q-2)", r"\gcd(m,q-6)"),
        (r"\{t|-4\leq t < 3\}", r"\{t|-8\leq t < 3\}"),
        ("saw", "was"),
        ("1203_4", "1203_5"),
        (r"5\mathrm{i}", "5"),
        ("1+i^2", "0"),
        ("9^{9^{9^{9}}}", "1"),
        (r"\frac{a", "a"),
        ("the number 5", "5"),
    ]
    pairs += [(b, a) for a, b in pairs]
    for pair, one in zip(pairs, judge(pairs), strict=True):
        assert one.verdict is Verdict.UNDECIDED, pair


@needs_math_verify
def test_no_wrong_verdict_of_the_fallback_on_a_sample_of_the_corpora(shared: Path):
    accepted = {Verdict.CORRECT: "equal", Verdict.INCORRECT: "different"}
    rows = []
    for name in ("cases", "variants"):
        lines = (shared / f"corpora/{name}.jsonl").read_text().splitlines()
        rows += [json.loads(line) for line in lines]
    rows = [row for row in rows if "\\boxed" not in row["pred"]][::40]
    judged = judge([(row["pred"], row["gold"]) for row in rows])
    for row, one in zip(rows, judged, strict=True):
        if one.verdict is not Verdict.UNDECIDED:
            assert accepted[one.verdict] in row["accept"], row
    assert fallback_stats().decided > 0.3 * len(rows)
