"""Programs that try to get out, or to take more than their share. Run against real sandboxes."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes import LIMITS, open_pool
from stare.rollout.tools.executor import Execution
from stare.rollout.tools.limits import Limits
from stare.rollout.tools.pool import SandboxPool

SECRET = "a-secret-of-the-trainer"


@pytest.fixture(scope="module", params=["nested", "one sandbox each"])
def pool(request) -> Iterator[SandboxPool]:
    os.environ["STARE_TEST_SECRET"] = SECRET
    try:
        with open_pool(nested=request.param == "nested") as pool:
            if request.param == "nested" and not pool.nested:
                pytest.skip("this machine allows no namespaces inside the sandbox")
            yield pool
    finally:
        del os.environ["STARE_TEST_SECRET"]


@pytest.fixture
def run(pool: SandboxPool):
    """Runs one program, and checks that the next one finds everything as new."""

    def run(source: str) -> Execution:
        result = pool.run_many([source])[0]
        after = pool.run_many([CLEAN])[0]
        assert (after.status, after.stdout, after.stderr) == ("ok", "clean\n", ""), after
        return result

    return run


# Nothing is left in memory, on disk or as a process, and the modules are as they were.
CLEAN = """
import builtins, os, sys, math
assert os.listdir("/tmp") == [] and os.listdir("/dev/shm") == [], "files"
pids = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
assert len(pids) <= 4, pids  # the program, its init; in a sandbox of its own bwrap and the zygote
assert not hasattr(builtins, "left_behind") and not hasattr(math, "left_behind")
assert sorted(os.listdir("/proc/self/fd")) in (["0", "1", "2", "3"],), os.listdir("/proc/self/fd")
print("clean")
"""


def attempts(*sources: str) -> str:
    """A program that tries each source and prints what was raised, or that nothing was."""
    return f"""
for source in {sources!r}:
    try:
        exec(source, {{}})
    except BaseException as error:
        print("refused", type(error).__name__)
    else:
        print("DONE", source)
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[socket.socket, socket.socket, str, str]]:
    """Servers of the host: TCP, UDP, and local ones, with a path and with an abstract name."""
    path, abstract = f"/tmp/stare-test-{os.getpid()}", f"\0stare-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as unnamed,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        for server, name in ((local, path), (unnamed, abstract)):
            server.bind(name)
            server.listen()
        try:
            yield tcp, udp, path, abstract
        finally:
            os.unlink(path)


def test_network(run, servers):
    tcp, _, path, abstract = servers
    port = tcp.getsockname()[1]
    result = run(
        attempts(
            f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)",
            "import socket; socket.create_connection(('1.1.1.1', 53), 1)",
            "import socket; socket.create_connection(('10.0.0.1', 80), 1)",
            "import socket; socket.create_connection(('169.254.169.254', 80), 1)",
            "import socket; socket.getaddrinfo('example.com', 80)",
            "import socket; socket.socket(2, 2).sendto(b'x', ('1.1.1.1', 53))",
            f"import socket; socket.socket(1).connect({path!r})",
            f"import socket; socket.socket(1).connect({abstract!r})",
            "import socket; socket.socket(40, 1)",  # a virtual machine's socket to its host
            "import socket; socket.socket(16, 3)",  # netlink
            "import socket; socket.socket(17, 3)",  # packet
            "import socket; socket.socket(38, 5)",  # kernel crypto
        )
    )
    assert result.status == "ok"
    assert "DONE" not in result.stdout
    assert result.stdout.count("refused") == 12


def test_loopback_datagrams_do_not_reach_the_host(run, servers):
    udp = servers[1]
    run(f"import socket; socket.socket(2, 2).sendto(b'x', {udp.getsockname()!r})")
    with pytest.raises(TimeoutError):
        udp.recv(1)


def test_reading_outside(run, pool, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    here = Path(__file__)
    result = run(
        attempts(
            *(
                f"open({str(path)!r}).read(1)"
                for path in (
                    "/etc/passwd",
                    "/etc/shadow",
                    "/etc/hostname",
                    "/etc/resolv.conf",
                    tmp_path / "secret",
                    here,
                    here.parent.parent / "pyproject.toml",
                    Path.home() / ".bashrc",
                    "/root/.ssh/id_rsa",
                    "/proc/1/environ",
                    "/proc/kcore",
                    "/proc/kmsg",
                    "/proc/kallsyms",
                    "/proc/1/root/etc/passwd",
                    "/proc/self/root/../etc/passwd",
                    f"/proc/{os.getpid()}/environ",
                    "/sys/kernel/security/lsm",
                    "/run/secrets",
                    "/var/log/syslog",
                    "/dev/mem",
                    "/dev/kmsg",
                    "/dev/sda",
                    "/dev/vda",
                )
            )
        )
    )
    lines = result.stdout.splitlines()
    assert len(lines) == 23
    # A sandbox for one program has a whole /proc, and bubblewrap as process 1, whose environment is
    # the program's. The addresses in kallsyms are zeros to whoever is not root.
    harmless = {"/proc/1/environ", "/proc/kallsyms"} if not pool.nested else set()
    allowed = {f"DONE open({path!r}).read(1)" for path in harmless}
    assert {line for line in lines if line.startswith("DONE")} <= allowed


def test_the_environment_has_no_secrets(run):
    result = run(
        "import os, glob\n"
        "print(dict(os.environ))\n"
        "for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    try: print(open(path, 'rb').read())\n"
        "    except OSError: pass\n"
    )
    assert result.status == "ok"
    assert SECRET not in result.stdout
    # Where packages are installed is no secret, and may be inside the checkout.
    said = result.stdout.replace(sysconfig.get_path("purelib"), "")
    assert str(Path(__file__).parent.parent) not in said


def test_writing_outside(run, tmp_path):
    target = tmp_path / "written"
    places = ["/", "/usr/lib", "/etc", "/opt/stare/inside", "/dev", "/proc", "/root", "/home"]
    result = run(
        attempts(
            *(f"open({place + '/x'!r}, 'w').write('x')" for place in places),
            f"open({str(target)!r}, 'w')",
            f"import os; os.makedirs({str(Path(__file__).parent / 'more')!r})",
            f"open({str(Path(__file__))!r}, 'a')",
            "open('/proc/self/oom_score_adj', 'w').write('-1000')",
            "open('/proc/sys/kernel/core_pattern', 'w').write('|/tmp/x')",
            "open('/proc/sysrq-trigger', 'w').write('b')",
            "open('/proc/self/uid_map', 'w').write('0 0 1')",
            "import os; os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0)); open('/tmp/disk')",
            "import os; os.chmod('/usr', 0o777)",
            "import sys; open(sys.executable, 'r+')",
        )
    )
    assert "DONE" not in result.stdout
    assert result.stdout.count("refused") == len(places) + 10
    assert not target.exists()


def test_links_in_tmp_lead_nowhere(run, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    result = run(
        attempts(
            f"import os; os.symlink({str(tmp_path)!r}, '/tmp/a'); open('/tmp/a/secret').read()",
            "import os; os.symlink('/proc/1/root', '/tmp/b'); open('/tmp/b/etc/passwd').read()",
            "import os; os.symlink('/usr', '/tmp/c'); open('/tmp/c/x', 'w')",
            "import os; os.link('/usr/bin/env', '/tmp/d')",
        )
        + "\nimport os; os.symlink('/tmp', '/tmp/loop')"
    )
    assert result.status == "ok"
    assert "DONE" not in result.stdout
    assert (tmp_path / "secret").read_text() == SECRET


def test_namespaces_mounts_and_privileges(run):
    libc = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True)\n"
    calls = (
        "libc.unshare(0x10000000)",  # a user namespace
        "libc.unshare(0x20000)",
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "libc.umount2(b'/tmp', 2)",
        "libc.umount2(b'/proc', 2)",
        "libc.chroot(b'/tmp')",
        "libc.setns(os.open('/proc/self/ns/user', 0), 0)",
        "libc.sethostname(b'x', 1)",
        "libc.setuid(0)",
        "libc.setgid(0)",
        "libc.ptrace(0, 0, 0, 0)",
        "libc.ptrace(16, 1, 0, 0)",
        "libc.syscall(250, 0, 0)",  # keyctl
        "libc.syscall(321, 0, 0, 0)",  # bpf
        "libc.syscall(298, 0, 0, 0, 0, 0)",  # perf_event_open
        "libc.syscall(323, 0)",  # userfaultfd
        "libc.syscall(425, 8, 0)",  # io_uring_setup
        "libc.syscall(246, 0, 0, 0, 0)",  # kexec_load
        "libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)",  # clone into a user namespace
        "libc.syscall(435, 0, 0)",  # clone3
        "libc.syscall(428, -100, b'/', 1)",  # open_tree
        "libc.syscall(310, 1, 0, 0, 0, 0, 0)",  # process_vm_readv
        "libc.syscall(169, 0, 0, 0, 0)",  # reboot
        "libc.prctl(38, 0, 0, 0, 0)",  # privileges allowed again
    )
    if os.uname().machine != "x86_64":
        calls = tuple(call for call in calls if "syscall" not in call)
    result = run(
        libc + f"for call in {calls!r}:\n    r = eval(call)\n    print(r, call, flush=True)\n"
        "print(open('/proc/self/status').read())\n"
    )
    assert result.status == "ok", result
    lines = result.stdout.splitlines()
    assert [line for line in lines[: len(calls)] if not line.startswith("-1 ")] == []
    status = dict(line.split(":\t", 1) for line in lines[len(calls) :] if ":\t" in line)
    for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert len(set(status["Uid"].split())) == 1
    assert status["Uid"].split()[0] not in ("0", str(os.geteuid()))


def test_set_user_id_programs_give_nothing(run):
    result = run(
        "import glob, os, stat, subprocess\n"
        "found = [p for p in glob.glob('/usr/bin/*') if os.lstat(p).st_mode & stat.S_ISUID]\n"
        "print(len(found))\n"
        "for path in ('su', 'mount', 'newgrp'):\n"
        "    if os.path.exists(f'/usr/bin/{path}'):\n"
        "        subprocess.run([f'/usr/bin/{path}', '-c', 'id -u'], capture_output=True)\n"
        "print(subprocess.run(['/usr/bin/id', '-u'], capture_output=True).stdout)\n"
        "print(f'{os.getuid()}'.encode() + b'\\n')\n"
    )
    assert result.status == "ok"
    _, whom, me = result.stdout.splitlines()
    assert whom == me != "b'0\\n'"


def test_memory_and_descriptors_of_other_processes(run, pool):
    """With a sandbox of its own, a program may open bubblewrap, which is thrown away with it."""
    result = run(
        "import glob, os\n"
        "for path in glob.glob('/proc/[0-9]*/mem') + glob.glob('/proc/[0-9]*/fd/*'):\n"
        "    if path.split('/')[2] == str(os.getpid()):\n"
        "        continue\n"
        "    try: os.open(path, os.O_RDWR); print('OPENED', path)\n"
        "    except OSError as e: pass\n"
        "print(len(glob.glob('/proc/[0-9]*')))\n"
    )
    assert result.status == "ok"
    if pool.nested:
        assert result.stdout == "2\n"
    opened = [line for line in result.stdout.splitlines() if line.startswith("OPENED")]
    assert [line for line in opened if not line.startswith("OPENED /proc/1/")] == []


FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_fork_bomb(run, pool):
    before = time.monotonic()
    result = run(FORK_BOMB)
    assert result.status in ("timeout", "memory")
    assert time.monotonic() - before < LIMITS.wall_seconds + 5


def test_processes_are_counted(run):
    result = run(
        "import os, time\n"
        "n = 0\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: time.sleep(60)\n"
        "        n += 1\n"
        "except OSError: print(n)\n"
    )
    assert result.status == "ok"
    assert 1 <= int(result.stdout) <= LIMITS.processes


def test_threads_are_counted(run):
    result = run(
        "import threading, time\n"
        "for n in range(1000):\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    assert result.status in ("error", "memory")
    assert "can't start new thread" in result.stderr or result.status == "memory"


def test_zombies(run):
    result = run(
        "import os\n"
        "made = 0\n"
        "for i in range(2000):\n"
        "    try:\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "        made += 1\n"
        "    except OSError: break\n"
        "print(made)\n"
    )
    assert result.status == "ok"
    assert int(result.stdout) <= LIMITS.processes


def test_memory_bomb(run):
    assert run("x = []\nwhile True: x.append(bytearray(1 << 20))").status == "memory"
    assert run("x = bytearray(10 ** 11)").status == "memory"
    assert run("x = 'a' * 10 ** 10").status == "memory"


def test_memory_of_many_processes_counts_together(run):
    result = run(
        "import os, time\n"
        "for i in range(6):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1 << 20)) * 48\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    assert result.status == "memory"
    assert result.seconds < LIMITS.wall_seconds


@pytest.mark.parametrize(
    "hold",
    [
        "x = mmap.mmap(-1, 48 << 20)\n        x.write(bytes(48 << 20))",  # shared, of no file
        "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n        x = b'x' * (48 << 20)",  # unreadable
    ],
)
def test_memory_that_is_hard_to_count(run, hold):
    result = run(
        "import ctypes, mmap, os, time\n"
        "for i in range(6):\n"
        "    if os.fork() == 0:\n"
        f"        {hold}\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    assert result.status == "memory"
    assert result.seconds < LIMITS.wall_seconds


def test_memory_of_nobody_is_refused(run):
    result = run(
        attempts(
            "import os; os.memfd_create('x')",
            "import ctypes; l = ctypes.CDLL(None); assert l.shmget(0, 1 << 20, 0o1600) >= 0",
            "import ctypes; l = ctypes.CDLL(None); assert l.msgget(0, 0o1600) >= 0",
        )
    )
    assert (result.status, result.stdout.count("refused")) == ("ok", 3), result


def test_shared_memory_and_semaphores_work(run):
    result = run(
        "import multiprocessing as m\n"
        "from multiprocessing.shared_memory import SharedMemory\n"
        "context = m.get_context('fork')\n"
        "queue = context.Queue()\n"
        "process = context.Process(target=lambda: queue.put(6 * 7))\n"
        "process.start()\n"
        "print(queue.get())\n"
        "process.join()\n"
    )
    assert (result.status, result.stdout) == ("ok", "42\n"), result


def test_files_in_memory_are_limited(run):
    result = run(
        "import os\n"
        "total = 0\n"
        "try:\n"
        "    for i in range(1000):\n"
        "        with open(f'/tmp/{i}', 'wb') as f: total += f.write(bytes(1 << 20))\n"
        "except OSError as error: print(error.errno, total >> 20)\n"
    )
    assert result.status == "ok"
    number, size = map(int, result.stdout.split())
    assert number == 28  # no space left
    assert size <= LIMITS.tmp_mb


def test_a_giant_file(run):
    result = run("open('/tmp/x', 'wb').truncate(1 << 40)")
    assert result.status == "error"
    assert "File too large" in result.stderr
    result = run("f = open('/tmp/x', 'wb')\nwhile True: f.write(bytes(1 << 20))")
    assert result.status == "error"
    assert "File too large" in result.stderr


def test_many_files(run, pool):
    result = run("import os\nfor i in range(10 ** 6): os.mknod(f'/tmp/{i}')")
    if pool.nested:
        assert result.status == "error"
        assert "No space left" in result.stderr
    else:  # bubblewrap cannot limit their number
        assert result.status in ("error", "timeout")


def test_many_descriptors(run):
    result = run("x = []\nwhile True: x.append(open('/dev/null'))")
    assert result.status == "error"
    assert "Too many open files" in result.stderr


ENDLESS = [
    "while True: pass",
    "import time; time.sleep(1000)",
    "import signal\n"
    "for s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\n"
    "while True: pass",
    "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "import os\nos.read(os.pipe()[0], 1)",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "9 ** 9 ** 9 ** 9",
    "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()",
]


def test_endless_programs(pool):
    limits = Limits(wall_seconds=1, memory_mb=128)
    before = time.monotonic()
    with open_pool(limits, nested=pool.nested, workers=len(ENDLESS)) as many:
        results = many.run_many([f"print('so far')\n{source}" for source in ENDLESS])
        assert time.monotonic() - before < 10
        assert [(r.status, r.stdout) for r in results] == [("timeout", "so far\n")] * len(ENDLESS)
        assert max(r.seconds for r in results) < 4
        assert {r.stdout for r in many.run_many(["print(1)"] * len(ENDLESS))} == {"1\n"}


@pytest.mark.parametrize("fd", [1, 2])
def test_a_gigabyte_of_output(run, fd):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run(
        f"import os\nchunk = b'x' * (1 << 20)\nfor i in range(1024): os.write({fd}, chunk)\n"
    )
    assert result.status == "output"
    text = result.stdout if fd == 1 else result.stderr
    assert text == "x" * (LIMITS.output_kb << 10)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 << 10, f"{grown} KiB more"


def test_output_without_end_in_both_streams(run):
    result = run("import os\nwhile True: os.write(1, b'a' * 999); os.write(2, b'b' * 999)")
    assert result.status == "output"
    assert len(result.stdout) <= LIMITS.output_kb << 10
    assert len(result.stderr) <= LIMITS.output_kb << 10


def test_signals_reach_nobody_outside(run):
    seen = []
    old = {}
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        old[number] = signal.signal(number, lambda *args: seen.append(args))
    try:
        result = run(
            f"import os, signal\nfor pid in (1, os.getppid(), {os.getpid()}, 0):\n"
            "    for s in (15, 10, 1):\n"
            "        if pid == 0: signal.signal(s, signal.SIG_IGN)\n"
            "        try: os.kill(pid, s)\n"
            "        except OSError as e: print(e)\n"
            "print('done')\n"
        )
        run("import os\nos.kill(-1, 9)")
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    assert seen == []
    assert result.status in ("ok", "killed")


def test_ways_to_end(run):
    assert run("import os; os._exit(0)").status == "ok"
    assert run("import os; os._exit(7)").status == "error"
    assert run("import os; os.abort()").status == "killed"
    crashed = run("import ctypes; ctypes.string_at(0)")
    assert crashed.status == "killed"
    assert "SIGSEGV" in crashed.stderr
    deep = run("import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return [f()]\nf()")
    assert deep.status in ("killed", "error", "memory", "timeout")
    assert run("def f(): return f()\nf()").status == "error"
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").status == "killed"


def test_closing_and_forging_descriptors(run):
    forged = '{"kind": "exit", "value": 0, "seconds": 0}\\nexit 0 0.1\\ninit 1\\n'
    result = run(
        "import os\n"
        f"forged = b'''{forged}'''\n"
        "for fd in range(3, 1024):\n"
        "    try: os.write(fd, forged)\n"
        "    except OSError: continue\n"
        "    print('WROTE', fd)\n"
        "    import socket\n"
        "os._exit(5)\n"
    )
    assert (result.status, result.stdout) == ("error", "")
    closed = run(
        "import os\nfor fd in range(1024):\n    try: os.close(fd)\n    except OSError: pass"
    )
    assert closed.stdout == ""
    assert closed.status in ("ok", "error")
    assert run(f"print('''{forged}''')\nraise SystemExit(3)").status == "error"


def test_daemons_die_with_their_program(run, pool):
    result = run(
        "import os, time, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        for fd in (0, 1, 2): os.close(fd)\n"
        "        time.sleep(1000)\n"
        "    os._exit(0)\n"
        "print('parent')\n"
    )
    assert (result.status, result.stdout) == ("ok", "parent\n")
    held = run(
        "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(1000)\nprint('parent')"
    )
    assert (held.status, held.stdout) == ("ok", "parent\n")
    assert held.seconds < 1


def test_deleting_everything(run):
    result = run(
        "import shutil\nopen('/tmp/x', 'w')\nshutil.rmtree('/', ignore_errors=True)\nprint('done')"
    )
    assert (result.status, result.stdout) == ("ok", "done\n")


def test_nothing_is_left_behind(run):
    result = run(
        "import builtins, math, os, sys\n"
        "builtins.left_behind = math.left_behind = 1\n"
        "math.sqrt = None\n"
        "sys.path.insert(0, '/tmp'); sys.modules.clear()\n"
        "open('/tmp/math.py', 'w').write('left_behind = 1')\n"
        "open('/dev/shm/x', 'w').write('x')\n"
    )
    assert result.status in ("ok", "error")


def test_an_earlier_program_is_not_in_memory(pool):
    """A source and its output never pass through the process that forks the next program."""
    mark = "a-mark-of-an-earlier-program"
    flipped = bytes(byte ^ 1 for byte in mark.encode())  # the search must not find itself
    search = (
        "import re\n"
        "flip = bytes(byte ^ 1 for byte in range(256))\n"
        "found = 0\n"
        "with open('/proc/self/mem', 'rb') as memory:\n"
        "    for line in open('/proc/self/maps').readlines():\n"
        "        if ' r' not in line: continue\n"
        "        low, high = re.match('([0-9a-f]+)-([0-9a-f]+) r', line).groups()\n"
        "        low, high = int(low, 16), int(high, 16)\n"
        "        try: part = memory.seek(low) and memory.read(high - low)\n"
        "        except (OSError, OverflowError): continue\n"
        f"        found += part.translate(flip).count({flipped!r})\n"
        "print(found)\n"
    )
    assert pool.run_many([f"print({mark!r})"])[0].stdout == f"{mark}\n"
    assert pool.run_many([search])[0].stdout == "0\n"
    own = pool.run_many([f"keep = {mark!r}\n" + search])[0]
    assert own.status == "ok", own
    assert int(own.stdout) > 0, "the search does not find what is there"


def test_the_trainer_is_unharmed(pool):
    """Threads, descriptors and signal handlers of this process are as before an attack."""
    pool.run_many(["1"])
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    pool.run_many([FORK_BOMB, "import os; os.kill(-1, 9)", "print('x' * 10 ** 6)"])
    pool.run_many(["1"])
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before
