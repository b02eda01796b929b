"""An errand inside a jail sees what the jail sees, and comes back with bytes or a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

START = """
from mcp_jail.sandbox.enter import Namespace, inside
jail = launch.launch(plan("/bin/sleep", "1000"))
jail.verify()
def visit(namespaces, action):
    return inside(jail.init_pid, namespaces, action).decode()
"""


@pytest.mark.parametrize(
    ("namespaces", "action", "expected"),
    [
        ("[Namespace.UTS]", "lambda: os.uname().nodename.encode()", "jail"),
        ("[Namespace.NETWORK]", "lambda: b' '.join(os.listdir(b'/proc/self/net') and [b'x'])", "x"),
        (
            "[Namespace.MOUNT]",
            "lambda: open('/etc/hosts', 'rb').readline()",
            "127.0.0.1 localhost jail\n",
        ),
        ("[Namespace.MOUNT, Namespace.PID]", "lambda: str(os.getpid() < 10).encode()", "True"),
        (
            "[]",
            "lambda: open('/proc/self/status').read().split('CapEff:')[1].split()[0].encode()",
            "000001ffffffffff",
        ),
        ("list(Namespace)", "lambda: b'all'", "all"),
    ],
)
def test_an_errand_sees_the_inside(
    namespaces: str, action: str, expected: str, run_code: Run
) -> None:
    result = run_code(f"{START}\ntell(visit({namespaces}, {action}))\njail.close()")
    if "CapEff" in action:  # as many capabilities as this kernel knows
        assert int(result, 16) & (1 << 21)
    else:
        assert result == expected


def test_the_network_inside_has_only_lo(run_code: Run) -> None:
    code = """
import socket
tell(visit([Namespace.NETWORK], lambda: json.dumps(socket.if_nameindex()).encode()))
jail.close()
"""
    assert run_code(START + code) == '[[1, "lo"]]'


def test_what_goes_wrong_inside_is_told(run_code: Run) -> None:
    code = """
def fail():
    raise OSError(13, "no")
for action in (fail, lambda: os.kill(os.getpid(), 9)):
    try:
        visit([Namespace.NETWORK], action)
    except JailBuildError as error:
        print(error.message, file=sys.stderr)
    else:
        raise SystemExit(1)
tell("told")
jail.close()
"""
    assert run_code(START + code) == "told"


def test_an_errand_to_nobody_is_refused(run_code: Run) -> None:
    code = """
from mcp_jail.sandbox.enter import Namespace, inside
try:
    inside(2**22 + 1, [Namespace.NETWORK], lambda: b"")
except JailBuildError as error:
    tell(error.message)
"""
    assert "cannot look inside" in run_code(code)


def test_the_guard_itself_stays_outside(run_code: Run) -> None:
    code = """
before = os.readlink("/proc/self/ns/net")
inner = visit([Namespace.NETWORK], lambda: os.readlink("/proc/self/ns/net").encode())
tell([before == os.readlink("/proc/self/ns/net"), inner != before])
jail.close()
"""
    assert run_code(START + code) == [True, True]
