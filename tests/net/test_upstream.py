"""`network.upstream_proxy`: what a rule opens goes by the user's own proxy, and by nothing else."""

from __future__ import annotations

import json
import subprocess
from typing import Final

import pytest

from driver import MCP_JAIL, Home, command_lines
from gate.internet import OTHER, PUBLIC
from gate.world import OWN
from net.conftest import Machine, Start
from net.machine import PROXY, PROXY_LOGIN
from net.test_attacks import NOTHING, run
from net.test_programs import reached

PASSWORD: Final = "s3cret päss"
PROXIED: Final = f"http://me:s3cret%20p%C3%A4ss@{OTHER}:{PROXY}"
ALLOWED: Final = (
    *("far.example.com", "api.example.com:80", "far.example.com:2222", "other.example.com"),
    *(f"{PUBLIC}:7", f"{OWN}:7", "127.0.0.1:7001", "meta.example.com:80"),
)


def network(proxy: str = PROXIED, more: str = "") -> str:
    return f"{{mode: allowlist, upstream_proxy: '{proxy}', allow: {list(ALLOWED)}{more}}}"


def test_a_name_goes_by_the_proxy_which_alone_knows_it(
    jailed: Start, machine: Machine, home: Home
) -> None:
    before = machine.log("questions")
    with jailed(network()) as jail:
        said = json.loads(jail.sh("curl -sS -m 20 https://far.example.com/who"))
        assert (said["host"], said["at"]) == ("far.example.com", PUBLIC)
        said = json.loads(jail.sh("curl -sS -m 20 http://api.example.com/who"))
        assert said["at"] == OTHER  # as the proxy knows it
        assert jail.sh("curl -sS -m 20 telnet://far.example.com:2222 <<END\nme\nEND") == (
            "220 hello\r\nyou said me\n"
        )
        refused = jail.sh("curl -sS -m 20 https://other.example.com/who")
        assert refused.startswith("curl: (")
        environ = jail.sh("env")
        arguments = "".join(command_lines().values())
        tried = jail.tried()
    assert machine.log("questions") == before
    assert {"far.example.com:443", "api.example.com:80", "far.example.com:2222"} <= reached(tried)
    dialled = {e["detail"]["address"] for e in tried if e["method"] == "connect"}
    assert dialled == {f"by {OTHER}:{PROXY}"}
    (failed,) = (entry for entry in tried if entry["method"] == "failed")
    assert failed["reason"].endswith(f"the proxy {OTHER}:{PROXY}: answers 403")
    (start,) = (entry for entry in home.audit() if entry["kind"] == "start")
    assert start["detail"]["network"]["upstream_proxy"] == f"{OTHER}:{PROXY}"
    whole = (home.state / "fs.jsonl").read_text() + environ + arguments
    for secret in (PASSWORD, "s3cret", PROXY_LOGIN):
        assert secret not in whole
    assert "me:" not in jail.client.stderr.decode()


def test_the_name_is_still_checked_and_what_no_rule_opens_is_not_asked_for(
    jailed: Start, machine: Machine
) -> None:
    before = machine.log("proxied")
    code = """
who = b"GET /who HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n"
tell([got("far.example.com", 443, who, "evil.example.com"), got("evil.example.com", 443),
    got("far.example.com", 80), got(PUBLIC, 443), got("127.0.0.1", 80)])
"""
    with jailed(network()) as jail:
        assert set(run(jail, code, PUBLIC=PUBLIC)) <= NOTHING
    assert machine.log("proxied") == before


def test_only_public_places_are_asked_of_the_proxy(jailed: Start, machine: Machine) -> None:
    code = """
tell([got(PUBLIC, 7, b"x"), got("127.0.0.1", 7001, b"x"), got("meta.example.com", 80,
    b"GET /who HTTP/1.0\\r\\nHost: meta.example.com\\r\\n\\r\\n")])
"""
    before = machine.log("proxied")
    with jailed(network()) as jail:
        public, loopback, named = run(jail, code, PUBLIC=PUBLIC)
    assert public == "x"
    assert loopback in NOTHING
    # A name is the proxy's to look up: that is told by `show`, and in docs/security.md.
    assert '"at": "169.254.169.254"' in named
    asked = [
        line.split()[1]
        for line in machine.log("proxied")[len(before) :].splitlines()
        if line.startswith("CONNECT ")
    ]
    assert asked == [f"{PUBLIC}:7", "meta.example.com:80"]


def test_a_wrong_password_is_told_as_such(jailed: Start) -> None:
    with jailed(network(f"http://me:wrong@{OTHER}:{PROXY}")) as jail:
        assert jail.sh("curl -sS -m 20 https://far.example.com/who").startswith("curl: (")
        reasons = {entry.get("reason") for entry in jail.tried()}
    assert f"cannot be reached: the proxy {OTHER}:{PROXY}: answers 407" in reasons


def test_it_may_go_by_both(jailed: Start) -> None:
    with jailed(network(more=", via: proxy")) as jail:
        said = json.loads(jail.sh("curl -sS -m 20 https://far.example.com/who"))
        assert said["at"] == PUBLIC


def test_a_proxy_of_the_client_s_entry_is_not_used(
    jailed: Start, machine: Machine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine.log("proxied")
    names = ("http_proxy", "https_proxy", "all_proxy")
    entry = dict.fromkeys([*names, *(name.upper() for name in names)], PROXIED)
    monkeypatch.setattr(home, "environ", lambda: Home.environ(home, **entry))
    with jailed(f"{{mode: allowlist, allow: {list(ALLOWED)}}}") as jail:
        said = json.loads(jail.sh("curl -sS -m 20 http://api.example.com/who"))
        assert said["at"] == PUBLIC
        assert "_proxy=" not in jail.sh("env").lower()
    assert machine.log("proxied") == before


def test_show_names_the_proxy_and_not_its_password(home: Home) -> None:
    home.write_policy(f"network: {network()}")

    def show(*options: str) -> str:
        words = [str(MCP_JAIL), "show", *options, "fs"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=home.environ())
        assert "s3cret" not in done.stdout + done.stderr
        return " ".join(done.stdout.split())

    assert f"BY YOUR PROXY {OTHER}:{PROXY}, which looks the names up" in show()
    assert json.loads(show("--json"))["network"]["upstream_proxy"] == f"http://{OTHER}:{PROXY}"


def test_a_proxy_that_is_none_is_refused_without_its_password(home: Home) -> None:
    home.write_policy(f"network: {network(PROXIED.replace('http:', 'socks5:'))}")
    words = [str(MCP_JAIL), "show", "fs"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=home.environ())
    assert done.returncode == 2
    assert "a proxy is spoken to in plain HTTP" in done.stderr
    assert "s3cret" not in done.stderr
