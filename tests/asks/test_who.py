"""Who may answer, by real processes; whole runs are in test_answering."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver import wait_until
from mcp_jail.asks.lineage import Guard, Running, clients_of
from mcp_jail.asks.processes import Mark, process
from mcp_jail.asks.who import Peer, fault_of, fault_of_service, peer_of
from persons import DESKTOP

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


def test_what_leads_a_session_does_not_hide_what_started_it() -> None:
    with child_of() as (client, guard):
        assert [mark.pid for mark in clients_of(guard)][:2] == [client, os.getpid()]


def test_the_tree_of_a_client_ends_below_the_desktop() -> None:
    with child_of(*DESKTOP, "env", "sh", "-c", "cat; true") as (_, desktop):
        wait_until(lambda: len(below(desktop)) == 2)
        shell, cat = below(desktop)
        assert [mark.pid for mark in clients_of(cat)] == [shell]


def test_what_starts_the_guard_for_the_client_does_not_hide_the_client() -> None:
    with child_of("env", "sh", "-c", "cat; true") as (client, shell):
        assert client in [mark.pid for mark in clients_of(shell)]


def below(parent: int) -> list[int]:
    """The children of a process, and theirs."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [pid for each in children for pid in (int(each), *below(int(each)))]


def test_a_script_that_leads_a_session_is_no_persons_shell() -> None:
    script = f"{sys.executable} -I -c 'import sys; sys.stdin.read()' & echo $!; cat; wait"
    with subprocess.Popen(
        ["bash", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as shell:
        assert shell.stdout is not None
        guard = int(shell.stdout.readline())
        assert [mark.pid for mark in clients_of(guard)][:2] == [shell.pid, os.getpid()]
        shell.communicate()


def clients_are(*clients: Mark) -> Running:
    """What runs where these have started a guard, which is this process."""
    since = min(each.started for each in clients)
    return Running((Guard(os.getpid(), frozenset(clients), since),))


def mark_of(pid: int) -> Mark:
    found = process(pid)
    assert found is not None
    return found.mark


@contextmanager
def left_alone(*words: str) -> Iterator[int]:
    """A process that a window manager has started, or a client: its parent is gone."""
    words = ("setsid", "--fork", "sh", "-c", 'echo $$; exec "$@"', "sh", *words)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.wait()
        yield pid
        starter.communicate()


def test_a_service_that_ran_before_every_client_was_left_alone_by_none_of_them() -> None:
    with left_alone("cat") as service:
        wait_for_the_next_tick(service)
        with child_of() as (client, _):
            assert fault_of_service(service, clients_are(mark_of(client))) is None


def test_one_that_began_later_may_have_been_whatever_it_calls_itself(tmp_path: Path) -> None:
    named = tmp_path / "foot"
    shutil.copy("/bin/cat", named)
    with child_of() as (client, _), left_alone(str(named)) as service:
        fault = fault_of_service(service, clients_are(mark_of(client)))
    assert fault == "a process that whoever started it has left alone"


def wait_for_the_next_tick(pid: int) -> None:
    """Wait until what begins now began later than a process, as the kernel counts."""

    def is_over() -> bool:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            later = mark_of(child.pid).started
            child.communicate()
        return later > mark_of(pid).started

    wait_until(is_over)


def test_a_process_below_a_client_and_the_client_itself_may_not_answer() -> None:
    me = process(os.getpid())
    assert me is not None
    with child_of() as (_, below):
        fault = fault_of(Peer(below, os.geteuid(), os.pidfd_open(below)), clients_are(me.mark))
        assert fault == "a process that an MCP client started"


def test_another_user_may_not_answer() -> None:
    peer = Peer(os.getpid(), os.geteuid() + 1, os.pidfd_open(os.getpid()))
    assert fault_of(peer, Running()) == "another user"


def test_a_process_that_has_ended_may_not_answer_whoever_has_its_number_now() -> None:
    child = subprocess.Popen(["true"])
    pidfd = os.pidfd_open(child.pid)
    child.wait()
    peer = Peer(os.getpid(), os.geteuid(), pidfd)
    assert fault_of(peer, Running()) == "a process that has ended"


def test_a_peer_is_who_connected() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        peer = peer_of(ours)
        assert peer is not None
        assert (peer.pid, peer.uid) == (os.getpid(), os.geteuid())
        assert not os.get_inheritable(peer.pidfd)
        os.close(peer.pidfd)
