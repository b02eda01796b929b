"""A door's socket is the one that was meant, or the jail is not started."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox import door, starter
from mcp_jail.sandbox.seccomp import ARCHES


@pytest.fixture
def port() -> int:
    """A port of this machine that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
        return number


@pytest.fixture
def channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_the_starter_hands_it_out_before_it_is_there(tmp_path: Path, port: int) -> None:
    place = tmp_path / "starter"
    place.write_bytes(starter.program(os.uname().machine, port))
    place.chmod(0o755)
    ours, theirs = socket.socketpair()
    with ours:
        line = f'exec "$@" {starter.DESCRIPTOR}<&{theirs.fileno()}'
        line += f" {theirs.fileno()}<&-" if theirs.fileno() != starter.DESCRIPTOR else ""
        process = subprocess.Popen(
            ["/bin/bash", "-c", line, "sh", str(place), "/bin/ls", "/proc/self/fd"],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        theirs.close()
        made = door.receive(ours.fileno(), port)
        with made, socket.create_connection(("127.0.0.1", port)) as client:
            inner, _ = made.accept()
            with inner:
                client.sendall(b"x")
                assert inner.recv(1) == b"x"
        assert ours.recv(1) == starter.HERE
        ours.sendall(b"g")
        output, _ = process.communicate(timeout=30)
    # The server has nothing of it; 3 is ls reading the directory.
    assert (process.returncode, output.split()) == (0, [b"0", b"1", b"2", b"3"])


def test_one_that_could_not_be_made_is_noticed(
    channel: tuple[socket.socket, socket.socket], port: int
) -> None:
    ours, theirs = channel
    with socket.create_server(("127.0.0.1", port)), socket.socket() as elsewhere:
        elsewhere.listen()  # as listen(2) does where bind(2) has failed
        socket.send_fds(theirs, [door.SOCKET], [elsewhere.fileno()])
        with pytest.raises(JailBuildError, match=f"listen on port {port}"):
            door.receive(ours.fileno(), port)
    with socket.socket() as idle:
        idle.bind(("127.0.0.1", port))
        socket.send_fds(theirs, [door.SOCKET], [idle.fileno()])
        with pytest.raises(JailBuildError, match=f"listen on port {port}"):
            door.receive(ours.fileno(), port)
    theirs.sendall(starter.HERE)
    with pytest.raises(JailBuildError, match="no socket"):
        door.receive(ours.fileno(), port)
    theirs.close()
    with pytest.raises(JailBuildError, match="no socket"):
        door.receive(ours.fileno(), port)


@pytest.mark.parametrize("arch", ARCHES)
def test_there_is_one_for_every_architecture_that_has_a_starter(arch: str) -> None:
    plain, with_door = starter.program(arch), starter.program(arch, 3128)
    assert with_door.endswith(plain[-64:])
    assert b"\x02\x00\x0c\x38\x7f\x00\x00\x01" in with_door
    # It begins behind the address.
    assert int.from_bytes(with_door[24:32], "little") == int.from_bytes(plain[24:32], "little") + 16
