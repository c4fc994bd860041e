"""Run folders for tests of grading and reports: hand-made or drawn samples with their own golds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stare.evals.manifest import BenchEntry, Manifest
from stare.evals.records import Key, Sample, sample_seed, text_hash
from stare.evals.store import PromptRow, RunFolder

Text = tuple[str, str]
"""A response and what ended it."""


def sample(bench: str, problem: str, number: int, text: str, finish: str = "stop") -> Sample:
    """A sample of run seed 0."""
    return Sample(
        bench=bench,
        problem_id=problem,
        sample=number,
        seed=sample_seed(0, Key(bench, problem, number)),
        prompt_sha=text_hash(f"ask {problem}"),
        text=text,
        finish_reason=finish,  # type: ignore[arg-type]
        n_tokens=max(1, len(text) // 4),
    )


def make_run(
    path: Path,
    golds: Mapping[str, Mapping[str, str]],
    samples: Iterable[Sample],
    *,
    n: int,
    workers: int = 1,
    prompt_end: str = "",
) -> RunFolder:
    """A run of benchmarks that hold their own problems.

    Args:
        path: the folder.
        golds: benchmark -> problem -> gold.
        samples: in the order to write them in; dealt out to the workers in turn.
        n: samples asked for.
        workers: files a benchmark.
        prompt_end: what every prompt ends with.
    """
    path.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(path)
    folder.write_manifest(
        Manifest(
            kind="run",
            backend="mock",
            model={"name": "tiny"},
            run_seed=0,
            determines={"temperature": 1.0},
            benchmarks={b: BenchEntry(n=n, problems=len(one)) for b, one in golds.items()},
        )
    )
    rows: list[dict[str, Any]] = []
    for bench, one in golds.items():
        rows += [
            {"bench": bench, "id": name, "problem": f"What is {name}?", "golds": [gold]}
            for name, gold in one.items()
        ]
        folder.add_prompts(
            PromptRow(
                prompt_sha=text_hash(f"ask {name}"),
                text=f"ask {name}{prompt_end}",
                bench=bench,
                problem_id=name,
            )
            for name in one
        )
    (path / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for at, one_sample in enumerate(samples):
        with folder.writer(one_sample.bench, at % workers) as writer:
            writer.write(one_sample)
    return folder


def drawn_samples(golds: Mapping[str, Mapping[str, str]], n: int, seed: int = 0) -> list[Sample]:
    """Responses of every kind, drawn."""
    rng = random.Random(seed)
    found = []
    for bench, one in golds.items():
        for name, gold in one.items():
            skill = rng.random()
            for number in range(n):
                answer = gold if rng.random() < skill else str(rng.randint(0, 5))
                text, finish = rng.choices(
                    [
                        (f"Thus \\boxed{{{answer}}}.", "stop"),
                        (f"We try {answer} and", "length"),
                        (f"So \\boxed{{{answer}}}. Check:", "length"),
                        ("I do not know.", "stop"),
                        (f"<think>maybe \\boxed{{{answer}}}", "stop"),
                        ("It is \\boxed{\\int_0^1 f(x)\\,dx}", "stop"),
                        (f"gone \\boxed{{{answer}}}", "abort"),
                    ],
                    [60, 8, 4, 8, 6, 4, 2],
                )[0]
                found.append(sample(bench, name, number, f"{name} {number}: {text}", finish))
    return found


GOLDS = {
    "sums": {f"sums-{at}": str(at * 7 % 11) for at in range(1, 13)},
    "halves": {f"h-{at}": f"\\frac{{{at}}}{{2}}" for at in (1, 3, 5)},
}
