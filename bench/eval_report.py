"""Time and memory of grading and reporting a recorded run of the six benchmarks' size.

Texts are synthetic: sentences and formulas, an answer at the end of most. Prints seconds and peak
resident memory of each step, which runs in a process of its own.

    python bench/eval_report.py                     # 8,988 samples of about 2,000 tokens
    python bench/eval_report.py --samples 100000 --tokens 32000 --no-html
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPE = {"aime": (30, 32), "aime-ii": (30, 32), "amc": (40, 32), "maths": (500, 4)}
SHAPE |= {"physics": (272, 4), "olympiad": (675, 4)}
SENTENCES = (
    "First we set $x = {a}$ and note that $x^2 - {b}x + {c} \\ge 0$ for every real $x$. ",
    "Substituting gives \\[ \\frac{{{a}x + {b}}}{{x - {c}}} = \\sqrt{{{b}}} + {a}, \\] so that ",
    "By symmetry the {b} cases fall into {c} classes, each with {a} members. ",
    "Wait, let me check this again: {a} times {b} is {ab}, and so the remainder is {c}. ",
    "Hence $\\sum_{{k=1}}^{{{b}}} k = {tri}$, which is more than {a}. ",
)


def sentence(rng: random.Random) -> str:
    """One sentence of reasoning."""
    a, b, c = (rng.randint(2, 999) for _ in range(3))
    return rng.choice(SENTENCES).format(a=a, b=b, c=c, ab=a * b, tri=b * (b + 1) // 2)


def make_run(path: Path, shape: dict[str, tuple[int, int]], tokens: int, seed: int = 0) -> None:
    """Write a run folder of synthetic samples; a token is taken to be four characters."""
    from stare.evals.manifest import BenchEntry, Manifest
    from stare.evals.records import Key, Sample, sample_seed, text_hash
    from stare.evals.store import PromptRow, RunFolder

    rng = random.Random(seed)
    pool = [sentence(rng) for _ in range(4000)]
    golds = ("{}", "\\frac{{{}}}{{7}}", "{}\\sqrt{{2}}", "({}, 3)", "{}")
    folder = RunFolder(path)
    folder.write_manifest(
        Manifest(
            kind="run",
            backend="mock",
            model={"name": "synthetic-7b"},
            run_seed=seed,
            determines={"temperature": 1.0, "top_p": 0.7, "max_tokens": 2 * tokens},
            benchmarks={name: BenchEntry(n=n, problems=p) for name, (p, n) in shape.items()},
        )
    )
    with (path / "problems.jsonl").open("w") as problems:
        for bench, (count, n) in shape.items():
            prompts = []
            with folder.writer(bench, 0) as writer:
                for at in range(count):
                    name, gold = f"{bench}-{at}", rng.choice(golds).format(rng.randint(10, 999))
                    question = f"Problem {at} of {bench}: " + sentence(rng)
                    row = {"bench": bench, "id": name, "problem": question, "golds": [gold]}
                    problems.write(json.dumps(row) + "\n")
                    sha = text_hash(question)
                    prompts.append(
                        PromptRow(prompt_sha=sha, text=question, bench=bench, problem_id=name)
                    )
                    skill = rng.random() ** 1.5
                    for number in range(n):
                        size = min(2 * tokens, max(40, int(rng.lognormvariate(0, 0.6) * tokens)))
                        text, length = [], 0
                        while length < 4 * size:
                            text.append(rng.choice(pool))
                            length += len(text[-1])
                        cut = size == 2 * tokens
                        right = rng.random() < skill
                        answer = gold if right else rng.choice(golds).format(rng.randint(10, 99))
                        if not cut and rng.random() > 0.03:
                            text.append(f"So the answer is $\\boxed{{{answer}}}$.")
                        writer.write(
                            Sample(
                                bench=bench,
                                problem_id=name,
                                sample=number,
                                seed=sample_seed(seed, Key(bench, name, number)),
                                prompt_sha=sha,
                                text="".join(text),
                                finish_reason="length" if cut else "stop",
                                n_tokens=size,
                            )
                        )
            folder.add_prompts(prompts)


def step(name: str, path: Path) -> None:
    """One step, in this process; prints what it took."""
    from stare.evals.grading import grade_run
    from stare.evals.report.write import write_reports
    from stare.evals.results import up_to_date
    from stare.evals.store import RunFolder

    folder = RunFolder(path)
    start = time.perf_counter()
    if name == "grade":
        grade_run(folder, "stare")
    else:
        results = up_to_date(folder)
        write_reports(folder, results, ("json", "md", "csv") if name == "report" else ("html",))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:16} {seconds:7.2f} s   peak {peak:6.0f} MiB resident", flush=True)


def main() -> None:
    """Make the run, then time each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=8988)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--no-html", action="store_true")
    parser.add_argument("--keep", type=Path, help="make the run here and leave it")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        step(args.step, args.keep)
        return
    total = sum(p * n for p, n in SHAPE.values())
    shape = SHAPE
    if args.samples != total:
        shape = {name: (max(1, p * args.samples // total), n) for name, (p, n) in SHAPE.items()}
    with tempfile.TemporaryDirectory() as temporary:
        path = args.keep or Path(temporary) / "run"
        if not (path / "manifest.json").exists():
            path.mkdir(parents=True, exist_ok=True)
            make_run(path, shape, args.tokens)
        size = sum(file.stat().st_size for file in (path / "samples").iterdir())
        made = sum(p * n for p, n in shape.values())
        print(f"{made} samples, {size / 1e6:.0f} MB")
        for name in ("grade", "report", *(() if args.no_html else ("html",))):
            command = [sys.executable, __file__, "--step", name, "--keep", str(path)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
