"""A run with its gate: what a policy may ask of it, floods, and gates that fail in the middle."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Home, command, relay_of, running, started
from mcp_jail.errors import ExitCode
from mcp_jail.gate.allow import PORTS_LIMIT
from mcp_jail.gate.attempts import (
    AGAIN_IN_A_ROW,
    AGAIN_PER_SECOND,
    EVERY,
    KINDS_LIMIT,
    NEW_PER_SECOND,
    What,
)
from mcp_jail.proxy.gate_reports import TOLD_IN_A_ROW, TOLD_PER_SECOND


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server on this machine's loopback that greets whoever comes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greet, args=(listening,), daemon=True)
        thread.start()
        yield listening
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def greet(listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            taken, _ = listening.accept()
            with taken:
                taken.sendall(b"hello\n")


def test_a_run_goes_on_without_its_relay_and_reaches_nothing(
    home: Home, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    home.write_policy(
        f'network: {{mode: allowlist, allow: ["127.0.0.1:{port}"]}}\ntools: {{default: allow}}'
    )
    line = f"curl -sS -m 20 telnet://127.0.0.1:{port} </dev/null"
    with started(home, "run", "fs", *command("shell.py")) as client:
        client.open()
        assert "hello" in str(client.call("sh", line=line))
        os.kill(relay_of(client.process.pid), signal.SIGKILL)
        client.wait_for_stderr("error: the gate has failed, nothing passes any more")
        after = client.call("sh", line=line)["content"]
        assert "hello" not in str(after)
        assert "Failed to connect" in after[0]["text"]
        assert client.call("sh", line="echo still here")["content"][0]["text"] == "still here\n"
        assert client.close() == ExitCode.OK
    broken = [entry for entry in home.audit() if entry.get("method") == What.BROKEN.value]
    assert [entry["reason"] for entry in broken] == ["its process has ended"]


def test_a_server_whose_gate_cannot_be_built_is_never_started(home: Home) -> None:
    ports = ", ".join(f'"a.example:{port}"' for port in range(8000, 8060))
    home.write_policy(
        f"network: {{mode: allowlist, allow: [{ports}]}}\n"
        f"filesystem: {{read_write: [{home.scratch}]}}"
    )
    mark = home.scratch / "ran"
    script = f": >{mark}; exec {PYTHON} -I -S {SERVERS / 'echo.py'}"
    words = [str(MCP_JAIL), "run", "fs", "--", "/bin/sh", "-c", script]
    # Two sockets for each port: more descriptors than this run may have.
    limited = ["prlimit", "--nofile=100:100", *words]
    with running(limited, home.environ(), home.path) as client:
        assert client.wait() == ExitCode.JAIL
        assert b"the gate cannot be built" in client.stderr
    assert not mark.exists()
    with running(words, home.environ(), home.path) as client:
        client.open()
        assert mark.exists()


def test_a_start_and_doctor_say_where_only_few_connections_are_possible(home: Home) -> None:
    home.write_policy("network: {mode: allowlist, allow: [api.example.com]}")
    few = "only 90 connections at once"
    for limit, is_few in (("800:800", True), ("800:4096", False)):
        limited = ["prlimit", f"--nofile={limit}", str(MCP_JAIL)]
        words = [*limited, "run", "fs", *command("echo.py")]
        with running(words, home.environ(), home.path) as client:
            client.open()
            assert client.close() == ExitCode.OK
            assert client.stderr.count(few.encode()) == is_few
        looked = subprocess.run(
            [*limited, "doctor", "--json"], env=home.environ(), capture_output=True, check=False
        )
        found = json.loads(looked.stdout)["gate"]
        assert found["works"]
        assert (few in found["found"]) == is_few


@pytest.mark.parametrize(
    ("allow", "words"),
    [
        ('["dns.example:53"]', "'dns.example:53': port 53 is answered by the gate's own"),
        (
            str([f"a.example:{port}" for port in range(1000, 1000 + PORTS_LIMIT)]),
            f"{PORTS_LIMIT + 2} different ports, at most {PORTS_LIMIT} can be listened on",
        ),
    ],
)
def test_a_rule_no_gate_can_keep_is_a_problem_of_the_policy_with_its_place(
    home: Home, allow: str, words: str
) -> None:
    home.write_policy(f"network:\n  mode: allowlist\n  allow: {allow}")
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.wait() == ExitCode.USAGE
    said = client.stderr.decode()
    assert words in said
    assert "fs.yaml:4:" in said
    assert "^" in said


FLOOD: Final = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(4000):
    udp.sendto(b"x", (f"192.0.{number >> 8}.{number & 255}", 9))
"""


def test_a_flood_is_bounded_in_the_audit_and_on_the_error_stream(home: Home) -> None:
    home.write_policy("tools: {default: allow}")
    with started(home, "run", "fs", *command("shell.py")) as client:
        client.open()
        for _ in range(3):
            client.call("sh", line=f"$PYTHON -c '{FLOOD}'")
        assert client.close() == ExitCode.OK
    entries = [entry for entry in home.audit() if entry["kind"] == "net"]
    seconds = (entries[-1]["t"] - entries[0]["t"]) / 1000
    # The first of each kind, the repetitions of each every few seconds and at the end, a few again
    # and a few new ones.
    most = KINDS_LIMIT * (2 + seconds // EVERY) + AGAIN_IN_A_ROW + 10
    most += seconds * (AGAIN_PER_SECOND + NEW_PER_SECOND)
    assert KINDS_LIMIT // 2 < len(entries) <= most
    told = client.stderr.count(b"denied network")
    assert 0 < told <= TOLD_IN_A_ROW + (seconds + 10) * TOLD_PER_SECOND
    assert b"more of its attempts on the network are told in the audit alone" in client.stderr
    lost = [entry for entry in entries if entry["method"] == What.LOST.value]
    assert sum(entry["detail"]["times"] for entry in lost) > 0
    # On a busy machine the gate is ended before it has counted all of them.
    counted = sum(entry.get("detail", {}).get("times", 1) for entry in entries)
    assert counted > len(entries)
