"""A system call filter: a short list of what is refused, on top of namespaces and no capabilities.

It refuses what reaches kernel code that a program of a policy has no use for, or what the
namespaces do not cover: tracing, new namespaces and mounts, keys, BPF, performance counters,
userfaultfd, io_uring (whose operations no filter sees), handles of files, modules, kexec, and
sockets but those of the local and internet families (virtual machine sockets, above all, know no
network namespace). Memory that belongs to no process and no file system is refused as well, because
no limit counts it: memory files and System V objects.

Refused calls fail with EPERM, sockets with EAFNOSUPPORT and clone3, whose flags a filter cannot
read, with ENOSYS, which makes C libraries fall back to clone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from . import linux

__all__ = ["filter_program", "install", "this_machine"]

# name -> (number on x86_64, number on aarch64); None where the architecture lacks the call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "personality": (135, 92),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18),
    "vmsplice": (278, 75),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
NESTING: dict[str, tuple[int | None, int | None]] = {
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
}
CLONE = (56, 220)
CLONE3 = (435, 435)
SOCKET = (41, 198)
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
NAMESPACES = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWCGROUP
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUSER
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
)
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
X32_BIT = 0x40000000

# Offsets in the structure that a filter reads, and the instructions used here.
NUMBER, ARCHITECTURE, ARGUMENT_0 = 0, 4, 16
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def filter_program(machine: str, *, nesting: bool) -> bytes | None:
    """The filter as the kernel's `sock_filter` array.

    Args:
        machine: As `platform.machine()` names it.
        nesting: Allow new namespaces and mounts: for the process that makes them.

    Returns:
        None for an architecture whose numbers are not known here.
    """
    if machine not in ARCHITECTURES:
        return None
    column, audit_architecture = ARCHITECTURES[machine]
    # A list of (code, operand, jumps where true, jumps where false).
    lines = [
        (LOAD, ARCHITECTURE, 0, 0),
        (EQUAL, audit_architecture, 1, 0),
        (RETURN, KILL, 0, 0),  # calls of another architecture have other numbers
        (LOAD, NUMBER, 0, 0),
    ]
    if machine == "x86_64":
        lines += [(AT_LEAST, X32_BIT, 0, 1), (RETURN, ERROR | errno.ENOSYS, 0, 0)]
    table = REFUSED if nesting else {**REFUSED, **NESTING}
    for numbers in table.values():
        number = numbers[column]
        if number is not None:
            lines += [(EQUAL, number, 0, 1), (RETURN, ERROR | errno.EPERM, 0, 0)]
    if not nesting:
        lines += [
            (EQUAL, CLONE3[column], 0, 1),
            (RETURN, ERROR | errno.ENOSYS, 0, 0),
            (EQUAL, CLONE[column], 0, 4),
            (LOAD, ARGUMENT_0, 0, 0),
            (ANY_BIT, NAMESPACES, 0, 1),
            (RETURN, ERROR | errno.EPERM, 0, 0),
            (RETURN, ALLOW, 0, 0),
        ]
    lines += [(EQUAL, SOCKET[column], 0, 2 + len(FAMILIES)), (LOAD, ARGUMENT_0, 0, 0)]
    lines += [(EQUAL, family, len(FAMILIES) - i, 0) for i, family in enumerate(FAMILIES)]
    lines += [(RETURN, ERROR | errno.EAFNOSUPPORT, 0, 0), (RETURN, ALLOW, 0, 0)]
    return b"".join(struct.pack("HBBI", code, yes, no, k) for code, k, yes, no in lines)


def install(program: bytes) -> None:
    """Filter the calls of this process and of all it starts, for good. Raises OSError."""
    linux.forbid_new_privileges()
    argument = _Filter(len(program) // 8, program)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(argument), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def this_machine(*, nesting: bool) -> bytes | None:
    """The filter for the architecture that Python runs on."""
    return filter_program(platform.machine(), nesting=nesting)
