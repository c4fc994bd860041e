"""How the sandbox is built: the command line of bubblewrap, and what to say where it fails."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stare.errors import SandboxError

from .inside import seccomp
from .limits import Limits

__all__ = ["ENVIRONMENT", "command", "explain", "find_bubblewrap", "settings"]

INSIDE = Path(__file__).parent / "inside"
HOME = "/opt/stare"
NOBODY = 65534
START = "import sys; sys.path.insert(0, {home!r}); from inside.zygote import main; main()"
FIRST_USER, USERS = 60_000, 1_000
ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    # Threads and arenas reserve address space, of which there is little.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The whole environment of a program; nothing of the trainer's is in it."""


_started = itertools.count()


def find_bubblewrap() -> str:
    """The path of `bwrap`.

    Raises:
        SandboxError: not Linux, or not installed; the message says what to do.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxError(
            f"programs of a policy are confined by Linux namespaces, this is {sys.platform}\n"
            "hint: use a SandboxFusion server (HttpExecutor)"
        )
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxError(
            "bubblewrap (bwrap) is not installed, and a policy's programs do not run without a"
            " sandbox\nhint: apt-get install bubblewrap (dnf, pacman and apk name it so too); or a"
            " SandboxFusion server (HttpExecutor); or, on a machine that may be lost,"
            " tools.unsafe = true"
        )
    return found


def _user() -> int:
    """Who programs are. Root starts each sandbox as a user of its own: processes count by user."""
    if os.geteuid() != 0:
        return NOBODY
    return FIRST_USER + (64 * os.getpid() + next(_started)) % USERS


def settings(
    limits: Limits,
    *,
    fd: int,
    preload: Sequence[str],
    unsafe: bool,
    nested: bool,
    scratch: str = "",
) -> dict[str, Any]:
    """What the zygote is told."""
    confined = not unsafe
    rules = seccomp.this_machine(nesting=False) if confined else None
    paths = sysconfig.get_paths()
    return {
        "fd": fd,
        "home": HOME if confined else str(INSIDE.parent),
        "preload": list(preload),
        "paths": list(dict.fromkeys((paths["purelib"], paths["platlib"]))),
        "unsafe": unsafe,
        "nested": nested and confined,
        "drop_root": confined and os.geteuid() == 0,
        "user": _user(),
        "filter": rules.hex() if rules else "",
        "scratch": scratch,
        "limits": {
            "wall_seconds": limits.wall_seconds,
            "cpu_seconds": math.ceil(limits.wall_seconds),
            "memory_bytes": limits.memory_mb << 20,
            # One more for the init process. Without a sandbox all of the user's would count.
            "processes": limits.processes + 1 if confined else None,
            "file_bytes": limits.file_mb << 20,
            "open_files": limits.open_files,
            "tmp_bytes": limits.tmp_mb << 20,
            "tmp_files": 4096,
        },
    }


def command(
    configuration: dict[str, Any],
    *,
    readonly: Iterable[str] = (),
    filter_fd: int | None = None,
) -> tuple[list[str], list[str]]:
    """The command line that starts a zygote, and bubblewrap's own arguments.

    Those are handed over by `--args`: on a command line, programs that see bubblewrap's process
    could read which folders the machine has.

    Args:
        configuration: Of `settings`.
        readonly: Further paths that programs may read.
        filter_fd: A descriptor to read the filter of the whole sandbox from.
    """
    python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    start = START.format(home=configuration["home"])
    zygote = [python, "-s", "-B", "-c", start, json.dumps(configuration)]
    if configuration["unsafe"]:
        return zygote, []
    root = configuration["drop_root"]
    words = ["--die-with-parent", "--new-session", "--hostname", "sandbox"]
    words += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--cap-drop", "ALL"]
    if root:
        # Real root needs no user namespace; the zygote mounts /proc and becomes nobody at once.
        for capability in ("CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_SETUID", "CAP_SETGID"):
            words += ["--cap-add", capability]
        words += ["--dir", "/proc"]
    else:
        words += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY), "--proc", "/proc"]
    words += _files(python, readonly)
    words += ["--dev", "/dev", "--dir", "/dev/shm"]
    if configuration["nested"]:
        words += ["--dir", "/tmp"]
    else:
        size = str(configuration["limits"]["tmp_bytes"])
        for target in ("/tmp", "/dev/shm"):
            words += ["--perms", "1777", "--size", size, "--tmpfs", target]
    words += _bind(str(INSIDE), f"{HOME}/inside")
    if not root and not configuration["nested"]:
        words += ["--remount-ro", "/proc"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    if filter_fd is not None:
        words += ["--seccomp", str(filter_fd)]
    return zygote, words


def _files(python: str, readonly: Iterable[str]) -> list[str]:
    """Arguments that bind what Python needs, and nothing else."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    words += ["--dir", "/etc"]
    for path in ETC:
        words += ["--ro-bind-try", path, path]
    prefixes = [sys.base_prefix, os.path.realpath(sys.base_prefix), sys.base_exec_prefix]
    prefixes += [str(Path(python).parent.parent), sys.prefix]
    for path in dict.fromkeys((*prefixes, *readonly)):
        if path in ("/", os.path.expanduser("~")):
            raise SandboxError(
                f"{path} would be readable to a policy's programs as a whole\n"
                "hint: use a Python that is installed in a folder of its own"
            )
        if not Path(path).is_relative_to("/usr"):
            words += _bind(path, path)
    return words


def _bind(source: str, target: str) -> list[str]:
    """Bind a path; folders above it are made readable, which is not what bwrap does for root."""
    above = [word for p in reversed(Path(target).parents[:-1]) for word in ("--dir", str(p))]
    return [*above, "--ro-bind", source, target]


def explain(reason: str) -> SandboxError:
    """The error for a sandbox that did not start, with what to do about it."""
    text = reason.strip() or "it ended without a word"
    if "userns" in text or "namespace" in text or "uid map" in text or "ermission" in text:
        hint = (
            "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian),"
            " user.max_user_namespaces=15000, kernel.apparmor_restrict_unprivileged_userns=0"
            " (Ubuntu 24.04); in a container: docker run --security-opt seccomp=unconfined"
            " --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
        )
    elif "No module named" in text:
        hint = "tools.preload names packages that are installed beside this Python"
    else:
        hint = "bwrap --ro-bind / / true, run by hand, shows whether bubblewrap works here"
    return SandboxError(f"the sandbox does not start: {text}\nhint: {hint}")
