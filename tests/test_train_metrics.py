from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from stare.errors import ArgumentError, MissingExtraError, RunError
from stare.train.metric_keys import METRICS, is_metric_key, metric_table
from stare.train.metrics import (
    JsonlWriter,
    TensorBoardWriter,
    WandbWriter,
    open_writers,
    read_metrics,
)
from stare.train.progress import TrainProgress, describe

KEYS = [m.key for m in METRICS if m.key not in ("step", "eval/pass@k")]
NUMBERS = st.one_of(st.none(), st.integers(-(2**60), 2**60), st.floats())
ROWS = st.lists(st.dictionaries(st.sampled_from(KEYS), NUMBERS, max_size=5), max_size=8)


def same(a: object, b: object) -> bool:
    return a == b or (a is not None and b is not None and math.isnan(a) and math.isnan(b))  # type: ignore[arg-type]


@given(ROWS, st.data())
@settings(deadline=None)
def test_rows_survive_and_a_cut_at_any_byte_loses_at_most_the_last(
    rows: list[dict[str, float | int | None]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        writer = JsonlWriter(path)
        ends = [0]
        for i, row in enumerate(rows):
            writer.write({"step": i, **row})
            ends.append(path.stat().st_size)
        writer.close()
        cut = data.draw(st.integers(0, ends[-1]))
        os.truncate(path, cut)
        whole = sum(e <= cut for e in ends) - 1
        # Without its newline a row may be complete all the same; then it counts.
        read = read_metrics(path)
        assert whole <= len(read.rows) <= whole + 1
        assert len(read.rows) + read.torn <= whole + 1
        writer = JsonlWriter(path)
        writer.write({"step": 99, "loss/total": 1.0})
        writer.close()
        again = read_metrics(path)
        assert again.rows[-1] == {"step": 99, "loss/total": 1.0}
        assert (len(again.rows), again.torn) == (len(read.rows) + 1, read.torn)
        for i, row in enumerate(rows[:whole]):
            got = again.rows[i]
            assert got["step"] == i
            assert set(got) == {"step", *row}
            assert all(same(got[k], v) for k, v in row.items())


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.write_bytes(data)
        history = read_metrics(path)
        lines = [x for x in data.split(b"\n") if x.strip()]
        assert len(history.rows) + history.replaced + history.torn == len(lines)


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "3",
        '{"step": "1"}',
        '{"step": true}',
        '{"step": 1.5}',
        '{"a": 1}',
        "[" * 100_000,
        '{"step": 1, "nonfinite": 3}',
        '{"step": 1, "nonfinite": [1]}',
    ],
)
def test_lines_that_are_no_row_are_counted(tmp_path: Path, line: str) -> None:
    (tmp_path / "m").write_text(line + '\n{"step": 5}\n')
    history = read_metrics(tmp_path / "m")
    assert (len(history.rows), history.torn) == (1, 1)


def test_the_last_line_of_a_step_wins(tmp_path: Path) -> None:
    writer = JsonlWriter(tmp_path / "m")
    for step, loss in ((1, 0.1), (2, 0.2), (3, 0.3), (2, 0.25), (3, 0.35)):
        writer.write({"step": step, "loss/total": loss})
    writer.close()
    history = read_metrics(tmp_path / "m")
    assert history.series("loss/total") == ([1, 2, 3], [0.1, 0.25, 0.35])
    assert history.replaced == 2
    assert history.last("loss/total") == 0.35
    assert history.last("kl/old") is None


def test_every_line_is_strict_json_also_where_values_are_not_finite(tmp_path: Path) -> None:
    writer = JsonlWriter(tmp_path / "m")
    writer.write({"step": 1, "loss/total": math.nan, "kl/old": -math.inf, "stare/w": 1.5})
    writer.close()

    def refuse(token: str) -> float:
        raise AssertionError(token)

    line = json.loads((tmp_path / "m").read_text(), parse_constant=refuse)
    assert line["nonfinite"] == {"loss/total": "nan", "kl/old": "-inf"}
    history = read_metrics(tmp_path / "m")
    assert history.nonfinite == {"loss/total": 1, "kl/old": 1}
    assert history.rows[0]["kl/old"] == -math.inf


def test_numpy_and_torch_scalars_and_booleans_are_numbers(tmp_path: Path) -> None:
    writer = JsonlWriter(tmp_path / "m")
    writer.write(
        {
            "step": np.int64(3),
            "loss/total": torch.tensor(1.5),
            "reward/batch": np.float32(0.5),
            "stare/gate": True,
        }  # type: ignore[dict-item]
    )
    writer.close()
    expected = {"step": 3, "loss/total": 1.5, "reward/batch": 0.5, "stare/gate": 1}
    assert read_metrics(tmp_path / "m").rows == [expected]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"step": 1, "entropy/batches": 1.0}, r"unknown metric entropy/batches\nhint: .*/batch\?"),
        ({"loss/total": 1.0}, "needs an integer step, got None"),
        ({"step": 1.0}, "needs an integer step, got 1.0"),
        ({"step": 1, "loss/total": "high"}, "metric loss/total must be a number or None"),
    ],
)
def test_wrong_rows_are_refused_and_leave_no_trace(
    tmp_path: Path, row: dict[str, float], message: str
) -> None:
    writer = JsonlWriter(tmp_path / "m")
    with pytest.raises(ArgumentError, match=message):
        writer.write(row)
    writer.close()
    assert (tmp_path / "m").read_bytes() == b""


def test_a_full_disk_is_an_error_with_its_name() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    writer = JsonlWriter("/dev/full")
    with pytest.raises(RunError, match="/dev/full cannot be written"):
        writer.write({"step": 1})
    writer.close()


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot be read: .*nowhere"):
        read_metrics(tmp_path / "nowhere")
    with pytest.raises(RunError, match="cannot be opened"):
        JsonlWriter(tmp_path / "no" / "m")


def test_keys_are_unique_documented_and_extensible() -> None:
    assert len(set(KEYS)) == len(KEYS)
    assert all(m.unit and m.meaning and "|" not in m.meaning for m in METRICS)
    assert is_metric_key("eval/pass@32_se")
    assert is_metric_key("extra/anything at all")
    assert not is_metric_key("eval/pass@0")
    assert not is_metric_key("loss/total_se")
    assert not is_metric_key("pass@1")


def test_the_table_has_a_cell_for_everything() -> None:
    lines = metric_table().split("\n")
    assert len(lines) == len(METRICS) + 2
    for line in lines:
        assert line.count("|") == 4


def test_tensorboard_receives_every_number(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    writer = TensorBoardWriter(tmp_path)
    writer.write({"step": 1, "loss/total": 0.5, "kl/old": None})
    writer.write({"step": 2, "loss/total": 0.25})
    writer.close()
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss/total")] == [(1, 0.5), (2, 0.25)]
    assert events.Tags()["scalars"] == ["loss/total"]


def test_missing_extras_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(MissingExtraError, match=r"wandb=true needs .*\nhint: .*stare-rl\[wandb\]"):
        WandbWriter(project="p", name="n", config={})
    with pytest.raises(MissingExtraError, match=r"stare-rl\[tensorboard\]"):
        open_writers(tmp_path, tensorboard=True)
    writers = open_writers(tmp_path)
    assert [type(w) for w in writers] == [JsonlWriter]
    writers[0].close()


def test_wandb_gets_the_row_at_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        logged: list[tuple[dict[str, float], int]] = []  # noqa: RUF012
        closed = False

        def log(self, values: dict[str, float], step: int) -> None:
            self.logged.append((values, step))

        def finish(self) -> None:
            self.closed = True

    run = Run()
    module = type("wandb", (), {"init": staticmethod(lambda **_: run)})
    monkeypatch.setitem(sys.modules, "wandb", module)
    writer = WandbWriter(project="p", name="n", config={})
    writer.write({"step": 4, "loss/total": 0.5, "kl/old": None})
    writer.close()
    assert run.logged == [({"loss/total": 0.5}, 4)]
    assert run.closed


def row(step: int) -> dict[str, float | int | None]:
    return {"step": step, "entropy/batch": 0.2, "entropy/target": 0.25, "stare/w": 1.0}


def test_progress_in_a_pipe_is_plain_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=False, width=40)
    with TrainProgress(steps=25, log_every=10, console=console) as progress:
        for step in range(1, 26):
            extra = {"eval/pass@1": 0.4, "eval/pass@32": 0.9, "eval/pass@1_se": 0.1}
            progress.update({**row(step), **(extra if step == 10 else {})})
    lines = out.getvalue().splitlines()
    assert [x.split()[1] for x in lines] == ["1/25", "10/25", "20/25", "25/25"]
    assert "pass@1 0.400  pass@32 0.900" in lines[2]  # the last evaluation stays in view
    assert "entropy 0.200 / 0.250" in lines[0]
    assert lines[-1].endswith("ETA 0:00")
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()


def test_progress_on_a_terminal_is_a_bar_and_no_color_is_respected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    out = io.StringIO()
    with TrainProgress(
        steps=3, start=1, console=Console(file=out, force_terminal=True, width=120)
    ) as p:
        p.update(row(2))
        p.message("[bold]literal[/bold]")
    text = out.getvalue()
    assert "step 2/3" in text
    assert "[bold]literal[/bold]" in text
    assert "\x1b[3" not in text  # cursor control, but no colours


def test_nothing_of_it_reaches_stdout(tmp_path: Path) -> None:
    code = (
        "from stare.train.progress import TrainProgress\n"
        "with TrainProgress(steps=2) as p:\n"
        "    p.message('hello'); p.update({'step': 1}); p.update({'step': 2})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == "hello"


def test_numbers_that_are_missing_or_not_finite_are_said_plainly() -> None:
    bad = {"step": 1, "entropy/batch": math.nan, "entropy/target": math.nan, "groups/kept": None}
    assert describe(bad, {}) == "entropy nan  groups -"


def test_the_documented_table_is_the_list() -> None:
    page = Path(__file__).parents[1] / "docs" / "metrics.md"
    assert page.read_text(encoding="utf-8").endswith(metric_table() + "\n")
