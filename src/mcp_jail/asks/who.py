"""Who may answer an ask: a person at a terminal, not the model's own shell.

A program that runs as the user can do what the user can, so this is no wall: it makes an agent that
allows its own calls fail on every straight way, and leaves the entry of who tried. What is looked
at cannot change under us, as the peer is held by a pidfd while it is.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from typing import Final

import msgspec

from mcp_jail.asks.lineage import Running, fault_of_lineage, is_typed
from mcp_jail.asks.processes import Mark, Process, ancestors, namespaces, process

# Relies on Linux >= 6.5 (getsockopt(2)); before, the pidfd is opened by number, and a peer that
# has ended meanwhile could lend its number to another. Python has no name for it.
_SO_PEERPIDFD: Final = 77


class Peer(msgspec.Struct, frozen=True):
    """Who is at the other end of a socket; `pidfd` is the caller's to close."""

    pid: int
    uid: int
    pidfd: int


def peer_of(connection: socket.socket) -> Peer | None:
    """The process that connected; None if it is gone."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _ = struct.unpack("3i", credentials)
    try:
        pidfd = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            return None  # it is gone, and its number may be another's by now
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return None
    os.set_inheritable(pidfd, False)  # noqa: FBT003  # the standard library's own argument
    return Peer(pid, uid, pidfd)


def fault_of(peer: Peer, running: Running) -> str | None:
    """Why a peer may not answer, None where nothing speaks against it."""
    if peer.uid != os.geteuid():
        return "another user"
    chain = _chain(peer.pid)
    fault = _fault(chain, namespaces(peer.pid), running)
    # What was read is the peer's only if the peer is there still.
    return _ENDED if _has_ended(peer) else fault or _change(chain)


def fault_of_own(running: Running) -> str | None:
    """Why this very process may not decide for a person: it is a client's or an agent's own."""
    return fault_of_lineage(_chain(os.getpid()), running)


def fault_of_service(pid: int, running: Running) -> str | None:
    """Why a notification service is not believed: it is a client's or an agent's own."""
    chain = _chain(pid)
    return fault_of_lineage(chain, running) or _change(chain)


_ENDED: Final = "a process that has ended"


def _fault(chain: list[Process], inside: tuple[int, ...] | None, running: Running) -> str | None:
    if len(chain) < 2:  # noqa: PLR2004  # itself and a parent
        return _ENDED
    if inside is None or inside != namespaces(os.getpid()):
        return "a process in a jail or container"
    fault = fault_of_lineage(chain, running)
    if fault is not None:
        return fault
    first = chain[0]
    if first.terminal == 0:
        return "a process without a terminal"
    if first.foreground != first.group:
        return "a process in the background of its terminal"
    return None if is_typed(chain) else "a process that was not typed into a shell"


def _chain(pid: int) -> list[Process]:
    found = process(pid)
    return [] if found is None else [found, *ancestors(pid)]


def _change(chain: list[Process]) -> str | None:
    """Whether something ended, or has another parent, while it was looked at.

    A process that is ending shows no variables and the first of all control groups; one whose
    parent ends has no longer the ancestors that were seen. What it said before counts for nothing.
    """
    now = _chain(chain[0].pid) if chain else []
    return None if _line(chain) == _line(now) else "a process that was ending or changing"


def _line(chain: list[Process]) -> list[tuple[Mark, int]]:
    return [(each.mark, each.parent) for each in chain]


def _has_ended(peer: Peer) -> bool:
    poll = select.poll()
    poll.register(peer.pidfd, select.POLLIN)
    return bool(poll.poll(0))
