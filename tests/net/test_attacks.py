"""A server that wants out, against a policy that opens one host; it reads data or it has failed.

A connection may seem to open where nothing is led on: what counts is whether a byte comes back.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from gate.internet import METADATA, OTHER, PRIVATE, PUBLIC
from gate.world import OWN, OWN6, SAY_NO_MORE
from net.conftest import Jailed, Machine, Start
from net.machine import FLIPPING

NETWORK: Final = (
    "{mode: allowlist, allow: [api.example.com, 'api.example.com:80', 'api.example.com:7', "
    "'*.sub.example.com']}"
)

# Functions of the jailed Python; `got` is what was read, or the name of the error.
INSIDE: Final = f"""{SAY_NO_MORE}
import json, socket, ssl, struct, sys
def got(host, port, send=b"GET /who HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n", server_name=None):
    try:
        with socket.create_connection((host, port), 10) as raw:
            if server_name is not None:
                context = ssl.create_default_context()
                context.check_hostname = False
                name = server_name or None
                raw = context.wrap_socket(raw, server_hostname=name)
            raw.sendall(send)
            if server_name is None:
                say_no_more(raw)
            data = b"".join(iter(lambda: raw.recv(65536), b""))
            return data.decode("latin-1")
    except (OSError, UnicodeError, ValueError) as error:
        return type(error).__name__
def tell(value): print(json.dumps(value))
def address(name): return socket.getaddrinfo(name, None)[0][4][0]
"""
PROC: Final = Path("/proc")
# What `got` gives where nothing came through.
NOTHING: Final = {
    *("", "gaierror", "ConnectionResetError", "ConnectionRefusedError", "OSError", "SSLEOFError"),
    *("SSLError", "BrokenPipeError", "UnicodeError", "ValueError", "TimeoutError"),
}


def run(jail: Jailed, code: str, **given: object) -> Any:
    """What some lines tell, with values by name."""
    values = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    said = jail.python(INSIDE + values + code)
    assert said.startswith(("[", "{", '"')), said
    return json.loads(said)


PLACES: Final = [
    *((PUBLIC, port) for port in (80, 443, 7, 2222, 9001)),
    *((OTHER, port) for port in (80, 443, 7)),
    *((host, port) for host in (PRIVATE, METADATA, OWN, OWN6) for port in (80, 443, 7)),
    *(("127.0.0.1", port) for port in (80, 443, 7, 7777)),
    *(("::1", 7777), ("0.0.0.0", 7777), ("127.0.0.2", 80), ("localhost", 80)),
    # Addresses in other clothes.
    *(("0x7f000001", 80), ("2130706433", 80), ("127.1", 80), ("017700000001", 80)),
    *((f"::ffff:{host}", 80) for host in (METADATA, PUBLIC, "127.0.0.1")),
    *(("2852039166", 80), ("0xA9FEA9FE", 80), ("fd00:ec2::254", 80), ("100.100.100.200", 80)),
    *(("168.63.129.16", 80), ("2002:7f00:1::", 80), ("64:ff9b::7f00:1", 80)),
    *(("2001:0:53aa:64c:0:0:5db8:d822", 80), ("fe80::1%lo", 80), ("[::1]", 80)),
]


def test_no_address_answers_that_no_rule_names(jailed: Start) -> None:
    code = "tell([got(host, port) for host, port in PLACES])"
    with jailed(NETWORK) as jail:
        answers = run(jail, code, PLACES=PLACES)
        assert [p for p, said in zip(PLACES, answers, strict=True) if said not in NOTHING] == []
        names = {entry["name"] for entry in jail.tried() if entry["verdict"] == "deny"}
    assert {f"{PUBLIC}:443", f"{PRIVATE}:80", f"{METADATA}:80", f"{OTHER}:443"} <= names
    assert {f"{PUBLIC}:2222", "127.0.0.1:7777"} <= names


NAMES: Final = [
    *("evil.example.com", "sub.example.com", "example.com", "com", "api.example.com.evil.example"),
    *("evil-api.example.com", "xsub.example.com", "api.example.com@evil.example.com"),
    *("evil.example.com\0.sub.example.com", "evil.example.com%00.sub.example.com"),
    *("evil.example.com#.sub.example.com", "evil.example.com/.sub.example.com", "a b.sub.example"),
    *("evil.example.com\r\nx.sub.example.com", "xn--80ak6aa92e.com", "\u0430pi.example.com"),
    *("a" * 64 + ".sub.example.com", "a." * 125 + "sub.example.com", ".sub.example.com", ""),
    *("*.sub.example.com", "_x.sub.example.com", "-.sub.example.com", "api.example.com..", "1.2"),
]


def test_no_name_is_found_but_those_of_the_policy(jailed: Start, machine: Machine) -> None:
    before = machine.log("questions"), machine.log("datagrams")
    code = "tell([got(name, port) for name in NAMES for port in (443, 80)])"
    with jailed(NETWORK) as jail:
        answers = run(jail, code, NAMES=NAMES)
        assert set(answers) <= NOTHING
        # Case and a dot at the end are no other name.
        same = run(jail, 'tell([got(n, 7, b"x") for n in ("API.example.COM", "api.example.com.")])')
        assert same == ["x", "x"]
    # None of them was asked for outside.
    assert (machine.log("questions"), machine.log("datagrams")) == before


def test_a_rule_opens_its_port_and_no_other(jailed: Start) -> None:
    code = (
        'tell([got("api.example.com", port) for port in (22, 81, 2222, 6379, 8443, 9001, 65535)])'
    )
    with jailed(NETWORK) as jail:
        assert set(run(jail, code)) <= NOTHING
        denied = {entry["name"] for entry in jail.tried() if entry["verdict"] == "deny"}
    assert {"api.example.com:22", "api.example.com:2222", "api.example.com:65535"} <= denied


@pytest.mark.parametrize("name", ["inner", "meta", "own", "loop"])
def test_an_allowed_name_that_leads_inside_is_not_followed(jailed: Start, name: str) -> None:
    host = f"{name}.example.com"
    network = f"{{mode: allowlist, allow: [{host}, '{host}:80', '{host}:7']}}"
    code = """
who = b"GET /who HTTP/1.0\\r\\nHost: " + HOST.encode() + b"\\r\\n\\r\\n"
tell([got(HOST, 80, who), got(HOST, 443, who, HOST), got(HOST, 7)])
"""
    with jailed(network) as jail:
        assert set(run(jail, code, HOST=host)) <= NOTHING
        tried = jail.tried()
    refused = {entry["name"] for entry in tried if "leads where it may not" in entry["reason"]}
    assert refused == {f"{host}:{port}" for port in (80, 443, 7)}
    assert {entry["verdict"] for entry in tried} == {"deny"}


def test_private_addresses_are_reached_where_the_policy_says_so_and_nothing_else(
    jailed: Start,
) -> None:
    hosts = ["inner.example.com", "meta.example.com", "own.example.com", "loop.example.com"]
    allow = ", ".join(f"'{host}:7'" for host in hosts)
    with jailed(f"{{mode: allowlist, private: allow, allow: [{allow}]}}") as jail:
        inner, *others = run(jail, 'tell([got(host, 7, b"x") for host in HOSTS])', HOSTS=hosts)
        assert inner == "x"
        assert set(others) <= NOTHING


def test_a_name_that_leads_elsewhere_each_time_leads_only_outside(jailed: Start) -> None:
    code = (
        'tell([got(NAME, 80, b"GET /who HTTP/1.0\\r\\nHost: " + NAME.encode() + b"\\r\\n\\r\\n")'
        " for _ in range(15)])"
    )
    with jailed(f"{{mode: allowlist, allow: ['{FLIPPING}:80']}}") as jail:
        answers = run(jail, code, NAME=FLIPPING)
        tried = jail.tried()
    reached = [said for said in answers if said not in NOTHING]
    assert len(reached) == 3
    assert all(f'"at": "{PUBLIC}"' in said for said in reached)
    dialled = {e.get("detail", {}).get("address") for e in tried if e["method"] == "connect"} - {
        None
    }
    assert dialled == {PUBLIC}


def test_of_several_addresses_only_those_that_may_be_are_dialled(jailed: Start) -> None:
    with jailed("{mode: allowlist, allow: [mixed.example.com]}") as jail:
        said = jail.sh("curl -sS -m 20 https://mixed.example.com/who")
        assert json.loads(said)["at"] == PUBLIC


def test_a_redirect_leads_nowhere_else(jailed: Start) -> None:
    places = [f"http://{METADATA}/who", f"http://{OTHER}/who", "https://evil.example.com/who"]
    places += ["http://127.0.0.1/who", f"http://[{OWN6}]/who", "http://api.example.com:9001/who"]
    with jailed(NETWORK) as jail:
        for place in places:
            said = jail.sh(f"curl -sSL -m 20 'https://api.example.com/to?{place}'")
            assert said.startswith("curl: ("), place
        good = jail.sh("curl -sSL -m 20 'https://api.example.com/to?http://api.example.com/who'")
        assert json.loads(good)["port"] == 80


def test_tls_and_http_are_for_the_name_that_was_asked_for(jailed: Start) -> None:
    code = """
who = b"GET /who HTTP/1.0\\r\\nHost: %b\\r\\n\\r\\n"
api, evil = b"api.example.com", b"evil.example.com"
tell([
    got("api.example.com", 443, who % api, "api.example.com"),
    got("api.example.com", 443, who % evil, "evil.example.com"),  # CONNECT good, SNI evil
    got("api.example.com", 443, who % api, ""),                    # no SNI
    got("api.example.com", 443, b"SSH-2.0-x\\r\\n"),                # no TLS on 443
    got("api.example.com", 443, who % api),
    got("api.example.com", 80, who % evil),
    got("api.example.com", 80, b"GET http://evil.example.com/ HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"),
    got("api.example.com", 80, b"CONNECT evil.example.com:443 HTTP/1.1\\r\\n\\r\\n"),
    got("api.example.com", 80, b"GET / HTTP/1.1\\r\\nHost: " + api + b"\\r\\nHost: x\\r\\n\\r\\n"),
])
"""
    with jailed(NETWORK) as jail:
        good, *refused = run(jail, code)
        assert '"host": "api.example.com"' in good
        assert set(refused) <= NOTHING
        reasons = {e.get("reason", "") for e in jail.tried() if e["verdict"] == "deny"}
    assert {"asks for evil.example.com", "asks for no name"} <= reasons


def test_tls_any_leaves_the_name_to_the_program_but_not_the_place(jailed: Start) -> None:
    network = "{mode: allowlist, tls: any, allow: [api.example.com]}"
    code = """
who = b"GET /who HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n"
api, evil = "api.example.com", "evil.example.com"
tell([got(api, 443, who, evil), got(OTHER, 443, who, api)])
"""
    with jailed(network) as jail:
        fronted, elsewhere = run(jail, code, OTHER=OTHER)
        assert f'"at": "{PUBLIC}"' in fronted
        assert elsewhere in NOTHING


def test_a_second_request_stays_at_the_address_of_the_first(jailed: Start) -> None:
    code = """
ask = b"GET /who HTTP/1.1\\r\\nHost: %b\\r\\n\\r\\n"
last = b"GET /who HTTP/1.0\\r\\nHost: %b\\r\\n\\r\\n"
tell([got("api.example.com", 80, ask % b"api.example.com" + last % b"evil.example.com")])
"""
    with jailed(NETWORK) as jail:
        (said,) = run(jail, code)
        assert said.count(f'"at": "{PUBLIC}"') == 2
        assert OTHER not in said


def test_proxy_variables_change_nothing(jailed: Start) -> None:
    env = dict.fromkeys(("https_proxy", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:3128")
    with jailed(NETWORK, env=env) as jail:
        assert "Failed to connect" in jail.sh("curl -sS -m 20 https://api.example.com/who")
        good = jail.sh("curl -sS -m 20 --noproxy '*' https://api.example.com/who")
        assert json.loads(good)["at"] == PUBLIC


PACKETS: Final = """
def tried(action):
    try:
        return str(action())
    except OSError as error:
        return type(error).__name__
def send(family, kind, protocol, place, data=b"CANARY-DATAGRAM"):
    with socket.socket(family, kind, protocol) as sock:
        sock.settimeout(0.2)
        sock.sendto(data, place)
        return sock.recv(100)
udp, raw, four, six = socket.SOCK_DGRAM, socket.SOCK_RAW, socket.AF_INET, socket.AF_INET6
ping = b"\\x08\\0\\xf7\\xff\\0\\0\\0\\0"
tell([tried(lambda: send(*what)) for what in (
    (four, udp, 0, (PUBLIC, 443)), (four, udp, 0, (PUBLIC, 9999)), (four, udp, 0, (METADATA, 80)),
    (six, udp, 0, (PUBLIC6, 443)), (four, udp, 0, (OWN, 5353)),
    (four, udp, 0, ("255.255.255.255", 67)), (four, udp, 0, ("224.0.0.251", 5353)),
    (four, udp, 1, (PUBLIC, 0), ping), (four, raw, 1, (PUBLIC, 0), ping),
    (four, socket.SOCK_SEQPACKET, 132, (PUBLIC, 7)),
)])
"""


@pytest.mark.parametrize("network", ["{mode: none}", NETWORK], ids=["none", "allowlist"])
def test_nothing_but_tcp_leaves_and_what_was_tried_is_seen(
    jailed: Start, machine: Machine, network: str
) -> None:
    before = machine.log("datagrams")
    given = {"PUBLIC": PUBLIC, "PUBLIC6": "2606:4700::34", "METADATA": METADATA, "OWN": OWN}
    with jailed(network) as jail:
        assert not [said for said in run(jail, PACKETS, **given) if said.startswith("b'")]
        said = jail.result(f"curl -sS -m 9 http://{PUBLIC}:8080/")
        assert said[0].startswith("curl: (7)")
        tried = jail.tried()
    assert machine.log("datagrams") == before
    seen = {(entry["method"], entry["name"]) for entry in tried}
    assert {("udp", f"{PUBLIC}:443"), ("udp", f"{METADATA}:80")} <= seen
    assert {("udp", "[2606:4700::34]:443"), ("connect", f"{PUBLIC}:8080")} <= seen
    assert {entry["verdict"] for entry in tried} == {"deny"}


def test_a_hard_coded_name_server_knows_the_policy_and_no_more(
    jailed: Start, machine: Machine
) -> None:
    before = machine.log("questions"), machine.log("datagrams")
    code = """
def asked(name, server):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    question = b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + labels + b"\\0\\0\\1\\0\\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(10)
        udp.sendto(question, (server, 53))
        data, sender = udp.recvfrom(512)
    assert sender == (server, 53)
    return [data[3] & 15, socket.inet_ntoa(data[-4:]) if data[7] else ""]
tell([asked(name, SERVER) for name in ("api.example.com", "canary.attacker.example")])
"""
    with jailed(NETWORK) as jail:
        good, other = run(jail, code, SERVER=PUBLIC)
        assert good == [0, "198.18.0.1"]
        assert other == [3, ""]
        assert "canary.attacker.example" in {entry["name"] for entry in jail.tried()}
    assert (machine.log("questions"), machine.log("datagrams")) == before


LISTEN: Final = """
listening = socket.create_server(("0.0.0.0", 7777))
listening.settimeout(2)
try:
    listening.accept()
    tell("somebody came")
except TimeoutError:
    tell("nobody came")
"""


def test_what_a_jail_listens_on_is_reached_by_nobody_outside(jailed: Start) -> None:
    with jailed("{mode: none}") as jail, Knocking(7777) as answered:
        assert run(jail, LISTEN) == "nobody came"
    assert answered == []


def test_the_gate_listens_inside_and_nowhere_else(jailed: Start, machine: Machine) -> None:
    def heard() -> set[str]:
        return {
            f"{table} {line.split()[1]}"
            for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet")
            for line in (PROC / str(machine.pid) / "net" / table).read_text().splitlines()[1:]
            if table not in {"tcp", "tcp6"} or line.split()[3] == "0A"
        }

    before = heard()
    with jailed(NETWORK) as jail:
        assert heard() == before
        inside = jail.sh("grep -c ' 0A ' /proc/net/tcp")
        assert int(inside) >= 3


def test_the_first_thing_a_server_does_may_be_a_request(jailed: Start) -> None:
    for _ in range(10):
        with jailed(NETWORK, env={"FIRST": "curl -sS https://api.example.com/who"}) as jail:
            assert json.loads(jail.sh('echo "$SAID"'))["host"] == "api.example.com"


class Knocking:
    """Somebody on this machine who tries a port until the end; gives those that answered."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_over = threading.Event()
        self._answered: list[int] = []
        self._thread = threading.Thread(target=self._knock, daemon=True)

    def __enter__(self) -> list[int]:
        self._thread.start()
        return self._answered

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _knock(self) -> None:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                self._answered.append(self._port)
            if self._is_over.wait(0.05):
                return
