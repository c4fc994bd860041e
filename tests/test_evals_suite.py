from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError
from stare.evals.data.registry import names
from stare.evals.suite import SUITES, BenchRequest, default_n, parse


def test_the_six_of_the_paper() -> None:
    assert parse("stare6") == tuple(
        BenchRequest(name, n)
        for name, n in zip(
            ("aime24", "aime25", "amc23", "math500", "minerva_math", "olympiadbench"),
            (32, 32, 32, 4, 4, 4),
            strict=True,
        )
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(names()), st.integers(1, 512)),
        min_size=1,
        unique_by=lambda r: r[0],
    )
)
def test_lists_come_back(requests: list[tuple[str, int]]) -> None:
    text = ", ".join(f"{name}:{n}" for name, n in requests)
    assert parse(text) == tuple(BenchRequest(*request) for request in requests)


def test_defaults_and_overrides() -> None:
    assert parse("mini,aime24:8") == (BenchRequest("mini", 4), BenchRequest("aime24", 8))
    assert {request.n for request in parse("stare6:2")} == {2}
    assert all(default_n(name) > 0 for name in names())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aime2024:32", r"'aime2024'\nhint: did you mean aime24"),
        ("stare", "did you mean stare6"),
        ("zzzzzz", "known: stare6, aime24"),
        ("aime24:0", "integer >= 1, got 'aime24:0'"),
        ("aime24:-1", "integer >= 1"),
        ("aime24:", "integer >= 1"),
        ("aime24:²", "integer >= 1"),
        ("aime24,aime24:8", "named twice"),
        ("stare6,math500", "named twice"),
        ("", "no benchmark in ''"),
        (" , ", "no benchmark"),
    ],
)
def test_bad_lists(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse(text, tmp_path)


def test_own_benchmarks_are_known(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("", "utf-8")
    assert parse("mine", tmp_path) == (BenchRequest("mine", 1),)
    with pytest.raises(ArgumentError, match="did you mean mine"):
        parse("mime", tmp_path)
    assert set(SUITES).isdisjoint(names())
