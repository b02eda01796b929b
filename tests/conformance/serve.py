"""Starts the server that the conformance suites call, outside and inside of the jail.

    serve.py         one server on stdio
    serve.py SOCKET  a server for each connection to a socket of this path, until stdin closes

The second saves most of the time it takes to start so many.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable


def main() -> None:
    """Serve until the input closes."""
    gc.disable()  # a hundred are started, and the collector costs each a fifth of its start
    sys.path[0] = os.path.dirname(sys.path[0])  # what this file is a part of, without a PYTHONPATH
    from conformance.server import build

    server = build()
    if sys.argv[1:]:
        fork_for_each(sys.argv[1], server.run)
    else:
        server.run()


def fork_for_each(path: str, serve: Callable[[], None]) -> None:
    """Call `serve` in a fork for each connection, with that as its stdin and stdout."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    os.dup2(connection.fileno(), 0)
                    os.dup2(connection.fileno(), 1)
                    listener.close()
                    connection.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    serve()
                    os._exit(0)


if __name__ == "__main__":
    main()
