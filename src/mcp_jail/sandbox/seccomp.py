"""The system-call filter of every jail, as classic BPF bytes for `bwrap --seccomp`.

One table of names with their numbers per architecture, one list of rules, one small assembler.
A call that is refused gets an error number, never a signal: programs probe for `io_uring` and
friends and fall back when they read EPERM. Pure: nothing here touches the kernel.

What it adds to namespaces and dropped capabilities: kernel surface that needs no privilege
(io_uring, bpf, userfaultfd, keyrings, perf), new namespaces in every spelling, foreign system-call
tables, socket families that leave the network namespace (vsock reaches a hypervisor's host), and
typing into a terminal (CVE-2017-5226, CVE-2019-10063, CVE-2023-28100).

A jail that is alone may also start no process: what it was started with is all that ever runs.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple


class Arch(NamedTuple):
    """An architecture: its number in `seccomp_data.arch`, its column in the table."""

    name: str
    audit: int
    column: int
    x32: bool


ARCHES: Final = {
    "x86_64": Arch("x86_64", 0xC000003E, 0, x32=True),
    "aarch64": Arch("aarch64", 0xC00000B7, 1, x32=False),
}

EPERM: Final = 1
ENOSYS: Final = 38
EAFNOSUPPORT: Final = 97

X32_BIT: Final = 0x40000000

# CLONE_NEW*: NS, CGROUP, UTS, IPC, USER, PID, NET. TIME shares its bit with clone's exit signal and
# so can be asked for by unshare only.
NEW_NAMESPACES: Final = 0x7E020000
NEW_TIME_NAMESPACE: Final = 0x00000080
CLONE_THREAD: Final = 0x00010000

TIOCSTI: Final = 0x5412
TIOCLINUX: Final = 0x541C

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
FAMILIES: Final = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)  # netlink: getifaddrs, in our own netns

SOCK_STREAM, SOCK_SEQPACKET = 1, 5
_SOCKET_TYPE: Final = 0xF  # the kernel's SOCK_TYPE_MASK; above it are flags

# Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
# None: that architecture never had the call.
NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    # other processes' memory and descriptors
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # kernel surface that has been the way out before
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "vmsplice": (278, 75),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    # the mount table, old and new interface (CVE-2021-41133)
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    # files by handle reach past every mount
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    # keyrings are per user, not per namespace
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "ustat": (136, None),
    "sysfs": (139, None),
    # other processes' pages and the node layout of the machine
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # refused in a jail that is alone
    "fork": (57, None),
    "vfork": (58, None),
    # judged by argument, below
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
}

JUDGED_BY_ARGUMENT: Final = frozenset(
    {"clone", "clone3", "unshare", "socket", "socketpair", "ioctl"}
)
REFUSED_ALONE: Final = frozenset({"fork", "vfork"})
REFUSED: Final = tuple(
    name for name in NUMBERS if name not in JUDGED_BY_ARGUMENT and name not in REFUSED_ALONE
)


class Code(IntEnum):
    """The few BPF instructions a filter needs (linux/bpf_common.h)."""

    LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
    IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
    IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
    IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
    AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
    RETURN = 0x06  # BPF_RET | BPF_K


class Instruction(NamedTuple):
    """One `struct sock_filter`; `yes` and `no` count the instructions to jump over."""

    code: Code
    value: int
    yes: int = 0
    no: int = 0

    def encode(self) -> bytes:
        """As the kernel reads it, eight bytes."""
        return struct.pack("=HBBI", self.code, self.yes, self.no, self.value)


ALLOW: Final = Instruction(Code.RETURN, 0x7FFF0000)  # SECCOMP_RET_ALLOW


def filter_for(arch: str, *, is_alone: bool = False) -> bytes:
    """The filter for an architecture of `ARCHES`; KeyError for another one."""
    return b"".join(each.encode() for each in program(ARCHES[arch], is_alone=is_alone))


def program(arch: Arch, *, is_alone: bool = False) -> tuple[Instruction, ...]:
    """The instructions: foreign tables first, then plain refusals, then calls by argument."""
    return (
        *_only_this_table(arch),
        *(i for name in REFUSED for i in _refuse(arch, name, EPERM)),
        # its flags lie behind a pointer, which a filter cannot follow; libc falls back to clone
        *_refuse(arch, "clone3", ENOSYS),
        *_refuse_bits(arch, "clone", NEW_NAMESPACES),
        *(_refuse_processes(arch) if is_alone else ()),
        *_refuse_bits(arch, "unshare", NEW_NAMESPACES | NEW_TIME_NAMESPACE),
        *_refuse_values(arch, "ioctl", argument=1, values=(TIOCSTI, TIOCLINUX)),
        *_allow_families(arch, "socket"),
        *_allow_families(arch, "socketpair"),
        ALLOW,
    )


def no_unix_filter(arch: str) -> bytes:
    """A filter beside the other one: no UNIX socket that could be connected to another.

    Pairs are left where both ends are bound to each other for good; a datagram's end can be sent
    elsewhere.
    """
    made = ARCHES[arch]
    no_socket = (Instruction(Code.IF_EQUAL, AF_UNIX, no=1), _error(EAFNOSUPPORT))
    no_pair = (
        Instruction(Code.AND, _SOCKET_TYPE),
        Instruction(Code.IF_EQUAL, SOCK_STREAM, yes=2),
        Instruction(Code.IF_EQUAL, SOCK_SEQPACKET, yes=1),
        _error(EAFNOSUPPORT),
    )
    whole = (
        *_only_this_table(made),
        *_guarded(made, "socket", 0, no_socket),
        *_guarded(made, "socketpair", 1, no_pair),
        ALLOW,
    )
    return b"".join(each.encode() for each in whole)


# Offsets in struct seccomp_data. Arguments are 64 bits wide; both machines are little-endian, and
# the kernel reads only the low half of every argument judged here (the high half of an ioctl
# number was the hole of CVE-2019-10063).
_NUMBER = Instruction(Code.LOAD, 0)
_ARCH = Instruction(Code.LOAD, 4)


def _argument(index: int) -> Instruction:
    return Instruction(Code.LOAD, 16 + 8 * index)


def _error(number: int) -> Instruction:
    return Instruction(Code.RETURN, 0x00050000 | number)  # SECCOMP_RET_ERRNO


def _only_this_table(arch: Arch) -> tuple[Instruction, ...]:
    start = (_ARCH, Instruction(Code.IF_EQUAL, arch.audit, yes=1), _error(ENOSYS), _NUMBER)
    if not arch.x32:
        return start
    return (*start, Instruction(Code.IF_AT_LEAST, X32_BIT, no=1), _error(ENOSYS))


def _refuse(arch: Arch, name: str, error: int) -> tuple[Instruction, ...]:
    number = NUMBERS[name][arch.column]
    if number is None:
        return ()
    return (Instruction(Code.IF_EQUAL, number, no=1), _error(error))


def _guarded(
    arch: Arch, name: str, argument: int, body: tuple[Instruction, ...]
) -> tuple[Instruction, ...]:
    """The body runs with the argument loaded, for this call only; then the number is back."""
    number = NUMBERS[name][arch.column]
    if number is None:
        return ()
    skip = len(body) + 2
    return (Instruction(Code.IF_EQUAL, number, no=skip), _argument(argument), *body, _NUMBER)


def _refuse_bits(arch: Arch, name: str, bits: int) -> tuple[Instruction, ...]:
    return _guarded(arch, name, 0, (Instruction(Code.IF_ANY_BIT, bits, no=1), _error(EPERM)))


def _refuse_processes(arch: Arch) -> tuple[Instruction, ...]:
    """Threads are no processes."""
    whole = (i for name in sorted(REFUSED_ALONE) for i in _refuse(arch, name, EPERM))
    only_threads = (Instruction(Code.IF_ANY_BIT, CLONE_THREAD, yes=1), _error(EPERM))
    return (*whole, *_guarded(arch, "clone", 0, only_threads))


def _refuse_values(
    arch: Arch, name: str, *, argument: int, values: tuple[int, ...]
) -> tuple[Instruction, ...]:
    body = tuple(
        i for value in values for i in (Instruction(Code.IF_EQUAL, value, no=1), _error(EPERM))
    )
    return _guarded(arch, name, argument, body)


def _allow_families(arch: Arch, name: str) -> tuple[Instruction, ...]:
    last = len(FAMILIES)
    tests = tuple(
        Instruction(Code.IF_EQUAL, family, yes=last - index)
        for index, family in enumerate(FAMILIES)
    )
    return _guarded(arch, name, 0, (*tests, _error(EAFNOSUPPORT)))
