"""Something done in a child that is killed, by SIGKILL, at each line it carries out in turn."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any, Final

# Modules that write; only their lines count, so that what reads and decides costs no rounds.
WRITERS: Final = (
    "clients/applying.py",
    "clients/replacing.py",
    "store/wrapped.py",
    "store/files.py",
)

# Beginnings of the names of their functions that only read, whose lines cost no rounds either.
READERS: Final = ("read", "refuse", "opened", "open_plain", "owners", "is_", "why_", "in_git")


def killed_at_each_step(
    fresh: Callable[[], object], act: Callable[[], object], check: Callable[[], object]
) -> int:
    """Kill a new round at its first line, its second, ... until one comes to its end; how many.

    `fresh` makes the ground of a round, `act` is what a child does on it, `check` looks at what is
    left of it.
    """
    for step in count(1):
        fresh()
        child = os.fork()
        if child == 0:
            _die_at(step, act)
        _, status = os.waitpid(child, 0)
        check()
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return step
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError


def _die_at(step: int, act: Callable[[], object]) -> None:
    left = step

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        code = frame.f_code
        is_reader = code.co_name.lstrip("_").startswith(READERS)
        if is_reader or not code.co_filename.endswith(WRITERS):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    try:
        sys.settrace(trace)
        act()
        sys.settrace(None)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not come back into the test
        os._exit(1)
