"""Run a program in the jail of a plan and wait for it, for tests about what it sees inside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from mcp_jail.core.spec import JailSpec, MountKind, Plan, Share
from mcp_jail.sandbox import starter
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.bwrap import Descriptors, arguments, encode


def plan_for(script: str, shares: tuple[Share, ...], cwd: str) -> Plan:
    """The plan of a jail in which this interpreter runs a script."""
    command = (sys.executable, "-I", "-S", "-c", script)
    spec = JailSpec(name="test", command=command, cwd=cwd, shares=shares, env={})
    return build(spec, environ={"HOME": os.environ["HOME"], "PATH": os.defpath})


def run_inside(plan: Plan, stdin: bytes) -> bytes:
    """What the plan's command writes to stdout, given a stdin; its failure is the test's."""
    with ExitStack() as stack:
        files = [
            stack.enter_context(_memory(mount.data or b""))
            for mount in plan.mounts
            if mount.kind is MountKind.DATA
        ]
        seccomp = stack.enter_context(_memory(plan.seccomp))
        program = stack.enter_context(_memory(starter.program(os.uname().machine)))
        block = os.open(os.devnull, os.O_RDONLY)
        stack.callback(os.close, block)
        fds = Descriptors(seccomp=seccomp, block=block, starter=program, data=tuple(files))
        options = stack.enter_context(_memory(encode(arguments(plan, fds))))
        done = subprocess.run(
            [plan.bwrap, "--args", str(options), "--", *plan.command],
            input=stdin,
            stdout=subprocess.PIPE,
            pass_fds=(options, seccomp, program, block, *files),
            env={},
            check=True,
            timeout=60,
        )
    return done.stdout


@contextmanager
def _memory(content: bytes) -> Iterator[int]:
    fd = os.memfd_create("test")
    try:
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)
