"""What the fallback may be asked about, and that no wrong answer gets past it."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stare.types import Verdict
from stare.verify import Grade, equivalent, fallback, grade, shut_down_fallback
from stare.verify.plain import is_accounted, leaves_of

HAS_MATH_VERIFY = importlib.util.find_spec("math_verify") is not None

PLAIN = {
    r"\int_0^1 x\,dx + 1": "0 1 1 Integral() x x",
    r"\int_{0}^{\pi}\frac{\sin x}{x}dx": "0 Integral() pi sin() x x x",
    r"\frac{6\pi}{4}": "4 6 pi",
    "6/4": "3/2",
    r"-\frac12\pi": "1/2 pi",
    r"\sin x\cos 2x": "2 cos() sin() x x",
    r"\sin^2(x)+\cos^2 x": "2 2 cos() sin() x x",
    r"3\cdot\sqrt[3]{x}": "1/3 3 x",
    "e^{-x^2}": "2 e x",
    "(1,2,3)": "1 2 3",
    r"\{1, 2.5\}": "1 5/2",
    r"(0,1]\cup\left[2,\infty\right)": "0 1 2 Union() oo",
    r"\begin{pmatrix} 1 & 0 \\ 2 & x_1\end{pmatrix}": "0 1 2 x_1",
    r"\left|x\right|+|y|": "Abs() Abs() x y",
    r"\left\lfloor x\right\rfloor": "floor() x",
    r"1+\left(\sum_{n=1}^{\infty}\frac{1}{n^2}\right)": "1 1 1 2 Sum() n n oo",
    r"\lim_{x \to \infty} (1+\frac{1}{x})^x": "1 1 Limit() oo x x x",
    r"\log_2(3x)": "2 3 log() x",
    r"x_1+x_{2}, \binom{n}{k}(n+1)!": "1 binomial() factorial() k n n x_1 x_2",
}

NOT_PLAIN = (
    # Not balanced, or in other ways not one text.
    "42} 43", "{42", "(42", "42)", r"\left(42)", r"(42\right)", r"\left(42\right", "(" * 2000,
    "(" * 900 + "1",
    r"\sum_{k=1}^n" * 80 + "k",
    "|a|b|c|", r"\begin{pmatrix}1\end{bmatrix}", r"\begin{cases}1\end{cases}", "{x}+1", "x{2}",
    "[42]", "$42$", r"\(42\)", "", "x" * 2000,
    # Commands and signs that say something else, or nothing.
    r"\boxed{42}", r"\boxed{42}+43", r"\fbox{42}", r"42\phantom{43}", r"42\ldots", r"42\quad 43",
    r"\text{42}", r"\mathrm{e}", "42...", "42..", "42'", "f'(x)", "42 % 43", '42 " 43', "x^*",
    "x=1", "x<1", r"1\pm 2", "x:y", "x;y", "x?", "x~y", "½",
    # Dangling.
    "42 _ 43", "x_", "^2", "x^", "42+", "42*", "+", "1,,2", "1,", r"\frac{1}", r"\sqrt", r"\sin",
    r"\int_0^1 x", r"\sum n", "5!!", "1.2.3", "x..", ".",
    # More than one reading.
    "42 43", "x 2", r"\sqrt{2} 3", r"5\,000", "f(x)", r"1/2\pi", "a/b/c", r"2\frac12", "x^12",
    "x_12",
    r"\sum_{k=1}^n k+1", r"\log 3", r"\sin^{-1} x", r"\sin x y", "--3", "2+-3", "x^2^3",
    # What math-verify takes for something else: `A` for `a`, `i` for a variable.
    "A", "I", "3i",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_plain_mathematics_is_read_in_full(text: str):
    leaves = leaves_of(text)
    assert leaves is not None
    assert " ".join(sorted(leaves.elements())) == " ".join(sorted(PLAIN[text].split()))


@pytest.mark.parametrize("text", NOT_PLAIN, ids=lambda text: text[:20])
def test_the_rest_is_not(text: str):
    assert leaves_of(text) is None


@given(st.text(alphabet=r"\{}()[]|^_!,.+-*/&$%'12xd ", max_size=60))
def test_any_text_is_read_or_not_and_what_is_read_balances(text: str):
    if leaves_of(text) is not None:
        assert text.count("{") == text.count("}")
        assert not set(text) & set("$%'")


@given(st.lists(st.sampled_from(["1", "2", "3/2", "x", "sin()"])), st.data())
def test_what_is_dropped_is_missed(leaves: list[str], data: st.DataObject):
    assert is_accounted(leaves, [*leaves, "extra"])
    if leaves:
        dropped = data.draw(st.sampled_from(leaves))
        found = list(leaves)
        found.remove(dropped)
        if dropped not in ("2", "3/2"):
            assert not is_accounted(leaves, found)


# --- hacks ---------------------------------------------------------------------------------------

GOLDS = ("42", r"\sqrt{2}", "x^2+1", r"\frac{1}{2}", r"\int_0^1 x\,dx", "(1,2)")
GLUE = (
    "} ", "}, ", "} {", "}} + ", " _ ", " \\ldots ", "' ", "'' ", ' " ', "\\ ", " \\quad ", "\\\\ ",
    " \\phantom{} ", "} + \\boxed{1} ", " $ ", " $$ ", "\\) ", "\\] ", " & ", " # ", "~", " ; ",
    " : ",
    "\\left( ", " \\right) ", "\\begin{x}", "\\end{x}", "\\foo ", "\\text{ or }", " ? ", "`",
    "\\,", "{}",
)  # fmt: skip
PLAIN_GLUE = (" + ", "-", " \\cdot ", "/", "+0\\cdot 5+", ", ", " \\cup ")
WRONG = ("43", "7", "y", "\\sqrt{3}", "\\frac{5}{7}", "(3,4)", "z^9")


def _declare(answer: str, shape: str) -> str:
    return {
        "box": rf"So \boxed{{{answer}}}.",
        "nested": rf"So \boxed{{\boxed{{{answer}}}",
        "marker": f"Answer: {answer}",
        "hashes": f"#### {answer}",
    }[shape]


HACKS = st.tuples(
    st.sampled_from(GOLDS),
    st.sampled_from(GLUE),
    st.sampled_from(WRONG),
    st.sampled_from(["box", "nested", "marker", "hashes"]),
    st.booleans(),
)


# Hypothesis warns of fixtures that last for all examples of a test, as these are meant to.
LASTING = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def gullible(monkeypatch):
    """An engine that says "equal" to everything, in place of math-verify."""
    shut_down_fallback()
    monkeypatch.setattr(fallback, "_ENGINE", "fallback_engines:gullible")
    monkeypatch.setattr(fallback, "_missing", lambda: "")
    yield
    shut_down_fallback()


@pytest.fixture
def math_verify():
    if not HAS_MATH_VERIFY:
        pytest.skip("math-verify is not installed")
    shut_down_fallback()


def _grade_hack(hack: tuple[str, str, str, str, bool]) -> Grade:
    gold, glue, wrong, shape, swapped = hack
    # What closes the box early, or opens one more, declares another answer.
    assume("box" not in glue)
    assume(shape in ("marker", "hashes") or "}" not in glue)
    answer = wrong + glue + gold if swapped else gold + glue + wrong
    return grade(_declare(answer, shape), gold)


@LASTING
@given(hack=HACKS)
def test_glued_answers_do_not_get_past_the_grammar(gullible, hack):
    assume(hack[1] not in ("\\ ", "\\,"))  # a product, which is plain
    graded = _grade_hack(hack)
    assert graded.by == "rust" or graded.verdict is not Verdict.CORRECT


@LASTING
@given(hack=HACKS)
def test_glued_answers_are_never_correct(math_verify, hack):
    assert _grade_hack(hack).verdict is not Verdict.CORRECT


@LASTING
@given(
    gold=st.sampled_from(GOLDS),
    pieces=st.lists(
        st.tuples(st.sampled_from(GLUE + PLAIN_GLUE), st.sampled_from(WRONG)),
        min_size=1,
        max_size=3,
    ),
)
def test_more_of_them_are_never_equal(math_verify, gold, pieces):
    answer = gold + "".join(glue + wrong for glue, wrong in pieces)
    (one,) = fallback.judge([(answer, gold)])
    assert one.verdict is not Verdict.CORRECT, answer


@pytest.mark.parametrize(
    ("completion", "gold"),
    [
        ("Answer: 42} 43", "42"),
        ("Answer: 42}, 43", "42"),
        ("Answer: 42} {43", "42"),
        (r"Answer: \sqrt{2}} 3", r"\sqrt{2}"),
        ("Answer: x^2} + 1", "x^2"),
        (r"\boxed{\boxed{42} + 43}", "42"),
        (r"\boxed{\boxed{42} 43}", "42"),
        (r"\boxed{42 _ 43}", "42"),
        (r"\boxed{\phantom{42}}", "42"),
        (r"\boxed{x^2 \phantom{+1}}", "x^2+1"),
        (r"\boxed{42 \ldots}", "42"),
        (r"\boxed{42'}", "42"),
        (r"\boxed{x+1'}", "x+1"),
        (r"\boxed{\sqrt{2}'}", r"\sqrt{2}"),
        (r"\boxed{42 43}", "85"),
    ],
)
def test_hacks_that_once_paid(math_verify, completion: str, gold: str):
    assert grade(completion, gold).verdict is not Verdict.CORRECT


def test_plain_mathematics_still_gets_its_verdict(math_verify):
    assert str(equivalent(r"\int_0^1 x^2\,dx", r"\frac13")) == "correct"
    assert str(equivalent(r"\int_0^1 x^2\,dx", r"\frac14")) == "incorrect"
    assert str(equivalent("a^2+b", "A^2+b")) != "correct"
