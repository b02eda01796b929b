"""Real notification daemons on a bus of their own and an X screen without a monitor."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from driver import wait_until
from mcp_jail.asks.desktop import Desktop, DesktopError


@contextmanager
def screen() -> Iterator[str]:
    """An X server without a monitor; its display."""
    reading, writing = os.pipe()
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    process = subprocess.Popen(words, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def daemon(bus: str, home: Path, words: Sequence[str | Path]) -> Iterator[dict[str, str]]:
    """A notification daemon that can be asked to show something; its environment."""
    with screen() as display:
        environ = {
            "DISPLAY": display,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}",
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
        }
        process = subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: answers(bus))
            yield environ
        finally:
            process.terminate()
            process.wait()


def answers(bus: str) -> bool:
    """Whether there is a notification service on a bus."""
    try:
        Desktop(bus).close()
    except DesktopError:
        return False
    return True
