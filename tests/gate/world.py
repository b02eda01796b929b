"""A machine of a test's own, with an internet: a process moves into namespaces and stays there.

    on_a_machine(folder, {"api.example.com": ["93.184.216.34"]})
    run = in_a_jail(folder, ["/bin/sh", "-c", "..."], network)

The machine has the network `veth` to another namespace, in which `internet` serves, and its own
/etc/hosts. For an ordinary user all of it lies in a user namespace.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import select
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from gate import internet
from mcp_jail.core.policy import HostEntry, Network, NetworkMode, Tls, Verdict
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.gate.allow import compile_network
from mcp_jail.gate.attempts import Attempt, What, decode
from mcp_jail.gate.dns import Question, read_question
from mcp_jail.gate.netlink import _attribute, _talk, _tell
from mcp_jail.gate.process import Gate, Ready, start
from mcp_jail.proxy.gating import filters
from mcp_jail.sandbox import launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.enter import Namespace, inside
from mcp_jail.sandbox.probe import Host, probe

OWN: Final = "93.184.216.1"  # the machine's own address, a public one
OWN6: Final = "2606:4700::1"

_NEWNS, _NEWUSER, _NEWNET = 0x20000, 0x10000000, 0x40000000
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class Run(NamedTuple):
    """What a jailed program printed, and what the gate told of it."""

    output: str
    errors: str
    attempts: list[Attempt]
    ready: Ready

    @property
    def said(self) -> Any:
        """The value the program told."""
        assert self.output, self.errors
        return json.loads(self.output)

    def told(self, what: What, verdict: Verdict | None = None) -> list[tuple[str, int]]:
        """Hosts and ports of one kind of attempt."""
        return [
            (attempt.host, attempt.port)
            for attempt in self.attempts
            if attempt.what is what and verdict in {None, attempt.verdict}
        ]


def allowlist(*entries: str | HostEntry, tls: Tls | None = None, private: str = "deny") -> Network:
    return Network(mode=NetworkMode.ALLOWLIST, allow=entries, tls=tls, private=Verdict(private))


def on_a_machine(
    folder: str, hosts: Mapping[str, Iterable[str]], *, resolver: bool = False
) -> None:
    """Move this process into a machine of its own, connected to an internet of its own."""
    host_of(folder)
    _unshare(_NEWNET | _NEWNS)
    _check(_LIBC.mount(b"none", b"/", None, ctypes.c_ulong((1 << 14) | (1 << 18)), None))  # private
    lines = [f"{address} {name}" for name, addresses in hosts.items() for address in addresses]
    _put(folder, "/etc/hosts", "127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
    _put(folder, "/etc/nsswitch.conf", "hosts: files dns\n" if resolver else "hosts: files\n")
    _put(folder, "/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")
    make_certificate(folder)
    _link_up(1)
    reading, writing = os.pipe()
    moved, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_internet(folder, moved, writing)
    os.read(reading, 1)
    _make_veth(pid)
    _link_up(2)
    for address in (OWN, OWN6):
        _add_address(2, address)
        _add_default_route(2, address)
    _wait_for_local_route(OWN6)
    os.write(go, b"g")
    os.read(reading, 1)


def resolve(answer: Callable[[int], list[str]]) -> list[str]:
    """Be this machine's name server, in a thread.

    `answer` gives the addresses for the nth question for any; the names that were asked come back.
    """
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    asked: list[str] = []

    def serve() -> None:
        while True:
            data, sender = server.recvfrom(512)
            question = read_question(data)
            assert isinstance(question, Question)
            found = []
            if question.type == 1:
                found = answer(len(asked))
                asked.append(question.name)
            records = b"".join(
                b"\xc0\x0c\0\1\0\1" + bytes(4) + b"\0\4" + socket.inet_aton(address)
                for address in found
            )
            header = data[:2] + b"\x81\x80\0\1" + len(found).to_bytes(2, "big") + bytes(4)
            server.sendto(header + question.echo + records, sender)

    threading.Thread(target=serve, daemon=True).start()
    return asked


def in_a_jail(
    folder: str,
    command: list[str],
    network: Network,
    *,
    env: Mapping[str, str] | None = None,
    write: tuple[str, ...] = (),
    meanwhile: Callable[[Gate], None] | None = None,
) -> Run:
    """Run a program in a jail with a gate; the folder can be read by it."""
    gate = gate_for(network)
    shares = [Share(path=folder, access=Access.READ_ONLY, why="t")]
    shares += [Share(path=path, access=Access.READ_WRITE, why="t") for path in write]
    spec = JailSpec(
        name="t", command=tuple(command), cwd=None, shares=tuple(shares), env=dict(env or {})
    )
    jail = launch.launch(build(spec, host=host_of(folder)))
    gate.serve(jail.init_pid)
    jail.verify()
    ready = gate.ready()
    jail.go()
    if meanwhile is not None:
        threading.Thread(target=meanwhile, args=(gate,), daemon=True).start()
    texts = _read_all([jail.stdout, jail.stderr], gate.reports)
    gate.close()
    rest = _read_all([], gate.reports, to_end=True)
    os.close(gate.reports)
    jail.close()
    told = texts[gate.reports] + gate.unread + rest[gate.reports]
    lines = told.splitlines(keepends=True)
    return Run(
        texts[jail.stdout].decode(),
        texts[jail.stderr].decode(errors="replace"),
        [decode(line) for line in lines],
        ready,
    )


@functools.cache
def host_of(folder: str) -> Host:
    """This machine, with a home beside the folder.

    Asked once, before anything is moved into: in a user namespace what root owns seems nobody's.
    """
    home = f"{folder}-home"
    os.makedirs(home, exist_ok=True)
    return probe({"HOME": home})


def gate_for(network: Network) -> Gate:
    """A relay that waits for its jail."""
    return start(compile_network(network), enter, **filters(os.uname().machine))


def enter(pid: int, action: Callable[[], bytes]) -> bytes:
    return inside(pid, [Namespace.NETWORK], action)


def python_inside(
    folder: str,
    code: str,
    network: Network,
    *,
    given: Mapping[str, object] | None = None,
    **more: Any,
) -> Run:
    """Run lines of Python in a jail; `given` are values that they have by name."""
    values = "".join(f"{name} = {value!r}\n" for name, value in (given or {}).items())
    source = INSIDE + values + textwrap.dedent(code)
    return in_a_jail(
        folder, [os.path.realpath(sys.executable), "-I", "-c", source], network, **more
    )


# For jailed programs: the end of what is sent.
SAY_NO_MORE: Final = """
import socket
def say_no_more(s):
    try: s.shutdown(socket.SHUT_WR)
    except OSError: pass  # it was reset already, which whoever reads is told
"""

INSIDE: Final = f"""{SAY_NO_MORE}
import json, os, socket, ssl, struct, sys, time, threading
def tell(value): print(json.dumps(value), flush=True)
def connect(host, port, timeout=20):
    return socket.create_connection((host, port), timeout)
def outcome(host, port, send=b"", timeout=20):
    '''What comes of a connection: the bytes that were read, or the name of the error.'''
    try:
        with connect(host, port, timeout) as s:
            if send: s.sendall(send)
            say_no_more(s)
            data = b""
            while more := s.recv(65536): data += more
            return data.decode("latin-1")
    except OSError as error:
        return type(error).__name__
def trusting():
    return ssl.create_default_context(cafile=os.environ["CERT"]) if "CERT" in os.environ else None
"""


def make_certificate(folder: str) -> None:
    """A certificate for every name a test uses, by openssl(1)."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=test", "-keyout", f"{folder}/key.pem"),
            *("-out", f"{folder}/cert.pem", "-addext"),
            "subjectAltName=DNS:*.example.com,DNS:*.example,IP:93.184.216.34",
        ],
        check=True,
        capture_output=True,
    )


def _unshare(flags: int) -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _check(_LIBC.unshare(flags))
        return
    _check(_LIBC.unshare(flags | _NEWUSER))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _put(folder: str, place: str, text: str) -> None:
    """Bind a file of ours over one of the machine's."""
    source = os.path.join(folder, place.rpartition("/")[2])
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    target = os.path.realpath(place)
    _check(_LIBC.mount(source.encode(), target.encode(), None, ctypes.c_ulong(1 << 12), None))


def _be_the_internet(folder: str, moved: int, ready: int) -> None:
    try:
        _LIBC.prctl(1, ctypes.c_ulong(9), 0, 0, 0)
        _check(_LIBC.unshare(_NEWNET))
        os.write(ready, b"1")
        os.read(moved, 1)
        _link_up(1)
        _link_up(2)
        for address in internet.ADDRESSES:
            _add_address(2, address)
        for address in (OWN, OWN6):
            _add_default_route(2, internet.PUBLIC6 if ":" in address else internet.PUBLIC)
        for address in internet.ADDRESSES:
            internet.serve(address, folder)
            internet.serve_datagrams(address, os.path.join(folder, "datagrams"))
        os.write(ready, b"2")
        threading.Event().wait()
    finally:
        os._exit(1)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _link_up(index: int) -> None:
    with _talk() as channel:
        _tell(channel, 16, 0, struct.pack("=BBHiII", 0, 0, 0, index, 1, 1))


def _make_veth(pid: int) -> None:
    """Interface 2 here and interface 2 in another process's namespace, connected."""
    peer = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
    peer += _aligned(3, b"veth1\0") + _aligned(19, struct.pack("=I", pid))
    info = _aligned(1, b"veth\0") + _aligned(2, _aligned(1, peer))
    body = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0) + _aligned(3, b"veth0\0") + _aligned(18, info)
    with _talk() as channel:
        _tell(channel, 16, 0x400 | 0x200, body)


def _aligned(kind: int, value: bytes) -> bytes:
    attribute = _attribute(kind, value)
    return attribute + bytes(-len(attribute) % 4)


def _add_address(index: int, address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    body = struct.pack("=BBBBi", family, len(packed) * 8, 0x02, 0, index)  # 0x02: used at once
    with _talk() as channel:
        _tell(channel, 20, 0x400, body + _aligned(2, packed) + _aligned(1, packed))


def _wait_for_local_route(address: str) -> None:
    """Wait for what the kernel does later: an IPv6 address is its own once a work queue has run."""
    wanted = socket.inet_pton(socket.AF_INET6, address).hex()
    for _ in range(10_000):
        with open("/proc/net/ipv6_route", encoding="ascii") as table:
            if any(line.startswith(f"{wanted} 80") for line in table):
                return
        time.sleep(0.001)
    raise TimeoutError(f"{address} is not this machine's")


def _add_default_route(index: int, source: str) -> None:
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 254, 3, 253, 1, 0)  # scope link, unicast
    body += _aligned(4, struct.pack("=i", index))
    if family == socket.AF_INET:
        body += _aligned(7, socket.inet_pton(family, source))
    with _talk() as channel:
        _tell(channel, 24, 0x400, body)


def _read_all(ends: list[int], reports: int, *, to_end: bool = False) -> dict[int, bytes]:
    """What comes by some descriptors until they end, and by `reports` meanwhile."""
    texts = dict.fromkeys((*ends, reports), b"")
    open_ends = {*ends, reports} if to_end else set(ends)
    while open_ends:
        for fd in select.select([*open_ends, reports], [], [])[0]:
            data = os.read(fd, 65536)
            texts[fd] += data
            if not data:
                open_ends.discard(fd)
                if fd == reports and not to_end:
                    raise AssertionError(f"the relay has ended: {texts[reports].decode()}")
    return texts
