from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stare.errors import ConfigError, DataError, MissingExtraError
from stare.train.config import DataConfig
from stare.train.mixing import reading
from stare.train.mixing.answers import answer_kinds, same_answer
from stare.train.mixing.benchmarks import load_benchmarks
from stare.train.mixing.entries import entries, resolved
from stare.train.mixing.fields import MISSING, answer_text, matches, resolve
from stare.train.mixing.prepare import Prepared, prepare
from stare.train.sections_data import SourceConfig
from stare.types import Problem

LONG = (
    "A farmer has {0} sheep and {1} goats in two fields, sells a third of the sheep and buys twice "
    "as many goats as he sold sheep. If $x$ is the number of animals he has now, find ${2}$."
)


def jsonl(path: Path, *rows: dict[str, Any] | str) -> str:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def row(problem: str, answer: Any = "1", **extra: Any) -> dict[str, Any]:
    return {"problem": problem, "answer": answer, **extra}


def mix(*sources: dict[str, Any], **keys: Any) -> Prepared:
    load = keys.pop("load_dataset", None)
    held_out = keys.pop("given_held_out", None)
    keys.setdefault("contamination", "off")
    data = DataConfig(sources=[SourceConfig(**s) for s in sources], **keys)
    return prepare(data, load_dataset=load, held_out=held_out)


def ids(mixed: Prepared) -> dict[str, list[str]]:
    return {name: [p.id for p in problems] for name, problems in mixed.sets.items()}


def test_every_row_is_counted_once_under_what_became_of_it(tmp_path: Path) -> None:
    a = jsonl(
        tmp_path / "a.jsonl",
        row(LONG.format(30, 40, "x"), "60", id="first"),
        row("  " + LONG.format(30, 40, "x").replace("$", "$$") + "\n", "60.0"),
        row(LONG.format(30, 40, "x"), "61"),
        row(LONG.format(30, 40, "y").replace("$x$", "$y$"), "60"),
        row(LONG.format(30, 40, "z").replace("$x$", "$z$"), "70"),
        row(LONG.format(30, 41, "x"), "60"),
        row("Prove that $2$ is prime.", "see the proof above"),
        row("Which $n$ work?", "all odd n that are not squares, by the lemma"),
        row("And this?", ""),
        row("", "4"),
        row("(a) Find 2+2. (b) Find 3+3.", "4, 6"),
        row("Skipped by a filter", "4", level=9),
    )
    mixed = mix({"path": a, "where": {}})
    counts = mixed.report.sources["a"]
    assert counts.rows == 12
    assert counts.dropped == {
        "duplicate": 1,
        "duplicate, other answer": 1,
        "proof": 1,
        "unreadable-answer": 1,
        "no-answer": 1,
        "no-problem": 1,
        "near-duplicate": 1,
    }
    assert counts.kept + sum(counts.dropped.values()) == counts.rows
    # The same letters with another answer are another question; so is another number.
    assert counts.noted == {
        "several parts": 1,
        "near another problem with another answer, kept": 1,
    }
    assert ids(mixed) == {"a": ["a/first", "a/5", "a/6", "a/11", "a/12"]}
    assert [
        (d["id"], d["repeats"], d["kind"], d["same_answer"]) for d in mixed.report.duplicates
    ] == [
        ("a/3", "a/first", "exact", False),
        ("a/4", "a/first", "near", True),
    ]


def test_an_earlier_source_keeps_what_a_later_one_repeats(tmp_path: Path) -> None:
    a = jsonl(tmp_path / "a.jsonl", row("What is 1+1?", 2), row("What is 2+2?", 4))
    b = jsonl(tmp_path / "b.jsonl", row("What is 2+2 ?", 4), row("What is 3+3?", 6))
    assert ids(mix({"path": a}, {"path": b})) == {"a": ["a/1", "a/2"], "b": ["b/2"]}
    assert ids(mix({"path": b}, {"path": a})) == {"b": ["b/1", "b/2"], "a": ["a/1"]}
    off = mix({"path": a}, {"path": b}, dedup="off")
    assert ids(off) == {"a": ["a/1", "a/2"], "b": ["b/1", "b/2"]}


def test_dedup_exact_keeps_what_is_only_near(tmp_path: Path) -> None:
    a = jsonl(
        tmp_path / "a.jsonl",
        row(LONG.format(3, 4, "x")),
        row(LONG.format(3, 4, "x") + " Explain."),
        row(LONG.format(3, 4, "x").replace("A farmer", "a Farmer")),
    )
    assert ids(mix({"path": a}, dedup="exact")) == {"a": ["a/1", "a/2"]}
    assert ids(mix({"path": a}, dedup="near")) == {"a": ["a/1"]}


def test_contamination_is_listed_and_removed(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    bench.mkdir()
    jsonl(
        bench / "exam.jsonl",
        {"stare_benchmark": 1, "rows": 2},
        {"id": "q1", "problem": LONG.format(11, 12, "x"), "answer": "1"},
        {"id": "q2", "problem": "What is $7 \\cdot 8$?", "answer": "56"},
    )
    planted = [
        (LONG.format(11, 12, "x"), "q1", "exact"),
        (LONG.format(11, 12, "t").replace("$x$", "$t$").replace("field", "meadow"), "q1", "near"),
        (
            " ".join(f"note{c}" for c in "abcdefghijklmnopqrstuvwxyz") + LONG.format(11, 12, "x"),
            "q1",
            "contains",
        ),
        ("What is \\(7\\times8\\)", "q2", "exact"),
    ]
    clean = [LONG.format(13, 12, "x"), "What is $7 + 8$?", "Find $2^5$."]
    a = jsonl(tmp_path / "a.jsonl", *[row(t) for t, _, _ in planted], *map(row, clean))
    kept = {"contamination": "remove", "against": [str(bench)]}
    mixed = mix({"path": a}, **kept)
    assert ids(mixed) == {"a": ["a/5", "a/6", "a/7"]}
    assert mixed.report.sources["a"].dropped == {"contaminated": 4}
    found = [
        (c["id"], c["benchmark_id"], c["kind"], c["removed"]) for c in mixed.report.contamination
    ]
    assert found == [(f"a/{i}", q, kind, True) for i, (_, q, kind) in enumerate(planted, 1)]
    assert mixed.report.summary()["benchmarks"] == {"exam": {"problems": 2, "training_rows": 4}}
    assert all("sheep" not in json.dumps(c) for c in mixed.report.contamination)

    reported = mix({"path": a}, contamination="report", against=[str(bench)], dedup="exact")
    assert len(reported.sets["a"]) == 7
    assert reported.report.sources["a"].noted == {"contaminated": 4}
    assert not any(c["removed"] for c in reported.report.contamination)


def test_held_out_problems_of_a_file_count_as_a_benchmark(tmp_path: Path) -> None:
    held = [Problem(id="h", problem="What is 1+1?", answer="2")]
    a = jsonl(tmp_path / "a.jsonl", row("What is 1+1 ?", 2), row("What is 2+2?", 4))
    exam = jsonl(tmp_path / "exam.jsonl", row("Unrelated"))
    mixed = mix({"path": a}, contamination="remove", against=[exam], given_held_out=held)
    assert ids(mixed) == {"a": ["a/2"]}
    assert mixed.report.contamination[0]["benchmark"] == "eval_path"
    assert mixed.held_out == held


def test_the_store_of_stare_eval_is_found_and_an_empty_one_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARE_DATA", str(tmp_path / "store"))
    with pytest.raises(
        DataError, match=r"(?s)no benchmark in .*hint: stare-eval data fetch stare6"
    ):
        load_benchmarks(["store"])
    from stare.evals.data.importing import store_as_own

    rows = [{"problem": f"What is {i}+{i}?", "answer": str(2 * i)} for i in range(3)]
    store_as_own(rows, tmp_path / "store", "mine", source="test")
    found = load_benchmarks(["store"])
    assert [(b.bench, b.problem) for b in found] == [
        ("mine", f"What is {i}+{i}?") for i in range(3)
    ]
    a = jsonl(tmp_path / "a.jsonl", row("What is 2+2?", 4), row("What is 5+5?", 10))
    assert ids(mix({"path": a}, contamination="remove")) == {"a": ["a/2"]}


def test_held_out_is_taken_from_all_sets_and_is_in_none(tmp_path: Path) -> None:
    a = jsonl(tmp_path / "a.jsonl", *[row(f"What is {i}+1?", i + 1) for i in range(30)])
    b = jsonl(tmp_path / "b.jsonl", *[row(f"What is {i}*7?", i * 7) for i in range(30)])
    mixed = mix({"path": a}, {"path": b}, held_out=20)
    left = {p.id for problems in mixed.sets.values() for p in problems}
    assert len(left) == 40
    assert len(mixed.held_out) == 20
    assert not left & {p.id for p in mixed.held_out}
    assert mixed.held_out == mix({"path": a}, {"path": b}, held_out=20).held_out
    with pytest.raises(DataError, match="only 60 problems are left"):
        mix({"path": a}, {"path": b}, held_out=60)


def test_weights_limits_and_filters(tmp_path: Path) -> None:
    a = jsonl(
        tmp_path / "a.jsonl", *[row(f"What is {i}+1?", i + 1, rate=i / 10) for i in range(10)]
    )
    mixed = mix({"path": a, "weight": 2, "where": {"rate": ">= 0.4"}, "limit": 3})
    assert ids(mixed) == {"a": ["a/5", "a/6", "a/7"]}
    assert mixed.weights == {"a": 2.0}
    assert mixed.report.sources["a"].rows == 7
    with pytest.raises(DataError, match=r"a.jsonl:1: where: there is no field 'rat'"):
        mix({"path": a, "where": {"rat": 1}})
    with pytest.raises(DataError, match="cannot compare"):
        mix({"path": a, "where": {"problem": "> 3"}})


class Hub:
    """Stands in for `datasets.load_dataset`."""

    def __init__(self, rows: list[dict[str, Any]], fail_after: int | None = None) -> None:
        self.rows, self.fail_after, self.calls, self.read = rows, fail_after, [], 0

    def __call__(self, *args: Any, **options: Any) -> Iterator[dict[str, Any]]:
        self.calls.append((args, options))
        return self._stream()

    def _stream(self) -> Iterator[dict[str, Any]]:
        for i, one in enumerate(self.rows):
            if i == self.fail_after:
                raise ConnectionError("Couldn't reach the Hub\nlong story")
            self.read += 1
            yield one


def verl_row(problem: str, gold: str) -> dict[str, Any]:
    return {
        "prompt": [{"role": "user", "content": problem}],
        "reward_model": {"style": "rule", "ground_truth": gold},
        "extra_info": {"index": 0, "model_difficulty": {"DeepSeek-R1-Distill-Qwen-1.5B": 3}},
    }


def test_dapo_comes_a_hundred_times_in_a_wrapper_and_leaves_once_without() -> None:
    entry = entries()["dapo-math-17k"]
    prefix, suffix = entry["strip_prefix"], entry["strip_suffix"]
    rows = [
        verl_row(f"{prefix}\n\nWhat is {i}+{i}?\n\n{suffix}", str(2 * i)) for i in range(5)
    ] * 100 + [verl_row("Not wrapped: 9+9?", "18")]
    hub = Hub(rows)
    mixed = mix({"entry": "dapo-math-17k"}, load_dataset=hub)
    assert hub.calls == [
        (("BytedTsinghua-SIA/DAPO-Math-17k",), {"split": "train", "streaming": True})
    ]
    texts = [p.problem for p in mixed.sets["dapo-math-17k"]]
    assert texts == [*(f"What is {i}+{i}?" for i in range(5)), "Not wrapped: 9+9?"]
    counts = mixed.report.sources["dapo-math-17k"]
    assert (counts.rows, counts.kept, counts.dropped) == (501, 6, {"duplicate": 495})
    assert counts.noted == {"prompt prefix or suffix not there": 1}


def test_skywork_has_its_gold_as_a_list_in_text() -> None:
    hub = Hub([verl_row("2+2?", '["4"]'), verl_row("3?", "['3', '4']"), verl_row("5?", '["5"')])
    mixed = mix({"entry": "skywork-or1"}, load_dataset=hub)
    assert [p.answer for p in mixed.sets["skywork-or1"]] == ["4"]
    assert mixed.report.sources["skywork-or1"].dropped == {"no-answer": 2}
    assert hub.calls[0][1]["split"] == "math"


def test_a_stream_stops_at_the_limit_and_a_revision_is_passed_on() -> None:
    hub = Hub([row(f"What is {i}+1?", i + 1) for i in range(100)])
    mix(
        {"hub": "me/set", "subset": "en", "revision": "abc", "limit": 5, "split": "all"},
        load_dataset=hub,
    )
    assert hub.read == 5
    assert hub.calls == [(("me/set", "en"), {"split": "all", "streaming": True, "revision": "abc"})]


def test_a_hub_that_is_out_of_reach_says_what_to_do() -> None:
    hub = Hub([row("1+1?", 2)] * 3, fail_after=2)
    words = "(?s)after 2 rows: ConnectionError: Couldn't reach the Hub\nhint: .*add path = FOLDER"
    with pytest.raises(DataError, match=words) as caught:
        mix({"hub": "me/set"}, load_dataset=hub)
    assert "long story" not in str(caught.value)


def test_without_datasets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"stare-rl\[data\]"):
        mix({"hub": "me/set"})


def test_an_entry_can_be_read_from_files(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "b.json").write_text(json.dumps([verl_row("2+2?", '["4"]')]))
    jsonl(folder / "a.jsonl", verl_row("3+3?", '["6"]'))
    (folder / "README.md").write_text("no data")
    mixed = mix({"entry": "skywork-or1", "path": str(folder), "weight": 1})
    assert [p.problem for p in mixed.sets["skywork-or1"]] == ["3+3?", "2+2?"]
    source = resolved(SourceConfig(entry="polaris", problem="question", limit=4))
    assert (source.problem, source.answer, source.limit) == ("question", "answer", 4)
    assert source.hub == "POLARIS-Project/Polaris-Dataset-53K"
    with pytest.raises(ConfigError, match="hint: did you mean polaris"):
        resolved(SourceConfig(entry="polaris-53k"))


def test_real_parquet_through_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [verl_row(f"What is {i}+{i}?", f'["{2 * i}"]') for i in range(7)]
    datasets.Dataset.from_list(rows).to_parquet(str(tmp_path / "math.parquet"))
    mixed = mix({"entry": "skywork-or1", "path": str(tmp_path / "*.parquet")})
    assert [p.answer for p in mixed.sets["skywork-or1"]] == [str(2 * i) for i in range(7)]
    (tmp_path / "math.parquet").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(DataError, match=r"(?s)not readable as Parquet.*hint: is it a Git LFS"):
        mix({"path": str(tmp_path / "math.parquet")})


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"problem": "a"'], r"a.jsonl:1: not valid JSON"),
        (['{"problem": "a", "answer": NaN}'], "NaN is not a JSON number"),
        ([row("a"), "[1]"], r"a.jsonl:2: expected a JSON object, got list"),
        (
            [{"question": "a", "answer": "1"}],
            r"no field 'problem' \(problem\)\nhint: fields found: q",
        ),
        ([{"problem": "a", "gold": "1"}], r"no field 'answer' \(answer\)"),
        ([row("a", id=1), row("b", id=1)], r"duplicate id 'a/1', first used at .*a.jsonl:1"),
        ([""], "has no rows"),
        (
            [row("a", "")],
            r"(?s)no problem of 'a' is left of 1 rows: 1 no-answer\nhint: stare-train",
        ),
    ],
)
def test_a_bad_file_is_an_error_that_names_the_line(
    tmp_path: Path, lines: list[Any], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        mix({"path": jsonl(tmp_path / "a.jsonl", *lines)})


def test_a_path_that_is_not_there_or_not_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        mix({"path": str(tmp_path / "none")})
    with pytest.raises(DataError, match="no file"):
        mix({"path": str(tmp_path)})
    with pytest.raises(DataError, match="no file"):
        mix({"path": str(tmp_path / "no" / "*.jsonl")})
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(DataError, match=r"got '\.csv'"):
        mix({"path": str(tmp_path / "a.csv")})
    (tmp_path / "a.jsonl").write_bytes(b'{"problem": "\xff"}')
    with pytest.raises(DataError, match="not UTF-8"):
        mix({"path": str(tmp_path / "a.jsonl")})


def test_benchmark_files_without_problems_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)no field 'problem' or 'question'.*found: text"):
        load_benchmarks([jsonl(tmp_path / "a.jsonl", {"text": "x"})])
    with pytest.raises(DataError, match="no problems in the file"):
        load_benchmarks([jsonl(tmp_path / "b.jsonl", "")])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"path": "a"}, "sources excludes path and factory"),
        ({"factory": "a:b"}, "sources excludes path and factory"),
        ({"sources": [{"path": "a"}, {"path": "x/a.jsonl"}]}, "two sources are called 'a'"),
        ({"sources": [{"path": "a", "weight": 1}, {"path": "b"}]}, "not for 'b'"),
        ({"sources": [{}]}, "a source needs one of entry, path and hub"),
        ({"sources": [{"path": "a", "hub": "b/c"}]}, "a source needs one of"),
        ({"sources": [{"entry": "a", "hub": "b/c"}]}, "has its own place on the Hub"),
        ({"sources": [{"path": "a", "revision": "r"}]}, "belong to a Hub data set"),
        ({"sources": [{"path": "a", "weight": 0}]}, r"weight must lie in \(0, inf\)"),
        ({"sources": [{"path": "a", "limit": 0}]}, "limit must lie in"),
        ({"sources": [{"path": "a", "name": "a/b"}]}, "name must be letters"),
        ({"sources": [{"path": "a", "problem": ""}]}, "name of a field"),
        ({"sources": [{"path": "a", "wieght": 2}]}, "unknown key"),
        ({"near_threshold": 0.3}, r"near_threshold must lie in \[0.5, 1\]"),
        ({"shingle": 0}, "shingle must lie"),
        ({"against": []}, "needs benchmarks in against"),
        ({"dedup": "some"}, "dedup must be one of near, exact, off"),
        ({"held_out": 5, "eval_path": "e"}, "exclude each other"),
        ({"sources": [], "dedup": "off"}, "dedup='off' needs sources"),
        ({"sources": [], "path": "a", "held_out": 5}, "held_out=5 needs sources"),
    ],
)
def test_contradictions_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        DataConfig(**({"sources": [{"path": "a"}]} | keys))


def test_answers_that_cannot_be_checked() -> None:
    cases = [
        ("2+2?", "4", "ok", False),
        ("Which set?", r"\{1, 2\}", "ok", False),
        ("Which day?", "Monday", "ok", False),
        ("Prove that $n!$ ends so.", "Q.E.D.", "proof", False),
        ("Let $n>1$. Prove that it holds.", "true", "proof", False),
        ("Show that the sum is constant and find it.", "12", "ok", False),
        ("Is it so?", "The statement is proven", "proof", False),
        ("Which ones?", "those that divide both numbers", "unreadable-answer", False),
        ("Which n?", "n=2k for all k", "unreadable-answer", False),
        ("Which order?", "pq - p - q", "ok", False),
        ("How many?", "2^{2^n}", "ok", False),
        ("(a) How many? (b) Which?", "(a) 3 (b) 4", "ok", True),
        ("(i) x? (ii) y?", "3", "ok", True),
    ]
    kinds = answer_kinds([c[0] for c in cases], [c[1] for c in cases])
    assert [(k.problem, k.multi_part) for k in kinds] == [c[2:] for c in cases]
    assert answer_kinds([], []) == []
    assert same_answer("0.5", "1/2")
    assert not same_answer("0.5", "one half of it all")


def test_field_paths_and_golds() -> None:
    row_ = {"a": [{"b.c": 1}], "n": None, "t": True}
    assert resolve(row_, "a.0.b.c") == 1
    for path in ("a.1", "a.x", "a.0.b", "q", "n.x", "t.0"):
        assert resolve(row_, path) is MISSING
    plain = SourceConfig(path="d")
    assert answer_text(True, plain) is None
    assert answer_text([1], plain) is None
    assert answer_text("  ", plain) is None
    solution = SourceConfig(path="d", answer_format="solution")
    assert answer_text("so it is #### 72", solution) == "72"
    assert answer_text("no idea", solution) is None
    assert matches({"a": 3}, {"a": "!= 4"})
    assert not matches({"a": 3}, {"a": "< 3"})


def test_a_gold_keeps_the_digits_it_was_written_with(tmp_path: Path) -> None:
    a = jsonl(tmp_path / "a.jsonl", '{"problem": "1.5?", "answer": 1.50}')
    (only,) = mix({"path": a}).sets["a"]
    assert only.answer == "1.50"
    assert reading.SUFFIXES == (".jsonl", ".json", ".parquet")
