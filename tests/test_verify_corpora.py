"""Whether the verifier may be believed: labelled pairs, ours and those of the shared folder."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from stare import _core

SHARED = ("cases", "completions", "golds", "sci_notation", "variants")

# Benchmark: its sources in the corpora, and the share that must be decided.
ASKED = {
    "MATH": (("math_train", "math500", "math_100"), 0.97),
    "AIME": (("aime_1983_2023", "aime24"), 0.97),
    "AMC": (("amc23",), 0.97),
    "GSM8K": (("gsm8k",), 0.97),
    "OlympiadBench": (("olympiadbench",), 0.90),
    "Minerva": (("minerva_math",), 0.85),
    "DeepMath": (("deepmath",), 0.75),
    "CollegeMath": (("college_math",), 0.75),
}

# Reasons that hold between neighbours only: a rounding of a rounding is none.
LENIENT = {"rounded-decimal", "within-tolerance"}


@pytest.fixture(scope="module")
def bench(root: Path) -> ModuleType:
    """The script that prints the same figures."""
    spec = importlib.util.spec_from_file_location(
        "verify_corpora", root / "bench/verify_corpora.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def graded(bench: ModuleType, shared: Path) -> dict[str, list]:
    """Every shared file, graded once."""
    return {name: bench.grade(bench.rows(shared / f"corpora/{name}.jsonl")) for name in SHARED}


@pytest.fixture(scope="module")
def pairs(graded: dict[str, list]) -> list[tuple[str, str]]:
    """Bare answers with their golds; percentages apart, where gold and answer differ in kind."""
    rows = [item.row for item in graded["variants"] + graded["sci_notation"]]
    return [(row.answer, row.gold) for row in rows if row.answer and "%" not in row.gold]


def _failures(graded: list, what: str) -> list[tuple[str, str, str, str]]:
    return [
        (item.row.gold, item.row.completion[-200:], item.label, item.reason)
        for item in graded
        if getattr(item, what)
    ]


@pytest.mark.parametrize("name", ["verify_cases.jsonl", "verify_pairs.tsv"])
def test_our_own_cases(bench: ModuleType, root: Path, name: str):
    graded = bench.grade(bench.rows(root / "tests/data" / name))
    assert len(graded) > 100
    assert _failures(graded, "wrong") == []
    assert _failures(graded, "missed") == []


@pytest.mark.parametrize("name", SHARED)
def test_no_verdict_is_wrong(graded: dict[str, list], name: str):
    assert _failures(graded[name], "wrong") == []


@pytest.mark.parametrize("benchmark", ASKED)
def test_enough_is_decided(bench: ModuleType, graded: dict[str, list], benchmark: str):
    sources, share = ASKED[benchmark]
    # A gold against itself is equal as a text, which says nothing of what is understood.
    rows = [item for item in graded["variants"] if item.row.source in sources]
    assert len(rows) > 10
    assert bench.coverage(rows) >= share
    golds = [item for item in graded["golds"] if item.row.source in sources]
    assert bench.coverage(golds) >= share


@pytest.mark.parametrize("name", ["sci_notation", "completions"])
def test_enough_of_the_other_files_is_decided(
    bench: ModuleType, graded: dict[str, list], name: str
):
    assert bench.coverage(graded[name]) >= 0.97


def test_the_verdict_does_not_depend_on_the_side(pairs: list[tuple[str, str]]):
    unlike = []
    for pair in pairs:
        (verdict, reason), (swapped, other) = (
            _core.compare_answers(*sides) for sides in (pair, pair[::-1])
        )
        # An answer that states something false is wrong; of a gold it says nothing.
        if verdict != swapped and "false-statement" not in (reason, other):
            unlike.append((*pair, verdict, swapped))
    assert unlike == []


def test_equal_answers_share_a_key(pairs: list[tuple[str, str]]):
    unlike = []
    for answer, gold in pairs:
        verdict, reason = _core.compare_answers(answer, gold)
        keys = [_core.answer_key(side) or "" for side in (answer, gold)]
        # `5` is equal to `5 cm` and to `5 m`, which have keys of their own.
        bare = len({" unit " in key for key in keys}) > 1
        if verdict == "correct" and reason not in LENIENT and not bare and keys[0] != keys[1]:
            unlike.append((answer, gold, reason, *keys))
    assert unlike == []


def test_different_answers_have_keys_of_their_own(pairs: list[tuple[str, str]]):
    answers = defaultdict(set)
    for answer, gold in pairs:
        answers[gold] |= {answer, gold}
    shared = [
        (*pair, _core.answer_key(pair[0]))
        for group in answers.values()
        for pair in combinations(sorted(group), 2)
        if _core.answer_key(pair[0]) == _core.answer_key(pair[1])
        and all(_core.compare_answers(*p)[0] == "incorrect" for p in (pair, pair[::-1]))
    ]
    assert shared == []


def test_answers_equal_to_one_gold_do_not_differ(pairs: list[tuple[str, str]]):
    equal = defaultdict(set)
    for answer, gold in pairs:
        verdict, reason = _core.compare_answers(answer, gold)
        if verdict == "correct" and reason not in LENIENT:
            equal[gold].add(answer)
    unlike = [
        (gold, *pair)
        for gold, answers in equal.items()
        for pair in combinations(sorted(answers), 2)
        if _core.compare_answers(*pair)[0] == "incorrect"
    ]
    assert unlike == []
