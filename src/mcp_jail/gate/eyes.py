"""What a jail tries where nobody listens: packets on its lo, seen from outside. Pure.

A socket of AF_PACKET sees every packet. The kernel keeps all of them from us but the few that tell
of an attempt, by the filter below; `read_packet` says what each means. What a server says to itself
is no attempt to get out. As every address is its own, it may do so by any: so of connections only
those count that were turned away, by the reset that came back. Of datagrams, to loopback addresses
those count that an ICMP error came back for; elsewhere the datagram itself does.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mcp_jail.gate.attempts import What

# Bytes of a packet that are looked at: an IPv6 header, an ICMP error, and what it quotes.
SNAP: Final = 128

_TCP, _UDP, _ICMP, _ICMP6 = 6, 17, 1, 58
_REFUSED: Final = 0x14  # RST and ACK: what a port without a listener answers
_STATE: Final = 0x17  # FIN, SYN, RST, ACK
_DNS: Final = 53


class Seen(NamedTuple):
    """An attempt: what, at which address, at which port (for OTHER: the protocol's number)."""

    what: What
    address: str
    port: int


def read_packet(packet: bytes) -> Seen | None:
    """What an IP packet tells of; None for one that tells nothing, or is not whole."""
    header = _ip(packet)
    if header is None:
        return None
    protocol, source, destination, body = header
    read = _READERS.get(protocol)
    if read is None:
        return Seen(What.OTHER, _text(destination), protocol)
    return read(source, destination, body)


def _tcp(source: bytes, _destination: bytes, body: bytes) -> Seen | None:
    if len(body) < 20:  # noqa: PLR2004
        return None
    if body[13] & _STATE != _REFUSED:
        return None
    return Seen(What.CONNECT, _text(source), int.from_bytes(body[:2], "big"))


def _udp(_source: bytes, destination: bytes, body: bytes) -> Seen | None:
    if len(body) < 8 or _is_loopback(destination):  # noqa: PLR2004
        return None
    return Seen(What.UDP, _text(destination), int.from_bytes(body[2:4], "big"))


def _icmp(echo: int, unreachable: int) -> Callable[[bytes, bytes, bytes], Seen | None]:
    def read(_source: bytes, destination: bytes, body: bytes) -> Seen | None:
        if body[:1] == bytes((echo,)):
            return Seen(What.PING, _text(destination), 0)
        quoted = _ip(body[8:]) if body[:1] == bytes((unreachable,)) else None
        if quoted is None or quoted[0] != _UDP or len(quoted[3]) < 4:  # noqa: PLR2004
            return None
        if not _is_loopback(quoted[2]):
            return None  # its first packet was seen
        if int.from_bytes(quoted[3][:2], "big") == _DNS:
            return None  # an answer of our name server, which nobody waited for any more
        return Seen(What.UDP, _text(quoted[2]), int.from_bytes(quoted[3][2:4], "big"))

    return read


_READERS: Final = {_TCP: _tcp, _UDP: _udp, _ICMP: _icmp(8, 3), _ICMP6: _icmp(128, 1)}


def _ip(packet: bytes) -> tuple[int, bytes, bytes, bytes] | None:
    """Protocol, source, destination and body of a packet; extension headers are a protocol."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:  # noqa: PLR2004
        size = (packet[0] & 0xF) * 4
        if not 20 <= size <= len(packet):  # noqa: PLR2004
            return None
        return packet[9], packet[12:16], packet[16:20], packet[size:]
    if version == 6 and len(packet) >= 40:  # noqa: PLR2004
        return packet[6], packet[8:24], packet[24:40], packet[40:]
    return None


def _is_loopback(address: bytes) -> bool:
    return address[0] == 127 if len(address) == 4 else address == bytes(15) + b"\1"  # noqa: PLR2004


def _text(address: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)  # noqa: PLR2004


# The filter, in classic BPF (linux/filter.h). A packet begins with its IP header.
_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE = 0x20, 0x28, 0x30
_FROM_X_WORD, _FROM_X_HALF, _FROM_X_BYTE = 0x40, 0x48, 0x50  # the same, counted from X
_X_NUMBER, _X_IPV4_SIZE = 0x01, 0xB1
_IF_EQUAL, _IF_ANY_BIT, _AND, _RETURN = 0x15, 0x45, 0x54, 0x06
_KIND: Final = 0xFFFFF004  # SKF_AD_PKTTYPE
_PROTOCOL: Final = 0xFFFFF000  # SKF_AD_PROTOCOL
_OUTGOING: Final = 4  # PACKET_OUTGOING: each packet on lo is seen twice, going and coming
_IPV4, _IPV6 = 0x0800, 0x86DD

# Each line: a label, or an instruction with where to go on if it holds and if not ("" = next line).
_Line = str | tuple[int, int, str, str]
_ZERO_OR_DROP: Final = (_IF_EQUAL, 0, "", "drop")
_ZERO_OR_UDP: Final = (_IF_EQUAL, 0, "", "udp")
_LISTING: Final[tuple[_Line, ...]] = (
    (_LOAD_BYTE, _KIND, "", ""),
    (_IF_EQUAL, _OUTGOING, "drop", ""),
    (_LOAD_HALF, _PROTOCOL, "", ""),
    (_IF_EQUAL, _IPV4, "", "not IPv4"),
    (_LOAD_HALF, 6, "", ""),
    (_IF_ANY_BIT, 0x1FFF, "drop", ""),  # a later fragment: the first one tells
    (_X_IPV4_SIZE, 0, "", ""),
    (_LOAD_BYTE, 9, "", ""),
    (_IF_EQUAL, _TCP, "tcp", ""),
    (_IF_EQUAL, _UDP, "IPv4 to", ""),
    (_IF_EQUAL, _ICMP, "", "keep"),
    (_FROM_X_BYTE, 0, "", ""),
    (_IF_EQUAL, 8, "keep", ""),
    (_IF_EQUAL, 3, "", "drop"),
    (_FROM_X_BYTE, 8 + 9, "", ""),  # of the packet that it quotes: the protocol,
    (_IF_EQUAL, _UDP, "", "drop"),
    (_FROM_X_BYTE, 8 + 16, "", ""),  # and where it went
    (_IF_EQUAL, 127, "keep", "drop"),
    "IPv4 to",
    (_LOAD_BYTE, 16, "", ""),
    (_IF_EQUAL, 127, "drop", "udp"),
    "not IPv4",
    (_IF_EQUAL, _IPV6, "", "drop"),
    (_X_NUMBER, 40, "", ""),
    (_LOAD_BYTE, 6, "", ""),
    (_IF_EQUAL, _TCP, "tcp", ""),
    (_IF_EQUAL, _UDP, "IPv6 to", ""),
    (_IF_EQUAL, _ICMP6, "", "keep"),
    (_FROM_X_BYTE, 0, "", ""),
    (_IF_EQUAL, 128, "keep", ""),
    (_IF_EQUAL, 1, "", "drop"),
    (_FROM_X_BYTE, 8 + 6, "", ""),
    (_IF_EQUAL, _UDP, "", "drop"),
    *(line for at in (24, 28, 32) for line in ((_FROM_X_WORD, 8 + at, "", ""), _ZERO_OR_DROP)),
    (_FROM_X_WORD, 8 + 36, "", ""),
    (_IF_EQUAL, 1, "keep", "drop"),
    "IPv6 to",
    *(line for at in (24, 28, 32) for line in ((_LOAD_WORD, at, "", ""), _ZERO_OR_UDP)),
    (_LOAD_WORD, 36, "", ""),
    (_IF_EQUAL, 1, "drop", "udp"),
    "udp",
    (_FROM_X_HALF, 2, "", ""),
    (_IF_EQUAL, _DNS, "drop", ""),  # the name server sees those itself
    (_FROM_X_HALF, 0, "", ""),
    (_IF_EQUAL, _DNS, "drop", "keep"),
    "tcp",
    (_FROM_X_BYTE, 13, "", ""),
    (_AND, _STATE, "", ""),
    (_IF_EQUAL, _REFUSED, "", "drop"),
    (_FROM_X_WORD, 4, "", ""),  # such a reset has the sequence number 0 (RFC 9293, 3.10.7.1)
    (_IF_EQUAL, 0, "", "drop"),
    (_FROM_X_HALF, 0, "", ""),
    # here: each port with a listener, which tells of its connections itself
)
_ENDING: Final[tuple[_Line, ...]] = (
    "keep",
    (_RETURN, SNAP, "", ""),
    "drop",
    (_RETURN, 0, "", ""),
)


def packet_filter(heard: Iterable[int]) -> bytes:
    """The filter as the kernel takes it, eight bytes an instruction.

    `heard` are the TCP ports with a listener.
    """
    ports = tuple((_IF_EQUAL, port, "drop", "") for port in sorted(heard))
    places: dict[str, int] = {}
    instructions: list[tuple[int, int, str, str]] = []
    for line in (*_LISTING, *ports, *_ENDING):
        if isinstance(line, str):
            places[line] = len(instructions)
        else:
            instructions.append(line)
    code = b""
    for at, (operation, value, yes, no) in enumerate(instructions):
        jumps = [places[label] - at - 1 if label else 0 for label in (yes, no)]
        code += struct.pack("=HBBI", operation, *jumps, value)
    return code
