"""The machine that `mcp-jail run` is started on, as a program: it lives until its stdin ends.

    python3 machine.py FOLDER

It is the one of `gate.world`, with an internet that has a few servers more, and with a name server
of its own. FOLDER holds the certificate, what the web servers give (`/to?URL` redirects there), and
two logs: `datagrams` that got to the internet, and `questions` that got to the name server.
"""

from __future__ import annotations

import itertools
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

from gate import internet, world
from gate.internet import METADATA, OTHER, PRIVATE, PUBLIC
from gate.world import OWN
from mcp_jail.gate.dns import Question, read_question

HOSTS: Final = {
    "api.example.com": [PUBLIC],
    "files.example.com": [PUBLIC],
    "other.example.com": [OTHER],
    "evil.example.com": [OTHER],
    "inner.example.com": [PRIVATE],
    "meta.example.com": [METADATA],
    "own.example.com": [OWN],
    "loop.example.com": ["127.0.0.1"],
    "mixed.example.com": ["127.0.0.1", METADATA, PUBLIC],
}
# A name that leads elsewhere each time it is asked for.
FLIPPING: Final = "flip.example.com"
FLIPS: Final = (PUBLIC, "127.0.0.1", PRIVATE, METADATA, OWN)

REDIS: Final = 6379
POSTGRES: Final = 5432
PROXY: Final = 3129
PROXY_LOGIN: Final = "bWU6czNjcmV0IHDDpHNz"  # me:s3cret päss
PROXY_NAMES: Final = {
    "far.example.com": PUBLIC,  # which nobody else knows
    "api.example.com": OTHER,  # elsewhere than this machine knows it
    "meta.example.com": METADATA,
    PUBLIC: PUBLIC,
}
HELLO: Final = 9444  # writes down the first bytes it gets, as `hello` in the folder


class Pages(internet.Pages):
    """Files of a directory, and redirections; who asked for what is written down."""

    def do_GET(self) -> None:  # noqa: N802  # the name http.server calls
        self._note()
        if not self.path.startswith("/to?"):
            super().do_GET()
            return
        self.send_response(302)
        self.send_header("Location", self.path.removeprefix("/to?"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:  # noqa: N802
        self._note()
        self.send_error(405)

    def _note(self) -> None:
        login = self.headers["Authorization"] or "-"
        with open(os.path.join(sys.argv[1], "requests"), "a", encoding="utf-8") as file:
            file.write(f"{self.headers['Host']} {self.path} {login}\n")


class Redis(socketserver.BaseRequestHandler):
    """Answers a ping (RESP)."""

    def handle(self) -> None:
        while b"ping" in self.request.recv(1000).lower():
            self.request.sendall(b"+PONG\r\n")


class Postgres(socketserver.BaseRequestHandler):
    """Speaks version 3 of the protocol far enough for one query; each row is `reached`."""

    def handle(self) -> None:
        while True:
            (size,) = struct.unpack(">I", self.request.recv(4))
            if self.request.recv(size - 4)[:4] == struct.pack(">I", 0x30000):
                break
            self.request.sendall(b"N")  # no TLS, no GSS
        self.request.sendall(_message(b"R", bytes(4)) + _message(b"Z", b"I"))
        self.request.recv(1000)
        column = b"c\0" + struct.pack(">IHIHiH", 0, 0, 25, 0xFFFF, -1, 0)
        self.request.sendall(
            _message(b"T", b"\0\1" + column)
            + _message(b"D", b"\0\1" + struct.pack(">I", 7) + b"reached")
            + _message(b"C", b"SELECT 1\0")
            + _message(b"Z", b"I")
        )
        self.request.recv(1000)


class Proxy(socketserver.BaseRequestHandler):
    """An HTTP proxy for whoever says the password, with names of its own; `proxied` is its log."""

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head and (more := self.request.recv(1)):
            head += more
        with open(os.path.join(sys.argv[1], "proxied"), "ab") as file:
            file.write(head)
        place = head.split()[1].decode()
        host, _, port = place.rpartition(":")
        if f"Proxy-Authorization: Basic {PROXY_LOGIN}\r\n".encode() not in head:
            self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        if host not in PROXY_NAMES:
            self.request.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection((PROXY_NAMES[host], int(port))) as outer:
            # In one piece with what a server says first.
            first = outer.recv(100) if int(port) == internet.BANNER else b""
            self.request.sendall(b"HTTP/1.1 200 OK\r\nX-Proxy: 1\r\n\r\n" + first)
            back = threading.Thread(target=_carry, args=(outer, self.request))
            back.start()
            _carry(self.request, outer)
            back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


class Hello(socketserver.BaseRequestHandler):
    """Takes the first bytes and says nothing."""

    def handle(self) -> None:
        with open(os.path.join(sys.argv[1], "hello"), "ab") as file:
            file.write(self.request.recv(1 << 16))


def main() -> None:
    """Be the machine."""
    folder = sys.argv[1]
    internet.Pages = Pages  # type: ignore[misc]
    world.make_certificate = make_certificate
    internet.PLAIN.update({REDIS: Redis, POSTGRES: Postgres, HELLO: Hello, PROXY: Proxy})
    world.on_a_machine(folder, HOSTS, resolver=True)
    _answer_questions(os.path.join(folder, "questions"))
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    sys.stdin.read()


def make_certificate(folder: str) -> None:
    """A certificate for all names and the authority behind it, in one file; openssl(1).

    Some programs (those with rustls) take none that is its own authority.
    """
    new = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    authority, certificate = f"{folder}/authority.pem", f"{folder}/cert.pem"
    common = (*new, "-nodes", "-days", "2")
    made = ("-subj", "/CN=authority", "-keyout", f"{folder}/authority.key", "-out", authority)
    subprocess.run([*common, *made], check=True, capture_output=True)
    made = ("-subj", "/CN=test", "-keyout", f"{folder}/key.pem", "-out", certificate)
    signed = ("-CA", authority, "-CAkey", f"{folder}/authority.key")
    names = f"subjectAltName=DNS:*.example.com,DNS:*.sub.example.com,IP:{PUBLIC}"
    about = ("-addext", names, "-addext", "basicConstraints=critical,CA:FALSE")
    subprocess.run([*common, *made, *signed, *about], check=True, capture_output=True)
    with open(certificate, "ab") as whole, open(authority, "rb") as last:
        whole.write(last.read())


def _answer_questions(log: str) -> None:
    """Be the machine's name server, which knows one name and writes down every other."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    flips = itertools.cycle(FLIPS)

    def serve() -> None:
        while True:
            data, sender = server.recvfrom(512)
            question = read_question(data)
            assert isinstance(question, Question)
            records = b""
            if question.name != FLIPPING:
                with open(log, "a", encoding="ascii") as file:
                    file.write(f"{question.name}\n")
            elif question.type == 1:
                records = b"\xc0\x0c\0\1\0\1" + bytes(4) + b"\0\4" + socket.inet_aton(next(flips))
            header = data[:2] + b"\x81\x80\0\1" + bytes([0, bool(records)]) + bytes(4)
            server.sendto(header + question.echo + records, sender)

    threading.Thread(target=serve, daemon=True).start()


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


if __name__ == "__main__":
    main()
