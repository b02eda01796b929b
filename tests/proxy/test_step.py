"""A step in a jail of its own: what it may start."""

from __future__ import annotations

import sys

from mcp_jail.packages.installing import Step
from mcp_jail.proxy.step import JailedSteps

# Every way Python has to get a process, then a thread.
TRIES = """
import os, subprocess, threading
def tried(start):
    try:
        start()
        return "started"
    except OSError as error:
        return type(error).__name__
def forked():
    pid = os.fork()
    if not pid: os._exit(0)
    os.waitpid(pid, 0)
print(tried(forked))
print(tried(lambda: subprocess.run(["/bin/true"])))
print(tried(lambda: os.posix_spawn("/bin/true", ["true"], {})))
print(tried(lambda: os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]), 0)))
thread = threading.Thread(target=print, args=["a thread"])
thread.start()
thread.join()
"""


def tried(*, is_alone: bool) -> list[str]:
    python = getattr(sys, "_base_executable", sys.executable)
    step = Step(command=(python, "-I", "-c", TRIES), is_alone=is_alone)
    ran = JailedSteps().run(step)
    assert ran.code == 0, ran.errors
    return ran.out.decode().splitlines()


def test_a_step_that_is_alone_starts_nothing() -> None:
    assert tried(is_alone=True) == ["PermissionError"] * 4 + ["a thread"]


def test_another_step_starts_what_it_likes() -> None:
    assert tried(is_alone=False) == ["started"] * 4 + ["a thread"]
