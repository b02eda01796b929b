"""rtnetlink(7): to make every address local in a jail, and to ask whether one is this machine's.

Spoken directly, since no program of the host may be run inside and `ip` need not be installed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator
from typing import Final

# The address a jail has beside those of its loopback: of 198.18.0.0/15, where it is no name's.
SEEN_ADDRESS: Final = "198.19.255.254"

# linux/rtnetlink.h, linux/netlink.h, linux/if.h
_NEWLINK: Final = 16
_NEWADDR: Final = 20
_NEWROUTE: Final = 24
_GETROUTE: Final = 26
_ERROR: Final = 2
_REQUEST, _ACK, _CREATE = 0x1, 0x4, 0x400
_UP: Final = 0x1
_GET_FLAGS: Final = 0x8913  # SIOCGIFFLAGS, netdevice(7)
_FLAGS: Final = struct.Struct("=16sH22x")  # struct ifreq: a name, and flags
_TABLE_LOCAL: Final = 255
_FROM_BOOT: Final = 3
_SCOPE_HOST: Final = 254
_TYPE_LOCAL: Final = 2
_TYPE_BROADCAST: Final = 3
_TYPE_MULTICAST: Final = 5
_DESTINATION: Final = 1
_OUT_INTERFACE: Final = 4
_LOOPBACK: Final = 1  # the interface number of lo in every network namespace

_HEADER: Final = struct.Struct("=IHHII")
_LOCAL: Final = 2
_ADDRESS: Final = struct.Struct("=BBBBi")
_LINK: Final = struct.Struct("=BBHiII")
_ROUTE: Final = struct.Struct("=BBBBBBBBI")
_NUMBER: Final = struct.Struct("=i")
_ANSWER_LIMIT: Final = 65536
_DEADLINE: Final = 10.0  # seconds for the kernel to answer, or lo to be up; they take no time
_NAP: Final = 0.0003  # seconds between two looks


def wait_for_loopback() -> None:
    """Wait until somebody has brought lo up; OSError when nobody does.

    bubblewrap gives it its address first, and fails where it has one: bringing it up gives it one.
    """
    deadline = time.monotonic() + _DEADLINE
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        while time.monotonic() < deadline:
            answer = fcntl.ioctl(asked, _GET_FLAGS, _FLAGS.pack(b"lo", 0))
            if _FLAGS.unpack(answer)[1] & _UP:
                return
            time.sleep(_NAP)
    raise OSError(errno.ETIMEDOUT, "lo does not come up")


def make_every_address_local() -> bool:
    """Bring lo up and have each address end at this network namespace; OSError where it cannot.

    For the namespace the caller is in, with its rights over it. Programs that look whether there
    is a network find SEEN_ADDRESS. False when all that holds for IPv4 only, which a kernel without
    IPv6 makes so.
    """
    with _talk() as channel:
        _tell(channel, _NEWLINK, 0, _LINK.pack(0, 0, 0, _LOOPBACK, _UP, _UP))
        _tell(channel, _NEWADDR, _CREATE, _own_address())
        _tell(channel, _NEWROUTE, _CREATE, _everything(socket.AF_INET))
        try:
            _tell(channel, _NEWROUTE, _CREATE, _everything(socket.AF_INET6))
        except OSError:
            return False
    return True


class Routes:
    """The kernel's word on addresses, in the network namespace it was made in."""

    def __init__(self) -> None:
        self._channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._channel.settimeout(_DEADLINE)

    def is_own(self, address: str) -> bool:
        """Whether an address is this machine's, or one that is heard here; True when in doubt."""
        try:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            packed = socket.inet_pton(family, address)
            route = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0)
            message = route + _attribute(_DESTINATION, packed)
            kind, body = _exchange(self._channel, _GETROUTE, _REQUEST, message)
        except OSError:
            return True
        if kind == _ERROR:  # no route: it cannot be dialled, and is nobody's
            return False
        return kind != _NEWROUTE or body[7] in {_TYPE_LOCAL, _TYPE_BROADCAST, _TYPE_MULTICAST}

    def close(self) -> None:
        """Ask no more."""
        self._channel.close()


@contextlib.contextmanager
def _talk() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as channel:
        channel.settimeout(_DEADLINE)
        yield channel


def _everything(family: int) -> bytes:
    """`local default dev lo table local`: AnyIP."""
    route = (family, 0, 0, 0, _TABLE_LOCAL, _FROM_BOOT, _SCOPE_HOST, _TYPE_LOCAL, 0)
    return _ROUTE.pack(*route) + _attribute(_OUT_INTERFACE, _NUMBER.pack(_LOOPBACK))


def _own_address() -> bytes:
    """One address beside 127.0.0.1, without which getaddrinfo(3) finds none with AI_ADDRCONFIG."""
    packed = socket.inet_aton(SEEN_ADDRESS)
    body = _ADDRESS.pack(socket.AF_INET, 32, 0, 0, _LOOPBACK)
    return body + _attribute(_LOCAL, packed) + _attribute(_DESTINATION, packed)


def _tell(channel: socket.socket, kind: int, flags: int, body: bytes) -> None:
    """Have the kernel do something; OSError when it does not. What is there already is fine."""
    answer, error = _exchange(channel, kind, _REQUEST | _ACK | flags, body)
    if answer != _ERROR:
        raise OSError(f"rtnetlink answered {answer}")
    number = -_NUMBER.unpack_from(error)[0]
    if number not in {0, errno.EEXIST}:
        raise OSError(number, f"rtnetlink: {os.strerror(number)}")


def _exchange(channel: socket.socket, kind: int, flags: int, body: bytes) -> tuple[int, bytes]:
    """One request, and the type and body of its answer."""
    channel.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
    answer, _, _, sender = channel.recvmsg(_ANSWER_LIMIT)
    if sender[0] != 0 or len(answer) < _HEADER.size + 12:  # from another process, or cut off
        raise OSError("rtnetlink gave no answer")
    return _HEADER.unpack_from(answer)[1], answer[_HEADER.size :]


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value
