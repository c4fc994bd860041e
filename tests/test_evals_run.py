"""Runs: resuming, growing, dying, sharing, refusing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_runs import content, mock_config, whole_lines
from stare.errors import ArgumentError, ConfigError, DataError, MissingExtraError, RunError
from stare.evals.config import Shard
from stare.evals.crew import gpu_slices, visible_gpus
from stare.evals.dispatch import MAX_DEATHS, MAX_REFUSALS, Dispatcher
from stare.evals.engine import generate
from stare.evals.failures import BackendError, FolderInUseError, StorageError
from stare.evals.files import AppendLog, FolderLock, read_lines
from stare.evals.merge import merge
from stare.evals.plan import BenchPlan, select_problems, wanted
from stare.evals.records import Key, Sample
from stare.evals.session import default_folder, prepare
from stare.evals.store import RunFolder, sample_line
from stare.types import Problem


def run(folder: Path, bench: str = "mini:2", **changes: Any) -> Any:
    return generate(prepare(mock_config(bench, **changes)), RunFolder(folder), quiet=True)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """An uninterrupted run of one worker, n = 4."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    run(folder, "mini:4")
    return content(folder)


# --- the same samples, however they come about ---------------------------------------------------


def test_a_run_has_every_sample_once_and_is_not_made_twice(tmp_path, reference):
    assert len(reference) == 120
    assert len({(row["problem_id"], row["sample"]) for row in reference}) == 120
    first = run(tmp_path / "a", "mini:4")
    again = run(tmp_path / "a", "mini:4")
    assert (first.made, first.before, first.complete) == (120, 0, True)
    assert (again.made, again.before, again.complete) == (0, 120, True)
    assert whole_lines(tmp_path / "a") == 120
    assert content(tmp_path / "a") == reference


@pytest.mark.parametrize("workers", [2, 7])
def test_workers_do_not_change_samples(tmp_path, reference, workers):
    run(tmp_path / "a", "mini:4", workers=workers)
    assert content(tmp_path / "a") == reference
    assert whole_lines(tmp_path / "a") == 120


def test_n_grows_without_redoing_work_and_never_shrinks(tmp_path, reference):
    run(tmp_path / "a", "mini:2")
    before = (tmp_path / "a/samples/mini.w0.jsonl").read_bytes()
    grown = run(tmp_path / "a", "mini:4")
    assert (grown.made, grown.before) == (60, 60)
    assert (tmp_path / "a/samples/mini.w0.jsonl").read_bytes().startswith(before)
    assert content(tmp_path / "a") == reference
    with pytest.raises(RunError, match=r"n=4 for mini, this asks for 2; n can only grow"):
        run(tmp_path / "a", "mini:2")


def test_a_subset_of_the_problems_grows_to_all(tmp_path, reference):
    assert run(tmp_path / "a", "mini:4", limit=3).made == 12
    assert run(tmp_path / "a", "mini:4", problems="3-5").made == 8
    entry = RunFolder(tmp_path / "a").manifest().benchmarks["mini"]
    assert len(entry.selected or []) == 5
    assert entry.planned == 20
    assert run(tmp_path / "a", "mini:4").made == 100
    assert content(tmp_path / "a") == reference


def test_order_concurrency_and_shards_do_not_change_samples(tmp_path, reference):
    run(tmp_path / "a", "mini:4", concurrency=1)
    assert content(tmp_path / "a") == reference
    parts = [tmp_path / f"part{i}" for i in (1, 2, 3)]
    sizes = [run(part, "mini:4", shard=f"{i}/3").made for i, part in enumerate(parts, 1)]
    assert sizes == [40, 40, 40]
    merged = merge(parts[::-1], tmp_path / "whole")
    assert (merged.samples, merged.planned, merged.repeated) == (120, 120, 0)
    assert content(tmp_path / "whole") == reference
    merge([parts[1], parts[0], parts[2]], tmp_path / "other")
    name = "samples/mini.merged.jsonl"
    one, two = (content(tmp_path / folder) for folder in ("whole", "other"))
    assert one == two
    assert (tmp_path / "whole" / name).read_bytes().count(b"\n") == 120
    assert run(tmp_path / "whole", "mini:4").made == 0, "a merged run goes on as a whole one"


@given(n=st.integers(1, 5), of=st.integers(1, 9), problems=st.integers(1, 12))
def test_shards_are_a_partition_of_like_sizes(n: int, of: int, problems: int):
    plan = BenchPlan(bench="b", n=n, problem_ids=tuple(f"p{i}" for i in range(problems)))
    parts = [wanted([plan], Shard(i, of)) for i in range(1, of + 1)]
    flat = [key for part in parts for key in part]
    assert sorted(flat) == sorted(wanted([plan]))
    assert max(map(len, parts)) - min(map(len, parts)) <= n
    more = BenchPlan(bench="b", n=n + 1, problem_ids=plan.problem_ids)
    for i in range(1, of + 1):
        assert set(parts[i - 1]) <= set(wanted([more], Shard(i, of)))


# --- killed --------------------------------------------------------------------------------------


def start(folder: Path, workers: int, delay: float = 0.02) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "stare.evals.cli", "generate", "mock", "--backend", "mock"]
    command += ["--bench", "mini:4", "--workers", str(workers), "--concurrency", "4"]
    command += ["--backend-arg", f"delay={delay}", "-o", str(folder), "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_killed_at_random_points_and_resumed(tmp_path, reference, workers):
    folder, chance = tmp_path / "a", random.Random(workers)
    kills, seen = 0, 0
    for _ in range(40):
        process = start(folder, workers)
        goal = seen + chance.randint(1, 40)
        while process.poll() is None:
            if folder.joinpath("samples").is_dir() and whole_lines(folder) >= goal:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        _, words = process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, words.decode()
        seen = whole_lines(folder)
    assert process.returncode == 0
    assert kills >= 2
    # A worker notices the closed pipe within an instant; wait for the last of them.
    time.sleep(0.3)
    rows = [row for p in (folder / "samples").glob("*.jsonl") for _, row in read_lines(p)]
    assert len(rows) >= 120
    assert content(folder) == reference


def test_a_worker_that_is_killed_is_replaced_and_its_samples_are_made(tmp_path, reference):
    process = start(tmp_path / "a", 2, delay=0.1)
    killed: set[int] = set()
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for child in children.read_text().split() if children.exists() else ():
            words = Path(f"/proc/{child}/cmdline")
            made = whole_lines(tmp_path / "a") if (tmp_path / "a/samples").is_dir() else 0
            is_worker = words.exists() and b"spawn_main" in words.read_bytes()
            if len(killed) < 2 and is_worker and made > 10 and int(child) not in killed:
                os.kill(int(child), signal.SIGKILL)
                killed.add(int(child))
        time.sleep(0.02)
    assert process.returncode == 0, process.communicate()[1].decode()
    process.communicate()
    assert len(killed) == 2
    assert content(tmp_path / "a") == reference


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_says_so_and_keeps_what_is_there(tmp_path, number, workers):
    process = start(tmp_path / "a", workers, delay=0.1)
    while not (tmp_path / "a/samples").is_dir() or whole_lines(tmp_path / "a") < 8:
        time.sleep(0.02)
    begin = time.monotonic()
    # Ctrl-C goes to the whole group, kill to one process.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, words = process.communicate(timeout=30)
    assert time.monotonic() - begin < 5
    assert process.returncode == 5
    assert b"the same command goes on" in words
    kept = len(content(tmp_path / "a"))
    assert 8 <= kept < 120
    again = run(tmp_path / "a", "mini:4", workers=2)
    assert again.before == kept


def test_a_torn_line_is_skipped_and_the_next_one_is_whole(tmp_path, reference):
    run(tmp_path / "a", "mini:4")
    path = tmp_path / "a/samples/mini.w0.jsonl"
    data = path.read_bytes()
    for cut in (1, 2, 100, len(data) // 3, len(data) - 1):
        path.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        kept = run(tmp_path / "a", "mini:4").before
        # A line that lacks nothing but its newline is whole.
        assert whole <= kept <= whole + 1
        assert content(tmp_path / "a") == reference


@given(cut=st.integers(0, 400))
def test_append_log_keeps_whole_lines(tmp_path_factory, cut: int):
    path = tmp_path_factory.mktemp("log") / "x.jsonl"
    rows = [{"i": i, "text": "x\u2028\ud800" * i} for i in range(5)]
    with AppendLog(path) as log:
        for row in rows:
            log.write(row)
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    with AppendLog(path) as log:
        log.write({"i": 99})
    found = [row for _, row in read_lines(path)]
    assert found[-1] == {"i": 99}
    assert found[:-1] == rows[: len(found) - 1]
    assert len(found) - 1 >= data.count(b"\n")


def test_a_worker_that_stalls_is_replaced_and_gives_up_in_the_end(tmp_path):
    changes = {"backend_args": {"delay": 30.0}, "stall_limit": 0.4, "concurrency": 2}
    with pytest.raises(BackendError, match=r"died 3 times without a sample.*it said: no sample in"):
        run(tmp_path / "a", "mini:1", **changes)
    assert content(tmp_path / "a") == []


def test_a_crash_of_a_worker_is_named(tmp_path, monkeypatch):
    config = mock_config("mini:1", workers=2, backend_args={"colour": 1})
    with pytest.raises(BackendError, match="unexpected keyword argument 'colour'"):
        generate(prepare(config), RunFolder(tmp_path / "a"), quiet=True)


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_does_not_change_samples(tmp_path, reference):
    run(tmp_path / "a", "mini:4", workers=2, ray=True)
    assert content(tmp_path / "a") == reference


def test_without_ray_its_absence_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"stare-rl\[ray\]"):
        run(tmp_path / "a", workers=2, ray=True)


# --- who may write, and what is refused ----------------------------------------------------------


def test_two_processes_on_one_folder_are_refused(tmp_path):
    process = start(tmp_path / "a", 1, delay=0.5)
    while not (tmp_path / "a/manifest.json").exists():
        time.sleep(0.02)
    with pytest.raises(FolderInUseError, match=f"written by process {process.pid}"):
        run(tmp_path / "a", "mini:4")
    process.kill()
    process.communicate()
    assert run(tmp_path / "a", "mini:4").complete, "the lock of a dead process is taken over"


def test_a_lock_is_taken_over_from_the_dead_alone(tmp_path):
    with FolderLock(tmp_path):
        held = json.loads((tmp_path / "run.lock").read_text())
    assert held["pid"] == os.getpid()
    assert (tmp_path / "run.lock").read_text() == "", "free again"
    for change in ({"pid": 2**22 + 1}, {"started": "1"}):
        (tmp_path / "run.lock").write_text(json.dumps({**held, "pid": 1, **change}))
        with FolderLock(tmp_path):
            pass
    (tmp_path / "run.lock").write_text('{"pid": 1, "ho')  # killed while taking it
    with FolderLock(tmp_path):
        pass
    (tmp_path / "run.lock").write_text(json.dumps({**held, "host": "elsewhere"}))
    with (
        pytest.raises(FolderInUseError, match=r"on elsewhere\n.*rm .*run.lock"),
        FolderLock(tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"temperature": 0.5}, "sampling.temperature: 1.0 there, 0.5 now"),
        ({"max_tokens": 9}, "sampling.max_tokens"),
        ({"template": "none"}, "template.text"),
        ({"system": "Be brief."}, "system: 'template-default' there, 'Be brief.' now"),
        ({"model": "other"}, "model.name"),
        ({"backend_args": {"accuracy": 0.5}}, "backend_args.accuracy: None there, 0.5 now"),
        ({"shard": "1/2"}, "holds shard none, this is shard 1/2"),
    ],
)
def test_changed_settings_are_refused_by_name(tmp_path, change, key):
    run(tmp_path / "a", limit=1)
    before = (tmp_path / "a/manifest.json").read_bytes()
    with pytest.raises(RunError, match=key):
        run(tmp_path / "a", limit=1, **change)
    assert (tmp_path / "a/manifest.json").read_bytes() == before


def test_what_decides_no_sample_may_change(tmp_path):
    run(tmp_path / "a", limit=1)
    changes = {"workers": 2, "concurrency": 3, "retries": 1, "backend_args": {"delay": 0.001}}
    assert run(tmp_path / "a", limit=2, **changes).made == 2


def foreign(sample: Sample, **changes: Any) -> bytes:
    return json.dumps({**sample_line(sample), **changes}).encode() + b"\n"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"v": 9}, r"schema 9 is not 1"),
        ({"seed": 5}, r"of another run: its seed is 5, run seed 0 gives"),
        ({"prompt_sha": "0" * 16}, r"of another run: its prompt 0+ is not in prompts.jsonl"),
        ({"bench": "aime24"}, r"a sample of 'aime24' in a file of 'mini'"),
        ({"colour": 1}, r"unknown fields colour"),
    ],
)
def test_samples_of_another_run_or_schema_are_refused(tmp_path, changes, reason):
    run(tmp_path / "a", limit=1)
    sample = next(RunFolder(tmp_path / "a").samples("mini"))
    path = tmp_path / "a/samples/mini.stray.jsonl"
    path.write_bytes(foreign(sample, **changes))
    with pytest.raises(DataError, match=reason) as caught:
        run(tmp_path / "a", limit=1)
    assert "mini.stray.jsonl, byte 0" in str(caught.value)


def test_samples_without_a_manifest_belong_to_nobody(tmp_path):
    run(tmp_path / "a", limit=1)
    (tmp_path / "a/manifest.json").unlink()
    with pytest.raises(DataError, match="samples but no manifest"):
        run(tmp_path / "a", limit=1)


def test_an_error_is_tried_again_and_superseded(tmp_path):
    run(tmp_path / "a", limit=1)
    path = tmp_path / "a/samples/mini.w0.jsonl"
    first, second = RunFolder(tmp_path / "a").samples("mini")
    failed = foreign(first, finish_reason="error", error="HTTP 400", text="")
    path.write_bytes(failed + foreign(second))
    folder = RunFolder(tmp_path / "a")
    assert [s.finish_reason for s in folder.samples("mini")] == ["error", "stop"]
    assert folder.keys("mini") == {second.key}
    assert run(tmp_path / "a", limit=1).made == 1
    path.write_bytes(path.read_bytes() + failed)
    assert [s.finish_reason for s in folder.samples("mini")] == ["stop", "stop"]


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path, reference, monkeypatch):
    written, real = 0, os.write

    def write(file: int, data: bytes) -> int:
        nonlocal written
        if b'"prompt_sha"' in data and b'"sample"' in data:
            written += len(data)
            if written > 20_000:
                if written - len(data) < 20_000:
                    return real(file, data[:50])  # what still fits
                raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError, match=r"No space left on device\nhint: .*is kept") as caught:
        run(tmp_path / "a", "mini:4")
    assert caught.value.exit_code == 1
    monkeypatch.undo()
    kept = len(content(tmp_path / "a"))
    assert kept > 10
    again = run(tmp_path / "a", "mini:4")
    assert again.before == kept
    assert content(tmp_path / "a") == reference


# --- merging -------------------------------------------------------------------------------------


def test_merge_names_what_does_not_fit(tmp_path):
    run(tmp_path / "a", limit=2)
    run(tmp_path / "b", limit=2, seed=1)
    with pytest.raises(RunError, match="seed: 0 there, 1 now"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    with pytest.raises(ArgumentError, match="two or more different"):
        merge([tmp_path / "a", tmp_path / "a"], tmp_path / "out")
    with pytest.raises(DataError, match="not a run folder"):
        merge([tmp_path / "a", tmp_path / "none"], tmp_path / "out")
    with pytest.raises(RunError, match="exists and is not empty"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "a")
    assert not (tmp_path / "out").exists()


def test_merge_refuses_two_texts_of_a_sample_and_takes_equal_ones_once(tmp_path):
    run(tmp_path / "a", limit=2)
    run(tmp_path / "b", limit=3)
    merged = merge([tmp_path / "b", tmp_path / "a"], tmp_path / "out")
    assert (merged.samples, merged.planned, merged.repeated) == (6, 6, 4)
    path = tmp_path / "b/samples/mini.w0.jsonl"
    path.write_bytes(path.read_bytes().replace(b"so so", b"no so", 1))
    with pytest.raises(DataError, match=r"1 samples have two different texts:\n  mini/mini-"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "other")
    assert not list(tmp_path.glob(".*merging"))


# --- parts ---------------------------------------------------------------------------------------


@given(st.data())
def test_the_dispatcher_loses_and_doubles_nothing(data: st.DataObject):
    keys = [Key("b", f"p{i}", 0) for i in range(data.draw(st.integers(0, 30)))]
    workers = data.draw(st.integers(1, 4))
    dispatcher = Dispatcher(keys, workers)
    held: dict[int, list[Key]] = {}
    finished: list[Key] = []
    for number in range(workers):
        held[number] = dispatcher.ready(number, data.draw(st.integers(1, 8)))
    for _ in range(500):
        if dispatcher.finished:
            break
        number = data.draw(st.sampled_from(sorted(held)))
        if data.draw(st.integers(0, 9)) == 0 and held[number]:
            try:
                dispatcher.died(number)
            except BackendError:
                return
            held[number] = dispatcher.ready(number, 3)
        elif held[number]:
            key = held[number].pop(data.draw(st.integers(0, len(held[number]) - 1)))
            finished.append(key)
            held[number] += dispatcher.finish(number, key, None)
        else:
            held[number] += dispatcher.top_up(number)
    assert dispatcher.finished
    assert sorted(finished) == sorted(keys)


def test_the_dispatcher_gives_up():
    dispatcher = Dispatcher([Key("b", "p", i) for i in range(100)])
    for _ in range(MAX_DEATHS - 1):
        dispatcher.ready(0, 2)
        dispatcher.died(0, "killed by signal 9")
    dispatcher.ready(0, 2)
    with pytest.raises(BackendError, match=r"died 3 times.*b/p/0, b/p/1; it said: killed"):
        dispatcher.died(0, "killed by signal 9")
    dispatcher = Dispatcher([Key("b", "p", i) for i in range(100)])
    keys = dispatcher.ready(0, 100)
    for key in keys[: MAX_REFUSALS - 1]:
        dispatcher.finish(0, key, "HTTP 400")
    with pytest.raises(BackendError, match="refused 32 requests in a row, the last with: HTTP 400"):
        dispatcher.finish(0, keys[MAX_REFUSALS - 1], "HTTP 400")


def test_gpus_are_never_shared():
    assert gpu_slices(2, 1, ()) == [None, None]
    assert gpu_slices(2, 2, ("4", "5", "6", "7")) == [("4", "5"), ("6", "7")]
    with pytest.raises(ConfigError, match="3 workers with 2 GPUs each need 6, there are 4"):
        gpu_slices(3, 2, ("0", "1", "2", "3"))
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "2, 3"}) == ("2", "3")
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": ""}) == ()


def test_problems_are_chosen_by_number_range_and_id():
    problems = [Problem(id=f"p-{i}", problem="?", answer="0") for i in range(1, 7)]
    assert select_problems(problems) is None
    assert select_problems(problems, which="6,p-1,2-3") == ["p-1", "p-2", "p-3", "p-6"]
    assert select_problems(problems, which="1-6") is None
    assert select_problems(problems, which="2-5", limit=2) == ["p-2", "p-3"]
    for bad in ("0", "7", "3-2", "x"):
        with pytest.raises(ArgumentError):
            select_problems(problems, which=bad)


def test_the_same_settings_find_the_same_folder():
    one, two = (default_folder(prepare(mock_config(limit=1, workers=w))) for w in (1, 2))
    assert one == two
    assert one != default_folder(prepare(mock_config(limit=1, seed=1)))
