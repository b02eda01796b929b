"""A client that is a process of its own, and a person at a terminal that is not below it.

All processes of a test descend from the test. So a client is started from what is named as a window
manager, as a desktop's is: that is where its tree ends.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from driver import MCP_JAIL, Client, Home, running, wait_until
from mcp_jail.asks.calling import call_all
from mcp_jail.store.places import find_places
from terminal import Terminal

# A program that starts the guard, hands its streams down, and waits.
CLIENT: Final = """
import subprocess, sys
guard = subprocess.Popen(sys.argv[1:])
sys.exit(guard.wait())
"""

# What starts the words after it as a window manager would: it stands above a client, by its name.
DESKTOP: Final = ["sh", "-c", 'printf openbox > /proc/$$/comm; "$@"; exit $?', "sh"]


@contextmanager
def served(home: Home, *arguments: str, era: str = "legacy") -> Iterator[Client]:
    """A server behind `mcp-jail run ARGUMENTS`, whose client is a process of its own."""
    client_words = [sys.executable, "-I", "-c", CLIENT]
    words = [*DESKTOP, *client_words, str(MCP_JAIL), "run", *arguments]
    with running(words, home.environ(), home.path, era) as client:
        client.open()
        yield client


@contextmanager
def at_terminal(home: Home, *words: str, **environ: str) -> Iterator[Terminal]:
    """A person who types `mcp-jail WORDS` into a terminal of their own."""
    variables = home.environ(TERM="dumb", COLUMNS="80", **environ)
    line = shlex.join([str(MCP_JAIL), *words])
    with controlled(typed(line), variables, home.path) as screen:
        yield screen


def typed(line: str) -> list[str]:
    """A line as a person types it: into a shell with job control, which then ends."""
    return ["bash", "--norc", "--noprofile", "-i", "-c", f"{line}\n(exit $?)"]


@contextmanager
def controlled(words: Sequence[str], environ: dict[str, str], cwd: Path) -> Iterator[Terminal]:
    """A command that leads a session and the foreground of a terminal, as a login's does."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        cwd=cwd,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def waiting(home: Home) -> list[dict[str, Any]]:
    """The asks that are open in this home."""
    said, silent = call_all(find_places(home.environ()), "asks")
    assert not silent
    return [ask for each in said for ask in each.ok["asks"]]


def ticket_of(home: Home) -> str:
    """The ticket of the one ask that is open, once it is."""
    wait_until(lambda: bool(waiting(home)))
    (ask,) = waiting(home)
    return str(ask["ticket"])
