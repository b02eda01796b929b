"""A guard for tests: builds and starts one jail as `run` does, in a process of its own.

Usage: guard.py CASE.json. It stops at `stage` (keeper, launched, verified, running) when the case
names one, saying so on stdout, and waits to be killed. Else it copies the server's output, and
writes what it saw to the case's `report`.
"""

import json
import os
import select
import signal
import sys

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailError
from mcp_jail.sandbox import keeper, launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import probe
from mcp_jail.sandbox.protected import Ours

ACCESS = {"ro": Access.READ_ONLY, "rw": Access.READ_WRITE}


def spec_of(case):
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


def stage(case, name):
    if case.get("stage") == name:
        print(name, flush=True)
        signal.pause()


def copy(jail):
    outputs = {jail.stdout: 1, jail.stderr: 2}
    while outputs:
        for fd in select.select(list(outputs), [], [])[0]:
            text = os.read(fd, 65536)
            if text:
                os.write(outputs[fd], text)
            else:
                del outputs[fd]


def main():
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
        jail.go()
        status = jail.status()
        stage(case, "running")
    except JailError as error:
        print(f"mcp-jail: {error.message}\nhint: {error.hint}", file=sys.stderr)
        sys.exit(int(error.exit_code))
    report = {
        "held": status.held,
        "server": status.pid,
        "mounts": [[m.kind.value, m.destination, m.why] for m in plan.mounts],
        "mountinfo": open(f"/proc/{jail.init_pid}/mountinfo").read(),
        "keeper": held.pid,
    }
    if "stdin" in case:
        os.write(jail.stdin, case["stdin"].encode())
    os.close(jail.stdin)
    copy(jail)
    report["status"] = os.waitstatus_to_exitcode(jail.wait(10))
    with open(case["report"], "w", encoding="utf-8") as file:
        json.dump(report, file)


main()
