"""The starter: a program of 0.4 KB that bwrap runs in the server's stead, and that becomes it.

bwrap arms the parent-death signal of the jail's first process only after its blocking pipe has let
it go on, and an end of file there lets it go on too. So the pipe alone cannot promise that no
server runs without a guard. The starter does: it says `h` (here) on descriptor 7, waits for one
byte, and executes its arguments. An end of file, which is what a dead guard sends, ends it.

Machine code, since nothing else that is in every jail hands on the environment as it got it: a
shell drops names like `npm_config_//host:key` and adds names of its own. The two programs below do
the same:

    write(7, "h", 1)
    if read(7, byte, 1) == 1:
        close(7)
        error = execve(argv[1], argv + 1, environment)
        if error == ENOEXEC:  # a script without #!, which execvp(3) hands to the shell
            argv[0] = "/bin/sh"
            error = execve(argv[0], argv, environment)
        write(2, "... error NN")
    exit(127)

Where a jail has a door (`door`), the program makes the socket for it before all that.
"""

from __future__ import annotations

import struct
from typing import Final

from mcp_jail.sandbox.door import LISTINGS, address

PLACE: Final = "/.starter"  # in the jail's root, which holds nothing else that is a file
DESCRIPTOR: Final = 7  # where it says that it is here, and hears that it may go on
HERE: Final = b"h"

# Where the kernel puts it: any address above vm.mmap_min_addr, a multiple of the largest page.
_ADDRESS: Final = 0x400000
_HEADERS: Final = 64 + 56  # bytes of the ELF header and of its one program header (elf(5))
_SHELL: Final = b"/bin/sh\0"
_TEXT: Final = b"mcp-jail: the server's program cannot be executed: error "


def program(arch: str, door: int | None = None) -> bytes:
    """The program for an architecture of `seccomp.ARCHES`; KeyError for another one.

    `door` is the port of the socket it makes first.
    """
    machine, listing = _PROGRAMS[arch]
    start = b""
    if door is not None:
        start, listing = address(door), LISTINGS[arch] + listing
    words = (line.partition("#")[0] for line in listing.splitlines())
    body = start + bytes.fromhex("".join(words)) + _SHELL + _TEXT
    size = _HEADERS + len(body)
    page = 0x10000
    ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)  # 64 bits, little end first, version 1
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        # 2: executable at a fixed place
        *(ident, 2, machine, 1, _ADDRESS + _HEADERS + len(start)),
        *(64, 0, 0, 64, 56, 1, 0, 0, 0),
    )
    # 1: to be loaded; 5: to be read and executed, not written
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _ADDRESS, _ADDRESS, size, size, page)
    return header + segment + body


_X86_64: Final = """
6a07             # push 0x7
5f               # pop rdi
6a68             # push 0x68
4889e6           # mov rsi, rsp
6a01             # push 0x1
5a               # pop rdx
89d0             # mov eax, edx
0f05             # syscall
31c0             # xor eax, eax
6a01             # push 0x1
5a               # pop rdx
0f05             # syscall
83f801           # cmp eax, 0x1
0f8585000000     # jne quit
59               # pop rcx
6a03             # push 0x3
58               # pop rax
0f05             # syscall
488b7c2410       # mov rdi, [rsp+0x10]
488d742410       # lea rsi, [rsp+0x10]
488b0c24         # mov rcx, [rsp]
488d54cc10       # lea rdx, [rsp+rcx*8+0x10]
4889d3           # mov rbx, rdx
b83b000000       # mov eax, 0x3b
0f05             # syscall
83f8f8           # cmp eax, 0xfffffff8
7519             # jne failed
488d3d62000000   # lea rdi, [shell]
488d742408       # lea rsi, [rsp+0x8]
48893e           # mov [rsi], rdi
4889da           # mov rdx, rbx
b83b000000       # mov eax, 0x3b
0f05             # syscall
# failed:
f7d8             # neg eax
31d2             # xor edx, edx
b90a000000       # mov ecx, 0xa
f7f1             # div ecx
0430             # add al, 0x30
80c230           # add dl, 0x30
88d4             # mov ah, dl
50               # push rax
bf02000000       # mov edi, 0x2
488d3539000000   # lea rsi, [text]
ba39000000       # mov edx, 0x39
b801000000       # mov eax, 0x1
0f05             # syscall
bf02000000       # mov edi, 0x2
4889e6           # mov rsi, rsp
c64424020a       # mov byte [rsp+0x2], 0xa
ba03000000       # mov edx, 0x3
b801000000       # mov eax, 0x1
0f05             # syscall
# quit:
bf7f000000       # mov edi, 0x7f
b8e7000000       # mov eax, 0xe7
0f05             # syscall
"""

_AARCH64: Final = """
e00080d2         # mov x0, #0x7
090d80d2         # mov x9, #0x68
e90f1ff8         # str x9, [sp, #-16]!
e1030091         # mov x1, sp
220080d2         # mov x2, #0x1
080880d2         # mov x8, #0x40
010000d4         # svc #0x0
e00080d2         # mov x0, #0x7
e1030091         # mov x1, sp
220080d2         # mov x2, #0x1
e80780d2         # mov x8, #0x3f
010000d4         # svc #0x0
1f0400f1         # cmp x0, #0x1
61050054         # b.ne quit
e00080d2         # mov x0, #0x7
280780d2         # mov x8, #0x39
010000d4         # svc #0x0
ff430091         # add sp, sp, #0x10
e90340f9         # ldr x9, [sp]
f4230091         # add x20, sp, #0x8
81220091         # add x1, x20, #0x8
200040f9         # ldr x0, [x1]
950e098b         # add x21, x20, x9, lsl #3
b5220091         # add x21, x21, #0x8
e20315aa         # mov x2, x21
a81b80d2         # mov x8, #0xdd
010000d4         # svc #0x0
1f2000b1         # cmn x0, #0x8
e1000054         # b.ne failed
c0030010         # adr x0, shell
800200f9         # str x0, [x20]
e10314aa         # mov x1, x20
e20315aa         # mov x2, x21
a81b80d2         # mov x8, #0xdd
010000d4         # svc #0x0
# failed:
e00300cb         # neg x0, x0
490180d2         # mov x9, #0xa
0a08c99a         # udiv x10, x0, x9
4b81099b         # msub x11, x10, x9, x0
4ac10091         # add x10, x10, #0x30
6bc10091         # add x11, x11, #0x30
ff4300d1         # sub sp, sp, #0x10
ea030039         # strb w10, [sp]
eb070039         # strb w11, [sp, #1]
4c018052         # mov w12, #0xa
ec0b0039         # strb w12, [sp, #2]
400080d2         # mov x0, #0x2
c1010010         # adr x1, text
220780d2         # mov x2, #0x39
080880d2         # mov x8, #0x40
010000d4         # svc #0x0
400080d2         # mov x0, #0x2
e1030091         # mov x1, sp
620080d2         # mov x2, #0x3
080880d2         # mov x8, #0x40
010000d4         # svc #0x0
# quit:
e00f80d2         # mov x0, #0x7f
c80b80d2         # mov x8, #0x5e
010000d4         # svc #0x0
"""

# By the name of uname(2): the machine's number in an ELF header, and the instructions.
_PROGRAMS: Final = {"x86_64": (62, _X86_64), "aarch64": (183, _AARCH64)}
