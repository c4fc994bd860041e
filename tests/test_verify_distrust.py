"""Which verdicts of math-verify do not count: the table of rules, and that ordinary ones do."""

from __future__ import annotations

import pytest

from stare.verify.distrust import PairReport, distrust


def report(equal: bool | None, **other) -> PairReport:
    kinds = other.pop("kinds", ("expression", "expression"))
    gap = other.pop("gap", 0.0 if equal else 0.5)
    return PairReport(equal=equal, kinds=kinds, gap=gap, **other)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\sin 2x", r"2\sin x\cos x"),
        (r"\frac{\pi^2}{6}", r"\sum_{n=1}^{\infty}\frac{1}{n^2}"),
        (r"x_1 + x_2", r"x_{2}+x_{1}"),
        (r"\int_0^1 x^2\,dx", r"\frac13"),
        (r"\alpha\beta", r"\beta\alpha"),
        ("ab + c", "c + ab"),
        (r"\left(\frac{1}{2}, \sqrt{3}\right)", r"(0.5, 3^{1/2})"),
        (r"\pi", r"\theta_{i}"[:6]),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 3 \end{pmatrix}"),
    ],
)
@pytest.mark.parametrize("equal", [True, False])
def test_ordinary_verdicts_count(gold: str, answer: str, equal: bool):
    assert distrust(gold, answer, report(equal)) is None
    assert distrust(answer, gold, report(equal)) is None


@pytest.mark.parametrize(
    ("rule", "gold", "answer"),
    [
        ("text", r"1-\frac{1}{\mathrm{e}}", r"1+\frac{1}{\mathrm{e}}"),
        ("text", r"5\text{ m}", "5"),
        ("text", r"\operatorname{Res}(x)", "x"),
        ("words", "No", "on"),
        ("words", "ABC", "CAB"),
        ("words", "2 sqrt(13)", r"2\sqrt{13}"),
        ("relation", "x^2+1=0", "x^2+2=0"),
        ("relation", "(0,1)", "0<x<1"),
        ("relation", r"x \le 3", r"(-\infty, 3]"),
        ("relation", r"x\geq3", "3"),
        ("relation", r"x \in A", "A"),
        ("relation", r"a \not\equiv b", "a"),
        ("function-name", r"\gcd(n,p-1)", r"\gcd(n,p-4)"),
        ("function-name", r"\gamma+1", r"\gamma+2"),
        ("function-name", r"\Gamma(3)", "2"),
        ("function-name", r"\max(1,2)", "2"),
        ("set-builder", r"\{x \mid x^2\}", "x"),
        ("set-builder", r"\{x | x^2\}", "x"),
        ("set-builder", r"\{x : x^2\}", "x"),
        ("base", "204_5", "204_6"),
        ("base", "204_{5}", "54"),
        ("imaginary-unit", "-1", "i^2"),
        ("imaginary-unit", "-3 i", "-3i"),
        ("imaginary-unit", "2i", r"2\imath"),
        ("quantity", r"50\%", "0.5"),
        ("quantity", r"\$5", "5"),
        ("quantity", r"90^\circ", "90"),
        ("notation", r"0.\overline{3}", "1/3"),
        ("notation", "15", "5!!"),
        ("notation", "4:30", "2/15"),
        ("notation", "4.4e7", "44000000"),
        ("notation", r"1 \pm 2", "3"),
        ("plain", "42} 43", "42"),
        ("plain", r"\boxed{42}+43", "42"),
        ("plain", "42'", "42"),
        ("not-ascii", "√2", r"\sqrt{2}"),
    ],
)
@pytest.mark.parametrize("equal", [True, False])
def test_misread_notation_does_not(rule: str, gold: str, answer: str, equal: bool):
    assert distrust(gold, answer, report(equal)) == rule
    assert distrust(answer, gold, report(equal)) == rule


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("unparsed", report(None)),
        ("unparsed", report(False, kinds=("unparsed", "number"))),
        ("relation", report(True, kinds=("relation", "relation"))),
        ("dropped", report(True, accounted=False)),
        ("kinds", report(True, kinds=("finite-set", "interval"), gap=None)),
        ("kinds", report(False, kinds=("set", "tuple"))),
        ("kinds", report(False, kinds=("number", "matrix"))),
        ("tiny", report(True, kinds=("number", "number"), smallest=1e-7)),
        ("gap", report(True, gap=1e-6)),
        ("gap", report(False, gap=1e-13)),
        ("gap", report(False, gap=None)),
        (None, report(True, gap=None)),
        (None, report(True, smallest=1e-5)),
        (None, report(False, smallest=1e-30)),
        (None, report(False, kinds=("number", "expression"))),
        (None, report(False, kinds=("set", "set"), gap=None)),
        (None, report(True, kinds=("tuple", "tuple"), gap=None)),
    ],
)
def test_what_the_parser_saw(rule: str | None, seen: PairReport):
    assert distrust("a", "b", seen) == rule
