r"""Labelled answer pairs, graded in bulk: what is wrong, what is undecided, and why.

    python bench/verify_corpora.py                                # all of $STARE_SHARED/corpora
    python bench/verify_corpora.py rows.jsonl --list wrong        # any file of the same fields
    python bench/verify_corpora.py --list undecided --kind digit --limit 20
    python bench/verify_corpora.py --bombs                        # the hostile inputs, each timed

A row is one of

- {gold, pred, accept or expected}: `pred` is an answer, or a text with a box in it;
- {gold, completion, label}: a whole response;
- {gold}: the gold itself, in a box; it must never be incorrect;
- in a `.tsv`: a mark, a gold and a bare answer. `=` equal, `!` different, both with `?` where
  undecided will do; `any` may be read in more than one way.

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
BOMBS = ROOT / "tests/data/verify_bombs.tsv"  # name, then counts and pieces; @ is the index
LABEL = {"correct": "equal", "incorrect": "different", "undecided": "unknown"}
MARKS = {
    "=": ["equal"],
    "=?": ["equal", "unknown"],
    "!": ["different"],
    "!?": ["different", "unknown"],
    "any": ["equal", "different", "unknown"],
}
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
        """A verdict that is not accepted."""
        return self.label not in self.row.accept | {"unknown"}

    @property
    def undecided(self) -> bool:
        """No verdict."""
        return self.label == "unknown"

    @property
    def missed(self) -> bool:
        """No verdict where there must be one."""
        return self.undecided and "unknown" not in self.row.accept


def rows(path: Path) -> list[Row]:
    """Read a file of rows; the cases are whole responses, the others bare answers mostly."""
    with path.open(encoding="utf-8") as file:
        if path.suffix == ".tsv":
            return [_pair(number, line, path) for number, line in enumerate(file, 1)]
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


def _pair(number: int, line: str, path: Path) -> Row:
    mark, gold, answer = line.rstrip("\n").split("\t")
    fields = {"id": str(number), "gold": gold, "pred": answer, "accept": MARKS[mark]}
    return _row(fields, path)


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
    for line in BOMBS.read_text(encoding="utf-8").splitlines():
        name, *fields = line.split("\t")
        pieces = zip(map(int, fields[::2]), fields[1::2], strict=True)
        yield name, "".join(text.replace("@", str(i)) for n, text in pieces for i in range(n))


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
