r"""Labelled answer pairs, graded in bulk: what is wrong, what is undecided, and why.

    python bench/verify_corpora.py                                # all of $STARE_SHARED/corpora
    python bench/verify_corpora.py rows.jsonl --list wrong        # any file of the same fields
    python bench/verify_corpora.py --list undecided --kind digit --limit 20
    python bench/verify_corpora.py --bombs                        # the hostile inputs, each timed

A row is one of

- {gold, pred, accept or expected}: `pred` is an answer, or a text with a box in it;
- {gold, completion, label}: a whole response;
- {gold}: the gold itself, in a box; it must never be incorrect.

No fallback and no tolerance: this measures the compiled verifier alone. `wrong` is a verdict
outside `accept`; `missed` is undecided where `accept` does not allow that.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stare import _core

ROOT = Path(__file__).resolve().parents[1]
LABEL = {"correct": "equal", "incorrect": "different", "undecided": "unknown"}
BOX = ("\\boxed", "\\fbox")


class Row(NamedTuple):
    """A pair with the verdicts that are right."""

    id: str
    source: str
    kind: str
    gold: str
    answer: str | None
    """The bare answer; None where only a whole response is given."""
    completion: str
    accept: frozenset[str]


class Graded(NamedTuple):
    """A row and what became of it."""

    row: Row
    label: str
    extracted: str | None
    reason: str

    @property
    def wrong(self) -> bool:
        return self.label not in self.row.accept | {"unknown"}

    @property
    def undecided(self) -> bool:
        return self.label == "unknown"

    @property
    def missed(self) -> bool:
        return self.undecided and "unknown" not in self.row.accept


def rows(path: Path) -> list[Row]:
    """Read a file of rows; the cases are whole responses, the others bare answers mostly."""
    with path.open(encoding="utf-8") as file:
        return [_row(json.loads(line), path) for line in file if line.strip()]


def _row(fields: dict, path: Path) -> Row:
    answer, completion = None, fields.get("completion")
    if completion is None:
        answer = completion = fields.get("pred", fields["gold"])
        if "cases" in path.stem or ("pred" in fields and any(box in answer for box in BOX)):
            answer = None
        else:
            completion = f"The answer is $\\boxed{{{answer}}}$."
    expected = fields.get("expected") or fields.get("label") or "equal"
    return Row(
        id=fields.get("id", ""),
        source=fields.get("source", path.stem),
        kind=fields.get("kind") or fields.get("cat") or ("same:identity" if answer else "response"),
        gold=fields["gold"],
        answer=answer,
        completion=completion,
        accept=frozenset(fields.get("accept") or (expected, "unknown")),
    )


def grade(given: list[Row], threads: int = 1) -> list[Graded]:
    """Grade rows in one batch."""
    pairs = [(row.completion, [row.gold]) for row in given]
    verdicts = _core.grade_answers(pairs, threads=threads)
    return [
        Graded(row, LABEL[verdict], extracted, reason)
        for row, (verdict, extracted, reason) in zip(given, verdicts, strict=True)
    ]


def coverage(graded: Iterable[Graded]) -> float:
    """Share that was decided."""
    undecided = [item.undecided for item in graded]
    return 1 - sum(undecided) / max(len(undecided), 1)


def _groups(graded: list[Graded], field: str) -> Iterator[tuple[str, list[Graded]]]:
    names = Counter(getattr(item.row, field) for item in graded)
    for name, _ in names.most_common():
        yield name, [item for item in graded if getattr(item.row, field) == name]


def _line(name: str, graded: list[Graded]) -> str:
    counts = [sum(getattr(item, what) for item in graded) for what in ("wrong", "missed")]
    undecided = sum(item.undecided for item in graded)
    share = f"{100 * coverage(graded):6.2f}"
    return f"| {name} | {len(graded)} | {counts[0]} | {counts[1]} | {undecided} | {share} |"


def report(path: Path, graded: list[Graded], seconds: float) -> None:
    print(f"\n## {path.name}: {len(graded)} rows in {1000 * seconds:.0f} ms")
    print("| | rows | wrong | missed | undecided | decided % |\n|---|---|---|---|---|---|")
    print(_line("all", graded))
    for field in ("source", "kind"):
        groups = list(_groups(graded, field))
        for name, group in groups if len(groups) > 1 else []:
            print(_line(f"{field} {name}", group))
    reasons = Counter((item.label, item.reason) for item in graded)
    print("reasons:", ", ".join(f"{label}/{why} {n}" for (label, why), n in reasons.most_common()))


def show(graded: Iterable[Graded], what: str, kind: str, limit: int) -> None:
    found = [g for g in graded if getattr(g, what) and kind in g.row.kind]
    for item in found[:limit]:
        row = item.row
        print(f"\n{row.id} [{row.source}, {row.kind}] {item.label}: {item.reason}")
        print(f"  gold   {row.gold[:200]}\n  answer {(row.answer or item.extracted or '')[:200]}")
    print(f"\n{what}: {len(found)}, shown {min(limit, len(found))}")


def bombs() -> Iterator[tuple[str, str]]:
    """Named answers that are cheap to write and dear to evaluate."""
    deep = 5_000
    yield from (
        ("power tower", "9^{9^{9^{9}}}"),
        ("tower of fives", "5^{(5^{(5^{(5^5)})}-4)}"),
        ("power of ten", "10^{10^9}"),
        ("long power", "3^{300000000}"),
        ("root of a power", r"\sqrt{3^{100000001}}"),
        ("decimal power", "1.5^{10^{10}}"),
        ("power of a power", "(2^{100000000})^3"),
        ("gcd of a power", r"\gcd(2^{100000000},3)"),
        ("factorial", "10000000!"),
        ("iterated factorial", "((10!)!)!"),
        ("factorials in a row", "9" + "!" * 200),
        ("binomial", r"\binom{10^9}{5\cdot 10^8}"),
        ("long sum", r"\sum_{k=1}^{10^{12}}\frac{1}{k}"),
        ("nested sums", r"\sum_{i=1}^{999}\sum_{j=1}^{999}\sum_{k=1}^{999}\frac{1}{i+j+k}"),
        ("long product", r"\prod_{k=1}^{10^{9}}k"),
        ("integral", r"\int_{0}^{\infty}\frac{\sin^{40}(x^{3})}{1+x^{x}}\,dx"),
        ("wide expansion", "(x+y+z+w)^{60}+1"),
        ("high degree", "(x+1)^{100000}"),
        ("many variables", "+".join(f"x_{{{i}}}" for i in range(400))),
        ("product of variables", "*".join(f"(x_{{{i}}}+1)" for i in range(60))),
        ("signs", "-" * 10_001 + "1"),
        ("plus-minus", r"\pm ".join(str(i) for i in range(60))),
        ("relations", "=".join(str(i) for i in range(700))),
        ("chain", "<".join("x" for _ in range(1_000))),
        ("braces", "{" * deep + "1" + "}" * deep),
        ("parentheses", "(" * deep + "1" + ")" * deep),
        ("unclosed parentheses", "(" * 100_000),
        ("fractions", r"\frac{1}{1+" * 2_000 + "1" + "}" * 2_000),
        ("shallow fractions", r"\frac{1}{1+" * 60 + "x" + "}" * 60),
        ("roots", r"\sqrt{2+" * 60 + "2" + "}" * 60),
        ("trigonometry", r"\sin(\cos(" * 25 + "1" + "))" * 25),
        ("exponentials", r"\exp(" * 40 + "1" + ")" * 40),
        ("integer", "7" * 1_000_000),
        ("long integer", "7" * 4_000),
        ("exponent", "1e999999999"),
        ("decimal exponent", "1.5e-400000000"),
        ("long decimal", "0." + "123456789" * 400),
        ("repeating decimal", r"0.\overline{" + "123456789" * 400 + "}"),
        ("list", ",".join(str(i) for i in range(100_000))),
        ("list within the limit", ",".join(str(i) for i in range(900))),
        ("list of roots", ",".join(rf"\sqrt{{{i}}}" for i in range(2, 120))),
        ("nested lists", "(" * 60 + "1" + ",1)" * 60),
        ("unions", r" \cup ".join(f"({2 * i},{2 * i + 1})" for i in range(200))),
        ("overlapping unions", r" \cup ".join(rf"(\sqrt{{{i}}},{i})" for i in range(2, 80))),
        ("matrix", r"\begin{pmatrix}" + r"\\".join(["&".join("1" * 100)] * 100) + r"\end{pmatrix}"),
        ("determinant", r"\begin{vmatrix}" + r"\\".join(
            "&".join(f"x^{{{i}}}+{i * j}" for i in range(10)) for j in range(10)
        ) + r"\end{vmatrix}"),
        ("boxes", r"\boxed{" * 100_000),
        ("closed boxes", r"\boxed{" * 100_000 + "1" + "}" * 100_000),
        ("unclosed maths", r"\(" * 100_000),
        ("dollars", "$" * 100_000),
        ("backslashes", "\\" * 100_000),
        ("combining marks", "1" + "\u0301" * 2_000),
        ("superscripts", "x" + "\u00b2" * 2_000),
        ("hashes", "####" * 50_000),
        ("markers", "answer is " * 50_000),
        ("think", "<think>" * 50_000 + "</think>" * 50_000),
    )  # fmt: skip


def time_bombs(limit: float) -> bool:
    """Time each hostile answer against golds of three kinds and against itself."""
    slowest: list[tuple[float, str, str]] = []
    for name, answer in bombs():
        for gold in ("1", r"\sqrt{2}+x", "(1,2)", answer):
            for pair in ((f"\\boxed{{{answer}}}", gold), (f"\\boxed{{{gold}}}", answer)):
                best, verdict = 1e9, ("", None, "")
                for _ in range(3):
                    start = time.perf_counter()
                    [verdict] = _core.grade_answers([(pair[0], [pair[1]])], threads=1)
                    best = min(best, time.perf_counter() - start)
                slowest.append((best, name, f"{verdict[0]}/{verdict[2]} against {gold[:20]}"))
    slowest.sort(reverse=True)
    for seconds, name, verdict in slowest[:25]:
        print(f"{1000 * seconds:9.3f} ms  {name}: {verdict}")
    over = sum(seconds > limit for seconds, _, _ in slowest)
    print(f"{len(slowest)} pairs, {over} over {1000 * limit:.0f} ms")
    return over == 0


def corpora() -> list[Path]:
    folder = ROOT / os.environ.get("STARE_SHARED", "../shared") / "corpora"
    return sorted(folder.glob("*.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="JSONL files; default: the corpora")
    parser.add_argument("--list", choices=("wrong", "missed", "undecided"), dest="what")
    parser.add_argument("--kind", default="", help="list only kinds with this in the name")
    parser.add_argument("--limit", type=int, default=20, help="rows to list per file")
    parser.add_argument("--bombs", action="store_true", help="time the hostile inputs instead")
    given = parser.parse_args()
    if given.bombs:
        raise SystemExit(not time_bombs(0.005))
    for path in given.files or corpora():
        read = rows(path)
        start = time.perf_counter()
        graded = grade(read)
        report(path, graded, time.perf_counter() - start)
        if given.what:
            show(graded, given.what, given.kind, given.limit)


if __name__ == "__main__":
    main()
