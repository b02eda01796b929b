"""Whose child a process is: a client's or an agent's, or one of a person's own terminals.

A process that leaves its client is a child of the first process of the system or of the session's
manager from then on, as is much that a window manager or a login started. What tells them apart is
first of all when they began, which no process can choose: what ran before a client is not its
child. Of what began later that is taken which is another user's, has a control group of its own, or
runs a terminal's program that the system's packages brought.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Final

import msgspec

from mcp_jail.asks.processes import (
    Mark,
    Process,
    ancestors,
    control_group,
    environ_names,
    process,
    program_of,
    user_of,
)
from mcp_jail.store import runs
from mcp_jail.store.places import Places

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
    CLAUDECODE CLAUDE_CODE_ENTRYPOINT CURSOR_AGENT GEMINI_CLI CODEX_SANDBOX
    CODEX_SANDBOX_NETWORK_DISABLED OPENCODE AMP_THREAD_ID GOOSE_TERMINAL CLINE_ACTIVE COPILOT_CLI
    QWEN_CODE
"""
_AGENTS: Final = frozenset(_AGENT_VARIABLES.split())

# Programs that hold a person's terminals, by the first 15 bytes of their file's name.
_TERMINAL_NAMES = """
    alacritty blackbox code code-oss codium contour cursor foot footserver ghostty gnome-console
    gnome-terminal- guake hyper idea kgx kitty konsole lxterminal mate-terminal mlterm ptyxis
    ptyxis-agent pycharm qterminal rio rxvt sakura st tabby terminator terminology tilda tilix
    urxvt urxvtd warp warp-terminal wezterm-gui wezterm-mux-ser windsurf xfce4-terminal xterm
    yakuake zed zed-editor
"""
_TERMINALS: Final = frozenset(_TERMINAL_NAMES.split())


# What takes in whom others left alone: managers of a session, and the first process of a container.
_REAPER_NAMES = """
    systemd lxqt-session dinit shepherd enlightenment enlightenment_s runsvdir s6-svscan tini
    dumb-init docker-init catatonit podman-init
"""
_REAPERS: Final = frozenset(_REAPER_NAMES.split())
_RELAY: Final = "Relay("  # of WSL, one for each window


class Guard(msgspec.Struct, frozen=True):
    """A guard that runs, the processes it was started by, and when the first of them began."""

    pid: int
    clients: frozenset[Mark]
    since: int  # clock ticks


class Running(msgspec.Struct, frozen=True):
    """The guards that run."""

    guards: tuple[Guard, ...] = ()

    @property
    def clients(self) -> frozenset[Mark]:
        """All that any of them was started by."""
        return frozenset[Mark]().union(*(each.clients for each in self.guards))

    def besides(self, other: Running) -> Running:
        """These and others."""
        return Running(tuple(dict.fromkeys((*self.guards, *other.guards))))


def this_guard() -> Running:
    """This process as a guard, and what it was started by: known to it without any file."""
    return Running((_guard(os.getpid()),))


def running_in(places: Places) -> Running:
    """All guards of this user: no agent decides for another's server either."""
    found = runs.running(places)
    return Running(tuple(_guard(run.pid, *(Mark(*mark) for mark in run.clients)) for run in found))


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


def fault_of_lineage(chain: list[Process], running: Running) -> str | None:
    """Why a process, the first of its chain of ancestors, may not decide for a person."""
    if not chain or chain[-1].parent != 0:
        return "a process whose ancestors are not all to be seen"
    if any(each.mark in running.clients for each in chain):
        return "a process that an MCP client started"
    if _is_left_alone(chain, running):
        return "a process that whoever started it has left alone"
    for each in chain:
        found = sorted(environ_names(each.pid) & _AGENTS)
        if found:
            return f"a process of an agent ({found[0]} is set)"
    return None


def is_typed(chain: list[Process]) -> bool:
    """Whether a shell with job control began a process, as it does what is typed into it."""
    first, *above = chain
    return any(
        each.name in _SHELLS and each.session == first.session and each.group != first.group
        for each in above
    )


def _guard(pid: int, *then: Mark) -> Guard:
    """A guard and its clients: those of now, and those that were written down at its start."""
    clients = frozenset((*then, *clients_of(pid)))
    itself = process(pid)
    began = [mark.started for mark in clients]
    if itself is not None:
        began.append(itself.started)
    return Guard(pid, clients, min(began, default=0))


def _is_left_alone(chain: list[Process], running: Running) -> bool:
    """Whether the chain leads to a process that may have left a client."""
    for each, parent in pairwise(chain):
        if not _takes_in(parent) or _is_job_of(each, parent):
            continue
        if any(_may_have_left(each, guard) for guard in running.guards):
            return True
    return False


def _takes_in(parent: Process) -> bool:
    """Whether the kernel gives a process what those below it have left alone (prctl(2), "reaper").

    That is the first process, or one that has asked for it. Nobody is told which did: they are
    known by name, and one of root's that is neither a desktop's nor a login's is taken for one.
    """
    if parent.pid == 1 or parent.name in _REAPERS or parent.name.startswith(_RELAY):
        return True
    return user_of(parent.pid) != os.getuid() and parent.name not in _ABOVE


def _is_job_of(each: Process, shell: Process) -> bool:
    """Whether it is what was typed into the shell that a container was entered by."""
    is_in_front = each.pid == each.group == each.foreground
    return is_in_front and shell.name in _SHELLS and shell.session == each.session


def _may_have_left(each: Process, guard: Guard) -> bool:
    """Whether a client of a guard may have begun a process and left it alone.

    By what the process cannot choose, as far as that tells; then by the program it runs.
    """
    if each.started < guard.since or user_of(each.pid) not in {None, os.getuid()}:
        return False
    if each.mark in {up.mark for up in ancestors(guard.pid)}:
        return False
    group = control_group(each.pid)
    if group and group != control_group(guard.pid):
        return False
    return program_of(each.pid)[:15] not in _TERMINALS
