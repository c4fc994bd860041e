"""Grade a file of completions in bulk: rows in, verdicts out, in bounded memory."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from stare.errors import DataError
from stare.types import Verdict
from stare.verify import FallbackStats, Grade, fallback_stats, grade_batch

__all__ = ["Summary", "check_rows", "grade_rows", "read_rows", "write_whole"]

_CHUNK_ROWS = 512
_CHUNK_BYTES = 16 << 20
_LINE_BYTES = 64 << 20
_NAMED = 5

Row = dict[str, Any]


@dataclass(slots=True)
class Summary:
    """Counts over the rows graded so far."""

    rows: int = 0
    """Rows graded."""
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    """How many of each verdict."""
    reasons: Counter[tuple[Verdict, str]] = field(default_factory=Counter)
    """How many of each reason."""
    before: FallbackStats = field(default_factory=fallback_stats)
    """The counters of the fallback when this started."""
    start: float = field(default_factory=time.perf_counter)
    """When this started."""

    def add(self, graded: Grade) -> None:
        """Count one row."""
        self.rows += 1
        self.verdicts[graded.verdict] += 1
        self.reasons[graded.verdict, graded.reason] += 1

    def lines(self) -> Iterator[str]:
        """What to tell the user, line by line."""
        seconds = time.perf_counter() - self.start
        text = ", ".join(f"{self.verdicts[verdict]} {verdict}" for verdict in Verdict)
        share = self.verdicts[Verdict.CORRECT] / self.rows
        yield f"{self.rows} rows in {seconds:.2f} s: {text}; {share:.1%} correct"
        for verdict in Verdict:
            if self.verdicts[verdict]:
                reasons = Counter({r: n for (v, r), n in self.reasons.items() if v is verdict})
                yield f"  {verdict}: " + ", ".join(f"{n} {r}" for r, n in reasons.most_common())
        now, before = fallback_stats(), self.before
        if sent := now.sent - before.sent:
            yield (
                f"  fallback: {sent} pairs sent ({sent / self.rows:.1%} of the rows), "
                f"{now.decided - before.decided} decided, "
                f"{now.distrusted - before.distrusted} not trusted, "
                f"{now.timeouts - before.timeouts} timed out, "
                f"{now.killed - before.killed} killed, {now.errors - before.errors} failed"
            )


def read_rows(file: BinaryIO, name: str) -> Iterator[Row]:
    """Rows of a JSONL file, checked; each gets its line number as `line` and its size as `bytes`.

    Raises:
        DataError: a bad row, named with its line number, or no rows at all.
    """
    number = 0
    empty = True
    while line := file.readline(_LINE_BYTES + 1):
        number += 1
        where = f"{name}:{number}"
        if len(line) > _LINE_BYTES:
            raise DataError(f"{where}: the line is longer than {_LINE_BYTES >> 20} MiB")
        if line.strip():
            empty = False
            yield _row(line, where) | {"line": number, "bytes": len(line)}
    if empty:
        raise DataError(f"{name} has no rows\nhint: one JSON object a line: completion, gold")


def check_rows(file: BinaryIO, name: str) -> int:
    """Check every row of a file that can be read again; returns their number.

    Raises:
        DataError: the first bad rows, each named with its line number.
    """
    count, number, bad = 0, 0, []
    while line := file.readline(_LINE_BYTES + 1):
        number += 1
        if not line.strip():
            continue
        count += 1
        try:
            if len(line) > _LINE_BYTES:
                raise DataError(f"{name}:{number}: the line is longer than {_LINE_BYTES >> 20} MiB")
            _row(line, f"{name}:{number}")
        except DataError as error:
            bad.append(str(error))
            if len(bad) == _NAMED:
                bad.append(f"{name}: there may be more; only the first {_NAMED} are named")
                break
    if bad:
        raise DataError("\n".join(bad))
    if not count:
        raise DataError(f"{name} has no rows\nhint: one JSON object a line: completion, gold")
    return count


def grade_rows(
    rows: Iterator[Row], out: TextIO, tick: Callable[[int], None], **options: Any
) -> Summary:
    """Grade rows chunk by chunk and write one JSON object for each.

    Args:
        rows: from `read_rows`.
        out: where to write.
        tick: told the number of rows of each chunk when it is done.
        **options: for `grade_batch`.

    Returns:
        The counts.
    """
    summary = Summary()
    for chunk in _chunks(rows):
        grades = grade_batch(
            [row["completion"] for row in chunk], [row["gold"] for row in chunk], **options
        )
        for row, graded in zip(chunk, grades, strict=True):
            summary.add(graded)
            out.write(json.dumps(_record(row, graded)) + "\n")
        tick(len(chunk))
    return summary


@contextmanager
def write_whole(path: str) -> Iterator[TextIO]:
    """Open a file that appears under its name when it is whole, or not at all."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += row["bytes"]
        if len(chunk) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _row(line: bytes, where: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where}: not a JSON object: {error}\nhint: a line cut short is a file still written"
        ) from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: must be a JSON object, got {type(row).__name__}")
    for name in ("completion", "gold"):
        if name not in row:
            have = ", ".join(map(repr, row)) or "nothing"
            raise DataError(f"{where}: field {name!r} is missing, the row has {have}")
    gold = row["gold"]
    several = gold if isinstance(gold, list) and gold else [gold]
    if not isinstance(row["completion"], str):
        kind = type(row["completion"]).__name__
        raise DataError(f"{where}: 'completion' must be a string, got {kind}")
    if not all(isinstance(one, str) for one in several):
        raise DataError(
            f"{where}: 'gold' must be a string or a list of at least one, got {json.dumps(gold)}"
        )
    return row


def _record(row: Row, graded: Grade) -> Row:
    record = {"line": row["line"]}
    if "id" in row:
        record["id"] = row["id"]
    return record | {
        "verdict": str(graded.verdict),
        "extracted": graded.extracted,
        "by": graded.by,
        "reason": graded.reason,
    }
