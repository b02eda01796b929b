"""A guard for tests: builds and starts one jail as `run` does, in a process of its own.

Usage: guard.py CASE.json. It stops at `stage` (keeper, launched, verified, running) when the case
names one, saying so on stdout, and waits to be killed. Else it copies the server's output, and
writes what it saw to the case's `report`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailError
from mcp_jail.sandbox import keeper, launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import probe
from mcp_jail.sandbox.protected import Ours

Case = dict[str, Any]
ACCESS = {"ro": Access.READ_ONLY, "rw": Access.READ_WRITE}


def spec_of(case: Case) -> JailSpec:
    shares = tuple(
        Share(path=path, access=ACCESS[access], why=f"filesystem.{access}")
        for access, path in case.get("shares", ())
    )
    return JailSpec(
        name="test",
        command=tuple(case["command"]),
        cwd=case.get("cwd"),
        shares=shares,
        env=case.get("env", {}),
        keep_home=case.get("keep_home"),
        private_tmp=case.get("private_tmp", True),
    )


def stage(case: Case, name: str) -> None:
    if case.get("stage") == name:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        signal.pause()


def copy(jail: launch.Jail) -> None:
    outputs = {jail.stdout: 1, jail.stderr: 2}
    while outputs:
        for fd in select.select(list(outputs), [], [])[0]:
            text = os.read(fd, 65536)
            if text:
                os.write(outputs[fd], text)
            else:
                del outputs[fd]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        case = json.load(file)
    held = keeper.start()
    for path in case.get("forget", ()):
        held.forget(path)
    stage(case, "keeper")
    try:
        ours = tuple(Ours(path=p, what=w, mask=m) for p, w, m in case.get("ours", ()))
        host = probe({"HOME": case.get("home", os.environ["HOME"])})
        plan = build(spec_of(case), ours, host=host)
        jail = launch.launch(plan, keeper=held)
        stage(case, "launched")
        jail.verify()
        stage(case, "verified")
        with open(f"/proc/{jail.init_pid}/mountinfo", encoding="utf-8") as table:
            mountinfo = table.read()
        jail.go()
        status = jail.status()
        stage(case, "running")
    except JailError as error:
        sys.stderr.write(f"mcp-jail: {error.message}\nhint: {error.hint}\n")
        sys.exit(int(error.exit_code))
    report = {
        "held": status is None or status.held,
        "mounts": [[m.kind.value, m.destination, m.why] for m in plan.mounts],
        "mountinfo": mountinfo,
        "keeper": held.pid,
    }
    if "stdin" in case:
        os.write(jail.stdin, case["stdin"].encode())
    os.close(jail.stdin)
    jail.stdin = -1
    copy(jail)
    report["status"] = os.waitstatus_to_exitcode(jail.wait(10) or 0)
    with open(case["report"], "w", encoding="utf-8") as file:
        json.dump(report, file)


main()
