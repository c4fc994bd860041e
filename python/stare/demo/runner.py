"""Run the arms of a plan as parallel processes of `stare-train`, one core each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from stare.demo.arms import Run
from stare.errors import RunError
from stare.train.config import to_dict
from stare.train.overrides import load_config
from stare.train.runfolder import frozen_differences, read_config, read_status

__all__ = ["run_all"]

ENVIRONMENT = {
    # One core each: more threads would fight over cores and be slower at this size.
    "OMP_NUM_THREADS": "1",
    "STARE_NUM_THREADS": "1",
    # Keep freed memory: handing it back and faulting it in again costs 5 ms a step.
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "1073741824",
}
POLL_SECONDS = 0.5
PLAIN_EVERY_SECONDS = 30.0
TAIL_BYTES = 4096


def is_finished(folder: Path, run: Run) -> bool:
    """Whether the folder holds this run, with these settings, finished."""
    status = read_status(folder)
    if status.get("status") != "finished" or status.get("step") != run.settings["run.steps"]:
        return False
    config = to_dict(load_config(run.preset, run.overrides()))
    return not frozen_differences(read_config(folder), config)


def last_row(folder: Path) -> dict[str, float]:
    """The newest whole line of a growing metrics file; empty before the first."""
    try:
        with (folder / "metrics.jsonl").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    for line in reversed(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            return row
    return {}


def _start(run: Run, folder: Path) -> subprocess.Popen[bytes]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "stare.train.cli", "run", run.preset, *run.overrides()]
    command += [f"run.out={folder}", "--resume"]
    environment = os.environ | ENVIRONMENT
    with folder.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


class _Display:
    """A bar per running arm on a terminal; a line now and then elsewhere."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self.live = console.is_terminal
        self.bars = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not self.live,
        )
        self.total = total
        self.done = 0
        self.ids: dict[str, TaskID] = {}
        self._spoke = time.monotonic()

    def started(self, run: Run) -> None:
        steps = int(str(run.settings["run.steps"]))
        self.ids[run.name] = self.bars.add_task(run.name, total=steps, note="starting")
        if not self.live:
            self.console.print(f"{run.name}: started, {steps} steps")

    def finished(self, run: Run, *, reused: bool = False) -> None:
        self.done += 1
        if run.name in self.ids:
            self.bars.remove_task(self.ids.pop(run.name))
        how = "already there, reused" if reused else "done"
        self.console.print(f"{run.name}: {how} ({self.done}/{self.total} runs)")

    def tick(self, rows: dict[str, dict[str, float]]) -> None:
        notes = {name: _note(row) for name, row in rows.items()}
        for name, row in rows.items():
            self.bars.update(self.ids[name], completed=row.get("step", 0), note=notes[name])
        if not self.live and time.monotonic() - self._spoke > PLAIN_EVERY_SECONDS:
            self._spoke = time.monotonic()
            for name, row in rows.items():
                self.console.print(f"{name}: step {int(row.get('step', 0))} {notes[name]}")


def _note(row: dict[str, float]) -> str:
    parts = (("entropy", "entropy/rollouts"), ("reward", "reward/rollouts"))
    return "  ".join(f"{label} {row[key]:.3f}" for label, key in parts if row.get(key) is not None)


@contextmanager
def _killing(running: dict[str, tuple[Run, subprocess.Popen[bytes]]]) -> Iterator[None]:
    """No process outlives this one; each can be continued from its last checkpoint."""
    try:
        yield
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.wait()


def run_all(
    runs: list[Run], out: Path, *, workers: int, fresh: bool, console: Console
) -> dict[str, Path]:
    """Run what is not finished yet and return the folder of every run.

    Args:
        runs: what to run, in order.
        out: folder of the run folders; finished runs found there are reused.
        workers: processes at a time.
        fresh: delete what is there and start over.
        console: where progress goes.

    Raises:
        RunError: a run failed; the message ends with what it said.
    """
    folders = {run.name: out / run.name for run in runs}
    if fresh:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".log").unlink(missing_ok=True)
    waiting = list(runs)
    running: dict[str, tuple[Run, subprocess.Popen[bytes]]] = {}
    display = _Display(console, len(runs))
    with display.bars, _killing(running):
        while waiting or running:
            while waiting and len(running) < workers:
                run = waiting.pop(0)
                if is_finished(folders[run.name], run):
                    display.finished(run, reused=True)
                    continue
                running[run.name] = (run, _start(run, folders[run.name]))
                display.started(run)
            time.sleep(POLL_SECONDS)
            display.tick({name: last_row(folders[name]) for name in running})
            for name, (run, process) in list(running.items()):
                code = process.poll()
                if code is None:
                    continue
                del running[name]
                if code != 0:
                    raise RunError(_explain(run, folders[name], code))
                display.finished(run)
    return folders


def _explain(run: Run, folder: Path, code: int) -> str:
    log = folder.with_suffix(".log")
    tail = log.read_text(errors="replace").splitlines()[-12:]
    return (
        f"{run.name} ended with exit code {code}:\n"
        + "\n".join(f"  {line}" for line in tail)
        + f"\nhint: the whole output is in {log}; --fresh starts over, the same command continues"
    )
