"""The launched jail as the loop sees it: descriptors, three ways to stop it, words for its end."""

from __future__ import annotations

import os
import signal

from mcp_jail.errors import JailBuildError
from mcp_jail.proxy.ports import NetReports
from mcp_jail.sandbox.launch import Jail, NotHeldError
from mcp_jail.sandbox.outside import ServerStatus

# What shells and bwrap add to a signal's number to make an exit status.
SIGNAL_BASE = 128

# Seconds to wait for the exit status of a jail whose end was already seen.
STATUS_SECONDS = 1.0


class JailedServer:
    """A running jail; `stdin`, `stdout`, `stderr` and `pidfd` are the loop's to poll."""

    def __init__(self, jail: Jail, net: NetReports | None) -> None:
        self._jail = jail
        self.net = net
        self.stdin = jail.stdin
        self.stdout = jail.stdout
        self.stderr = jail.stderr
        self.pidfd = jail.pidfd
        self.status: int | None = None
        self.confined: ServerStatus | None = None  # as `fault` saw it, None where it saw nothing

    def close_stdin(self) -> None:
        """Close the server's input."""
        if self._jail.stdin >= 0:
            os.close(self._jail.stdin)
            self._jail.stdin = -1  # the number may be another file's by now

    def terminate(self) -> None:
        """Ask the server to end, with SIGTERM."""
        self._jail.terminate()

    def kill(self) -> None:
        """End every process of the jail, with SIGKILL."""
        self._jail.kill()

    def wait(self) -> str:
        """How the ended jail ended, in words; bwrap passes the server's status on."""
        self.status = self._jail.wait(STATUS_SECONDS)
        return in_words(self.status)

    def fault(self) -> str | None:
        """What is wrong with the confinement of a server that has spoken, seen from outside."""
        try:
            self.confined = self._jail.status(has_spoken=True)
        except NotHeldError as error:
            self.confined = error.status
            return error.message
        except JailBuildError as error:
            return error.message
        return None


def in_words(status: int | None) -> str:
    """A wait status in words; bwrap reports a signal as 128 plus its number, as shells do."""
    if status is None:
        return "status unknown"
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else max(0, code - SIGNAL_BASE)
    if number:
        try:
            return f"killed by {signal.Signals(number).name}"
        except ValueError:
            pass
    return f"exit status {code}"
