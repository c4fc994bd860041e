"""System calls that CPython has no function for, through ctypes."""

from __future__ import annotations

import ctypes
import errno
import os

__all__ = [
    "CLONE_NEWCGROUP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWTIME",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_RDONLY",
    "become_subreaper",
    "die_with_parent",
    "drop_bounding_set",
    "drop_capabilities",
    "forbid_new_privileges",
    "fork_into",
    "mount",
    "set_dumpable",
]

CLONE_NEWTIME = 0x80
CLONE_NEWNS = 0x20000
CLONE_NEWCGROUP = 0x2000000
CLONE_NEWUTS = 0x4000000
CLONE_NEWIPC = 0x8000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63
SIGKILL, SIGCHLD = 9, 17
CLONE = {"x86_64": 56, "aarch64": 220}

_libc = ctypes.CDLL(None, use_errno=True)
# Without a moment in which another thread could run, of which there is none in the child.
_libc_with_gil = ctypes.PyDLL(None, use_errno=True)
_libc_with_gil.syscall.argtypes = [ctypes.c_long] * 6
_libc_with_gil.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_libc.mount.argtypes = [*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p]


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    """The system call; raises OSError."""
    _check(_libc.prctl(option, first, second, 0, 0), f"prctl {option}")


def fork_into(flags: int) -> int:
    """Fork a child into new namespaces: its pid, or 0 in the child; raises OSError.

    It spares the process that would have to leave its namespaces and fork once more. Python's
    hooks after a fork do not run, so the child should do little but fork in the usual way.
    """
    machine = os.uname().machine
    if machine not in CLONE:
        raise OSError(errno.ENOSYS, f"the number of the system call is not known for {machine}")
    pid = int(_libc_with_gil.syscall(CLONE[machine], flags | SIGCHLD, 0, 0, 0, 0))
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"new namespaces: {os.strerror(number)}")
    return pid


def mount(kind: str, target: str, flags: int, options: str = "") -> None:
    """Mount a new file system of a kind; raises OSError."""
    names = kind.encode(), target.encode(), kind.encode()
    _check(_libc.mount(*names, flags, options.encode() or None), f"mount {kind} on {target}")


def set_dumpable(value: bool) -> None:
    """Whether processes of the same user may trace this one and own its files in /proc."""
    prctl(PR_SET_DUMPABLE, int(value))


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    prctl(PR_SET_PDEATHSIG, SIGKILL)


def become_subreaper() -> None:
    """Adopt descendants whose parents ended."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Make set-user-ID bits and file capabilities inert, for this process and what it starts."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_bounding_set() -> None:
    """Make sure that no file gives back a capability, even to root."""
    for capability in range(LAST_CAPABILITY + 1):
        # Numbers that the kernel does not know are refused, and so is a set that is empty already.
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up every capability in the process's user namespace, for good."""
    drop_bounding_set()
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")
