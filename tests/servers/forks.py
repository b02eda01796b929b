"""A server that leaves processes behind: with each call, a grandchild in a session of its own.

    python3 -I -S forks.py FILE           the grandchild lets go of every stream
    python3 -I -S forks.py FILE keep      it keeps them all open, so that no pipe ever ends

The grandchild ignores signals it can ignore and holds an exclusive `flock` on FILE: who gets that
lock knows that it is gone. Its pid, as the server sees it, stands in FILE. The call is answered
only once the lock is held. It gives itself up after two minutes, so that a failed test leaves
nothing behind.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import echo


def leave_behind(path: str, *, keep: bool) -> None:
    """Fork twice; the grandchild stays, and has the lock when this returns."""
    ready, done = os.pipe()
    if os.fork() != 0:
        os.close(done)
        os.read(ready, 1)
        os.close(ready)
        os.wait()
        return
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.alarm(120)
    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.write(held, str(os.getpid()).encode())
    os.write(done, b"!")
    os.close(done)
    if not keep:
        for stream in range(3):
            os.close(stream)
    while True:
        signal.pause()


def main() -> None:
    """Serve; leave a process behind with the first call."""
    server = echo.Server()
    left = False
    for request in echo.requests():
        if request["method"] == "tools/call" and not left:
            leave_behind(sys.argv[1], keep=sys.argv[2:] == ["keep"])
            left = True
        echo.send(server.answer(request))


if __name__ == "__main__":
    main()
