"""The system call filter, run by a small interpreter: it holds for both architectures anywhere."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.rollout.tools.inside import seccomp

ALLOW = "allow"
KILL = "kill"


def decide(program: bytes, *, number: int, architecture: int, argument: int = 0) -> object:
    """What a filter says of a call: "allow", "kill" or an error number."""
    data = {0: number, 4: architecture, 16: argument & 0xFFFFFFFF}
    lines = list(struct.iter_unpack("HBBI", program))
    at, held = 0, 0
    while True:
        code, yes, no, operand = lines[at]
        at += 1
        if code == 0x20:  # load a word
            held = data[operand]
        elif code in (0x15, 0x35, 0x45):  # equal, at least, any bit
            true = {0x15: held == operand, 0x35: held >= operand, 0x45: bool(held & operand)}
            at += yes if true[code] else no
        else:
            assert code == 0x06
            if operand == 0x7FFF0000:
                return ALLOW
            return KILL if operand == 0x80000000 else operand & 0xFFFF


MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def filters(machine: str) -> tuple[bytes, bytes, int, int]:
    column, architecture = seccomp.ARCHITECTURES[machine]
    strict = seccomp.filter_program(machine, nesting=False)
    loose = seccomp.filter_program(machine, nesting=True)
    assert strict is not None
    assert loose is not None
    return strict, loose, column, architecture


@MACHINES
def test_what_is_refused(machine):
    strict, loose, column, architecture = filters(machine)
    for name, numbers in seccomp.REFUSED.items():
        if numbers[column] is not None:
            for program in (strict, loose):
                said = decide(program, number=numbers[column], architecture=architecture)
                assert said == errno.EPERM, name
    for name, numbers in seccomp.NESTING.items():
        call = {"number": numbers[column], "architecture": architecture}
        assert decide(strict, **call) == errno.EPERM, name
        assert decide(loose, **call) == ALLOW, name


@MACHINES
def test_clone(machine):
    strict, loose, column, architecture = filters(machine)
    clone = {"number": seccomp.CLONE[column], "architecture": architecture}
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide(strict, **clone, argument=bit | 17) == errno.EPERM
        assert decide(loose, **clone, argument=bit | 17) == ALLOW
    threads, fork = 0x3D0F00, 0x1200011
    for flags in (threads, fork):
        assert decide(strict, **clone, argument=flags) == ALLOW
    assert decide(strict, number=435, architecture=architecture) == errno.ENOSYS
    assert decide(loose, number=435, architecture=architecture) == ALLOW


@MACHINES
@given(family=st.integers(0, 60))
def test_sockets(machine, family):
    for program in filters(machine)[:2]:
        _, _, column, architecture = filters(machine)
        said = decide(
            program,
            number=seccomp.SOCKET[column],
            architecture=architecture,
            argument=family,
        )
        assert said == (ALLOW if family in (1, 2, 10) else errno.EAFNOSUPPORT)


@MACHINES
@given(number=st.integers(0, 600))
def test_everything_else_is_allowed(machine, number):
    strict, _, column, architecture = filters(machine)
    tables = (seccomp.REFUSED, seccomp.NESTING)
    listed = {numbers[column] for table in tables for numbers in table.values()}
    listed |= {seccomp.CLONE3[column], seccomp.SOCKET[column]}
    if number not in listed:
        assert decide(strict, number=number, architecture=architecture) == ALLOW


@MACHINES
def test_calls_of_another_architecture(machine):
    strict, loose, _, _ = filters(machine)
    for program in (strict, loose):
        assert decide(program, number=1, architecture=0x40000003) == KILL  # 32-bit x86


def test_the_other_abi_of_x86_64():
    strict, _, _, architecture = filters("x86_64")
    call = {"number": 0x40000000 | 101, "architecture": architecture}
    assert decide(strict, **call) == errno.ENOSYS


def test_an_unknown_architecture_has_no_filter():
    assert seccomp.filter_program("riscv64", nesting=False) is None


@MACHINES
def test_numbers_are_of_one_call_each(machine):
    column = seccomp.ARCHITECTURES[machine][0]
    tables = (seccomp.REFUSED, seccomp.NESTING)
    numbers = [n[column] for table in tables for n in table.values() if n[column] is not None]
    assert len(numbers) == len(set(numbers))
