"""A door: one listening socket in a jail's own network, that nobody had to enter the jail for.

The gate's sockets are made by a fork of ours inside (`enter`), with every right over the jail's
network. Where no fork may enter, the starter makes one socket that needs no right, on a port of the
jail's loopback, and hands it out before the server is there. Nothing of it stays inside:

    door = socket(AF_INET, SOCK_STREAM)
    bind(door, 127.0.0.1:PORT)
    listen(door, 512)
    sendmsg(7, "s", SCM_RIGHTS door)
    close(door)
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Final

from mcp_jail.errors import JailBuildError

LOOPBACK: Final = "127.0.0.1"
SOCKET: Final = b"s"  # comes with the descriptor


def address(port: int) -> bytes:
    """Where the instructions bind: struct sockaddr_in, which stands before the first of them."""
    return struct.pack("<H", 2) + struct.pack(">H", port) + socket.inet_aton(LOOPBACK) + bytes(8)


def receive(fd: int, port: int) -> socket.socket:
    """The listening socket that the starter hands out; JailBuildError where it is not that one."""
    with socket.socket(fileno=os.dup(fd)) as channel:
        data, fds, _, _ = socket.recv_fds(channel, 1, 1)
    if data != SOCKET or not fds:
        raise JailBuildError("the starter hands out no socket for a proxy")
    made = socket.socket(fileno=fds[0])
    listens = made.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if not listens or made.getsockname() != (LOOPBACK, port):
        made.close()
        raise JailBuildError(f"no proxy can listen on port {port} inside")
    return made


# By the name of uname(2). They leave the stack as it was.
_X86_64: Final = """
6a02             # push 2
5f               # pop rdi
6a01             # push 1
5e               # pop rsi
31d2             # xor edx, edx
6a29             # push 41
58               # pop rax
0f05             # syscall
89c3             # mov ebx, eax
89df             # mov edi, ebx
be78004000       # mov esi, 0x400078
6a10             # push 16
5a               # pop rdx
6a31             # push 49
58               # pop rax
0f05             # syscall
89df             # mov edi, ebx
be00020000       # mov esi, 0x200
6a32             # push 50
58               # pop rax
0f05             # syscall
53               # push rbx
b801000000       # mov eax, 1
6a01             # push 1
89442404         # mov dword ptr [rsp+4], eax
6a14             # push 20
4889e1           # mov rcx, rsp
6a73             # push 0x73
4889e2           # mov rdx, rsp
6a01             # push 1
52               # push rdx
4889e6           # mov rsi, rsp
6a00             # push 0
6a18             # push 24
51               # push rcx
6a01             # push 1
56               # push rsi
6a00             # push 0
6a00             # push 0
4889e6           # mov rsi, rsp
6a07             # push 7
5f               # pop rdi
31d2             # xor edx, edx
6a2e             # push 46
58               # pop rax
0f05             # syscall
89df             # mov edi, ebx
6a03             # push 3
58               # pop rax
0f05             # syscall
4883c468         # add rsp, 104
"""

_AARCH64: Final = """
400080d2         # mov x0, #2
210080d2         # mov x1, #1
020080d2         # mov x2, #0
c81880d2         # mov x8, #198
010000d4         # svc #0
f30300aa         # mov x19, x0
010f80d2         # mov x1, #0x78
0108a0f2         # movk x1, #0x40, lsl #16
020280d2         # mov x2, #16
081980d2         # mov x8, #200
010000d4         # svc #0
e00313aa         # mov x0, x19
014080d2         # mov x1, #0x200
281980d2         # mov x8, #201
010000d4         # svc #0
ffc301d1         # sub sp, sp, #112
e9e30091         # add x9, sp, #56
ea230191         # add x10, sp, #72
2b0080d2         # mov x11, #1
0c0380d2         # mov x12, #24
ff7f00a9         # stp xzr, xzr, [sp]
e92f01a9         # stp x9, x11, [sp, #16]
ea3302a9         # stp x10, x12, [sp, #32]
e9830191         # add x9, sp, #96
ff2703a9         # stp xzr, x9, [sp, #48]
8c0280d2         # mov x12, #20
eb3304a9         # stp x11, x12, [sp, #64]
2b00c0f2         # movk x11, #1, lsl #32
eb4f05a9         # stp x11, x19, [sp, #80]
690e80d2         # mov x9, #0x73
e93300f9         # str x9, [sp, #96]
e00080d2         # mov x0, #7
e1030091         # mov x1, sp
020080d2         # mov x2, #0
681a80d2         # mov x8, #211
010000d4         # svc #0
e00313aa         # mov x0, x19
280780d2         # mov x8, #57
010000d4         # svc #0
ffc30191         # add sp, sp, #112
"""

LISTINGS: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}
