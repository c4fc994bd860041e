r"""The answer verifier against math-verify and mathruler, on the same completions in one run.

    python bench/verify.py                  # 2,000 pairs; about two minutes, nearly all math-verify
    python bench/verify.py --pairs 300      # quicker
    python bench/verify.py --only ours      # seconds

The pairs are those of $STARE_SHARED/corpora (default ../shared), where it exists, else generated
here. The others come from PyPI: pip install -r requirements/bench.txt; what is missing is left out
and said so. Each is called as its documentation says: math-verify parses the completion and the
gold in a box with its default time-outs, mathruler compares the boxed content with the gold. Ours
is timed without its fallback, and in bulk with it where math-verify is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from stare.types import Verdict
from stare.verify import Profile, fallback_stats, grade, grade_batch, reset_fallback_stats

ROUNDS = 5
BULK = 20_000
BOMB_MS = 5.0
MEGABYTE_MS = 10.0


@dataclass(frozen=True)
class Pair:
    """A completion, its gold answer, and whether it is right."""

    completion: str
    gold: str
    equal: bool


@dataclass(frozen=True)
class Result:
    """How a contender did; shares are of all pairs."""

    name: str
    pairs_per_s: float
    times_us: list[float]
    decided: float
    right: float
    wrong: float


def load_pairs(count: int) -> tuple[list[Pair], str]:
    folder = Path(os.environ.get("STARE_SHARED", "../shared")) / "corpora"
    if not (folder / "variants.jsonl").exists():
        return list(generated(count)), "generated pairs"
    rows = []
    for line in (folder / "completions.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows.append(Pair(row["completion"], row["gold"], row["label"] == "equal"))
    real = len(rows)
    chains = [row.completion.rpartition(r"\boxed")[0] for row in rows]
    for number, line in enumerate((folder / "variants.jsonl").read_text().splitlines()):
        row = json.loads(line)
        completion = f"{chains[number % real]}\\boxed{{{row['pred']}}}"
        rows.append(Pair(completion, row["gold"], row["expected"] == "equal"))
    random.Random(0).shuffle(rows)
    return rows[:count], f"{real} real completions and variants of golds behind real chains"


def generated(count: int) -> Iterator[Pair]:
    """Pairs of our own: numbers, fractions, roots, polynomials and lists, half of them wrong."""
    rng = random.Random(0)
    filler = "We go on step by step and simplify what is left on both sides of it. " * 15
    for _ in range(count):
        a, b, c = rng.randint(2, 99), rng.randint(2, 99), rng.randint(2, 9)
        gold, answer = rng.choice(
            [
                (f"{a * b}", f"{a * b}.0"),
                (rf"\frac{{{a}}}{{{b}}}", f"{a * c}/{b * c}"),
                (rf"{c}\sqrt{{{a}}}", rf"\sqrt{{{a * c * c}}}"),
                (f"(x+{a})^2", f"x^2+{2 * a}x+{a * a}"),
                (f"{a}, {b}", f"{b}, {a}"),
                (f"({a}, {b})", rf"\left({a},\ {b}\right)"),
                (f"[{c}, \\infty)", rf"x \ge {c}"),
                (rf"{a}\pi", rf"\pi \cdot {a}"),
            ]
        )
        equal = rng.random() < 0.5
        if not equal:
            answer = answer.replace(answer[-1] if answer[-1].isdigit() else "2", "7", 1) + "1"
        yield Pair(f"{filler}The result is $\\boxed{{{answer}}}$.", gold, equal)


# --- the contenders --------------------------------------------------------------------------

Judge = Callable[[Pair], "bool | None"]


def ours(pair: Pair) -> bool | None:
    verdict = grade(pair.completion, pair.gold, fallback=False).verdict
    return None if verdict is Verdict.UNDECIDED else verdict is Verdict.CORRECT


def math_verify() -> Judge:
    import logging

    from math_verify import parse, verify

    logging.disable(logging.ERROR)

    def judge(pair: Pair) -> bool:
        return verify(parse(f"\\boxed{{{pair.gold}}}"), parse(pair.completion))

    return judge


def mathruler() -> Judge:
    from mathruler.grader import extract_boxed_content, grade_answer

    def judge(pair: Pair) -> bool:
        return grade_answer(extract_boxed_content(pair.completion), pair.gold)

    return judge


def one_by_one(name: str, judge: Judge, pairs: list[Pair]) -> Result:
    times, answers = [], []
    for pair in pairs:
        start = time.perf_counter()
        answers.append(judge(pair))
        times.append((time.perf_counter() - start) * 1e6)
    return scored(name, len(pairs) / (sum(times) / 1e6), times, answers, pairs)


def in_bulk(name: str, pairs: list[Pair], *, threads: int, fallback: bool) -> Result:
    # The core is so fast that threads need a longer batch to show.
    copies = 1 if fallback else -(-BULK // len(pairs))
    completions, golds = [p.completion for p in pairs] * copies, [p.gold for p in pairs] * copies
    best, grades = float("inf"), []
    for _ in range(1 if fallback else ROUNDS):
        start = time.perf_counter()
        grades = grade_batch(completions, golds, threads=threads, fallback=fallback)
        best = min(best, time.perf_counter() - start)
    answers = [None if g.verdict is Verdict.UNDECIDED else g.verdict is Verdict.CORRECT
               for g in grades[: len(pairs)]]  # fmt: skip
    return scored(name, len(completions) / best, [], answers, pairs)


def scored(
    name: str, speed: float, times: list[float], answers: list[bool | None], pairs: list[Pair]
) -> Result:
    decided = [(answer, pair) for answer, pair in zip(answers, pairs, strict=True)
               if answer is not None]  # fmt: skip
    right = sum(answer == pair.equal for answer, pair in decided)
    total = len(pairs)
    return Result(
        name, speed, times, len(decided) / total, right / total, (len(decided) - right) / total
    )


def compare(pairs: list[Pair], only: str) -> None:
    results = [
        one_by_one("ours, one call each", ours, pairs),
        in_bulk("ours, in bulk, 1 thread", pairs, threads=1, fallback=False),
        in_bulk("ours, in bulk, 2 threads", pairs, threads=2, fallback=False),
    ]
    missing = []
    others = {"math-verify": math_verify, "mathruler": mathruler} if only == "all" else {}
    for name, make in others.items():
        try:
            judge = make()
        except ImportError as error:
            missing.append(f"{name} is left out: {error}; pip install -r requirements/bench.txt")
            continue
        if name == "math-verify":
            reset_fallback_stats()
            results.append(in_bulk("ours with fallback, in bulk", pairs, threads=1, fallback=True))
        results.append(one_by_one(name, judge, pairs))
    base = next((r.pairs_per_s for r in results if r.name == "math-verify"), None)
    print(
        "| contender | pairs/s | median us | p95 | p99 | decided | right | wrong | x math-verify |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for r in results:
        cuts = statistics.quantiles(r.times_us, n=100) if r.times_us else []
        us = " | ".join(f"{cuts[at - 1]:,.0f}" if cuts else "-" for at in (50, 95, 99))
        times = f"{r.pairs_per_s / base:,.0f}" if base else "-"
        print(
            f"| {r.name} | {r.pairs_per_s:,.0f} | {us} | {r.decided:.1%} | {r.right:.1%} "
            f"| {r.wrong:.2%} | {times} |"
        )
    for line in missing:
        print(f"\n{line}")
    stats = fallback_stats()
    if stats.sent:
        print(
            f"\nfallback: {stats.share:.1%} of the pairs sent, {stats.decided} of {stats.sent} "
            f"decided, {stats.distrusted} not trusted, {stats.timeouts} timed out, "
            f"{stats.killed} killed, {stats.ms / stats.sent:.0f} ms a pair"
        )


# --- work that must be refused -----------------------------------------------------------------

BOMBS = {
    "power tower": r"9^{9^{9^{9}}}",
    "power with a tower in the exponent": r"5^{(5^{(5^{(5^5)})}-4)}",
    "huge exponent": r"10^{10^9}",
    "huge exponent, plain": "2^100000000000-1",
    "decimal to a huge power": r"1.5^{10^{10}}",
    "power of a power": r"(2^{100000000})^3",
    "root of a huge power": r"\sqrt{3^{100000001}}",
    "factorial": "100000000!",
    "factorial of a factorial": "((10!)!)!",
    "binomial": r"\binom{10^9}{5\cdot10^8}",
    "gcd of a huge power": r"\gcd(2^{100000000},3)",
    "long sum": r"\sum_{k=1}^{10^{12}}\frac{1}{k}",
    "long product": r"\prod_{k=1}^{10^9}k",
    "integral": r"\int_0^1 \frac{\sin(x^x)}{\ln(1+x^{\pi})}\,dx",
    "polynomial power": "(x+y+z+w)^{60}",
    "sum of many terms": "+".join(["1"] * 2000),
    "many minus signs": "-" * 4000 + "1",
    "nested parentheses": "(" * 2000 + "1" + ")" * 2000,
    "nested braces": "{" * 2000 + "1" + "}" * 2000,
    "nested fractions": r"\frac{1}{" * 400 + "1" + "}" * 400,
    "nested roots": r"\sqrt{" * 600 + "2" + "}" * 600,
    "long integer": "7" * 4000,
    "long decimal": "0." + "3" * 4000,
    "tiny exponent": "1e-999999999",
    "long list": ",".join(map(str, range(800))),
    "long list, backwards": ",".join(map(str, reversed(range(800)))),
    "large determinant": r"\begin{vmatrix}"
    + r"\\".join(["1&x&2&y&3&z&4&w"] * 8)
    + r"\end{vmatrix}",
    "trigonometric sum": "+".join(rf"\sin({k}x)" for k in range(150)),
    # Just within the limits on size, so that the work itself must be bounded.
    "parentheses, 60 deep": "(" * 60 + "1" + ")" * 60,
    "fractions, 25 deep": r"\frac{1}{1+" * 25 + "x" + "}" * 25,
    "roots, 40 deep": r"\sqrt{2+" * 40 + "2" + "}" * 40,
    "500 numbers, backwards": ",".join(map(str, reversed(range(500)))),
    "60 roots, backwards": ",".join(rf"\sqrt{{{k}}}" for k in reversed(range(2, 62))),
    "product of 60 binomials": "".join(f"(x+{k})" for k in range(1, 61)),
    "power of a polynomial": "(1+x+y+z+x^2+y^2)^{999}",
    "sum of 60 sines": "+".join(rf"\sin({k}x)" for k in range(1, 61)),
    "sum of 80 roots": "+".join(rf"\sqrt{{{k}}}" for k in range(2, 82)),
    "1,200 digits to the third": "7" * 1200 + "^3",
    "determinant of order 6": r"\begin{vmatrix}"
    + r"\\".join(["1&x&2&y&3&z"] * 6)
    + r"\end{vmatrix}",
    "union of 60 intervals": r"\cup".join(f"({3 * k},{3 * k + 1})" for k in range(60)),
    "40 plus-minus signs": r"1\pm " + r"2\pm ".join("3" * 40),
    "sum of a million terms": r"\sum_{k=1}^{1000000}\frac{1}{k^2}",
}

MIB = 1 << 20
MEGABYTES = {
    "prose, then a box": "So we go on. " * (MIB // 13 - 2) + r"\boxed{42}",
    "open boxes": r"\boxed{" * (MIB // 7),
    "closed boxes": r"\boxed{1}" * (MIB // 9),
    "nested boxes": r"\boxed{" * (MIB // 8) + "}" * (MIB // 8),
    "open formulas": r"\(" * (MIB // 2),
    "open parentheses": r"\boxed{" + "(" * (MIB - 10),
    "backslashes": "\\" * MIB,
    "dollar signs": "$" * MIB,
    "think tags": "<think>" * (MIB // 8),
    "answer markers": "answer is " * (MIB // 10),
    "hashes": "#### " * (MIB // 5),
    "digits": "7" * MIB,
    "line breaks": "\n" * MIB,
}


def milliseconds(completion: str, gold: str, profile: str) -> tuple[float, str]:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        graded = grade(completion, gold, profile=profile, fallback=False)
        best = min(best, time.perf_counter() - start)
    return best * 1e3, graded.reason


def limits() -> int:
    """Print both tables; returns how many measurements are over their limit."""
    bombs = {
        name: [
            milliseconds(f"\\boxed{{{bomb}}}", gold, "reward") for gold in ("1", f"1+{bomb}", bomb)
        ]
        for name, bomb in BOMBS.items()
    }
    over = table(f"bomb (limit {BOMB_MS:g} ms)", ["1", "itself + 1", "itself"], bombs, BOMB_MS)
    megabytes = {
        name: [milliseconds(text[:MIB], "42", profile) for profile in get_args(Profile)]
        for name, text in MEGABYTES.items()
    }
    head = f"1 MiB (limit {MEGABYTE_MS:g} ms)"
    return over + table(head, get_args(Profile), megabytes, MEGABYTE_MS)


def table(
    head: str, columns: Sequence[str], rows: dict[str, list[tuple[float, str]]], limit: float
) -> int:
    print(f"\n| {head} | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(f"{ms:.2f} ms {why}" for ms, why in cells) + " |")
    return sum(ms > limit for cells in rows.values() for ms, _ in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--only", choices=["all", "ours"], default="all")
    options = parser.parse_args()
    pairs, source = load_pairs(options.pairs)
    mean = statistics.mean(len(pair.completion) for pair in pairs)
    print(f"{len(pairs)} pairs, mean {mean:,.0f} characters: {source}\n")
    compare(pairs, options.only)
    over = limits()
    print(f"\nover the limit: {over}")


if __name__ == "__main__":
    main()
