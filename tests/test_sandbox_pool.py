"""The pool of sandboxes as an executor: order, reuse, ends, refusals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stare
from sandboxes import LIMITS, descendants, open_pool
from stare.errors import ConfigError, SandboxError
from stare.rollout.tools import bubblewrap
from stare.rollout.tools.executor import Execution
from stare.rollout.tools.limits import Limits
from stare.rollout.tools.pool import SandboxPool
from stare.rollout.tools.worker import Worker

PACKAGE = Path(stare.__file__).parent


@pytest.fixture(scope="module")
def pool() -> Iterator[SandboxPool]:
    with open_pool(workers=3) as pool:
        yield pool


def gone(pids: set[int], seconds: float = 5.0) -> bool:
    """Whether processes end within a time; one that is dead and not waited for counts as ended."""

    def alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    end = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_results_come_in_order(pool):
    programs = [f"import time; time.sleep({0.2 if i == 0 else 0}); print({i})" for i in range(30)]
    results = pool.run_many(programs)
    assert [r.stdout for r in results] == [f"{i}\n" for i in range(30)]
    assert {r.status for r in results} == {"ok"}
    assert results[0].seconds >= 0.2
    assert pool.run_many([]) == []


def test_programs_run_at_the_same_time(pool):
    pool.run_many(["1"])
    began = time.monotonic()
    pool.run_many(["import time; time.sleep(0.8)"] * 3)
    assert time.monotonic() - began < 1.6


def test_calls_from_several_threads(pool):
    found: dict[int, list[str]] = {}

    def call(number: int) -> None:
        results = pool.run_many([f"print({number}, {i})" for i in range(10)])
        found[number] = [r.stdout for r in results]

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [f"{n} {i}\n" for i in range(10)] for n in range(4)}


def test_what_a_program_sees(pool):
    source = (
        "import sys, threading, atexit\n"
        "atexit.register(lambda: print('exit'))\n"
        "threading.Thread(target=lambda: print('thread')).start()\n"
        "print(__name__, sys.argv, sys.stdin.read() == '', file=sys.stderr)\n"
        "class A: pass\n"
        "print(A.__module__, sys.modules['__main__'].A is A)\n"
    )
    (result,) = pool.run_many([source])
    assert result.status == "ok"
    assert sorted(result.stdout.splitlines()) == ["__main__ True", "exit", "thread"]
    assert result.stderr == "__main__ ['program.py'] True\n"


def test_a_traceback_shows_the_program_only(pool):
    (result,) = pool.run_many(["def f():\n    return 1 / 0  # here\nf()"])
    assert result.status == "error"
    assert "return 1 / 0  # here" in result.stderr
    assert result.stderr.count("  File ") == 2
    assert "inside" not in result.stderr


@pytest.mark.parametrize(
    ("source", "status", "stdout", "stderr"),
    [
        ("", "ok", "", ""),
        ("print(2 ** 10)", "ok", "1024\n", ""),
        ("print('é∞😀')", "ok", "é∞😀\n", ""),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n')", "ok", "\ufffd\n", ""),
        ("raise SystemExit", "ok", "", ""),
        ("raise SystemExit(0)", "ok", "", ""),
        ("raise SystemExit(3)", "error", "", ""),
        ("raise SystemExit('why')", "error", "", "why\n"),
        ("import sys; sys.stdout.close()", "ok", "", ""),
        ("import sys; sys.stdout = None; print(1)", "ok", "", ""),
        ("print('a', end='')", "ok", "a", ""),
        ("raise MemoryError", "memory", "", "MemoryError\n"),
        ("x = (", "error", "", "was never closed\n"),
        ("a\0b", "error", "", "null bytes\n"),
        ("'\ud800'", "error", "", "surrogates not allowed\n"),
        ("print('\\ud800')", "error", "", "surrogates not allowed\n"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "error", "", ""),
        ("# -*- coding: latin-1 -*-\nprint('é')", "ok", "é\n", ""),
        ("print(1)\r\nprint(2)\r\n", "ok", "1\n2\n", ""),
        ("from __future__ import annotations\nprint(1)", "ok", "1\n", ""),
        ("print(annotations)", "error", "", "is not defined\n"),
    ],
)
def test_ends(pool, source, status, stdout, stderr):
    (result,) = pool.run_many([source])
    assert (result.status, result.stdout) == (status, stdout), result
    assert result.stderr.endswith(stderr)
    assert result.stderr or status == "ok" or "SystemExit" in source


def test_output_is_cut_at_the_limit_and_not_before(pool):
    most = LIMITS.output_kb << 10
    whole, more, letters = pool.run_many(
        [f"print('x' * {most - 1})", f"print('x' * {most})", f"print('é' * {most})"]
    )
    assert (whole.status, len(whole.stdout)) == ("ok", most)
    assert (more.status, len(more.stdout)) == ("output", most)
    assert (letters.status, letters.stdout) == ("output", "é" * (most // 2))


def test_a_long_source(pool):
    short, long = pool.run_many(["#" * (900 << 10) + "\nprint(1)", "#" * (1025 << 10)])
    assert (short.status, short.stdout) == ("ok", "1\n")
    assert (long.status, long.stdout) == ("error", "")
    assert "limit" in long.stderr


@settings(max_examples=15)
@given(st.lists(st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1"))), max_size=8))
def test_any_text_gets_a_result(pool, sources):
    results = pool.run_many([*sources, "print('alive')"])
    assert len(results) == len(sources) + 1
    assert all(r.status in ("ok", "error", "timeout", "memory", "output") for r in results)
    assert results[-1] == Execution(
        status="ok", stdout="alive\n", stderr="", seconds=results[-1].seconds
    )


@settings(max_examples=10)
@given(st.binary(min_size=1, max_size=2000))
def test_any_bytes_on_both_streams(pool, data):
    source = f"import os\nos.write(1, {data!r})\nos.write(2, {data!r})"
    (result,) = pool.run_many([source])
    expected = data.decode("utf-8", "replace")
    assert (result.status, result.stdout, result.stderr) == ("ok", expected, expected)


def test_random_numbers_differ(pool):
    results = pool.run_many(["import random; print(random.random())"] * 4)
    assert len({r.stdout for r in results}) == 4


def test_modules_are_preloaded():
    with open_pool(preload=["decimal"]) as pool:
        (result,) = pool.run_many(["import sys; print('decimal' in sys.modules)"])
    assert result.stdout == "True\n"


def test_close_leaves_no_process():
    before = descendants()
    pool = open_pool(workers=2)
    pool.run_many(["import os\nif os.fork() == 0:\n    import time; time.sleep(100)"] * 4)
    started = descendants() - before
    assert started
    pool.close()
    pool.close()
    assert gone(started)
    with pytest.raises(SandboxError, match="closed"):
        pool.run_many(["1"])


def test_a_killed_sandbox_is_replaced():
    before = descendants()
    with open_pool(workers=1) as pool:
        for pid in descendants() - before:
            os.kill(pid, signal.SIGKILL)
        first, second = pool.run_many(["print(1)", "print(2)"])
        assert first.status == "killed"
        assert (second.status, second.stdout) == ("ok", "2\n")


def test_a_sandbox_killed_while_a_program_runs():
    before = descendants()
    with open_pool(workers=1) as pool:
        found = descendants() - before
        timer = threading.Timer(0.3, lambda: os.kill(min(found), signal.SIGKILL))
        timer.start()
        first, second = pool.run_many(["import time; time.sleep(1.5)", "print(2)"])
        timer.join()
    assert first.status == "killed"
    assert first.seconds < 1.4
    assert (second.status, second.stdout) == ("ok", "2\n")


OTHER_TRAINER = """
import sys, time
from stare.rollout.tools.pool import SandboxPool
from stare.rollout.tools.limits import Limits
pool = SandboxPool(Limits(wall_seconds=60), workers=2)
print("ready", flush=True)
pool.run_many(["import os\\nos.fork()\\nwhile True: pass"] * 2)
"""


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_trainer_that_dies_takes_its_sandboxes_along(pool, number, environment):
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_TRAINER], stdout=subprocess.PIPE, env=environment
    ) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        found = descendants(trainer.pid)
        assert len(found) >= 4
        trainer.send_signal(number)
    assert gone(found)


def test_no_bubblewrap(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"bwrap.*\n?.*hint: .*install bubblewrap"):
        SandboxPool()


def test_not_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="HttpExecutor"):
        SandboxPool()


def test_a_bubblewrap_that_may_not(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace, see sysctl' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    before = threading.active_count()
    with pytest.raises(SandboxError, match=r"No permissions.*\n?.*hint: allow user namespaces"):
        SandboxPool(workers=2)
    assert threading.active_count() == before


@pytest.mark.parametrize("unsafe", [1, "true", None])
def test_unsafe_is_said_in_so_many_words(unsafe):
    with pytest.raises(ConfigError, match="unsafe must be true or false"):
        SandboxPool(unsafe=unsafe)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="unsafe=True needs Linux, too")
def test_unsafe_works_without_bubblewrap(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = descendants()
    with SandboxPool(LIMITS, workers=2, unsafe=True) as pool:
        results = pool.run_many(
            [
                "print(1)",
                "1 / 0",
                "x = bytearray(10 ** 10)",
                "while True: pass",
                "print('x' * 10 ** 5)",
                "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(100)",
                "open('a', 'w').write('x')",
            ]
        )
        after = pool.run_many(["import os; print(os.listdir())"] * 2)
        started = descendants() - before
    words = ["ok", "error", "memory", "timeout", "output", "ok", "ok"]
    assert [r.status for r in results] == words
    assert [r.stdout for r in after] == ["[]\n", "[]\n"]
    assert len(started) == 2, "the zygotes and no program"
    assert gone(started)
    assert "without a sandbox" in caplog.text


def test_a_module_that_cannot_be_preloaded():
    open_pool().close()
    with pytest.raises(SandboxError, match=r"no_such_module.*\n?.*tools\.preload"):
        SandboxPool(workers=1, preload=["no_such_module"])


def test_a_prefix_that_is_too_wide(monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(Path.home()))
    configuration = bubblewrap.settings(Limits(), fd=3, preload=(), unsafe=False, nested=True)
    with pytest.raises(SandboxError, match="folder of its own"):
        bubblewrap.command(configuration)


@pytest.mark.parametrize("workers", [0, -1])
def test_bad_workers(workers):
    with pytest.raises(ConfigError, match="workers"):
        SandboxPool(workers=workers)


@pytest.mark.parametrize(
    "values",
    [
        {"wall_seconds": 0},
        {"wall_seconds": float("nan")},
        {"wall_seconds": float("inf")},
        {"memory_mb": 1.5},
        {"memory_mb": True},
        {"memory_mb": 8},
        {"processes": 0},
        {"output_kb": "1"},
        {"open_files": 3},
    ],
)
def test_bad_limits(values):
    with pytest.raises(ConfigError, match=f"{next(iter(values))} must be"):
        Limits(**values)


AS_NOBODY = """
import os, sys
from stare.rollout.tools.pool import SandboxPool
from stare.rollout.tools.limits import Limits
assert os.geteuid() != 0
with SandboxPool(Limits(wall_seconds=2, memory_mb=128, processes=16), workers=1) as pool:
    source = "import os; print(os.getpid(), os.getuid(), os.listdir('/tmp'))"
    bomb = "import os\\nwhile True:\\n    try: os.fork()\\n    except OSError: pass"
    hog = "x = []\\nwhile True: x.append(bytearray(1 << 20))"
    print(pool.nested, [(r.status, r.stdout) for r in pool.run_many([source, bomb, hog, source])])
"""


def test_as_an_unprivileged_user(pool):
    """Root and others take different ways into the sandbox; where this is root, test the other."""
    if os.geteuid() != 0:
        pytest.skip("every test of this file runs as an unprivileged user already")
    python = next(
        (
            path
            for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
            if can_run(path)
        ),
        None,
    )
    if python is None:
        pytest.skip("no Python >= 3.10 and package that the user nobody may read")
    done = subprocess.run(
        [python, "-c", AS_NOBODY],
        user=65534,
        group=65534,
        extra_groups=[],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    line = repr(("ok", "2 65534 []\n"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True "), done
    assert done.stdout.count(line) == 2
    assert "('memory', '')" in done.stdout
    assert done.stdout.count("('timeout', '')") + done.stdout.count("('memory', '')") == 2


def can_run(python: str) -> bool:
    """Whether nobody can run an interpreter that is new enough and import the package."""
    try:
        done = subprocess.run(
            [python, "-c", "import sys, stare.errors; sys.exit(sys.version_info < (3, 10))"],
            user=65534,
            group=65534,
            extra_groups=[],
            cwd="/",
            env={"PYTHONPATH": str(PACKAGE.parent)},
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def test_close_does_not_run_what_waits():
    pool = open_pool(workers=1)
    ended: list[BaseException] = []

    def call() -> None:
        try:
            pool.run_many(["import time; time.sleep(0.5)"] * 20)
        except SandboxError as error:
            ended.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    time.sleep(0.2)
    began = time.monotonic()
    pool.close()
    caller.join()
    assert time.monotonic() - began < 3
    assert [str(error) for error in ended] == ["the pool of sandboxes is closed"]


def test_a_descriptor_that_leaked_into_a_fork_of_the_trainer(monkeypatch):
    """End of file never comes where a fork of this process holds the pipes' other ends."""
    kept: list[int] = []
    pipe = os.pipe

    def leaky() -> tuple[int, int]:
        ends = pipe()
        kept.append(os.dup(ends[1]))
        return ends

    with open_pool(workers=1) as pool:
        monkeypatch.setattr(os, "pipe", leaky)
        results = pool.run_many(["print('x' * 1000)", "print('y' * 1000)"])
        monkeypatch.undo()
    for fd in kept:
        os.close(fd)
    assert [(r.status, len(r.stdout)) for r in results] == [("ok", 1001)] * 2


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 30_000,
        b"{}",
        b'{"kind": []}',
        b'{"kind": "signal", "value": "x"}',
        b'{"kind": "signal", "value": 99999}',
        b'{"kind": "failed"}',
        b'{"kind": "exit", "value": 1, "seconds": "x"}',
    ],
)
def test_a_sandbox_that_lies(message):
    """Whatever comes from a sandbox that was taken over, the trainer gets a result."""
    worker = Worker(LIMITS)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    worker._control = ours

    def answer() -> None:
        _, fds, _, _ = socket.recv_fds(theirs, 16, 3)
        os.write(fds[1], b"\xffoutput")
        for fd in fds:
            os.close(fd)
        theirs.send(message)
        theirs.close()

    liar = threading.Thread(target=answer)
    liar.start()
    result = worker.run("print(1)")
    liar.join()
    worker.stop()
    assert result.status in ("killed", "error", "unavailable")
    assert result.stdout in ("\ufffdoutput", "")
    assert isinstance(result.seconds, float)


def test_a_trainer_that_ignores_its_children():
    old = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with open_pool(workers=1) as pool:
            (result,) = pool.run_many(["import os; os.system('echo 1'); print(2)"])
    finally:
        signal.signal(signal.SIGCHLD, old)
    assert (result.status, result.stdout) == ("ok", "1\n2\n")


def test_a_failure_of_the_trainer_itself(monkeypatch):
    """Out of descriptors, say: that call raises, the next finds a sandbox that is in order."""

    def fail() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    with open_pool(workers=1) as pool:
        monkeypatch.setattr(os, "pipe", fail)
        with pytest.raises(OSError, match="Too many open files"):
            pool.run_many(["print(1)"])
        monkeypatch.undo()
        (result,) = pool.run_many(["print(2)"])
    assert (result.status, result.stdout) == ("ok", "2\n")
