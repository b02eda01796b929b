"""What the guard keeps and what the child gets are apart, and all of it is closed again."""

from __future__ import annotations

import os
import socket

from mcp_jail.sandbox.channels import Channels


def opened() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_the_ends_belong_together() -> None:
    channels = Channels()
    fds = channels.theirs(b"options", b"filter", b"starter", [b"one", b"two"])
    ours = channels.ours
    os.write(ours["stdin"], b"in")
    os.write(fds[1], b"out")
    os.write(fds[2], b"err")
    os.write(ours["block"], b"b")
    os.write(ours["go"], b"g")
    assert [os.read(fd, 9) for fd in (fds[0], ours["stdout"], ours["stderr"])] == [
        b"in", b"out", b"err",
    ]  # fmt: skip
    found = [os.read(fd, 9) for fd in fds[3:]]
    assert found == [b"options", b"filter", b"b", b"starter", b"g", b"one", b"two"]
    channels.close()


def test_the_guards_death_is_an_end_of_file_for_all_that_waits() -> None:
    channels = Channels()
    fds = [os.dup(fd) for fd in channels.theirs(b"", b"", b"", [])]  # as the child's own
    channels.close()
    assert [os.read(fds[5], 1), os.read(fds[7], 1)] == [b"", b""]
    for fd in fds:
        os.close(fd)


def test_everything_is_closed_and_nothing_of_ours_with_theirs() -> None:
    before = opened()
    channels = Channels()
    channels.theirs(b"", b"", b"", [b""])
    channels.close_theirs()
    assert opened() == before | {str(fd) for fd in channels.ours.values()}
    for fd in channels.ours.values():
        os.close(fd)
    assert opened() == before


def test_nothing_is_handed_on_by_an_exec() -> None:
    channels = Channels()
    fds = [*channels.theirs(b"", b"", b"", [b""]), *channels.ours.values()]
    assert not any(os.get_inheritable(fd) for fd in fds)
    with socket.socket(fileno=os.dup(channels.ours["go"])) as go:
        assert go.type == socket.SOCK_STREAM
    channels.close()
