"""What a process has from whoever started it, put in order: closed streams, blocked signals."""

from __future__ import annotations

import os
import signal
import sys


def put_in_order() -> None:
    """Open the streams that are closed and hear the signals that are held back.

    /dev/null takes the place of a stream, else the next file that is opened takes its number, and
    what is meant for a person or for the client lands in that file. A signal that is blocked would
    stop neither a run nor a pattern that takes too long; an ignored SIGCHLD hides how a child
    ended. An ignored SIGINT stays so: it is how a shell starts what runs in the background.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, this one
            os.set_inheritable(number, True)  # noqa: FBT003  # the standard library's own argument
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
