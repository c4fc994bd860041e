from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError, ConfigError, DataError, RunError
from stare.train.data import (
    ProblemStream,
    check_prompt_lengths,
    load_problems,
    render_prompts,
    split,
)
from stare.types import Problem
from tiny_llm import tiny_tokenizer


def problems(count: int) -> list[Problem]:
    return [Problem(id=f"p{i}", problem=f"what is {i}?", answer=str(i)) for i in range(count)]


def write(path: Path, *lines: str | bytes | dict[str, Any]) -> Path:
    raw = []
    for line in lines:
        text = json.dumps(line, ensure_ascii=False) if isinstance(line, dict) else line
        raw.append(text.encode() if isinstance(text, str) else text)
    path.write_bytes(b"\n".join(raw))
    return path


def test_reads_what_is_there(tmp_path: Path) -> None:
    path = write(
        tmp_path / "sums.jsonl",
        b"\xef\xbb\xbf" + b'{"problem": "1+1?", "answer": 2}',
        "",
        {"id": 7, "problem": "half\u2028of 3?", "answer": "3/2", "source": "book", "level": 1},
        '{"id": "x", "problem": "0.1+1.4?", "answer": 1.50}  ',
        '{"id": "y", "problem": "large?", "answer": 123456789012345678901234567890}\r',
    )
    first, second, third, fourth = load_problems(path)
    assert (first.id, first.answer, first.extra) == ("sums-1", "2", {})
    assert (second.id, second.problem, second.answer) == ("7", "half\u2028of 3?", "3/2")
    assert second.extra == {"source": "book", "level": 1}
    assert third.answer == "1.50"
    assert fourth.answer == "123456789012345678901234567890"


GOOD = {"id": "a", "problem": "q", "answer": "1"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"problem": "q", "answer"', "not valid JSON"),
        (b'{"problem": "\xff", "answer": 1}', "not valid JSON"),
        ('{"problem": "q", "answer": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "not valid JSON"),
        ('["q", 1]', "expected a JSON object, got list"),
        ({"question": "q", "answer": "1"}, "'problem' is missing\nhint: fields found: answer, qu"),
        ({"problem": "q"}, "'answer' is missing"),
        ({"problem": "q", "answer": None}, "'answer' is missing"),
        ({"problem": "q", "answer": ["1", "2"]}, "is a list of 2; training needs one gold"),
        ({"problem": "q", "answer": True}, "must be a string or a number, got True"),
        ({"problem": "q", "answer": {}}, "must be a string or a number"),
        ({"problem": "q", "answer": "  "}, "must be a string or a number"),
        ({"problem": 3, "answer": "1"}, "'problem' must be a non-empty string, got 3"),
        ({"problem": " ", "answer": "1"}, "'problem' must be a non-empty string"),
        ({"id": 1.5, "problem": "q", "answer": "1"}, "'id' must be a string or an integer"),
        ({"id": "a", "problem": "q2", "answer": "1"}, "duplicate id 'a', first used on line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, message: str) -> None:
    path = write(tmp_path / "d.jsonl", GOOD, "", bad)
    with pytest.raises(DataError) as caught:
        load_problems(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert message in str(caught.value)


def test_default_ids_collide_with_given_ones_aloud(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", {**GOOD, "id": "d-2"}, {"problem": "q", "answer": "1"})
    with pytest.raises(DataError, match="duplicate id 'd-2'"):
        load_problems(path)


@pytest.mark.parametrize("content", ["", "\n  \n"])
def test_an_empty_file_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match="no problems in the file"):
        load_problems(write(tmp_path / "d.jsonl", content))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*none\.jsonl: No such file"):
        load_problems(tmp_path / "none.jsonl")


def test_the_benchmark_loads(shared: Path) -> None:
    loaded = load_problems(shared / "benchmarks" / "mawps_singleop.jsonl")
    assert len(loaded) == 562


def test_prompts_of_a_chat_model() -> None:
    tokenizer = tiny_tokenizer(chat=True)
    rendered = render_prompts(problems(2), tokenizer, r"{problem} \boxed{}", chat_template=True)
    assert rendered == [r"<s>what is 0? \boxed{}=", r"<s>what is 1? \boxed{}="]
    braces = Problem(id="b", problem="{problem} {0} {x", answer="1")
    assert render_prompts([braces], tokenizer, "{problem}!") == ["<s>{problem} {0} {x!="]


def test_plain_prompts_begin_as_the_tokenizer_begins() -> None:
    assert render_prompts(problems(1), tiny_tokenizer(), chat_template=False) == ["what is 0?"]
    adds_bos = tiny_tokenizer(adds_bos=True)
    (prompt,) = render_prompts(problems(1), adds_bos, chat_template=False)
    assert (
        adds_bos(prompt, add_special_tokens=False)["input_ids"]
        == (adds_bos("what is 0?")["input_ids"])
    )


def test_prompts_that_cannot_be_rendered() -> None:
    with pytest.raises(ConfigError, match=r"must contain \{problem\}, got 'solve'"):
        render_prompts(problems(1), tiny_tokenizer(chat=True), "solve")
    with pytest.raises(ConfigError, match=r"no chat template\nhint: .*chat_template=false"):
        render_prompts(problems(1), tiny_tokenizer(), chat_template=True)


def test_long_prompts_are_named_before_the_run() -> None:
    prompts = ["ab", "abcdef", "abcd"]
    tokenizer = tiny_tokenizer()
    assert check_prompt_lengths(problems(3), prompts, tokenizer, 6) == [2, 6, 4]
    with pytest.raises(DataError, match=r"problem 'p1' \(6 tokens\), 'p2' \(4 tokens\) is longer"):
        check_prompt_lengths(problems(3), prompts, tokenizer, 3)
    with pytest.raises(DataError, match="and 4 more"):
        check_prompt_lengths(problems(9), ["abc"] * 9, tokenizer, 2)
    with pytest.raises(ArgumentError):
        check_prompt_lengths(problems(2), ["a"], tokenizer, 3)
    assert check_prompt_lengths([], [], tokenizer, 3) == []


@given(
    size=st.integers(1, 20),
    draws=st.lists(st.integers(0, 30), max_size=8),
    seed=st.integers(-(2**63), 2**63),
    shuffle=st.booleans(),
)
def test_each_epoch_is_a_permutation_and_the_cursor_resumes(
    size: int, draws: list[int], seed: int, shuffle: bool
) -> None:
    data = problems(size)
    stream = ProblemStream(data, seed=seed, shuffle=shuffle)
    drawn: list[Problem] = []
    for count in draws:
        again = ProblemStream(data, seed=seed, shuffle=shuffle)
        again.load_state_dict(json.loads(json.dumps(stream.state_dict())))
        block = stream.take(count)
        assert again.take(count) == block
        assert again.state_dict() == stream.state_dict()
        drawn += block
    whole = ProblemStream(data, seed=seed, shuffle=shuffle).take(sum(draws))
    assert drawn == whole, "the sizes of the draws do not matter"
    for start in range(0, len(drawn) - size + 1, size):
        epoch = drawn[start : start + size]
        assert sorted(p.id for p in epoch) == sorted(p.id for p in data)
        if not shuffle:
            assert epoch == data


def test_epochs_and_seeds_have_their_own_order() -> None:
    data = problems(50)
    drawn = ProblemStream(data, seed=0).take(100)
    assert drawn[:50] != drawn[50:]
    assert drawn[:50] != data
    assert ProblemStream(data, seed=1).take(50) != drawn[:50]


def test_the_order_is_the_same_on_every_machine_and_release() -> None:
    assert [p.id for p in ProblemStream(problems(8), seed=3).take(8)] == ORDER


ORDER = ["p6", "p1", "p5", "p2", "p7", "p4", "p3", "p0"]


def test_streams_refuse_what_they_cannot_do() -> None:
    with pytest.raises(DataError, match="no problems"):
        ProblemStream([])
    stream = ProblemStream(problems(3))
    with pytest.raises(ArgumentError, match="-1"):
        stream.take(-1)
    with pytest.raises(RunError, match="belongs to 4 problems, the data has 3"):
        stream.load_state_dict({"epoch": 0, "index": 0, "size": 4})
    with pytest.raises(RunError, match="out of range"):
        stream.load_state_dict({"epoch": 0, "index": 4, "size": 3})


@given(size=st.integers(2, 40), seed=st.integers(0, 100), data=st.data())
def test_a_split_is_a_partition_in_order(size: int, seed: int, data: st.DataObject) -> None:
    everything = problems(size)
    count = data.draw(st.integers(0, size - 1))
    train, held = split(everything, count=count, seed=seed)
    assert len(held) == count
    assert sorted([*train, *held], key=everything.index) == everything
    assert train == sorted(train, key=everything.index)
    assert held == sorted(held, key=everything.index)
    assert split(everything, count=count, seed=seed) == (train, held)


def test_splits_by_fraction_and_bad_splits() -> None:
    data = problems(10)
    assert len(split(data, fraction=0.25)[1]) == 2
    assert split(data, count=3, seed=0) != split(data, count=3, seed=1)
    for options in (
        {}, {"count": 1, "fraction": 0.1}, {"count": 10}, {"count": -1},
        {"fraction": 1.0}, {"fraction": float("nan")}, {"fraction": 0.99},
    ):  # fmt: skip
        with pytest.raises(ArgumentError):
            split(data, **options)  # type: ignore[arg-type]
