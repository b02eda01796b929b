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

from mcp_jail.asks.processes import (
    Mark,
    Process,
    ancestors,
    environ_names,
    namespaces,
    process,
)
from mcp_jail.store import runs
from mcp_jail.store.places import Places

# Relies on Linux >= 6.5 (getsockopt(2)); before, the pidfd is opened by number, and a peer that
# has ended meanwhile could lend its number to another. Python has no name for it.
_SO_PEERPIDFD: Final = 77

_SHELL_NAMES = "ash bash csh dash elvish fish ksh mksh nu pwsh sh tcsh xonsh zsh"
_SHELLS: Final = frozenset(_SHELL_NAMES.split())

# What starts another program and waits for it; it is never the client.
_LAUNCHER_NAMES = "env nice node npm npx timeout uv uvx"
_LAUNCHERS: Final = _SHELLS | frozenset(_LAUNCHER_NAMES.split())

# What a client and a person's terminal may both descend from, by the name in /proc (15 bytes).
_ABOVE_NAMES = """
    systemd init launchd login sshd sshd-session su sudo doas runuser agetty screen SCREEN tmux
    zellij gdm-session-wor gdm-x-session gdm-wayland-ses sddm-helper lightdm gnome-shell
    gnome-session-b gnome-session plasmashell plasma_session startplasma-way startplasma-x11
    ksmserver kwin_wayland kwin_x11 xfce4-session cinnamon-sessio mate-session lxqt-session
    lxsession sway Hyprland labwc wayfire river niri i3 bspwm awesome dwm openbox xmonad-x86_64-l
    qtile xinit startx
"""
_ABOVE: Final = frozenset(_ABOVE_NAMES.split()) | {"tmux: server"}

# Variables that an agent's shell sets for what it runs; a child keeps them through `setsid`.
_AGENT_VARIABLES = """
    CLAUDECODE CLAUDE_CODE_ENTRYPOINT CURSOR_AGENT CURSOR_TRACE_ID GEMINI_CLI CODEX_SANDBOX
    CODEX_SANDBOX_NETWORK_DISABLED OPENCODE AMP_THREAD_ID GOOSE_TERMINAL CLINE_ACTIVE COPILOT_CLI
    QWEN_CODE
"""
_AGENTS: Final = frozenset(_AGENT_VARIABLES.split())


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


def clients_of(guard: int) -> tuple[Mark, ...]:
    """The processes a guard was started by: its client, and what that one runs in.

    Ends with the one that leads the session, which is left out where it is the shell of a terminal
    or stands above the client; and below the multiplexer or desktop that a person's own terminals
    run in as well.
    """
    found: list[Mark] = []
    is_client_seen = False
    for each in ancestors(guard):
        if each.pid == 1 or each.name in _ABOVE:
            break
        if each.leads_session and (each.name in _SHELLS or is_client_seen):
            break
        found.append(each.mark)
        if each.leads_session:
            break
        is_client_seen |= each.name not in _LAUNCHERS
    return tuple(found)


def fault_of(peer: Peer, clients: frozenset[Mark]) -> str | None:
    """Why a peer may not answer, None where nothing speaks against it.

    `clients` are the processes that any running guard was started by.
    """
    if peer.uid != os.geteuid():
        return "another user"
    found = process(peer.pid)
    inside = namespaces(peer.pid)
    above = ancestors(peer.pid)
    variables = environ_names(peer.pid)
    fault = _fault(found, inside, above, clients) or _fault_of_variables(variables)
    # What was read is the peer's only if the peer is there still.
    return "a process that has ended" if _has_ended(peer) else fault


def fault_of_own(clients: frozenset[Mark]) -> str | None:
    """Why this very process may not decide for a person: it is a client's or an agent's own."""
    if any(each.mark in clients for each in ancestors(os.getpid())):
        return "a process that an MCP client started"
    return _fault_of_variables(environ_names(os.getpid()))


def clients_of_all(places: Places) -> frozenset[Mark]:
    """What any guard of this user was started by: no agent decides for another's server either."""
    running = runs.running(places)
    then = {Mark(*mark) for run in running for mark in run.clients}
    return frozenset(then.union(*(clients_of(run.pid) for run in running)))


def fault_of_service(pid: int, clients: frozenset[Mark]) -> str | None:
    """Why a notification service is not believed: it is a client's or an agent's own."""
    found = process(pid)
    if found is None:
        return "a notification service that has ended"
    if any(each.mark in clients for each in (found, *ancestors(pid))):
        return "a notification service that an MCP client started"
    return _fault_of_variables(environ_names(pid))


def _fault(
    found: Process | None,
    inside: tuple[int, ...] | None,
    above: list[Process],
    clients: frozenset[Mark],
) -> str | None:
    if found is None or not above:
        return "a process that has ended"
    if inside is None or inside != namespaces(os.getpid()):
        return "a process in a jail or container"
    if any(each.mark in clients for each in (found, *above)):
        return "a process that an MCP client started"
    if above[0].pid == 1 or above[0].name == "systemd":
        return "a process that whoever started it has left alone"
    if found.terminal == 0:
        return "a process without a terminal"
    if found.foreground != found.group:
        return "a process in the background of its terminal"
    return None


def _fault_of_variables(variables: frozenset[str]) -> str | None:
    found = sorted(variables & _AGENTS)
    return f"a process of an agent ({found[0]} is set)" if found else None


def _has_ended(peer: Peer) -> bool:
    poll = select.poll()
    poll.register(peer.pidfd, select.POLLIN)
    return bool(poll.poll(0))
