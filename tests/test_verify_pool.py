"""The pool of worker processes, with engines that misbehave on purpose; no math-verify needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pool_engines
import stare
from stare.errors import ArgumentError
from stare.verify.pool import PoolConfig, Reply, WorkerPool

ENGINE = "pool_engines:behave"


def echo(value: object) -> dict:
    return {"do": "echo", "value": value}


def sleep(seconds: float) -> dict:
    return {"do": "sleep", "seconds": seconds}


@pytest.fixture
def events() -> Counter:
    return Counter()


@pytest.fixture
def make_pool(events: Counter) -> Iterator:
    pools = []

    def make(engine: str = ENGINE, command=None, **settings) -> WorkerPool:
        config = PoolConfig(**{"workers": 1, "deadline_s": 20.0, **settings})
        pools.append(
            WorkerPool(engine, config, command=command, on_event=lambda e: events.update([e]))
        )
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


# --- jobs and replies ------------------------------------------------------------------------


def test_replies_are_in_order_and_each_job_gets_one(make_pool):
    replies = make_pool(workers=2).run([echo(i) for i in range(50)])
    assert [reply.result["value"] for reply in replies] == list(range(50))
    assert len({reply.result["pid"] for reply in replies}) <= 2


def test_nothing_starts_before_the_first_job_and_one_job_starts_one_worker(make_pool, events):
    pool = make_pool(workers=3)
    assert (pool.pids, events["started"]) == ([], 0)
    pool.run([echo(1)])
    assert len(pool.pids) == events["started"] == 1


def test_what_the_engine_raises_is_a_failure_and_the_worker_goes_on(make_pool, events):
    pool = make_pool()
    raised, timeout, fine = pool.run([{"do": "raise"}, {"do": "timeout"}, echo(1)])
    assert raised == Reply(failure="error", detail="ValueError")
    assert timeout == Reply(failure="timeout")
    assert fine.result["value"] == 1
    assert events == {"started": 1}


def test_what_libraries_print_is_not_a_reply(make_pool):
    (reply,) = make_pool().run([{"do": "print"}])
    assert reply.result == {"value": "quiet"}


def test_large_jobs_go_through(make_pool):
    (reply,) = make_pool().run([echo("x" * 500_000)])
    assert len(reply.result["value"]) == 500_000


# --- workers that hang, die, eat or babble ------------------------------------------------------


def test_a_job_that_hangs_in_c_code_is_killed_and_the_next_one_runs(make_pool, events):
    pool = make_pool(deadline_s=1.0)
    pool.run([echo(0)])
    (hanging,) = pool.pids
    start = time.monotonic()
    hung, fine = pool.run([{"do": "hang"}, echo(1)])
    assert hung.failure == "timeout"
    assert fine.result["value"] == 1
    assert time.monotonic() - start < 15
    assert is_gone(hanging)
    assert events["killed"] == 1


def test_the_deadline_starts_at_the_hand_over_not_in_the_queue(make_pool, events):
    replies = make_pool(deadline_s=2.0).run([sleep(0.5)] * 8)
    assert [reply.failure for reply in replies] == [None] * 8
    assert events["killed"] == 0


def test_a_worker_killed_in_the_middle_of_a_job_costs_no_job(make_pool, events):
    pool = make_pool()
    pool.run([echo(0)])
    (victim,) = pool.pids
    with ThreadPoolExecutor(1) as executor:
        replies = executor.submit(pool.run, [sleep(0.5), echo(1)])
        time.sleep(0.2)
        os.kill(victim, signal.SIGKILL)
        slept, echoed = replies.result(timeout=60)
    assert slept.result["pid"] != victim
    assert echoed.result["value"] == 1
    assert events["crashed"] == 1


def test_a_worker_killed_while_idle_is_replaced(make_pool, events):
    pool = make_pool()
    pool.run([echo(0)])
    (victim,) = pool.pids
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: pool.run([echo(1)])[0].result["pid"] != victim)
    assert events["started"] == 2


def test_a_job_that_kills_its_worker_is_tried_twice(make_pool, events, tmp_path):
    pool = make_pool()
    deadly, fine, second = pool.run(
        [{"do": "die"}, echo(1), {"do": "die once", "marker": str(tmp_path / "marker")}]
    )
    assert deadly.failure == "crashed"
    assert fine.result["value"] == 1
    assert second.result == {"value": "second time"}
    assert events["crashed"] == 3


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_memory_hog_is_stopped_and_its_worker_replaced(make_pool, events):
    pool = make_pool(memory_mib=200)
    hog, fine = pool.run([{"do": "hog"}, echo(1)])
    assert hog.failure == "memory"
    assert fine.result["value"] == 1
    assert events == {"started": 2, "recycled": 1}


@pytest.mark.parametrize("kind", pool_engines.GARBAGE)
def test_garbage_from_a_worker_is_a_crash_and_never_a_result(make_pool, events, kind):
    pool = make_pool(command=[sys.executable, pool_engines.__file__, kind], deadline_s=5.0)
    (reply,) = pool.run([echo(1)])
    assert reply.failure == "crashed"
    assert events["crashed"] == 2
    assert pool.pids == []


def test_workers_are_recycled(make_pool, events):
    replies = make_pool(jobs_per_worker=2).run([echo(i) for i in range(5)])
    assert [reply.result["value"] for reply in replies] == list(range(5))
    assert len({reply.result["pid"] for reply in replies}) == 3
    assert events == {"started": 3, "recycled": 2}


# --- workers that do not start -----------------------------------------------------------------


def test_an_engine_that_is_missing_is_found_out_once(make_pool, events):
    pool = make_pool("pool_engines:broken")
    replies = pool.run([echo(i) for i in range(3)])
    assert {reply.failure for reply in replies} == {"unavailable"}
    assert "ImportError: no engine here" in pool.unavailable
    assert events["started"] == 0


@pytest.mark.parametrize("command", [["/nonexistent/python"], [sys.executable, "-c", "pass"]])
def test_a_program_that_does_not_start_is_given_up_for_a_while(make_pool, monkeypatch, command):
    pool = make_pool(command=command)
    replies = pool.run([echo(i) for i in range(4)])
    assert {reply.failure for reply in replies} == {"unavailable"}
    assert "does not start" in pool.unavailable
    monkeypatch.setattr(pool, "_command", None)
    assert pool.run([echo(1)])[0].failure == "unavailable"
    monkeypatch.setattr(pool, "_retry_at", 0.0)
    assert pool.run([echo(1)])[0].result["value"] == 1
    assert pool.unavailable == ""


def test_a_start_that_fails_once_costs_no_job(make_pool, events, tmp_path):
    engine = Path(stare.__file__).parent / "verify/_worker.py"
    marker = tmp_path / "marker"
    program = (
        "import os, sys\n"
        f"if not os.path.exists({str(marker)!r}): open({str(marker)!r}, 'w'); sys.exit(1)\n"
        f"os.execv(sys.executable, [sys.executable, {str(engine)!r}])"
    )
    (reply,) = make_pool(command=[sys.executable, "-c", program]).run([echo(1)])
    assert reply.result["value"] == 1
    assert events == {"started": 1}


def test_a_storm_of_kills_loses_and_doubles_nothing(make_pool):
    pool, over = make_pool(workers=3, queue=8, jobs_per_worker=40), threading.Event()

    def kill_now_and_then() -> None:
        for turn in range(10_000):
            if over.wait(0.1):
                return
            with contextlib.suppress(ProcessLookupError):
                for pid in pool.pids[turn % 3 :][:1]:
                    os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    jobs = [[echo([t, i]) if i % 2 else sleep(0.01) for i in range(100)] for t in range(4)]
    with ThreadPoolExecutor(4) as executor:
        batches = list(executor.map(pool.run, jobs))
    over.set()
    killer.join()
    for t, replies in enumerate(batches):
        assert len(replies) == 100
        for i, reply in enumerate(replies):
            assert reply.failure in (None, "crashed", "unavailable")
            if reply.result is not None and i % 2:
                assert reply.result["value"] == [t, i]
    assert sum(r.failure is None for replies in batches for r in replies) > 200


def test_a_worker_that_never_gets_ready_is_given_up(make_pool):
    pool = make_pool(command=[sys.executable, "-c", "import time; time.sleep(60)"], start_s=0.2)
    start = time.monotonic()
    (reply,) = pool.run([echo(1)])
    assert reply.failure == "unavailable"
    assert time.monotonic() - start < 15


# --- from everywhere -------------------------------------------------------------------------


def test_eight_threads_share_a_pool(make_pool):
    pool = make_pool(workers=2, queue=4)
    with ThreadPoolExecutor(8) as executor:
        batches = list(
            executor.map(lambda t: pool.run([echo([t, i]) for i in range(20)]), range(8))
        )
    for t, replies in enumerate(batches):
        assert [reply.result["value"] for reply in replies] == [[t, i] for i in range(20)]


def test_the_event_loop_goes_on_while_a_pool_works(make_pool):
    pool = make_pool()

    async def main() -> tuple[int, list[Reply]]:
        work = asyncio.create_task(asyncio.to_thread(pool.run, [sleep(0.5)]))
        ticks = 0
        while not work.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, await work

    ticks, replies = asyncio.run(main())
    assert ticks > 10
    assert replies[0].failure is None


def test_waiting_leaves_the_interpreter_to_others(make_pool):
    pool, count = make_pool(), 0
    worker = threading.Thread(target=pool.run, args=([sleep(0.5)],))
    worker.start()
    while worker.is_alive():
        count += 1
        time.sleep(0.001)
    assert count > 50


def test_closing_ends_workers_and_answers_what_is_left(make_pool):
    pool = make_pool()
    pool.run([echo(0)])
    (pid,) = pool.pids
    with ThreadPoolExecutor(1) as executor:
        replies = executor.submit(pool.run, [sleep(30)] * 3)
        time.sleep(0.2)
        pool.close()
        assert {reply.failure for reply in replies.result(timeout=20)} == {"closed"}
    assert is_gone(pid)
    assert pool.run([echo(1)]) == [Reply(failure="closed")]
    pool.close()


def test_an_interrupted_caller_leaves_no_queued_jobs_behind(make_pool, monkeypatch):
    pool = make_pool()
    monkeypatch.setattr(pool, "_wait", lambda future: (_ for _ in ()).throw(KeyboardInterrupt))
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pool.run([sleep(0.5)] * 60)
    monkeypatch.undo()
    assert pool.run([echo(1)])[0].result["value"] == 1
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("name", ["workers", "deadline_s", "memory_mib", "jobs_per_worker"])
def test_sizes_must_be_positive(name):
    with pytest.raises(ArgumentError, match=f"{name} must be positive, got 0"):
        PoolConfig(**{name: 0})


# --- whole programs --------------------------------------------------------------------------

PROGRAM = """
import os, sys
sys.path[:0] = {path!r}
from stare.verify.pool import PoolConfig, WorkerPool
pool = WorkerPool("pool_engines:behave", PoolConfig(workers=1))
pid = pool.run([{{"do": "echo", "value": 1}}])[0].result["pid"]
print(pid, flush=True)
{rest}
"""


def _program(rest: str) -> str:
    path = [str(Path(__file__).parent), str(Path(stare.__file__).parent.parent)]
    return PROGRAM.format(path=path, rest=rest)


def test_an_unguarded_program_works_and_leaves_no_process(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(_program("pool.submit({'do': 'sleep', 'seconds': 60})"))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    wait_until(lambda: is_gone(int(done.stdout)))


def test_a_killed_program_leaves_no_process():
    program = subprocess.Popen(
        [sys.executable, "-c", _program("import time; time.sleep(60)")],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with program:
        assert program.stdout is not None
        worker = int(program.stdout.readline())
        program.kill()
    wait_until(lambda: is_gone(worker))
