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

import msgspec

from mcp_jail.asks.known_programs import (
    ABOVE,
    AGENT_VARIABLES,
    REAPERS,
    RELAY,
    SHELLS,
    SWITCHES,
    TERMINALS,
)
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
    """The processes a guard was started by: its client, what stands between them, what it runs in.

    Whatever stands between may lead a session: SDKs give each server one of its own. So it ends
    only below a person's own shell, and below what a person's other terminals run in as well.
    """
    found: list[Mark] = []
    below = process(guard)
    for each in ancestors(guard):
        if below is None or _is_above(each, below):
            break
        found.append(each.mark)
        below = each
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
        found = sorted(environ_names(each.pid) & AGENT_VARIABLES)
        if found:
            return f"a process of an agent ({found[0]} is set)"
    return None


def is_typed(chain: list[Process]) -> bool:
    """Whether a shell with job control began a process, as it does what is typed into it."""
    first, *above = chain
    return any(
        each.name in SHELLS and each.session == first.session and each.group != first.group
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


def _is_above(each: Process, below: Process) -> bool:
    """Whether a person's own terminals may run in a process as well as the client below it."""
    if each.pid == 1 or each.name in ABOVE or each.name.startswith(RELAY):
        return True
    if below.leads_session and below.terminal != 0:
        # Who holds that terminal. A client or `script` may hold one, and is no person's for that.
        return each.name in TERMINALS
    return _is_persons_shell(each, below)


def _is_persons_shell(each: Process, below: Process) -> bool:
    """Whether it is the shell of a terminal, into which what is below was typed.

    It gives each job a group of its own. A script that leads a terminal's session does not; nor is
    a process in another session a job of a shell, as no leader of a group can begin one.
    """
    is_terminals = each.leads_session and each.terminal != 0 and each.name in SHELLS
    return is_terminals and below.session == each.session and below.group != each.group


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
    if parent.pid == 1 or parent.name in REAPERS or parent.name.startswith(RELAY):
        return True
    return user_of(parent.pid) != os.getuid() and parent.name not in ABOVE | SWITCHES


def _is_job_of(each: Process, shell: Process) -> bool:
    """Whether it is what was typed into the shell that a container was entered by."""
    is_in_front = each.pid == each.group == each.foreground
    return is_in_front and shell.name in SHELLS and shell.session == each.session


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
    return program_of(each.pid)[:15] not in TERMINALS
