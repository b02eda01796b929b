"""Bytes between two sockets: all of them, in order, each direction to its own end."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.stream import WIDE_PIPES, Pipes, Progress, Stream, close_socket

LARGE: Final = 3 << 20  # bytes; more than sockets and a pipe hold


class Ends:
    """A stream between a client and a server; both speak TCP on the loopback."""

    def __init__(self, first: bytes = b"", pipes: Pipes | None = None) -> None:
        self.client, inner = connected()
        self.server, outer = connected()
        self.pipes = pipes or Pipes()
        self.stream = Stream(inner, outer, self.pipes, first)

    def pass_on(self, source: socket.socket, sink: socket.socket, data: bytes) -> bytes:
        """Send data at one end, let the stream work, and read what arrives at the other."""
        arrived, left = b"", memoryview(data)
        while len(arrived) < len(data):
            with contextlib.suppress(BlockingIOError):
                if left:
                    left = left[source.send(left) :]
            assert self.stream.turn() in {Progress.WAITING, Progress.MORE}
            with contextlib.suppress(BlockingIOError):
                arrived += sink.recv(1 << 20)
        return arrived

    def close(self) -> None:
        for end in (self.client, self.server):
            end.close()
        self.stream.close(is_broken=False)
        self.pipes.close()


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection, none of which waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    for end in (one, other):
        end.settimeout(0)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one, other


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def read(end: socket.socket) -> bytes:
    """What comes next; empty at the end."""
    end.settimeout(10)
    return end.recv(1 << 20)


def turn(ends: Ends, wanted: Progress) -> None:
    """Have it work until it has got there: what was sent may still be on its way."""
    for _ in range(100_000):
        if ends.stream.turn() is wanted:
            return
    raise AssertionError(f"never {wanted}")


def test_large_data_arrives_as_it_was_sent_both_ways(ends: Ends) -> None:
    data = random.Random(1).randbytes(LARGE)
    assert ends.pass_on(ends.client, ends.server, data) == data
    assert ends.pass_on(ends.server, ends.client, data[::-1]) == data[::-1]
    assert (ends.stream.sent, ends.stream.received) == (LARGE, LARGE)


@given(st.lists(st.binary(min_size=1, max_size=5000), max_size=8), st.binary(max_size=20_000))
def test_what_was_read_already_goes_first(parts: list[bytes], first: bytes) -> None:
    ends = Ends(first)
    for part in parts:
        ends.client.send(part)
    ends.client.shutdown(socket.SHUT_WR)
    arrived = b""
    while ends.stream.turn() is Progress.WAITING:
        with contextlib.suppress(BlockingIOError):
            more = ends.server.recv(1 << 20)
            if not more:
                break
            arrived += more
    assert arrived == first + b"".join(parts)
    assert ends.stream.sent == len(arrived)
    ends.close()


def test_one_direction_ends_and_the_other_goes_on(ends: Ends) -> None:
    ends.client.send(b"question")
    ends.client.shutdown(socket.SHUT_WR)
    turn(ends, Progress.WAITING)
    assert read(ends.server) == b"question"
    while not ends.stream.is_half_closed:
        ends.stream.turn()
    assert read(ends.server) == b""
    ends.server.settimeout(0)
    ends.client.settimeout(0)
    assert ends.pass_on(ends.server, ends.client, bytes(LARGE)) == bytes(LARGE)
    ends.server.close()
    turn(ends, Progress.DONE)
    assert read(ends.client) == b""


def test_a_reader_that_stands_still_stops_the_writer_and_loses_nothing(ends: Ends) -> None:
    sent = 0
    block = random.Random(2).randbytes(1 << 16)
    for _ in range(5000):
        with contextlib.suppress(BlockingIOError):
            sent += ends.client.send(block[sent % len(block) :])
        ends.stream.turn()
    assert sent < 64 << 20  # it had to stop
    ends.client.shutdown(socket.SHUT_WR)
    arrived = 0
    while True:
        ends.stream.turn()
        try:
            data = ends.server.recv(1 << 20)
        except BlockingIOError:
            continue
        if not data:
            break
        start = arrived % len(block)
        assert data == (block * (len(data) // len(block) + 2))[start : start + len(data)]
        arrived += len(data)
    assert arrived == sent == ends.stream.sent


def test_a_client_that_is_gone_breaks_the_stream(ends: Ends) -> None:
    close_socket(ends.client, reset=True)
    turn(ends, Progress.BROKEN)
    ends.stream.close(is_broken=True)
    with pytest.raises(ConnectionResetError):
        read(ends.server)


def test_what_a_server_said_before_it_was_gone_is_still_read(ends: Ends) -> None:
    ends.server.send(b"last words")
    ends.client.send(b"x" * 100)
    turn(ends, Progress.WAITING)
    close_socket(ends.server, reset=True)  # with bytes unread, so it would be one anyway
    assert read(ends.client) == b"last words"
    turn(ends, Progress.BROKEN)


def test_a_cut_connection_is_no_end_of_file(ends: Ends) -> None:
    ends.stream.close(is_broken=True)
    for end in (ends.client, ends.server):
        with pytest.raises(ConnectionResetError):
            read(end)


def test_streams_that_wait_hold_no_pipe() -> None:
    pipes = Pipes()
    many = [Ends(pipes=pipes) for _ in range(20)]
    before = len(os.listdir("/proc/self/fd"))
    for ends in many:
        assert ends.pass_on(ends.client, ends.server, b"hello") == b"hello"
    assert len(os.listdir("/proc/self/fd")) - before <= 2 * WIDE_PIPES
    for ends in many:
        ends.close()


def test_a_pipe_that_holds_something_is_not_used_again() -> None:
    pipes = Pipes()
    first = pipes.take()
    os.write(first.into, b"of another connection")
    pipes.give(first, is_empty=False)
    second = pipes.take()
    with pytest.raises(BlockingIOError):
        os.read(second.out, 100)
    pipes.give(second, is_empty=True)
    assert pipes.take() == second
    pipes.give(second, is_empty=True)
    pipes.close()


def test_a_reset_is_sent_by_closing_without_lingering() -> None:
    one, other = connected()
    close_socket(one, reset=True)
    other.settimeout(10)
    with pytest.raises(ConnectionResetError):
        other.recv(1)
    other.close()
    assert struct.calcsize("ii") == 8
