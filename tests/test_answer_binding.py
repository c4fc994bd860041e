"""The binding of the verifier, below `stare.verify`."""

from __future__ import annotations

import pytest

from stare import _core


def test_reasons_and_profiles_are_listed_once():
    assert set(_core.ANSWER_REASONS.values()) == {"correct", "incorrect", "undecided"}
    assert _core.ANSWER_REASONS["no-answer"] == "incorrect"
    assert _core.ANSWER_PROFILES == ("reward", "eval", "math_verify")


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        (r"so \boxed{42}", ["42", "42", "42"]),
        (r"<think>\boxed{41}</think> Answer: 42", ["42", "42", "41"]),
        (r"\boxed{42} or \boxed{", [None, None, "42"]),
        (r"\boxed{1} then, later on, \boxed{2}", ["2", "2", "1, 2"]),
        ("we get $x=3$", [None, "x=3", "x=3"]),
        ("I guess 42.", [None, "42", "42"]),
        ("hm", [None, None, None]),
    ],
)
def test_what_each_profile_finds(completion: str, found: list[str | None]):
    profiles = _core.ANSWER_PROFILES
    assert [_core.extract_answer(completion, profile=p) for p in profiles] == found


def test_boxes_in_a_row_answer_a_list():
    completion = r"$\boxed{1}$ and $\boxed{2}$"
    explained = _core.explain_answer(completion, ["1, 2"])
    assert (explained["extracted"], explained["how"]) == ("1, 2", "boxes")
    explained = _core.explain_answer(completion, ["2"])
    assert (explained["extracted"], explained["how"]) == ("2", "box")
    assert explained["verdict"] == "correct"


def test_an_explanation_compares_with_each_gold():
    explained = _core.explain_answer(r"\boxed{3}", ["4", "3.0", ""])
    assert (explained["verdict"], explained["reason"]) == ("correct", "equal-numbers")
    assert [(g["text"], g["reason"]) for g in explained["golds"]] == [
        ("4", "different-numbers"),
        ("3.0", "equal-numbers"),
        ("", "gold-unparsed"),
    ]
    nothing = _core.explain_answer("hm", ["4"])
    assert (nothing["how"], nothing["extracted"], nothing["tree"]) == (None, None, None)


def test_keys():
    assert _core.answer_key("$5$.") == _core.answer_key("5") is not None
    assert _core.answer_key(" ") is None


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match='one of reward, eval, math_verify, got "strict"'):
        _core.extract_answer("", profile="strict")
    for tolerance in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="tolerance must be None"):
            _core.compare_answers("1", "2", tolerance=tolerance)
    with pytest.raises(ValueError, match='got "digits"'):
        _core.grade_answers([], tolerance="digits")  # type: ignore[arg-type]
