"""`report.html`: one file that needs no network, with charts, every problem and every response.

What a model wrote is never markup: the parts made here are escaped, and the texts travel as
compressed data that the page's script puts into text nodes. A content security policy forbids every
request and every script but this one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from stare.errors import ArgumentError
from stare.evals.grading import read_grades
from stare.evals.report.chunks import Embedding, chunks
from stare.evals.report.overview import overview
from stare.evals.store import RunFolder
from stare.evals.tally import OUTCOMES, ProblemTally, sample_facts, tally

__all__ = ["WORDS", "script_json", "write_page"]

WORDS = {
    "correct": "correct",
    "incorrect": "incorrect",
    "no_answer": "no answer",
    "truncated": "cut off",
    "undecided": "undecided",
    "grader_timeout": "grader timed out",
    "grader_error": "grader failed",
}


def write_page(
    folder: RunFolder,
    results: Mapping[str, Any],
    path: Path,
    *,
    texts: str = "all",
    texts_mb: float = 32.0,
    data_dir: Path | None = None,
) -> None:
    """Write the page, whole or not at all.

    Args:
        folder: the graded run.
        results: of `results.build`.
        path: where to.
        texts: `all`, `wrong` (all responses but the correct ones) or `none`.
        texts_mb: size of the packed responses, about, beyond which more are left out.
        data_dir: where imported benchmarks are, for the problems' texts.
    """
    if texts not in ("all", "wrong", "none"):
        raise ArgumentError(f"texts must be all, wrong or none, got {texts!r}")
    graders = list(results["graders"])
    grades = {name: read_grades(folder, name) for name in graders}
    benches = {
        bench: tally(folder, bench, sample_facts(folder, bench), grades[results["grader"]])
        for bench in results["benchmarks"]
    }
    embedding = Embedding.plan(benches, texts, texts_mb)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            _write(file, folder, results, benches, grades, embedding, data_dir)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(
    file: TextIO,
    folder: RunFolder,
    results: Mapping[str, Any],
    benches: Mapping[str, list[ProblemTally]],
    grades: Mapping[str, Any],
    embedding: Embedding,
    data_dir: Path | None,
) -> None:
    script = _asset("math.js") + _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    name = str(results["run"].get("model", folder.path.name))
    file.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)} - stare-eval</title>\n"
        f'<link rel="icon" href="data:,">\n<style>\n{_asset("report.css")}</style>\n'
        "</head>\n<body>\n"
    )
    file.write(overview(results, benches, name, embedding.words()))
    file.write(
        f'<script type="application/json" id="meta">{script_json(_meta(benches))}</script>\n'
    )
    for at, bench in enumerate(benches):
        for place, packed in enumerate(
            chunks(folder, bench, benches[bench], grades, embedding, data_dir)
        ):
            identity = f"chunk-{at}-{place}"
            file.write(f'<script type="text/plain" id="{identity}">{packed}</script>\n')
    file.write(f"<script>{script}</script>\n</body>\n</html>\n")


def _asset(name: str) -> str:
    return (resources.files("stare.evals.report") / "assets" / name).read_text("utf-8")


def _meta(benches: Mapping[str, Sequence[ProblemTally]]) -> dict[str, Any]:
    """What the heat maps show: a letter a sample."""
    letters = {outcome: chr(97 + at) for at, outcome in enumerate(OUTCOMES)}
    return {
        "outcomes": OUTCOMES,
        "words": WORDS,
        "benches": [
            {
                "name": bench,
                "n": max(one.n for one in problems),
                "problems": [
                    {
                        "id": one.id,
                        "c": one.c,
                        "marks": "".join(letters[row.outcome] for row in one.grades),
                        "samples": [fact.sample for fact in one.facts],
                    }
                    for one in problems
                ],
            }
            for bench, problems in benches.items()
        ],
    }


def script_json(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in, nor a line of it.

    Example:
        >>> script_json("</script>\u2028")
        '"\\u003c/script\\u003e\\u2028"'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
