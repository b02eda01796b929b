"""Become a server whose child holds connections to a port of 127.0.0.1 and reads what comes.

    python3 reach.py PORT COUNT SERVER...

On each connection eight bytes say how many follow; when they are there, one byte goes back.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys


def main() -> None:
    """Leave the connections to a child."""
    port, count, *server = sys.argv[1:]
    if not os.fork():
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        hold(int(port), int(count))
        os._exit(0)
    os.execv(server[0], server)


def hold(port: int, count: int) -> None:
    """Read on all connections until every one of them is over."""
    left: dict[int, int] = {}  # bytes of the piece that has begun, by descriptor
    taken: dict[int, socket.socket] = {}
    ready = selectors.DefaultSelector()
    for _ in range(count):
        made = socket.create_connection(("127.0.0.1", port))
        taken[made.fileno()], left[made.fileno()] = made, 0
        ready.register(made, selectors.EVENT_READ)
    block = bytearray(1 << 18)
    while left:
        for key, _ in ready.select():
            connection = taken[key.fd]
            if left[key.fd]:
                left[key.fd] -= connection.recv_into(block, min(left[key.fd], len(block)))
                if not left[key.fd]:
                    connection.sendall(b"k")
            elif head := connection.recv(8, socket.MSG_WAITALL):
                left[key.fd] = int.from_bytes(head, "big")
            else:
                ready.unregister(connection)
                del left[key.fd]


if __name__ == "__main__":
    main()
