from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError, DataError, RunError
from stare.train.data import ProblemStream
from stare.train.mixing.stream import MixedStream
from stare.types import Problem


def some(name: str, count: int) -> list[Problem]:
    return [Problem(id=f"{name}/{i}", problem=f"{name} {i}?", answer=str(i)) for i in range(count)]


SETS = {"a": some("a", 7), "b": some("b", 3), "c": some("c", 11)}
WEIGHTS = {"a": 0.5, "b": 3.0, "c": 1.25}


def ids(problems: list[Problem]) -> list[str]:
    return [p.id for p in problems]


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.integers(0, 400), st.integers(0, 9)
)
def test_every_prefix_holds_each_set_in_its_share(
    weights: list[float], count: int, seed: int
) -> None:
    sets = {f"s{i}": some(f"s{i}", 2 + i) for i in range(len(weights))}
    stream = MixedStream(sets, {f"s{i}": w for i, w in enumerate(weights)}, seed=seed)
    stream.take(count)
    for i, weight in enumerate(weights):
        wanted = count * weight / sum(weights)
        drawn = stream.drawn[f"s{i}"]
        assert wanted - (len(weights) - 1) - 1e-6 < drawn + 1e-9
        assert drawn < wanted + 1 + 1e-6


@pytest.mark.parametrize("weights", [WEIGHTS, None])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("cut", [0, 1, 7, 40, 41, 200])
def test_a_cursor_that_went_through_json_goes_on_exactly(
    cut: int, shuffle: bool, weights: dict[str, float] | None
) -> None:
    whole = MixedStream(SETS, weights, seed=5, shuffle=shuffle)
    expected = ids(whole.take(cut + 90))[cut:]
    first = MixedStream(SETS, weights, seed=5, shuffle=shuffle)
    first.take(cut)
    cursor = json.loads(json.dumps(first.state_dict()))
    again = MixedStream(SETS, weights, seed=5, shuffle=shuffle)
    again.load_state_dict(cursor)
    assert again.drawn == first.drawn
    drawn = [p for n in (1, 30, 0, 59) for p in again.take(n)]
    assert ids(drawn) == expected


def test_every_problem_is_drawn_once_an_epoch_of_its_set() -> None:
    stream = MixedStream(SETS, WEIGHTS, seed=1)
    drawn = ids(stream.take(500))
    for name, problems in SETS.items():
        own = [i for i in drawn if i.startswith(f"{name}/")]
        for at in range(0, len(own) - len(problems) + 1, len(problems)):
            assert sorted(own[at : at + len(problems)]) == sorted(ids(problems))


def test_without_weights_a_set_counts_by_its_size() -> None:
    stream = MixedStream(SETS, seed=0)
    drawn = ids(stream.take(21))
    assert sorted(drawn) == sorted(i for problems in SETS.values() for i in ids(problems))


def test_the_seed_changes_the_order_and_the_sets_do_not_share_one() -> None:
    assert ids(MixedStream(SETS, seed=1).take(21)) != ids(MixedStream(SETS, seed=2).take(21))
    twins = {"a": some("x", 9), "b": some("x", 9)}
    drawn = MixedStream(twins, {"a": 1, "b": 1}, seed=1).take(18)
    assert ids(drawn[::2]) != ids(drawn[1::2])


def test_a_cursor_of_other_data_is_refused() -> None:
    cursor = MixedStream(SETS, WEIGHTS, seed=1).state_dict()
    changed = [Problem(id="a/0", problem="another?", answer="0"), *SETS["a"][1:]]
    for other, words in (
        (MixedStream(SETS, WEIGHTS, seed=2), "another seed"),
        (MixedStream(SETS, seed=1), "weights"),
        (MixedStream(SETS | {"a": changed}, WEIGHTS, seed=1), "other problems"),
        (MixedStream(SETS | {"a": some("a", 6)}, WEIGHTS, seed=1), "7 problems of 'a'"),
        (MixedStream({"a": SETS["a"]}, seed=1), r"belongs to the sets \['a', 'b', 'c'\]"),
    ):
        with pytest.raises(RunError, match=words):
            other.load_state_dict(cursor)
    single = ProblemStream(SETS["a"])
    with pytest.raises(RunError, match="is a mix"):
        MixedStream(SETS).load_state_dict(single.state_dict())
    with pytest.raises(RunError, match="the data is one set"):
        single.load_state_dict(cursor)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(DataError, match="no data sets"):
        MixedStream({})
    with pytest.raises(DataError, match="in 'b'"):
        MixedStream({"a": SETS["a"], "b": []})
    with pytest.raises(ArgumentError, match="weights are for"):
        MixedStream(SETS, {"a": 1.0})
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match="weight of 'b'"):
            MixedStream(SETS, {**WEIGHTS, "b": bad})
    with pytest.raises(ArgumentError, match="cannot draw -1"):
        MixedStream(SETS).take(-1)
