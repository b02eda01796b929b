"""What a jail tries where nobody listens is seen; what a server does with itself is not."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.allow import PORTS_LIMIT
from mcp_jail.gate.attempts import What
from mcp_jail.gate.eyes import SNAP, Seen, packet_filter, read_packet

OnAMachine = Callable[..., Any]


def ipv4(protocol: int, source: str, destination: str, body: bytes, *, options: int = 0) -> bytes:
    start = struct.pack("!BBHHHBBH", 0x45 + options, 0, 0, 0, 0, 64, protocol, 0)
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    return start + ends + bytes(max(0, 4 * options)) + body


def ipv6(protocol: int, source: str, destination: str, body: bytes) -> bytes:
    ends = (socket.inet_pton(socket.AF_INET6, end) for end in (source, destination))
    return struct.pack("!IHBB", 6 << 28, len(body), protocol, 64) + b"".join(ends) + body


def tcp(source: int, destination: int, flags: int) -> bytes:
    return struct.pack("!HHIIBBHHH", source, destination, 0, 0, 0x50, flags, 0, 0, 0)


def udp(source: int, destination: int) -> bytes:
    return struct.pack("!HHHH", source, destination, 8, 0)


OUT, IN = "9.9.9.9", "127.0.0.1"


@pytest.mark.parametrize(
    ("packet", "seen"),
    [
        (ipv4(6, OUT, OUT, tcp(25, 4000, 0x14)), Seen(What.CONNECT, OUT, 25)),
        (ipv4(6, OUT, OUT, tcp(25, 4000, 0x14), options=3), Seen(What.CONNECT, OUT, 25)),
        (ipv6(6, "2001::9", "2001::9", tcp(25, 4000, 0x14)), Seen(What.CONNECT, "2001::9", 25)),
        (ipv4(6, OUT, OUT, tcp(4000, 25, 2)), None),
        (ipv4(6, IN, IN, tcp(4000, 25, 2)), None),  # perhaps it listens there itself
        (ipv4(6, IN, IN, tcp(25, 4000, 0x14)), Seen(What.CONNECT, IN, 25)),
        (ipv6(6, "::1", "::1", tcp(25, 4000, 0x14)), Seen(What.CONNECT, "::1", 25)),
        (ipv4(6, OUT, OUT, tcp(4000, 25, 0x10)), None),
        (ipv4(6, OUT, OUT, tcp(4000, 25, 0x12)), None),
        (ipv4(17, OUT, OUT, udp(4000, 123)), Seen(What.UDP, OUT, 123)),
        (ipv4(17, IN, IN, udp(4000, 123)), None),
        (ipv4(1, IN, IN, b"\3\3" + bytes(6) + ipv4(17, IN, IN, udp(4000, 123))),
         Seen(What.UDP, IN, 123)),
        (ipv4(1, OUT, OUT, b"\3\3" + bytes(6) + ipv4(17, OUT, OUT, udp(4000, 123))), None),
        (ipv4(1, IN, IN, b"\3\3" + bytes(6) + ipv4(6, IN, IN, tcp(4000, 123, 2))), None),
        (ipv6(58, "::1", "::1", b"\1\4" + bytes(6) + ipv6(17, "::1", "::1", udp(4000, 123))),
         Seen(What.UDP, "::1", 123)),
        (ipv4(1, IN, IN, b"\3\3" + bytes(6) + ipv4(17, IN, IN, udp(53, 4000))), None),
        (ipv6(58, "::1", "::1", b"\1\4" + bytes(6) + ipv6(17, "::1", "::1", udp(53, 4000))), None),
        (ipv4(1, OUT, OUT, b"\x08\0"), Seen(What.PING, OUT, 0)),
        (ipv6(58, "2001::9", "2001::9", b"\x80\0"), Seen(What.PING, "2001::9", 0)),
        (ipv4(1, OUT, OUT, b"\0\0"), None),
        (ipv4(132, OUT, OUT, b""), Seen(What.OTHER, OUT, 132)),
        (ipv6(44, "2001::9", "2001::9", b""), Seen(What.OTHER, "2001::9", 44)),
        (ipv4(6, OUT, OUT, tcp(25, 4000, 0x14)[:19]), None),
        (ipv4(6, OUT, OUT, b"", options=-1), None),
        (b"", None),
        (b"\x75" + bytes(60), None),
    ],
)  # fmt: skip
def test_a_packet_tells_of_an_attempt_or_of_nothing(packet: bytes, seen: Seen | None) -> None:
    assert read_packet(packet) == seen


@given(st.binary(max_size=SNAP))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    for start in (b"", b"\x45", b"\x4f", b"\x60" + bytes(5) + b"\x3a", ipv4(1, IN, IN, b"\3")):
        read_packet(start + data)


def test_the_filter_for_as_many_ports_as_there_can_be_is_one_the_kernel_takes() -> None:
    code = packet_filter(range(1, PORTS_LIMIT + 2))
    assert len(code) % 8 == 0
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HL", len(code) // 8, ctypes.addressof(held))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER; checked as for any


def test_attempts_of_every_kind_are_seen_and_internal_traffic_is_not(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def datagram(address, port):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                try:
                    s.connect((address, port)); s.send(b"x"); s.settimeout(0.2); s.recv(1)
                except OSError as error:
                    return type(error).__name__
        # With itself: a listener on each, and a message.
        for family, here in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"),
                             (socket.AF_INET, "9.9.9.9"), (socket.AF_INET6, "2606:4700::9")):
            with socket.create_server(("", 8888), family=family) as server:
                with connect(here, 8888) as client:
                    server.accept()
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                if here in ("127.0.0.1", "::1"): s.bind((here, 8889)); datagram(here, 8889)
        began = time.monotonic()
        results = [
            outcome("93.184.216.34", 25, b"x"), outcome("2606:4700::34", 25, b"x"),
            outcome("127.0.0.1", 3306, b"x"), outcome("::1", 3306, b"x"),
            outcome("api.example.com", 8443, b"x"),
            datagram("93.184.216.34", 443), datagram("2606:4700::34", 443),
            datagram("127.0.0.1", 161), datagram("::1", 161),
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", ("224.0.0.251", 5353))
        raw, packet = socket.SOCK_RAW, socket.SOCK_DGRAM
        # What the kernel makes no socket for leaves nothing to see (docs/security.md).
        for kind, protocol in ((raw, 1), (packet, 1), (raw, 255)):
            try: socket.socket(socket.AF_INET, kind, protocol); results.append("open")
            except OSError as error: results.append(type(error).__name__)
        tell([results, time.monotonic() - began < 10])
    ''', allowlist("api.example.com"))
    tell([run.said, *([list(x) for x in run.told(what)] for what in (What.CONNECT, What.UDP))])
    """
    (results, is_fast), connects, datagrams = on_a_machine(code)
    refused = "ConnectionRefusedError"
    assert results[:9] == [refused] * 9
    assert results[9:] == ["PermissionError"] * 3
    assert is_fast
    assert connects == [
        *(["93.184.216.34", 25], ["2606:4700::34", 25], ["127.0.0.1", 3306], ["::1", 3306]),
        ["api.example.com", 8443],
    ]
    assert datagrams == [
        *(["93.184.216.34", 443], ["2606:4700::34", 443], ["127.0.0.1", 161], ["::1", 161]),
        ["224.0.0.251", 5353],
    ]


def test_what_a_server_says_to_itself_is_neither_seen_nor_missed(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        for family, here in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family, socket.SOCK_DGRAM) as taking:
                taking.bind((here, 8889))
                with socket.socket(family, socket.SOCK_DGRAM) as s:
                    for number in range(30000):
                        s.sendto(b"x", (here, 8889))
        tell("said")
    ''', Network())
    tell([run.said, [attempt.what.value for attempt in run.attempts]])
    """
    assert on_a_machine(code) == ["said", []]


def test_who_waits_for_no_answer_to_a_name_has_tried_nothing(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        name = bytes([3]) + b"api" + bytes([7]) + b"example" + bytes([3]) + b"com"
        question = bytes([0, 7, 1, 0, 0, 1, *bytes(6)]) + name + bytes([0, 0, 1, 0, 1])
        for number in range(200):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.sendto(question, ("127.0.0.1", 53))
        tell(socket.gethostbyname("api.example.com")[:6])
    ''', allowlist("api.example.com"))
    tell([run.said, [list(x) for x in run.told(What.UDP)]])
    """
    assert on_a_machine(code) == ["198.18", []]


def test_without_any_rule_names_and_addresses_are_seen_all_the_same(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        tell([outcome("telemetry.example.com", 443), outcome("93.184.216.34", 443)])
    ''', Network())
    tell([run.said, run.told(What.LOOKUP), run.told(What.CONNECT)])
    """
    said, lookups, connects = on_a_machine(code)
    assert said == ["gaierror", "ConnectionRefusedError"]
    assert lookups == [["telemetry.example.com", 0]]
    assert connects == [["93.184.216.34", 443]]


def test_a_flood_of_packets_is_few_lines_and_stops_nothing_else(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for number in range(60000):
            s.sendto(b"x", (f"9.9.{number % 200}.9", 1 + number % 60000))
        tell(outcome("api.example.com", 7, b"still there"))
    ''', allowlist("api.example.com:7"))
    datagrams = sum(a.times for a in run.attempts if a.what is What.UDP)
    lost = sum(a.times for a in run.attempts if a.what is What.LOST)
    tell([run.said, len(run.attempts), datagrams, lost])
    """
    said, lines, datagrams, lost = on_a_machine(code)
    assert said == "still there"
    assert lines < 1200
    assert datagrams >= 100  # how many are looked at in time depends on the machine
    # One is a question for a name. Fewer are told where a relay that lags is ended at last.
    assert datagrams + lost <= 60_000 - 1
    assert lost > 0 or datagrams == 60_000 - 1
