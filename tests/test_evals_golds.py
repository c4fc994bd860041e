"""Every gold of the six benchmarks, written as models write it; and what must never pass for it.

As `stare-eval` grades: with the golds and the settings of the imported benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from stare.evals import data
from stare.evals.cli import main
from stare.evals.graders import GRADERS, Graded, Question, grade_questions
from stare.evals.grading import bench_settings

SIX = ("aime24", "aime25", "amc23", "math500", "minerva_math", "olympiadbench")
Form = Callable[[str], str | None]


def boxed(answer: str) -> str:
    return f"So it is \\boxed{{{answer}}}."


def bare(gold: str) -> str:
    """Without dollar signs around it."""
    return gold.strip().removeprefix("$").removesuffix("$").strip()


def unless_dollars(form: str) -> Form:
    return lambda g: None if "$" in bare(g) else form.replace("@", bare(g))


# A response, or None where the form does not apply: all golds have at least twelve.
ANY: dict[str, Form] = {
    "box": lambda g: boxed(g),
    "box in dollars": unless_dollars("Hence $\\boxed{@}$."),
    "box in display maths": unless_dollars("Hence\n\\[\n\\boxed{@}\n\\]\nas claimed."),
    "box in double dollars": unless_dollars("Hence $$\\boxed{@}$$"),
    "display maths, full stop": unless_dollars("We get \\[\\boxed{@}.\\]"),
    "dollars in the box": unless_dollars("Hence \\boxed{$@$}"),
    "spaces in the box": lambda g: boxed(f"  {g}  "),
    "full stop in the box": lambda g: None if g.rstrip().endswith(".") else boxed(f"{g}."),
    "display style": unless_dollars("Hence \\boxed{\\displaystyle @}"),
    "bold": unless_dollars("**Answer:** **$\\boxed{@}$**"),
    "fbox": unless_dollars("Thus \\fbox{@}"),
    "text after it": lambda g: boxed(g) + " " + "This can be checked by substitution. " * 12,
    "a guess before it": lambda g: "First guess \\boxed{-77}, no. " + boxed(g),
    "thinking before it": lambda g: "<think>Maybe \\boxed{-77}?</think>\n" + boxed(g),
    "the same twice": lambda g: boxed(g) + "\n\n" + boxed(g),
    "bold label": lambda g: f"**Final Answer:** \\boxed{{{g}}}",
    "a line of its own": lambda g: f"Summing up:\n\n\\boxed{{{g}}}\n",
    "list item": lambda g: f"- first, we expand\n- then \\boxed{{{g}}}",
    "heading": lambda g: f"### Answer\n\\boxed{{{g}}}",
    "a negated choice": lambda g: f"Not 12, but \\boxed{{{g}}} is the answer.",
    "announced": unless_dollars("Therefore, the final answer is: $@$. I hope it is correct."),
    "answer tags": unless_dollars("<answer>\\boxed{@}</answer>"),
    "dfrac": lambda g: boxed(re.sub(r"\\[dt]?frac", r"\\dfrac", g)) if "frac" in g else None,
    "tfrac": lambda g: boxed(re.sub(r"\\[dt]?frac", r"\\tfrac", g)) if "frac" in g else None,
    "left, right": lambda g: (
        boxed(re.sub(r"\\(left|right)(?=[()\[\]])", "", g)) if "\\left" in g else None
    ),
    "thin spaces": lambda g: boxed(g.replace(", ", ",\\,")) if ", " in g else None,
}
INTEGERS: dict[str, Callable[[int], str]] = {
    "leading zeros": lambda n: f"{'-' * (n < 0)}00{abs(n)}",
    "point zero": lambda n: f"{n}.0",
    "text": lambda n: f"\\text{{{n}}}",
    "bold face": lambda n: f"\\mathbf{{{n}}}",
    "thousands": lambda n: f"{n:,}",
    "thousands in braces": lambda n: f"{n:,}".replace(",", "{,}"),
    "thousands, thin": lambda n: f"{n:,}".replace(",", "\\,"),
    "thousands, as in MATH": lambda n: f"{n:,}".replace(",", ",\\!"),
    "a letter for it": lambda n: f"x = {n}",
    "in parentheses": lambda n: f"({n})",
    "a fraction of one": lambda n: f"\\frac{{{n}}}{{1}}",
    "a sum": lambda n: f"{n - 1} + 1",
}
UNITS = ("\\text{ units}", " \\text{ cm}", "\\text{ dollars}", "\\ \\text{square units}")
"""Behind an integer: what a word there means is not always known, so undecided is accepted."""


@pytest.fixture(scope="module")
def store(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    files = [str(shared / f"benchmarks/{name}.jsonl") for name in SIX]
    assert main(["data", "import", *files, "--each", "--data-dir", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def golds(store: Path) -> dict[str, list[tuple[str, ...]]]:
    return {name: list(data.load(name, store).golds.values()) for name in SIX}


def graded(bench: str, asked: list[tuple[str, tuple[str, ...]]]) -> list[Graded]:
    questions = [Question(text, golds, "stop") for text, golds in asked]
    settings = bench_settings(bench)
    return grade_questions(GRADERS["stare"], questions, tolerance=settings["tolerance"])


def integer(gold: str) -> int | None:
    return int(gold) if re.fullmatch(r"-?\d{1,18}", gold) else None


@pytest.mark.parametrize("bench", SIX)
def test_golds_are_right_however_they_are_written(golds, bench: str):
    asked, names = [], []
    for accepted in golds[bench]:
        for gold in accepted:
            forms = {name: form(gold) for name, form in ANY.items()}
            n = integer(gold)
            if n is not None:
                forms |= {name: boxed(form(n)) for name, form in INTEGERS.items()}
            assert sum(one is not None for one in forms.values()) >= (
                6 if "$" in bare(gold) else 12
            )
            asked += [(text, accepted) for text in forms.values() if text is not None]
            names += [name for name, text in forms.items() if text is not None]
    found = [
        (one.outcome, name, *question)
        for one, name, question in zip(graded(bench, asked), names, asked, strict=True)
        if one.outcome != "correct"
    ]
    assert [one for one in found if one[0] != "undecided"] == []
    assert len(found) <= 0.001 * len(asked), found[:10]


@pytest.mark.parametrize("bench", SIX)
def test_units_behind_a_number_do_not_make_it_wrong(golds, bench: str):
    numbers = [(g, n) for a in golds[bench] for g in a if (n := integer(g)) is not None]
    asked = [(boxed(f"{n}{unit}"), (gold,)) for gold, n in numbers for unit in UNITS]
    found = graded(bench, asked)
    wrong = [
        (one, question)
        for one, question in zip(found, asked, strict=True)
        if one.outcome not in ("correct", "undecided")
    ]
    assert wrong == []


def near_misses(gold: str) -> list[str]:
    """Answers that other graders accept for a number: of other size, rounded, or in percent."""
    n = integer(gold)
    if n is not None and n != 0:
        cents = Fraction(n, 100)
        return [
            f"{float(cents):.2f}",
            f"{n * 100}",
            f"{n}.01",
            f"{100 * n + (1 if n > 0 else -1)}/100",
            f"{n}\\%",
            f"{float(cents):.2f}\\%",
            f"{n + 1}",
            f"-{n}" if n > 0 else f"{-n}",
            f"{n}.0001",
            f"{n}0",
            f"{n}, {n + 1}",
            f"\\{{{n}, {n + 2}\\}}",
            f"\\frac{{1}}{{{n + (n == 1)}}}" if abs(n) > 1 else "7",
        ]
    found = re.fullmatch(r"(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}", gold)
    if found is None:
        return []
    value = Fraction(int(found[2]), int(found[3])) * (-1 if found[1] else 1)
    # Six digits or more that round the gold rightly pass (docs/verify.md).
    near = [f"{float(value):.{digits}g}" for digits in (1, 2, 3, 4, 5)]
    near += [f"{float(value + Fraction(off, 10**6)):.6f}" for off in (-3, 3)]
    near += [f"{float(100 * value):.6f}", f"{float(value / 100):.6f}"]
    return [one for one in near if "e" not in one and Fraction(one) != value]


@pytest.mark.parametrize("bench", SIX)
def test_numbers_of_another_size_or_rounded_never_pass(golds, bench: str):
    pairs = [(answer, a) for a in golds[bench] for gold in a for answer in near_misses(gold)]
    # Equal after all: another of the golds, and a percentage where the gold is one.
    asked = [(boxed(answer), golds) for answer, golds in pairs if answer not in golds]
    passed = [
        (question, one)
        for question, one in zip(asked, graded(bench, asked), strict=True)
        if one.outcome == "correct"
    ]
    assert passed == []


@pytest.mark.parametrize(
    "answer", ["2.04", "20400", "204.01", "2.04\\%", "204\\%", "203.99", "204.0001", "(2)(04)"]
)
def test_what_other_graders_accept_for_204(answer: str):
    (one,) = graded("aime24", [(boxed(answer), ("204",))])
    assert one.outcome != "correct"


def test_an_unfinished_thought_declares_nothing():
    texts = ["<think>maybe \\boxed{70} no wait,", "<think>maybe 70"]
    found = graded("aime25", [(text, ("70",)) for text in texts])
    assert {one.outcome for one in found} == {"no_answer"}


@pytest.mark.parametrize("gold", ["1,2", "(1,2),(3,4)", "-1, 1"])
def test_several_answers_have_no_order(gold: str):
    parts = re.split(r",\s*(?![^()]*\))", gold)
    texts = [boxed(",".join(reversed(parts))), boxed(" \\text{ and } ".join(parts))]
    found = graded("olympiadbench", [(text, (gold,)) for text in texts])
    assert [one.outcome for one in found] == ["correct", "correct"]
