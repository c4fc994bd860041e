"""Tasks, tokenizer, verifier and reward of the demo."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stare.demo import tasks
from stare.demo.reward import reward
from stare.demo.tasks import TASKS, Task, expressions, problems, split_pairs
from stare.demo.verifier import verify_text, verify_tokens
from stare.demo.vocab import EOS, TOKENS, VOCAB_SIZE, Tokenizer
from stare.errors import ArgumentError, ConfigError, DataError
from stare.types import Completion, Problem

ANYTHING = Task("anything", lambda w, t: w >= 0, range(1), poses=lambda w, t: w >= 0)
TOKENIZER = Tokenizer()

numbers_strategy = st.tuples(*[st.integers(1, tasks.MAX_NUMBER)] * 3)


def completion(ids: list[int]) -> Completion:
    return Completion(
        prompt_ids=[], token_ids=ids, text=TOKENIZER.decode(ids), finish_reason="stop"
    )


# --- tokenizer ---


@given(st.lists(st.integers(0, VOCAB_SIZE - 1)))
def test_decoding_and_encoding_are_inverse(ids: list[int]) -> None:
    text = TOKENIZER.decode(ids)
    assert TOKENIZER.encode(text) == ids
    assert text == " ".join(TOKENS[i] for i in ids)


@given(st.lists(st.integers(0, VOCAB_SIZE - 1)))
def test_special_tokens_are_skipped_on_request(ids: list[int]) -> None:
    special = {TOKENIZER.eos_token_id, TOKENIZER.pad_token_id}
    kept = [i for i in ids if i not in special]
    assert TOKENIZER.decode(ids, skip_special_tokens=True) == TOKENIZER.decode(kept)


def test_vocabulary_is_what_the_weights_expect() -> None:
    assert VOCAB_SIZE == len(set(TOKENS)) == len(TOKENIZER) == 112
    assert [TOKENS[i] for i in (0, 99)] == ["0", "99"]


def test_an_unknown_word_is_named() -> None:
    with pytest.raises(DataError, match="unknown token '100'"):
        TOKENIZER.encode("B 100 7 9 > 2 :")


def test_calling_the_tokenizer_gives_ids_and_a_mask() -> None:
    one = TOKENIZER("B 3 7 9 > 2 :")
    many = TOKENIZER(["B 3 7 9 > 2 :", "B"])
    assert one["attention_mask"] == [1] * 7
    assert many["input_ids"] == [one["input_ids"], [TOKENIZER.encode("B")[0]]]


# --- problems ---


@pytest.mark.parametrize(
    ("name", "train", "held_out"),
    [
        ("exact", 2354, 588),
        ("tol3", 2354, 588),
        ("mod5", 1333, 333),
    ],
)
def test_pair_split_is_eighty_to_twenty(name: str, train: int, held_out: int) -> None:
    parts = problems(TASKS[name])
    assert [len(p) for p in parts] == [train, held_out]
    ids = [p.id for part in parts for p in part]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_number_split_shares_no_triple(name: str) -> None:
    train, held_out = split_pairs(TASKS[name], "numbers")
    assert not {p[0] for p in train} & {p[0] for p in held_out}
    assert sorted(train + held_out) == sorted(tasks.pairs(TASKS[name]))
    share = len(held_out) / len(train + held_out)
    assert 0.07 < share < 0.13


def test_the_split_never_changes() -> None:
    first = [p.problem for p in tasks.modular_problems()[1][:3]]
    assert first == FIRST_HELD_OUT
    assert first == [p.problem for p in tasks.modular_problems(object())[1][:3]]


def test_the_configuration_chooses_the_split() -> None:
    for factory, name in (
        (tasks.modular_problems, "mod5"),
        (tasks.exact_problems, "exact"),
        (tasks.tolerance_problems, "tol3"),
    ):
        chosen = factory(SimpleNamespace(extra={"split": "numbers"}))
        assert chosen == problems(TASKS[name], "numbers")
        assert factory(SimpleNamespace(extra={})) == problems(TASKS[name], "pair")
    with pytest.raises(ConfigError, match=r"data\.extra of the demo may hold split, got seed"):
        tasks.exact_problems(SimpleNamespace(extra={"seed": 1}))


def test_an_unknown_split_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="split must be pair or numbers, got 'triple'"):
        split_pairs(TASKS["mod5"], "triple")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_problem_can_be_solved_and_says_what_it_is(name: str) -> None:
    task = TASKS[name]
    for problem in itertools.chain(*problems(task)):
        numbers, target = problem.extra["numbers"], problem.extra["target"]
        _, a, b, c, _, t, _ = problem.problem.split()
        assert tuple(sorted(map(int, (a, b, c)))) == numbers
        assert t == problem.answer == str(target)
        assert task.accepts(expressions(numbers)[:, 10], np.array(target)).any()


@settings(max_examples=30)
@given(numbers_strategy)
def test_expressions_are_all_that_brute_force_finds(numbers: tuple[int, int, int]) -> None:
    a, b, c = numbers
    found = set()
    for x, y, rest in itertools.permutations((a, b, c)):
        for op1, op2 in itertools.product("+-*", repeat=2):
            z = eval(f"{x}{op1}{y}")
            for u, v in ((z, rest), (rest, z)):
                w = eval(f"{u}{op2}{v}")
                if 0 <= z < 100 and 0 <= w < 100:
                    found.add(f"{x} {op1} {y} = {z} ; {u} {op2} {v} = {w} ! $")
    assert {TOKENIZER.decode(row) for row in expressions(numbers)} == found
    assert len(expressions(numbers)) == len(found)


# --- verifier ---


@st.composite
def responses(draw: st.DrawFn) -> tuple[tuple[int, int, int], list[int]]:
    """Numbers with a valid response, up to three tokens of which may be changed."""
    numbers = draw(numbers_strategy)
    row = draw(st.sampled_from(expressions(numbers).tolist()))
    for _ in range(draw(st.integers(0, 3))):
        row[draw(st.integers(0, 12))] = draw(
            st.one_of(st.integers(0, VOCAB_SIZE - 1), st.sampled_from(row))
        )
    if draw(st.booleans()):
        numbers = draw(st.permutations(numbers))
    if draw(st.integers(0, 4)) == 0:
        numbers = draw(numbers_strategy)
    return tuple(numbers), row


@settings(max_examples=500)
@given(responses(), st.integers(0, 60), st.sampled_from([*TASKS.values(), ANYTHING]))
def test_verifier_equals_its_slow_twin(
    response: tuple[tuple[int, int, int], list[int]], target: int, task: Task
) -> None:
    numbers, row = response
    fast = verify_tokens(np.array([row]), np.array([numbers]), np.array([target]), task)
    assert fast.tolist() == [verify_text(TOKENIZER.decode(row), numbers, target, task)]


def test_verifier_equals_its_slow_twin_on_every_single_change() -> None:
    numbers = (3, 7, 9)
    base = TOKENIZER.encode("7 + 9 = 16 ; 16 * 3 = 48 ! $")
    rows = []
    for column, token in itertools.product(range(13), range(VOCAB_SIZE)):
        rows.append([*base[:column], token, *base[column + 1 :]])
    n = len(rows)
    fast = verify_tokens(np.array(rows), np.array([numbers] * n), np.full(n, 3), ANYTHING)
    slow = [verify_text(TOKENIZER.decode(row), numbers, 3, ANYTHING) for row in rows]
    assert fast.tolist() == slow
    assert fast.sum() == 13  # the base itself, once a column: no single change is right


def test_every_expression_is_valid_and_its_result_decides() -> None:
    for numbers in tasks.all_numbers():
        rows = expressions(numbers)
        n = len(rows)
        given_numbers = np.tile(numbers, (n, 1))
        assert verify_tokens(rows, given_numbers, np.zeros(n, int), ANYTHING).all()
        right = verify_tokens(rows, given_numbers, np.full(n, 2), TASKS["mod5"])
        assert right.tolist() == [int(TOKENS[w]) % 5 == 2 for w in rows[:, 10]]


@pytest.mark.parametrize(
    "text",
    [
        "7 + 9 = 16 ; 16 * 3 = 48 !",  # no end token
        "7 + 9 = 16 ; 16 * 3 = 48 $ !",
        "7 + 9 = 17 ; 17 * 3 = 51 ! $",  # first equation false
        "7 + 9 = 16 ; 16 * 3 = 49 ! $",  # second equation false
        "7 + 7 = 14 ; 14 * 3 = 42 ! $",  # a number used twice
        "3 + 7 = 10 ; 3 + 9 = 12 ! $",  # the intermediate result left out
        "7 + 9 = 16 ; 16 * 3 = 48 ! $ $",  # too long
        "",
    ],
)
def test_wrong_responses_are_rejected(text: str) -> None:
    assert not verify_text(text, (3, 7, 9), 3, ANYTHING)
    assert reward([problem_379()], [completion(TOKENIZER.encode(text))]) == [0.0]


def test_shapes_that_do_not_fit_are_an_error() -> None:
    rows = np.zeros((2, 13), int)
    with pytest.raises(ArgumentError, match=r"\(2, 13\), \(2, 2\), \(2,\)"):
        verify_tokens(rows, np.zeros((2, 2), int), np.zeros(2, int), ANYTHING)


# --- reward ---


def problem_379() -> Problem:
    extra = {"task": "mod5", "numbers": (3, 7, 9), "target": 3}
    return Problem(id="p", problem="B 9 3 7 > 3 :", answer="3", extra=extra)


def test_reward_is_one_for_right_and_zero_for_the_rest_in_order_over_mixed_tasks() -> None:
    chosen, completions, expected = [], [], []
    for task in TASKS.values():
        for problem in problems(task)[0][:20]:
            for row in expressions(problem.extra["numbers"])[::7].tolist():
                for ids in (row, row[:-1], [*row, row[-1]]):
                    chosen.append(problem)
                    completions.append(completion(ids))
                    text = TOKENIZER.decode(ids)
                    numbers, target = problem.extra["numbers"], problem.extra["target"]
                    expected.append(float(verify_text(text, numbers, target, task)))
    assert reward(chosen, completions) == expected
    assert 0 < sum(expected) < len(expected)
    assert text.endswith(EOS)


def test_reward_of_nothing_is_nothing() -> None:
    assert reward([], []) == []


FIRST_HELD_OUT = ["B 11 12 7 > 3 :", "B 1 9 2 > 0 :", "B 4 11 12 > 1 :"]
