r"""Where math-verify errs, class by class: its verdict, the right one, and ours. A markdown table.

    pip install -r requirements/bench.txt
    python bench/verify_disagreements.py                        # prints the table
    python bench/verify_disagreements.py --write docs/verify.md # puts it between the marks there

math-verify is called as its documentation says: gold and answer in a box, defaults otherwise. Ours
is the core alone, without the fallback.
"""

from __future__ import annotations

import argparse
import logging
from importlib.util import find_spec
from pathlib import Path

from stare.verify import grade

START, END = "<!-- disagreements: start -->", "<!-- disagreements: end -->"

# class: (gold, completion, right verdict); a bare answer is put in a box
CASES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "tiny values are all equal": (
        (r"\frac{1}{3^{70}}", r"\frac{1}{3^{69}}", "incorrect"),
        (r"6.6\times10^{-34}", r"9.1\times10^{-31}", "incorrect"),
        (r"1-\frac{7}{10^{25}}", r"1-\frac{8}{10^{25}}", "incorrect"),
    ),
    "equations without real roots are all equal": (
        ("x^2+3=0", "x^2+5=0", "incorrect"),
        ("e^x=-2", "x^2=-5", "incorrect"),
        ("3y^2+y+7=0", "3y^2+y+9=0", "incorrect"),
    ),
    "gcd and gamma": (
        (r"\gcd(m,q-2)", r"\gcd(m,q-6)", "incorrect"),
        (r"\gamma+1", r"\gamma+2", "incorrect"),
    ),
    "set-builder": ((r"\{t|-4\leq t < 3\}", r"\{t|-8\leq t < 3\}", "incorrect"),),
    "letters taken for units": (
        (r"5\mathrm{i}", "5", "incorrect"),
        (r"1+6\mathrm{i}", "7", "incorrect"),
    ),
    "units": ((r"3\text{ cm}", r"3\text{ km}", "incorrect"),),
    "words are products of letters": (
        ("saw", "was", "incorrect"),
        ("No", "on", "incorrect"),
    ),
    "the base is dropped": (("1203_4", "1203_5", "incorrect"),),
    "an unterminated last box": (("17", r"So \boxed{17}. No, wait: \boxed{", "incorrect"),),
    "a full stop in the box": (
        ("17", "17.", "correct"),
        (r"\frac{2}{9}", r"\frac{2}{9}.", "correct"),
    ),
    "the imaginary unit": (
        ("-7 i", "-7i", "correct"),
        ("-4", "4i^2", "correct"),
        ("-8+6i", "(1+3i)^2", "correct"),
        ("1", r"e^{2i\pi}", "correct"),
    ),
    "e-notation": (
        ("2.5e8", r"2.5\times10^8", "correct"),
        ("2.5e8", "250000000", "correct"),
    ),
    "plain maths": (
        (r"3\sqrt{11}", "3 sqrt(11)", "correct"),
        (r"\frac{\pi}{6}", "pi/6", "correct"),
        ("2e^{5}", "2 exp(5)", "correct"),
    ),
    "repeating decimals": ((r"\frac{5}{9}", r"0.\overline{5}", "correct"),),
    "degrees in functions": ((r"\frac{\sqrt{3}}{2}", r"\cos 30^\circ", "correct"),),
    "double factorial": (("48", "6!!", "correct"),),
    "mixed numbers in plain text": ((r"\frac{19}{4}", "4 3/4", "correct"),),
    "digit groups": (
        ("52000", r"52\,000", "correct"),
        ("52000", "52 000", "correct"),
    ),
    "intervals as inequalities": (
        ("(2,7)", "2<x<7", "correct"),
        (r"(-\infty,4]", r"x \le 4", "correct"),
    ),
    "Unicode": (
        (r"35^\circ", "35°", "correct"),
        (r"\sqrt{6}", "√6", "correct"),
        ("-9", "–9", "correct"),  # noqa: RUF001
        ("81", "８１", "correct"),  # noqa: RUF001
        ("y^3", "y³", "correct"),
    ),
    "other boxes": (
        ("64", r"\fbox{64}", "correct"),
        ("64", r"\boxed {64}", "correct"),
    ),
    "work that never ends": ((r"10^{10^{9}}", r"10^{1000000000}", "correct"),),
}


def completion_of(answer: str) -> str:
    boxed = "\\boxed" in answer or "\\fbox" in answer
    return answer if boxed else f"The answer is $\\boxed{{{answer}}}$."


def math_verify(gold: str, completion: str) -> str:
    from math_verify import parse, verify

    logging.disable(logging.ERROR)
    equal = verify(parse(f"\\boxed{{{gold}}}"), parse(completion))
    return "correct" if equal else "incorrect"


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """(class, gold, answer, math-verify's verdict, the right one, ours)."""
    return [
        (
            name,
            gold,
            answer,
            math_verify(gold, completion_of(answer)),
            right,
            str(grade(completion_of(answer), gold, fallback=False).verdict),
        )
        for name, cases in CASES.items()
        for gold, answer, right in cases
    ]


def table() -> str:
    """All rows as markdown; what is wrong is bold."""
    lines = [
        "| class | gold | answer | math-verify 0.9.0 | right | ours |",
        "|---|---|---|---|---|---|",
    ]
    last = ""
    for name, gold, answer, theirs, right, ours in rows():
        marked = [v if v in (right, "undecided") else f"**{v}**" for v in (theirs, ours)]
        code = [f"`{text}`".replace("|", "\\|") for text in (gold, answer)]
        cells = ["" if name == last else name, *code, marked[0], right, marked[1]]
        lines.append("| " + " | ".join(cells) + " |")
        last = name
    return "\n".join(lines)


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE.md")
    options = parser.parse_args()
    if find_spec("math_verify") is None:
        print("skipped: math-verify is missing; pip install -r requirements/bench.txt")
        return
    if options.write is None:
        print(table())
        return
    text = options.write.read_text()
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    options.write.write_text(f"{before}{START}\n{table()}\n{END}{after}")


if __name__ == "__main__":
    main()
