"""A connection to the first of some addresses that takes it (RFC 8305, the part after resolving).

Only addresses that were judged come here, and no name: nothing is looked up a second time.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterable
from itertools import chain, zip_longest
from typing import Final

from mcp_jail.gate.loop import WRITE, Loop, Timer
from mcp_jail.gate.stream import close_socket

HEAD_START: Final = 0.25  # seconds before the next address is tried beside this one (RFC 8305, 5)
DEADLINE: Final = 30.0  # seconds for all of them

# Where it went, and the socket; or no socket and why.
Dialled = Callable[[str, socket.socket | None, str], None]


class Dial:
    """One connection being made. `done` is called once, unless `close` comes first."""

    def __init__(self, loop: Loop, addresses: Iterable[str], port: int, done: Dialled) -> None:
        self._loop = loop
        self._left = in_turns(addresses)
        self._port = port
        self._done: Dialled | None = done
        self._tried: dict[int, tuple[socket.socket, str]] = {}
        self._why = "no address"
        self._timers = [loop.after(DEADLINE, self._give_up)]
        self._next_timer: Timer | None = None
        loop.soon(self._next)  # so that `done` is never called from in here

    def close(self) -> None:
        """Stop; nothing is called any more."""
        self._done = None
        for timer in self._timers:
            timer.cancel()
        if self._next_timer is not None:
            self._next_timer.cancel()
        for fd, (tried, _) in self._tried.items():
            self._loop.forget(fd)
            close_socket(tried, reset=True)
        self._tried.clear()

    def _next(self) -> None:
        """Try the next address; with none left and none under way it has failed."""
        if self._next_timer is not None:
            self._next_timer.cancel()
        while self._done is not None and self._left:
            address = self._left.pop(0)
            if self._try(address):
                self._next_timer = self._loop.after(HEAD_START, self._next)
                return
        if self._done is not None and not self._tried:
            self._finish("", None)

    def _try(self, address: str) -> bool:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = None
        try:
            made = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            number = made.connect_ex((address, self._port))
        except OSError as error:
            number = error.errno or errno.EIO
        if made is None or number not in {0, errno.EINPROGRESS}:
            self._why = f"{address}: {os.strerror(number)}"
            if made is not None:
                made.close()
            return False
        fd = made.fileno()
        self._tried[fd] = (made, address)
        self._loop.watch(fd, WRITE, lambda _events: self._heard(fd))
        return True

    def _heard(self, fd: int) -> None:
        made, address = self._tried.pop(fd)
        self._loop.forget(fd)
        number = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not number:
            self._finish(address, made)
            return
        made.close()
        self._why = f"{address}: {os.strerror(number)}"
        self._next()

    def _give_up(self) -> None:
        if self._tried:
            self._why = f"{next(iter(self._tried.values()))[1]}: {os.strerror(errno.ETIMEDOUT)}"
        self._finish("", None)

    def _finish(self, address: str, made: socket.socket | None) -> None:
        done = self._done
        self.close()
        if done is not None:
            done(address, made, "" if made is not None else self._why)


def in_turns(addresses: Iterable[str]) -> list[str]:
    """The families one after the other, beginning with the resolver's first choice."""
    found = list(addresses)
    is_first = ":" in found[0] if found else False
    first = [address for address in found if (":" in address) == is_first]
    second = [address for address in found if (":" in address) != is_first]
    pairs = chain.from_iterable(zip_longest(first, second))
    return [address for address in pairs if address is not None]
