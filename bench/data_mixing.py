"""Recall and precision of duplicates and contamination on perturbed problems, and the speed.

    python bench/data_mixing.py BENCHMARKS [--problems 100000]

BENCHMARKS is a folder of JSONL files (`stare-eval data` keeps one). Half of their problems are
perturbed and planted among problems of which none is theirs: the other half, and made-up ones.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

from stare.train.mixing.duplicates import find_contained, find_near
from stare.train.mixing.normal import exact_key, tokens

WORDS = [
    *("alpha", "bravo", "carol", "delta", "early", "frame", "green", "horse", "inner", "joint"),
    *("knots", "lemon", "metal", "north", "ocean", "piano", "queen", "river", "stone", "tiger"),
    *("union", "vivid", "water", "xenon", "yacht", "zebra", "amber", "bread", "cloud", "dance"),
]


def spaces(text: str, rng: random.Random) -> str:
    return re.sub(r"\s+", lambda _: rng.choice([" ", "  ", "\n", " \n "]), text) + "\n"


def latex(text: str, rng: random.Random) -> str:
    for old, new in (
        ("\\frac", "\\dfrac"), ("\\leq", "\\le"), ("\\geq", "\\ge"), ("\\cdot", "\\times"),
        ("\\left(", "("), ("\\right)", ")"), ("$$", "\\["), ("\\ldots", "\\dots"),
    ):  # fmt: skip
        text = text.replace(old, new)
    return re.sub(r"(?<![$\\])\$([^$]+)\$(?!\$)", r"\\( \1 \\)", text)


def case(text: str, rng: random.Random) -> str:
    return text[:1].swapcase() + text[1:].rstrip(".?") + rng.choice([" ?", "!", "..", ""])


def renamed(text: str, rng: random.Random) -> str:
    """Every single letter of a formula moves to another one."""
    shift = rng.randrange(1, 25)

    def move(match: re.Match[str]) -> str:
        base = ord("a") if match[0].islower() else ord("A")
        return chr(base + (ord(match[0]) - base + shift) % 26)

    def formula(match: re.Match[str]) -> str:
        return re.sub(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", move, match[0])

    return re.sub(r"\$[^$]+\$", formula, text)


def wrapped(text: str, rng: random.Random) -> str:
    return f"Solve the problem below.\n\n{text}\n\nPut your final answer within \\boxed{{}}."


def one_word(text: str, rng: random.Random) -> str:
    """One word of the statement becomes another."""
    found = list(re.finditer(r"(?<![\\$a-zA-Z{])[a-z]{4,}(?![a-zA-Z}])", text))
    if not found:
        return text + " Explain."
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(WORDS) + text[at.end() :]


def other_number(text: str, rng: random.Random) -> str | None:
    """Another problem: one number differs. Finding it would be a false alarm."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return None
    at = rng.choice(found)
    return text[: at.start()] + str(int(at[0]) + rng.randrange(1, 9)) + text[at.end() :]


KINDS: dict[str, Callable[[str, random.Random], str | None]] = {
    "white space": spaces,
    "LaTeX spelling": latex,
    "case and punctuation": case,
    "renamed variables": renamed,
    "prompt around it": wrapped,
    "one word replaced": one_word,
    "one number changed (not the same problem)": other_number,
}


def made_up(count: int, rng: random.Random) -> list[str]:
    """Problems of realistic length (48 tokens on average) from few templates with many fillings."""
    made = []
    for _ in range(count):
        body = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(15, 50)))
        a, b, c = (rng.randrange(2, 400) for _ in range(3))
        made.append(f"Let $x+{a}={b}$ and {body}. How many of the {c} are left? Find $x$.")
    return made


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", type=Path)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--threshold", type=float, default=0.7)
    args = parser.parse_args()
    rng = random.Random(0)
    texts = {}
    for path in sorted(args.benchmarks.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            if text := json.loads(line).get("problem"):
                texts.setdefault(exact_key(tokens(text)), text)
    problems = list(texts.values())
    rng.shuffle(problems)
    planted, clean = problems[: len(problems) // 2], problems[len(problems) // 2 :]
    settings = {"threshold": args.threshold, "containment": 0.9, "size": 3}
    print(f"{len(problems)} problems; {len(planted)} are the benchmark\n")
    print("| perturbation | planted | found | as the right one |\n|---|---|---|---|")
    bench = [tokens(p) for p in planted]
    for name, change in KINDS.items():
        rows = [(i, text) for i, p in enumerate(planted) if (text := change(p, rng)) is not None]
        found = find_contained([tokens(t) for _, t in rows], bench, **settings)
        right = sum(rows[m.index][0] == m.other for m in found)
        print(f"| {name} | {len(rows)} | {len(found) / len(rows):.1%} | {right / len(rows):.1%} |")
    found = find_contained([tokens(p) for p in clean], bench, **settings)
    print(f"\nof {len(clean)} other problems of the same benchmarks, found: {len(found)}")
    for m in found[:10]:
        print(
            f"  {m.kind} {m.similarity:.2f}: {clean[m.index][:110]!r} | {planted[m.other][:110]!r}"
        )

    crowd = made_up(args.problems - len(clean), rng) + clean
    began = time.process_time()
    documents = [tokens(t) for t in crowd]
    tokenised = time.process_time()
    near = find_near(documents, threshold=args.threshold, size=3)
    joined = time.process_time()
    found = find_contained(documents, bench, **settings)
    ended = time.process_time()
    mean = sum(map(len, documents)) / len(documents)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{len(crowd)} problems of {mean:.0f} tokens, CPU time, peak {peak:.0f} MiB:")
    print(f"tokens {tokenised - began:.1f} s")
    print(f"near duplicates {joined - tokenised:.1f} s, {len(near)} found")
    print(f"against {len(bench)} benchmark problems {ended - joined:.1f} s, {len(found)} found")


if __name__ == "__main__":
    main()
