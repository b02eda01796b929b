"""Both filters, run instruction by instruction over every call, against the rules said again."""

from __future__ import annotations

import errno
import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from mcp_jail.sandbox.seccomp import (
    ARCHES,
    JUDGED_BY_ARGUMENT,
    NUMBERS,
    filter_for,
    no_unix_filter,
    program,
)
from sandbox.bpf import LENGTH_LIMIT, run

ALLOW = 0x7FFF0000
KERNEL = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OTHERS = {"i386": 0x40000003, "arm": 0x40000028, "riscv64": 0xC00000F3, "x86_64": 0xC000003E}

# Said again by hand and by number, so that a slip in the table is a failure here.
FORBIDDEN = {
    "x86_64": {
        101, 103, 134, 136, 139, 153, 154, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 172,
        173, 175, 176, 179, 180, 212, 227, 237, 238, 246, 248, 249, 250, 256, 278, 279, 298, 300,
        303, 304, 305, 308, 310, 311, 312, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430, 431,
        432, 433, 438, 440, 442, 443, 448, 450, 467,
    },
    "aarch64": {
        18, 39, 40, 41, 42, 51, 58, 60, 75, 89, 104, 105, 106, 112, 116, 117, 142, 170, 171, 217,
        218, 219, 224, 225, 235, 237, 238, 239, 241, 262, 264, 265, 266, 268, 270, 271, 272, 273,
        280, 282, 294, 425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 448, 450,
        467,
    },
}  # fmt: skip
ARGUED = {
    "x86_64": {"clone": 56, "unshare": 272, "socket": 41, "socketpair": 53, "ioctl": 16},
    "aarch64": {"clone": 220, "unshare": 97, "socket": 198, "socketpair": 199, "ioctl": 29},
}
CLONE3 = 435
NEW = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)


def refuse(number: int) -> int:
    return 0x50000 | number


def expected(arch: str, number: int) -> int:
    if number in FORBIDDEN[arch]:
        return refuse(errno.EPERM)
    if number == CLONE3:
        return refuse(errno.ENOSYS)
    if number in {ARGUED[arch]["socket"], ARGUED[arch]["socketpair"]}:
        return refuse(errno.EAFNOSUPPORT)  # family 0
    return ALLOW


@pytest.mark.parametrize("arch", ARCHES)
def test_every_call_of_the_own_table_is_let_through_or_refused_as_written(arch: str) -> None:
    code = filter_for(arch)
    for number in range(601):
        assert run(code, KERNEL[arch], number) == expected(arch, number), number


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("foreign", OTHERS)
def test_no_call_of_a_foreign_table_is_let_through(arch: str, foreign: str) -> None:
    if foreign == arch:
        foreign = "i386"
    for number in range(601):
        assert run(filter_for(arch), OTHERS[foreign], number) == refuse(errno.ENOSYS)


def test_no_call_of_the_x32_table_is_let_through() -> None:
    code = filter_for("x86_64")
    for number in (*range(601), 0x3FFFFFFF, 0xBFFFFFFF):
        assert run(code, KERNEL["x86_64"], 0x40000000 + number) == refuse(errno.ENOSYS)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("flag", NEW)
def test_no_call_makes_a_namespace(arch: str, flag: int) -> None:
    code = filter_for(arch)
    for name in ("clone", "unshare"):
        for other in (0, 17, 0x3D0F00, 0xFFFFFFFF00000000):
            result = run(code, KERNEL[arch], ARGUED[arch][name], (flag | other,))
            assert result == refuse(errno.EPERM)


@pytest.mark.parametrize("arch", ARCHES)
def test_threads_and_forks_are_let_through(arch: str) -> None:
    for flags in (17, 0x3D0F00, 0x01200011, 0x4111, 0x80):
        assert run(filter_for(arch), KERNEL[arch], ARGUED[arch]["clone"], (flags,)) == ALLOW


# clone's flags as libc has them for a thread, and for what is none: fork, posix_spawn, vfork.
THREAD = 0x3D0F00
PROCESSES = (17, 0x01200011, 0x4111, 0x4100, 0x100, 0)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_jail_that_is_alone_starts_threads_and_no_process(arch: str) -> None:
    code, clone = filter_for(arch, is_alone=True), ARGUED[arch]["clone"]
    for high in (0, 1 << 32):
        assert run(code, KERNEL[arch], clone, (THREAD | high,)) == ALLOW
        for flags in PROCESSES:
            assert run(code, KERNEL[arch], clone, (flags | high,)) == refuse(errno.EPERM)
    for flag in NEW:
        assert run(code, KERNEL[arch], clone, (THREAD | flag,)) == refuse(errno.EPERM)


def test_no_older_call_starts_a_process_in_a_jail_that_is_alone() -> None:
    for number in (57, 58):
        alone = run(filter_for("x86_64", is_alone=True), KERNEL["x86_64"], number)
        assert alone == refuse(errno.EPERM)
        assert run(filter_for("x86_64"), KERNEL["x86_64"], number) == ALLOW


@pytest.mark.parametrize("arch", ARCHES)
def test_a_jail_that_is_alone_is_refused_all_that_others_are(arch: str) -> None:
    code = filter_for(arch, is_alone=True)
    for number in set(range(601)) - {57, 58, ARGUED[arch]["clone"]}:
        assert run(code, KERNEL[arch], number) == expected(arch, number), number


@pytest.mark.parametrize("arch", ARCHES)
def test_unshare_makes_no_time_namespace(arch: str) -> None:
    code = filter_for(arch)
    assert run(code, KERNEL[arch], ARGUED[arch]["unshare"], (0x80,)) == refuse(errno.EPERM)
    assert run(code, KERNEL[arch], ARGUED[arch]["unshare"], (0x200,)) == ALLOW


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", ["socket", "socketpair"])
def test_four_socket_families_are_let_through_and_no_other(arch: str, name: str) -> None:
    code = filter_for(arch)
    for family in range(64):
        for high in (0, 1 << 32, 0xFFFFFFFF << 32):
            for kind in (1, 2, 3):
                result = run(code, KERNEL[arch], ARGUED[arch][name], (family | high, kind))
                allowed = family in {1, 2, 10, 16}
                assert result == (ALLOW if allowed else refuse(errno.EAFNOSUPPORT))


@pytest.mark.parametrize("arch", ARCHES)
def test_no_unix_socket_is_made_but_pairs_that_stay_together(arch: str) -> None:
    code, no = no_unix_filter(arch), refuse(errno.EAFNOSUPPORT)
    for flags in (0, 0x800, 0x80000, 1 << 32, 0xDEADBEEF << 32):
        for kind in range(16):
            for family in range(64):
                result = run(code, KERNEL[arch], ARGUED[arch]["socket"], (family, kind | flags))
                assert result == (no if family == 1 else ALLOW)
            result = run(code, KERNEL[arch], ARGUED[arch]["socketpair"], (1, kind | flags))
            assert result == (ALLOW if kind in {1, 5} else no)


@pytest.mark.parametrize("arch", ARCHES)
def test_the_filter_of_unix_sockets_lets_all_other_calls_of_its_table_through(arch: str) -> None:
    code = no_unix_filter(arch)
    for number in range(601):
        if number == ARGUED[arch]["socketpair"]:
            continue
        assert run(code, KERNEL[arch], number) == ALLOW
        assert run(code, OTHERS["riscv64"], number) == refuse(errno.ENOSYS)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("high", [0, 1 << 32, 0xDEADBEEF << 32])
def test_nothing_types_into_a_terminal_whatever_the_high_half(arch: str, high: int) -> None:
    code = filter_for(arch)
    ioctl = ARGUED[arch]["ioctl"]
    for request in (0x5412, 0x541C):
        assert run(code, KERNEL[arch], ioctl, (0, request | high)) == refuse(errno.EPERM)
    for request in (0x5413, 0x541B, 0x5401, 0x5421, 0, 0xFFFFFFFF):
        assert run(code, KERNEL[arch], ioctl, (0, request | high)) == ALLOW


@pytest.mark.parametrize("arch", ARCHES)
def test_a_filter_is_short_enough_for_the_kernel(arch: str) -> None:
    assert len(program(ARCHES[arch])) < LENGTH_LIMIT
    assert len(filter_for(arch)) == 8 * len(program(ARCHES[arch]))


def test_an_unknown_architecture_has_no_filter() -> None:
    with pytest.raises(KeyError):
        filter_for("riscv64")


def test_what_is_judged_by_argument_has_a_number_everywhere() -> None:
    assert all(None not in NUMBERS[name] for name in JUDGED_BY_ARGUMENT)


# The kernel's own headers, where this machine has them; the numbers above hold without.
HEADERS = {
    "x86_64": [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")],
    "aarch64": [Path("/usr/include/asm-generic/unistd.h")],
}


@pytest.mark.parametrize("arch", ARCHES)
def test_the_numbers_are_those_of_the_kernels_headers(arch: str) -> None:
    for header in filter(Path.is_file, HEADERS[arch]):
        pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)"
        numbers = {name: int(text) for name, text in re.findall(pattern, header.read_text())}
        for name, pair in NUMBERS.items():
            number = pair[ARCHES[arch].column]
            if name in numbers:
                assert numbers[name] == number, name


def test_this_machines_kernel_takes_the_filter(tmp_path: Path) -> None:
    place = tmp_path / "filter"
    place.write_bytes(filter_for(platform.machine()))
    fd = os.open(place, os.O_RDONLY)
    root = ["--ro-bind", "/", "/", "--unshare-user", "--seccomp", str(fd)]
    done = subprocess.run(
        ["bwrap", *root, "--", "grep", "Seccomp:", "/proc/self/status"],
        pass_fds=(fd,),
        capture_output=True,
        text=True,
        check=True,
    )
    os.close(fd)
    assert done.stdout.split() == ["Seccomp:", "2"]
