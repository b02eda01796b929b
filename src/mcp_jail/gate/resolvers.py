"""Names to real addresses: getaddrinfo(3), which blocks, in a few processes that do nothing else.

Forked when they are needed, from the relay when it has closed itself in. One that takes too long
is killed, which no thread can be. A name that is being asked for is not asked for twice.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from mcp_jail.gate.loop import READ, Loop

PROCESSES: Final = 4
WAITING_LIMIT: Final = 256  # different names that wait for a process
DEADLINE: Final = 15.0  # seconds for one name; resolv.conf's own limits make it 10
IDLE: Final = 60.0  # seconds after which a process without work ends
ADDRESSES_LIMIT: Final = 16  # of one name; more are not tried

_MESSAGE_LIMIT: Final = 4096  # bytes of a request or an answer


class Resolved(msgspec.Struct, frozen=True):
    """The addresses of a name, in the order to try; or why there are none."""

    addresses: tuple[str, ...] = ()
    error: str = ""


Answer = Callable[[Resolved], None]

_NO_ANSWER: Final = f"no answer from this machine's resolver within {DEADLINE:.0f} seconds"


class Resolvers:
    """Processes that resolve names."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._wanted: dict[str, list[Answer]] = {}
        self._queue: deque[str] = deque()
        self._all: set[_Process] = set()
        self._free: list[_Process] = []

    def ask(self, name: str, answer: Answer) -> None:
        """Have a canonical name resolved; `answer` is called later, in any case."""
        if name in self._wanted:
            self._wanted[name].append(answer)
            return
        if len(self._queue) >= WAITING_LIMIT:
            self._loop.soon(lambda: answer(Resolved(error="too many names are being resolved")))
            return
        self._wanted[name] = [answer]
        self._queue.append(name)
        self._next()

    def close(self) -> None:
        """End the processes; names that are being resolved are answered by an error."""
        self._queue.clear()
        for process in list(self._all):
            process.end()

    def _next(self) -> None:
        while self._queue and (self._free or len(self._all) < PROCESSES):
            process = self._free.pop() if self._free else self._start()
            if process is None:
                return
            process.ask(self._queue.popleft())

    def _start(self) -> _Process | None:
        try:
            process = _Process(self._loop, self._heard)
        except OSError:
            if not self._all:  # none that could be waited for
                name = self._queue.popleft()
                self._tell(name, Resolved(error="no process to resolve names with"))
            return None
        self._all.add(process)
        return process

    def _heard(self, process: _Process, name: str | None, resolved: Resolved | None) -> None:
        """A process is done with a name, or, where there is no answer, has ended."""
        if resolved is None:
            self._all.discard(process)
            if process in self._free:
                self._free.remove(process)
        else:
            self._free.append(process)
        if name is not None:
            self._tell(name, resolved or Resolved(error=_NO_ANSWER))
        self._next()

    def _tell(self, name: str, resolved: Resolved) -> None:
        for answer in self._wanted.pop(name, ()):
            answer(resolved)


class _Process:
    """One process, and the name it works on."""

    def __init__(
        self, loop: Loop, heard: Callable[[_Process, str | None, Resolved | None], None]
    ) -> None:
        self._loop = loop
        self._heard = heard
        self._name: str | None = None
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._pid = os.fork()
        except OSError:
            self._channel.close()
            theirs.close()
            raise
        if not self._pid:
            _resolve_names(theirs)
        theirs.close()
        self._channel.settimeout(0)
        loop.watch(self._channel.fileno(), READ, self._read)
        self._timer = loop.after(IDLE, self.end)

    def ask(self, name: str) -> None:
        self._name = name
        self._wait(DEADLINE)
        with contextlib.suppress(OSError):  # one that ended meanwhile is heard of by its end
            self._channel.send(name.encode())

    def end(self) -> None:
        """Kill it; where it worked on a name, that has no answer."""
        self._timer.cancel()
        self._loop.forget(self._channel.fileno())
        self._channel.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._heard(self, self._name, None)

    def _read(self, _events: int) -> None:
        try:
            data = self._channel.recv(_MESSAGE_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        name, self._name = self._name, None
        if not data or name is None:
            self._name = name
            self.end()
            return
        self._wait(IDLE)
        self._heard(self, name, msgspec.json.decode(data, type=Resolved))

    def _wait(self, seconds: float) -> None:
        self._timer.cancel()
        self._timer = self._loop.after(seconds, self.end)


def _resolve_names(channel: socket.socket) -> NoReturn:
    """A process's life: a name in, its addresses out, until the relay is gone."""
    try:
        fd = channel.fileno()
        os.closerange(3, fd)
        os.closerange(fd + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        while name := channel.recv(_MESSAGE_LIMIT):
            channel.send(msgspec.json.encode(_resolve(name)))
    finally:
        os._exit(0)


def _resolve(name: bytes) -> Resolved:
    """As every program on this machine resolves it: /etc/hosts, search domains and all."""
    try:
        # Bytes, since a text would be led through Python's own codec for international names.
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return Resolved(error=str(error.strerror))
    except (OSError, UnicodeError) as error:
        return Resolved(error=str(error))
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return Resolved(addresses=tuple(addresses)[:ADDRESSES_LIMIT])
