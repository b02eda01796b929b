"""What was refused is told to the model whose call it was, each time, and to the person once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from driver import PYTHON, SERVERS, relay_of
from mcp_jail.core.conversation.network import TOLD_LIMIT
from mcp_jail.gate.attempts import KINDS_LIMIT
from net.conftest import Jailed, Machine, Start

NETWORK: Final = "{mode: allowlist, allow: [api.example.com]}"
REFUSED: Final = "mcp-jail: refused by the user's policy: "


@pytest.mark.parametrize("families", ["", "-4", "-6"])
def test_a_call_that_tries_the_same_again_is_told_again(jailed: Start, families: str) -> None:
    with jailed(NETWORK) as jail:
        for _ in range(5):
            said = jail.result(f"curl {families} -sS -m 20 https://other.example.com/")[1:]
            assert said == [f"{REFUSED}the name 'other.example.com' was not looked up"]
        assert jail.result("curl -sS -m 20 https://api.example.com/who")[1:] == []
        tried = jail.tried()
    assert sum(entry["name"] == "other.example.com" for entry in tried) == 5
    assert jail.client.stderr.count(b"denied network lookup 'other.example.com'") == 1


JUNK: Final = """
import socket
def question(name):
    labels = b"".join(bytes((len(part),)) + part.encode() for part in name.split("."))
    return b"\\1\\2\\1\\0\\0\\1" + bytes(6) + labels + b"\\0\\0\\1\\0\\1"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.connect(("127.0.0.1", 53))
    for number in range(3 * %d):
        asking.send(question(f"n{number}.junk.example"))
        asking.recv(600)
"""


def test_junk_hides_neither_what_a_rule_opens_nor_later_refusals(jailed: Start) -> None:
    """Names cost a server nothing, so that it could use up whatever is kept for them."""
    with jailed(NETWORK) as jail:
        jail.python(JUNK % KINDS_LIMIT)
        assert '"api.example.com"' in jail.sh("curl -sS -m 20 https://api.example.com/who")
        for number in range(3):
            host = f"later{number}.example.com"
            for _ in range(2):
                said = jail.result(f"curl -sS https://{host}/")[1:]
                assert said == [f"{REFUSED}the name '{host}' was not looked up"]
            jail.python(JUNK % KINDS_LIMIT)
        tried = jail.tried()
    opened = [entry for entry in tried if entry["verdict"] == "allow"]
    assert {entry["name"] for entry in opened} == {"api.example.com:443"}
    assert {entry["rule"] for entry in opened} == {"network.allow: api.example.com"}
    assert all(entry["detail"]["address"] for entry in opened)
    assert [entry["detail"]["sent"] > 0 for entry in opened if entry["method"] == "closed"] == [
        True
    ]
    later = [entry["name"] for entry in tried if entry["name"].startswith("later")]
    assert later == [f"later{number}.example.com" for number in (0, 0, 1, 1, 2, 2)]


def test_a_call_is_told_some_of_many_refusals(jailed: Start) -> None:
    with jailed(NETWORK) as jail:
        names = " ".join(f"n{number}.example.com" for number in range(20))
        line = f"for name in {names}; do curl -sS -m 20 https://$name/; done"
        (told,) = jail.result(line)[1:]
        assert told.count("was not looked up") == TOLD_LIMIT
        assert {f"n{number}.example.com" for number in range(20)} == {
            entry["name"] for entry in jail.tried()
        }


def test_the_line_that_is_offered_is_the_one_that_helps(jailed: Start) -> None:
    line = "curl -sS -m 20 http://other.example.com:80/who"
    with jailed("{mode: none}") as jail:
        jail.sh("curl -sS -m 20 https://other.example.com/who")
        assert jail.client.close() == 0
    offered = jail.client.stderr.decode().partition("to allow it: network: ")[2].split("\n")[0]
    with jailed(offered) as jail:
        assert '"other.example.com"' in jail.sh(line.replace("http:", "https:").replace(":80", ""))


DATAGRAM: Final = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.sendto(b"x", ("93.184.216.34", 9))
"""


def test_what_is_tried_after_a_call_is_told_to_the_next(jailed: Start, machine: Machine) -> None:
    go = machine.folder / "go"
    waits = f"while ! test -e {go}; do sleep 0.01; done; $PYTHON -c '{DATAGRAM}'"
    with jailed("{mode: none}") as jail:
        assert jail.result(f"{{ {waits}; }} >/dev/null 2>&1 &")[1:] == []
        go.touch()
        jail.client.wait_for_stderr("denied network udp '93.184.216.34:9'")
        told = "mcp-jail: refused by the user's policy after the last call: "
        assert jail.result("true")[1:] == [f"{told}udp to '93.184.216.34:9' was not sent"]
        assert jail.result("true")[1:] == []


def test_what_is_tried_last_of_all_is_told_and_written_down(jailed: Start) -> None:
    many = DATAGRAM.replace("    sock", "    for _ in range(50): sock")
    line = f"{PYTHON} -I -S {SERVERS / 'shell.py'}; exec {PYTHON} -I -S -c '{many}'"
    with jailed("{mode: none}", command=("/bin/sh", "-c", line), shows=(SERVERS,)) as jail:
        tried = jail.tried()
    assert {entry["name"] for entry in tried} == {"93.184.216.34:9"}
    assert sum(entry.get("detail", {}).get("times", 1) for entry in tried) == 50
    # Repetitions are told together, here at the end.
    told = re.findall(r"denied network udp '93.184.216.34:9'( \(\d+ times\))?", errors_of(jail))
    assert [bool(times) for times in told] == [False, True]


def errors_of(jail: Jailed) -> str:
    """What the person was told."""
    return jail.client.stderr.decode()


NAMES: Final = """
import socket
for number in range(10_000):
    try: socket.getaddrinfo(f"n{number}.%s", 443, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except OSError: pass
"""


def test_ten_thousand_names_leave_the_relay_as_it_was_and_few_entries(jailed: Start) -> None:
    with jailed("{mode: allowlist, allow: ['*.sub.example.com']}") as jail:
        relay = relay_of(jail.client.process.pid)
        jail.python(NAMES.replace("10_000", "100") % "sub.example.com")
        before = resident(relay)
        jail.python(NAMES % "sub.example.com")
        jail.python(NAMES % "other.example.com")
        assert resident(relay) < 1.5 * before
        tried = jail.tried()
    # 1000 kinds, those there was room for meanwhile, and what was counted, of 10,000.
    assert KINDS_LIMIT <= len(tried) < 2.5 * KINDS_LIMIT
    assert sum(entry.get("detail", {}).get("times", 1) for entry in tried) >= 10_000


def resident(pid: int) -> int:
    """KiB of a process's memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(found)
