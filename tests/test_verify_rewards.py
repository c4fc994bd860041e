"""Rewards, and the shapes in which TRL and verl ask for them."""

from __future__ import annotations

import inspect
import os
import warnings

import numpy as np
import pytest

from stare import _core
from stare.errors import ArgumentError
from stare.types import Completion, Problem
from stare.verify import (
    grade,
    math_reward,
    reset_reward_counts,
    reward,
    reward_counts,
    rewards,
    trl_reward,
    trl_reward_with,
    verl_compute_score,
    verl_compute_score_batch,
)

RIGHT, WRONG, NONE, OPEN = r"\boxed{4}", r"\boxed{5}", "hm", r"\boxed{open}"
TEXTS = [RIGHT, WRONG, NONE, OPEN]
GOLDS = ["4"] * 4


@pytest.fixture(autouse=True)
def _an_answer_that_stays_undecided(monkeypatch):
    grade_answers = _core.grade_answers

    def core(pairs, **options):
        return [
            ("undecided", "open", "limit") if completion == OPEN else graded
            for (completion, _), graded in zip(pairs, grade_answers(pairs, **options), strict=True)
        ]

    monkeypatch.setattr(_core, "grade_answers", core)
    reset_reward_counts()


@pytest.mark.parametrize(
    ("undecided", "value"),
    [(0.0, 0.0), (None, None), ("drop", None), ("zero", 0.0), (0.25, 0.25), (-1, -1.0)],
)
def test_undecided_is_what_you_say(undecided, value):
    assert reward(TEXTS, GOLDS, undecided=undecided) == [1.0, 0.0, 0.0, value]
    assert reward_counts() == {"correct": 1, "incorrect": 2, "undecided": 1}


@pytest.mark.parametrize("undecided", ["skip", float("nan"), float("inf"), [0.0]])
def test_other_values_for_undecided_are_refused(undecided):
    with pytest.raises(ArgumentError, match="undecided must be a finite number"):
        reward(TEXTS, GOLDS, undecided=undecided)


def test_options_reach_the_grader():
    assert reward(["so $4$."], ["4"]) == [0.0]
    assert reward(["so $4$."], ["4"], profile="eval", threads=1, fallback=False) == [1.0]
    assert reward([RIGHT], [["3", "4"]]) == [1.0]
    with pytest.raises(ArgumentError, match="profile must be one of 'reward', 'eval'"):
        reward([RIGHT], ["4"], profile="lenient")  # type: ignore[arg-type]
    for tolerance in (0.0, 1.0, -1e-3, float("nan"), True, "digits"):
        with pytest.raises(ArgumentError, match="tolerance"):
            reward([RIGHT], ["4"], tolerance=tolerance)


def test_the_trainer_gets_none_for_undecided():
    def response(text: str) -> Completion:
        return Completion(prompt_ids=[], token_ids=[], text=text, finish_reason="stop")

    problem = Problem(id="1", problem="?", answer="4")
    rewards = math_reward([problem] * 4, [response(text) for text in TEXTS])
    assert rewards == [1.0, 0.0, 0.0, None]
    with pytest.raises(ArgumentError, match="same length, got 1 and 0"):
        math_reward([problem], [])


# --- TRL -----------------------------------------------------------------------------------------


def call_as_trl(function, completions, **columns):
    """TRL passes everything by keyword, and more than the columns."""
    return function(
        prompts=["2 + 2?"] * len(completions),
        completions=completions,
        completion_ids=[[1, 2]] * len(completions),
        trainer_state=object(),
        **columns,
    )


def test_trl_texts_with_either_column():
    expected = [1.0, 0.0, 0.0, 0.0]
    assert call_as_trl(trl_reward, TEXTS, answer=GOLDS) == expected
    assert call_as_trl(trl_reward, TEXTS, solution=GOLDS) == expected
    assert call_as_trl(trl_reward, TEXTS, answer=GOLDS, solution=["5"] * 4) == expected


def test_trl_chats():
    chats = [
        [{"role": "assistant", "content": RIGHT}],
        [{"content": WRONG}],
        [
            {"role": "assistant", "content": WRONG},
            {"role": "tool", "content": WRONG},
            {"role": "assistant", "content": [{"type": "text", "text": RIGHT}]},
        ],
        [{"role": "assistant", "content": None, "tool_calls": []}],
        [],
    ]
    assert call_as_trl(trl_reward, chats, answer=["4"] * 5) == [1.0, 0.0, 1.0, 0.0, 0.0]


def test_trl_rows_without_a_gold_get_none():
    assert call_as_trl(trl_reward, [RIGHT, RIGHT], answer=[None, "4"]) == [None, 1.0]


def test_trl_golds_of_other_types():
    golds = [4, ["3", "4"], np.int64(4), np.array(["4", "5"])]
    assert call_as_trl(trl_reward, [RIGHT] * 4, answer=golds) == [1.0] * 4
    for gold in (4.5, [], {"answer": "4"}, True):
        with pytest.raises(ArgumentError, match="must be a string or a list of strings"):
            call_as_trl(trl_reward, [RIGHT], answer=[gold])


def test_trl_with_options():
    function = trl_reward_with(gold="target", undecided=0.5, profile="eval", fallback=False)
    assert call_as_trl(function, [OPEN, "so $4$."], target=["4", "4"]) == [0.5, 1.0]
    assert function.__name__ == "stare_reward"
    assert not inspect.iscoroutinefunction(function)


def test_trl_errors_name_the_columns():
    with pytest.raises(ArgumentError, match="no column 'answer' or 'solution' with gold answers"):
        call_as_trl(trl_reward, [RIGHT], level=["1"])
    with pytest.raises(ArgumentError, match="got 1 completions and 2 gold answers"):
        call_as_trl(trl_reward, [RIGHT], answer=["4", "4"])


GSM8K = ["2 and 2 make 4.\n#### 4", r"So $2 + 2 = \boxed{4}$.", "4"]
TWO_BOXES = r"First \boxed{3}, then \boxed{4}."


def test_trl_worked_solutions():
    texts = [RIGHT] * 3
    assert call_as_trl(trl_reward, texts, solution=GSM8K) == [1.0] * 3
    worked = trl_reward_with(gold_profile="reward", fallback=False)
    assert call_as_trl(worked, texts, answer=GSM8K) == [1.0] * 3
    assert call_as_trl(worked, [WRONG] * 3, answer=GSM8K) == [0.0] * 3
    assert reward([RIGHT], [["3", GSM8K[0]]], gold_profile="reward") == [1.0]
    reset_reward_counts()
    with pytest.warns(UserWarning, match="100% of the gold answers cannot be read"):
        assert call_as_trl(worked, [RIGHT], answer=[TWO_BOXES]) == [0.0]


def test_golds_that_cannot_be_read_are_said_once_with_their_share():
    with pytest.warns(UserWarning, match=r"50% .*cannot be read") as caught:
        assert reward([RIGHT] * 2, [GSM8K[0], "4"], fallback=False) == [0.0, 1.0]
    assert [warning.filename for warning in caught] == [__file__]
    assert "gold_profile='reward'" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reward([RIGHT], [GSM8K[0]], fallback=False)
        reset_reward_counts()
        reward([RIGHT] * 9, [GSM8K[0]] + ["4"] * 8, fallback=False)


@pytest.mark.parametrize("gold", [42, None, 4.5, b"42", {"answer": "42"}, [42]])
def test_a_gold_that_is_no_text_is_named(gold):
    with pytest.raises(ArgumentError, match=r"must be .*strings?, got"):
        grade(RIGHT, gold)
    with pytest.raises(ArgumentError, match=r"must be .*strings?, got"):
        reward([RIGHT], [gold])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_lock_of_its_parent():
    with rewards._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if rewards._lock.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0


# --- verl ----------------------------------------------------------------------------------------


def test_verl_one_by_one():
    scores = [
        verl_compute_score(data_source="math", solution_str=text, ground_truth="4", extra_info={})
        for text in TEXTS
    ]
    assert [score["score"] for score in scores] == [1.0, 0.0, 0.0, 0.0]
    assert [score["acc"] for score in scores] == [1.0, 0.0, 0.0, 0.0]
    assert [score["undecided"] for score in scores] == [0.0, 0.0, 0.0, 1.0]
    assert [score["pred"] for score in scores] == ["4", "5", "", "open"]


def test_verl_in_a_batch_is_the_same():
    scores = verl_compute_score_batch(
        data_sources=["math"] * 4,
        solution_strs=np.array(TEXTS, dtype=object),
        ground_truths=np.array(GOLDS, dtype=object),
        extra_infos=[None] * 4,
        reward_router_address=None,
        undecided=-0.5,
    )
    assert [score["score"] for score in scores] == [1.0, 0.0, 0.0, -0.5]
    assert len({tuple(score) for score in scores}) == 1
    assert reward_counts() == {"correct": 1, "incorrect": 2, "undecided": 1}


def test_verl_has_no_missing_scores():
    with pytest.raises(ArgumentError, match="undecided must be a number for verl"):
        verl_compute_score("math", RIGHT, "4", undecided=None)


def test_verl_options():
    assert verl_compute_score("math", "so $4$.", ["3", "4"], profile="eval")["score"] == 1.0
    worked = verl_compute_score("gsm8k", RIGHT, GSM8K[0], gold_profile="reward")
    assert (worked["score"], worked["acc"]) == (1.0, 1.0)
    with pytest.raises(ArgumentError, match=r"unknown options 'undecide'.* known are 'undecided'"):
        verl_compute_score("math", RIGHT, "4", undecide=0.0)
