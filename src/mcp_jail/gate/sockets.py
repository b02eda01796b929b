"""The sockets that stand in a jail's network namespace and belong to a process outside.

Made by a short errand inside, before anything of the jail runs, and handed out over a socket pair.
The errand has every right over that namespace and keeps none; nothing of ours stays inside.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from enum import Enum
from typing import Final

import msgspec

from mcp_jail.errors import JailBuildError
from mcp_jail.gate.allow import DNS_PORT
from mcp_jail.gate.eyes import packet_filter
from mcp_jail.gate.netlink import make_every_address_local, wait_for_loopback
from mcp_jail.gate.process import Enter

# Descriptors in one message; SCM_RIGHTS carries 253. Two for each port, four for names, the eyes.
DESCRIPTORS_LIMIT: Final = 200
MESSAGE_LIMIT: Final = 16 * 1024  # bytes of the message that says what they are
BACKLOG: Final = 512  # connections that wait to be taken; the kernel resets none of them

# Bytes of packets that wait to be looked at; beyond, they are counted and dropped.
_EYES_BUFFER: Final = 256 * 1024
# Bytes of questions that wait; the kernel gives at most net.core.rmem_max, twice. The default holds
# some 270, and two hundred connections that begin at once ask 400.
_QUESTIONS_BUFFER: Final = 4 << 20
_EVERY_PROTOCOL: Final = 0x0003  # ETH_P_ALL
_ATTACH_FILTER: Final = 26  # SO_ATTACH_FILTER
_IP_FREEBIND: Final = 15
_IP_PKTINFO: Final = 8
_IPV6_FREEBIND: Final = 78
_NO_IPV6: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH})


class Role(Enum):
    """What a socket is for."""

    NAMES_UDP = "names over UDP"
    NAMES_TCP = "names over TCP"
    LISTENER = "connections"
    EYES = "eyes"


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the descriptors of one message are, in order."""

    roles: tuple[Role, ...]
    has_ipv6: bool


class Sockets(msgspec.Struct, frozen=True):
    """The sockets of one jail, non-blocking, each with its role."""

    all: tuple[tuple[Role, socket.socket], ...]
    has_ipv6: bool

    def of(self, role: Role) -> tuple[socket.socket, ...]:
        """Those of one role."""
        return tuple(made for known, made in self.all if known is role)


def make(ports: tuple[int, ...]) -> Sockets:
    """Make them in the network namespace the caller is in; OSError where the kernel refuses.

    Every address becomes local first, so that a connection to any of them arrives.
    """
    has_ipv6 = make_every_address_local()
    made = list(_family(socket.AF_INET, ports))
    if has_ipv6:
        try:
            made += _family(socket.AF_INET6, ports)
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
            has_ipv6 = False
    made.append((Role.EYES, _eyes({*ports, DNS_PORT})))
    return Sockets(tuple(made), has_ipv6)


def make_inside(pid: int, ports: tuple[int, ...], enter: Enter) -> Sockets:
    """Make them in the network namespace of a process; JailBuildError where that fails."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outside = _network()

    def errand() -> bytes:
        if _network() == outside:  # or every address of this machine would become its own
            raise OSError("the process is in our own network namespace")
        wait_for_loopback()
        send(theirs, make(ports))
        return b""

    with ours, theirs:
        enter(pid, errand)
        theirs.close()
        sockets = receive(ours)
    if sockets is None:
        raise JailBuildError("the gate's sockets did not arrive")
    return sockets


def send(channel: socket.socket, sockets: Sockets) -> None:
    """Hand them to whoever holds the other end of a SEQPACKET pair."""
    message = Message(tuple(role for role, _ in sockets.all), sockets.has_ipv6)
    fds = [made.fileno() for _, made in sockets.all]
    socket.send_fds(channel, [msgspec.json.encode(message)], fds)


def receive(channel: socket.socket) -> Sockets | None:
    """Take them; None when the other end was closed first."""
    data, fds, _, _ = socket.recv_fds(channel, MESSAGE_LIMIT, DESCRIPTORS_LIMIT)
    sockets = tuple(socket.socket(fileno=fd) for fd in fds)
    if not data:
        return None
    message = msgspec.json.decode(data, type=Message)
    for made in sockets:
        made.settimeout(0)
    return Sockets(tuple(zip(message.roles, sockets, strict=True)), message.has_ipv6)


def _network() -> tuple[int, int]:
    """Which network namespace this process is in."""
    status = os.stat("/proc/self/ns/net")
    return status.st_dev, status.st_ino


def _family(family: int, ports: tuple[int, ...]) -> list[tuple[Role, socket.socket]]:
    made = [(Role.NAMES_UDP, _names(family)), (Role.NAMES_TCP, _listener(family, DNS_PORT))]
    return made + [(Role.LISTENER, _listener(family, port)) for port in ports]


def _names(family: int) -> socket.socket:
    """A datagram socket that learns which address each question went to, and answers from there.

    A resolver that is written into a program is asked at its own address and must seem to answer.
    """
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUESTIONS_BUFFER)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        # Linux >= 4.15. Without it an answer from an address that is only routed here is refused.
        made.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
    else:
        made.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        made.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    made.bind(("", DNS_PORT))
    return made


def _listener(family: int, port: int) -> socket.socket:
    """No SO_REUSEADDR: nothing inside may put itself in front of it with a narrower address."""
    made = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(("", port))
    made.listen(BACKLOG)
    return made


def _eyes(heard: set[int]) -> socket.socket:
    """Every packet on lo, through the filter; bound last, so that none passes it."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _EYES_BUFFER)
    code = packet_filter(heard)
    # struct sock_fprog: the number of instructions, and where they are. The kernel copies them.
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HL", len(code) // 8, ctypes.addressof(held))
    made.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    made.bind(("lo", _EVERY_PROTOCOL))
    return made
