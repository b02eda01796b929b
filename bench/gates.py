"""What the gate costs: bytes through one connection, and messages while many connections run."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from figures import MIB, Figures, interleaved, orders, p50_us
from lanes import HERE, JAILED, Lane, Server, Workshop
from talk import Talk

MANY = 200
# What many connections carry: so much on each, so often; 64 MB/s together, as a few downloads do.
PIECE = 16 * 1024
EVERY = 0.05
# Seconds until connections that do not come are given up.
PATIENCE = 30.0


def throughput(workshop: Workshop, mib: int, rounds: int) -> Figures:
    """MB/s through one connection to a port of this machine, so many MiB at a time."""
    rates: dict[str, list[float]] = {}
    lanes = {lane.name: lane for lane in workshop.lanes if lane.name in {"direct", JAILED}}
    with _listening() as listener:
        server = _server(workshop, "echo-one-connection", listener, 1)
        for name in orders(lanes, rounds):
            with _reaching(workshop, lanes[name], server, listener, 1) as (_, taken):
                _send(taken[0], MIB)  # window and buffers grow
                before = time.perf_counter()
                _send(taken[0], mib * MIB)
                rate = mib * MIB / (time.perf_counter() - before) / 1e6
                rates.setdefault(name, []).append(rate)
    return {"one connection MB/s": {name: median(each) for name, each in rates.items()}}


def by_connections(workshop: Workshop, rounds: int) -> Figures:
    """A call while no connection runs and while many do; how many were open at once.

    Without is measured before and after.
    """
    alone: list[list[int]] = []
    with _listening() as listener:
        idle = _server(workshop, "echo-no-connection", listener, 0)
        busy = _server(workshop, "echo-many-connections", listener, MANY)
        with workshop.talking(workshop.lane, idle) as talk:
            alone += interleaved({"": talk}, rounds)[""]
            with (
                _reaching(workshop, workshop.lane, busy, listener, MANY) as (other, taken),
                _carrying(taken),
            ):
                among = interleaved({"": other}, rounds)[""]
            alone += interleaved({"": talk}, rounds)[""]
    return {
        "connections at once": {JAILED: float(len(taken))},
        "call p50 us by connections": {"0": p50_us(alone), f"{MANY:,}": p50_us(among)},
    }


def _server(workshop: Workshop, name: str, listener: socket.socket, count: int) -> Server:
    """The echo server beside a process that holds so many connections."""
    port = listener.getsockname()[1]
    echo = workshop.echo_server(name)
    reach = (os.path.realpath(sys.executable), "-I", "-S", str(HERE / "reach.py"))
    return echo._replace(
        words=(*reach, str(port), str(count), *echo.words),
        more=(f'network: {{mode: allowlist, allow: ["127.0.0.1:{port}"]}}',),
    )


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2 * MANY) as listener:
        listener.settimeout(PATIENCE)
        yield listener


@contextmanager
def _reaching(
    workshop: Workshop, lane: Lane, server: Server, listener: socket.socket, count: int
) -> Iterator[tuple[Talk, list[socket.socket]]]:
    """A talk with a server and all its connections."""
    taken: list[socket.socket] = []
    with workshop.talking(lane, server) as talk:
        try:
            talk.try_call()
            taken += (listener.accept()[0] for _ in range(count))
            yield talk, taken
        finally:
            for each in taken:
                each.close()


def _send(taken: socket.socket, size: int) -> None:
    """Send so many bytes and wait until they are there."""
    taken.sendall(size.to_bytes(8, "big"))
    block = bytes(min(size, MIB))
    for _ in range(size // len(block)):
        taken.sendall(block)
    if taken.recv(1) != b"k":
        raise RuntimeError("a connection broke")


class _Carrier:
    """A thread that has many connections carry something; it counts what arrived."""

    def __init__(self, taken: list[socket.socket]) -> None:
        self._taken = taken
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._carry)
        self.rounds = 0

    def start(self) -> None:
        """Begin, and wait until something has arrived on each."""
        self._thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self.rounds:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("nothing arrives by many connections")
            time.sleep(EVERY)

    def close(self) -> None:
        """End."""
        self._end.set()
        self._thread.join()

    def _carry(self) -> None:
        piece = PIECE.to_bytes(8, "big") + bytes(PIECE)
        while not self._end.wait(EVERY):
            for each in self._taken:
                each.sendall(piece)
            for each in self._taken:
                each.recv(1)
            self.rounds += 1


@contextmanager
def _carrying(taken: list[socket.socket]) -> Iterator[None]:
    """Many connections that carry something meanwhile; RuntimeError if they did not all along."""
    carrier = _Carrier(taken)
    carrier.start()
    before = carrier.rounds
    try:
        yield
    finally:
        carrier.close()
    if carrier.rounds == before:
        raise RuntimeError("nothing arrived by many connections")
