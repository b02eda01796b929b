"""Servers on addresses of the whole world, in a network namespace of their own."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import socket
import socketserver
import ssl
import threading
from typing import Any, Final

PUBLIC: Final = "93.184.216.34"
OTHER: Final = "93.184.216.35"
PUBLIC6: Final = "2606:4700::34"
PRIVATE: Final = "10.9.0.5"
METADATA: Final = "169.254.169.254"
ADDRESSES: Final = (PUBLIC, OTHER, PUBLIC6, PRIVATE, METADATA)

# Ports, each with a server that does one thing.
ECHO: Final = 7  # sends back what it gets, and ends when the other side does
BANNER: Final = 2222  # speaks first
COUNT: Final = 9000  # says how many bytes it got, when the other side is done
SOURCE: Final = 9001  # sends as many bytes as the first line says
SILENT: Final = 9002  # takes connections and says nothing
RESET: Final = 9003  # resets at the first byte


class Pages(http.server.SimpleHTTPRequestHandler):
    """Files of a directory; `/who` says who asked for what."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path != "/who":
            super().do_GET()
            return
        local = self.connection.getsockname()
        body = json.dumps({"host": self.headers["Host"], "at": local[0], "port": local[1]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_arguments: Any) -> None:  # noqa: A002
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def server_bind(self) -> None:  # without asking for its own name
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class Server6(Server):
    address_family: int = socket.AF_INET6


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Banner(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"220 hello\r\n")
        self.request.sendall(b"you said " + self.request.recv(100))


class Count(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        count, buffer = 0, bytearray(1 << 20)
        while more := self.request.recv_into(buffer):
            count += more
        self.request.sendall(b"%d" % count)


class Source(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        left, block = int(self.request.recv(100)), bytes(1 << 20)
        while left > 0:
            left -= self.request.send(block[:left])


class Silent(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(1)


class Reset(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.request.close()


PLAIN: Final = {
    ECHO: Echo, BANNER: Banner, COUNT: Count, SOURCE: Source, SILENT: Silent, RESET: Reset,
}  # fmt: skip


def serve(address: str, folder: str) -> None:
    """Start every server on one address, each with a thread."""
    pages = functools.partial(Pages, directory=folder)
    kind = Server6 if ":" in address else Server
    servers: list[socketserver.BaseServer] = [kind((address, 80), pages)]
    secure = kind((address, 443), pages)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
    secure.socket = context.wrap_socket(
        secure.socket, server_side=True, do_handshake_on_connect=False
    )
    servers.append(secure)
    servers += [kind((address, port), handler) for port, handler in PLAIN.items()]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_datagrams(address: str, log: str) -> None:
    """Write down every datagram that gets here."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 53))

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                data = sock.recv(65536)
                with open(log, "ab") as file:
                    file.write(data + b"\n")

    threading.Thread(target=listen, daemon=True).start()
