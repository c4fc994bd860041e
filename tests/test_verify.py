from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError, ConfigError
from stare.types import Verdict
from stare.verify import Grade, extract_answer
from stare.verify import equivalent as any_equivalent
from stare.verify import grade as any_grade
from stare.verify import grade_batch as any_grade_batch

# The core alone: tests of the fallback are in test_verify_fallback.py.
equivalent = partial(any_equivalent, fallback=False)
grade = partial(any_grade, fallback=False)
grade_batch = partial(any_grade_batch, fallback=False)

# --- verdicts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "gold", "verdict", "extracted", "reason"),
    [
        (r"\boxed{42}", "42", "correct", "42", "identical"),
        (r"\boxed{0.50}", r"\frac12", "correct", "0.50", "equal-numbers"),
        (r"\boxed{1,234}", "1234", "correct", "1,234", "equal-numbers"),
        (r"\boxed{0.333333}", "1/3", "correct", "0.333333", "rounded-decimal"),
        (r"\boxed{0.333}", "1/3", "incorrect", "0.333", "different-numbers"),
        ("Answer: 42", "43", "incorrect", "42", "different-numbers"),
        ("I guess 42.", "42", "incorrect", None, "no-answer"),
        (r"\boxed{42} \boxed{", "42", "incorrect", None, "no-answer"),
        (r"<think> \boxed{42}", "42", "incorrect", None, "unclosed-think"),
        (r"\boxed{5\%}", "5", "undecided", r"5\%", "unlike-units"),
        (r"\boxed{5}", "5 cm", "correct", "5", "equal-quantities"),
        (r"\boxed{42}", "", "undecided", "42", "gold-unparsed"),
        (" " * (1 << 20) + r"\boxed{42}", "42", "undecided", None, "limit"),
        (r"\boxed{" + "1" * 5000 + "}", "42", "undecided", "1" * 5000, "limit"),
    ],
)
def test_grade(completion, gold, verdict, extracted, reason):
    assert grade(completion, gold) == Grade(Verdict(verdict), extracted, "rust", reason)


def test_a_lone_surrogate_is_an_odd_character_not_an_error():
    assert grade("\\boxed{4\ud800}", "4").verdict is Verdict.UNDECIDED
    assert grade("\ud800 \\boxed{4}", "4").verdict is Verdict.CORRECT
    assert extract_answer("\\boxed{\udfff}") == "\U000f07ff"
    assert equivalent("\ud800", "\ud801") is not Verdict.CORRECT
    assert equivalent("\ud800", "4") is Verdict.UNDECIDED


# --- properties ------------------------------------------------------------------------------

fractions = st.fractions(max_denominator=10**6)


def _latex(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


@given(fractions, fractions)
def test_fractions_compare_as_python_does(a: Fraction, b: Fraction):
    assert equivalent(_latex(a), str(a)) is Verdict.CORRECT
    expected = Verdict.CORRECT if a == b else Verdict.INCORRECT
    assert equivalent(_latex(a), str(b)) is expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(1, 10**4))
def test_decimals_compare_as_python_does(value, denominator: int):
    text = format(value, "f")
    numerator = Fraction(value) * denominator
    other = f"{numerator.numerator}/{numerator.denominator * denominator}"
    assert equivalent(text, other) is Verdict.CORRECT


@given(st.text(), st.text())
def test_any_text_is_graded(completion: str, gold: str):
    graded = grade(completion, gold)
    assert graded.extracted == extract_answer(completion)
    assert equivalent(completion, gold) is equivalent(gold, completion)
    if not gold.strip(" \t\n"):
        assert graded.verdict is Verdict.UNDECIDED


# --- batches ---------------------------------------------------------------------------------


def test_a_batch_is_its_rows_in_order_whatever_the_threads():
    completions = [rf"\boxed{{{i}}}" for i in range(500)]
    golds: list[str | list[str]] = [str(i - i % 3) for i in range(500)]
    golds[7] = ["1", "7"]
    one_by_one = [grade(c, g) for c, g in zip(completions, golds, strict=True)]
    assert one_by_one[7].verdict is Verdict.CORRECT
    for threads in (0, 1, 2, 5):
        assert grade_batch(completions, golds, threads=threads) == one_by_one


def test_grading_works_from_any_thread():
    with ThreadPoolExecutor(4) as pool:
        grades = list(pool.map(grade, [r"\boxed{1}"] * 64, ["1", "2"] * 32))
    assert Counter(str(g.verdict) for g in grades) == {"correct": 32, "incorrect": 32}


def test_bad_arguments_are_named(monkeypatch):
    with pytest.raises(ArgumentError, match="same length, got 2 and 1"):
        grade_batch(["a", "b"], ["1"])
    with pytest.raises(ArgumentError, match=r"golds\[1\] is empty"):
        grade_batch(["a", "b"], ["1", []])
    with pytest.raises(ArgumentError, match="lists of strings"):
        grade_batch("ab", ["1", "2"])
    with pytest.raises(ArgumentError, match="must be strings, got int"):
        grade("a", [42])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="must be strings, got NoneType"):
        extract_answer(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="threads must be >= 0, got -1"):
        grade_batch([], [], threads=-1)
    monkeypatch.setenv("STARE_NUM_THREADS", "many")
    with pytest.raises(ConfigError, match="STARE_NUM_THREADS must be a positive integer"):
        grade_batch([], [])


# --- labelled corpora ------------------------------------------------------------------------

LABEL = {Verdict.CORRECT: "equal", Verdict.INCORRECT: "different", Verdict.UNDECIDED: "unknown"}


def _rows(path: Path) -> list[dict]:
    with path.open() as file:
        return [json.loads(line) for line in file]


def _boxed(answer: str) -> str:
    return rf"The answer is $\boxed{{{answer}}}$."


@pytest.mark.parametrize("name", ["cases", "variants", "sci_notation"])
def test_no_verdict_outside_the_accepted_ones(shared: Path, name: str):
    rows = _rows(shared / f"corpora/{name}.jsonl")
    if name != "cases":  # the other files hold bare answers, or answers in a box
        rows = [
            row | {"pred": row["pred"] if r"\boxed" in row["pred"] else _boxed(row["pred"])}
            for row in rows
        ]
    grades = grade_batch([row["pred"] for row in rows], [row["gold"] for row in rows])
    for row, graded in zip(rows, grades, strict=True):
        accepted = [*row.get("accept", [row["expected"]]), "unknown"]
        assert LABEL[graded.verdict] in accepted, row
    decided = sum(graded.verdict is not Verdict.UNDECIDED for graded in grades)
    assert decided > 0.1 * len(rows)


def test_labels_of_real_completions(shared: Path):
    rows = _rows(shared / "corpora/completions.jsonl")
    grades = grade_batch([row["completion"] for row in rows], [row["gold"] for row in rows])
    for row, graded in zip(rows, grades, strict=True):
        assert LABEL[graded.verdict] in (row["label"], "unknown"), row
    assert sum(graded.verdict is Verdict.UNDECIDED for graded in grades) < 0.05 * len(rows)


def test_every_gold_is_right_against_itself(shared: Path):
    golds = [row["gold"] for row in _rows(shared / "corpora/golds.jsonl")]
    assert {g.verdict for g in grade_batch(list(map(_boxed, golds)), golds)} == {Verdict.CORRECT}
