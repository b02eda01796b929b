"""Who may answer, by real processes; whole runs are in test_answering."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_jail.asks.lineage import Running, clients_of
from mcp_jail.asks.processes import process
from mcp_jail.asks.who import Peer, fault_of, peer_of

PRINTS_ITS_CHILD = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
child.communicate()
"""


@contextmanager
def child_of(*parents: str) -> Iterator[tuple[int, int]]:
    """A process below a client that leads its session; their numbers."""
    words = [sys.executable, "-I", "-c", PRINTS_ITS_CHILD, *parents, "cat"]
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as client:
        assert client.stdout is not None
        yield client.pid, int(client.stdout.readline())
        client.communicate()


def test_a_client_that_leads_its_session_is_the_last_of_its_tree() -> None:
    with child_of() as (client, guard):
        assert [mark.pid for mark in clients_of(guard)] == [client]


def test_what_starts_the_guard_for_the_client_does_not_hide_the_client() -> None:
    with child_of("env", "sh", "-c", "cat; true") as (client, shell):
        assert client in [mark.pid for mark in clients_of(shell)]


def test_a_shell_that_leads_a_session_is_a_persons() -> None:
    script = f"{sys.executable} -I -c 'import sys; sys.stdin.read()' & echo $!; cat; wait"
    with subprocess.Popen(
        ["bash", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as shell:
        assert shell.stdout is not None
        assert clients_of(int(shell.stdout.readline())) == ()
        shell.communicate()


def test_a_process_below_a_client_and_the_client_itself_may_not_answer() -> None:
    me = process(os.getpid())
    assert me is not None
    with child_of() as (_, below):
        fault = fault_of(
            Peer(below, os.geteuid(), os.pidfd_open(below)), Running((), frozenset({me.mark}))
        )
        assert fault == "a process that an MCP client started"


def test_another_user_may_not_answer() -> None:
    peer = Peer(os.getpid(), os.geteuid() + 1, os.pidfd_open(os.getpid()))
    assert fault_of(peer, Running((), frozenset())) == "another user"


def test_a_process_that_has_ended_may_not_answer_whoever_has_its_number_now() -> None:
    child = subprocess.Popen(["true"])
    pidfd = os.pidfd_open(child.pid)
    child.wait()
    peer = Peer(os.getpid(), os.geteuid(), pidfd)
    assert fault_of(peer, Running((), frozenset())) == "a process that has ended"


def test_a_peer_is_who_connected() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        peer = peer_of(ours)
        assert peer is not None
        assert (peer.pid, peer.uid) == (os.getpid(), os.geteuid())
        assert not os.get_inheritable(peer.pidfd)
        os.close(peer.pidfd)
