"""Word problems whose numbers are at most 50, split into training and held-out files.

usage: python evals/runs/smollm2/prepare.py PROBLEMS.jsonl OUT_FOLDER

SmolLM2-135M is right on about 15 % of the problems whose largest number is 11 to 50, and on 2 to
3 % of the others: those give no signal.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from stare.train.data import load_problems, split

LARGEST = 50
HELD_OUT = 50


def main(source: str, out: str) -> None:
    """Write `train.jsonl` and `heldout.jsonl` to the folder `out`."""
    problems = [
        p
        for p in load_problems(source)
        if all(
            n.isdigit() and int(n) <= LARGEST
            for n in re.findall(r"\d+(?:[.,]\d+)*", f"{p.problem} {p.answer}")
        )
    ]
    train, held_out = split(problems, count=HELD_OUT, seed=0)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("heldout", held_out)):
        lines = [{"id": p.id, "problem": p.problem, "answer": p.answer} for p in part]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        print(f"{folder / name}.jsonl: {len(part)} problems")


if __name__ == "__main__":
    main(*sys.argv[1:])
