"""Where nobody may enter a jail there is no gate: what is started then, and what is not."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Client, Home, running

WORDS: Final = (
    sys.executable,
    str(Path(__file__).resolve().parent.parent / "without_setns.py"),
    str(MCP_JAIL),
)
SERVER: Final = ("--", PYTHON, "-I", "-S", str(SERVERS / "shell.py"))


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine with a small web server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def write(home: Home, network: str) -> None:
    home.write_policy(f"tools: {{default: allow}}\nnetwork: {network}")


def sh(client: Client, line: str) -> str:
    said: str = client.call("sh", line=line)["content"][0]["text"]
    return said


@pytest.mark.parametrize("network", ["{mode: none}", "{mode: allowlist, allow: [a.example]}"])
def test_a_policy_that_names_no_weaker_way_is_not_started(home: Home, network: str) -> None:
    write(home, network)
    with running([*WORDS, "run", "fs", *SERVER], home.environ(), home.path) as client:
        client.ask("ping")
        assert client.read_line() is None
        assert client.wait() == 4
    assert b"the gate cannot be built" in client.stderr
    assert not [entry for entry in home.audit() if entry["kind"] == "call"]


def test_a_proxy_leads_to_what_is_named_and_nowhere_else(home: Home, port: int) -> None:
    write(home, f'{{mode: allowlist, via: proxy, allow: ["127.0.0.1:{port}"]}}')
    with running([*WORDS, "run", "fs", *SERVER], home.environ(), home.path) as client:
        client.open()
        assert sh(client, f"curl -sS -m 20 http://127.0.0.1:{port}/") == "reached"
        other = sh(client, f"curl -sS -m 20 http://127.0.0.1:{port + 1}/")
        assert other.startswith("mcp-jail: refused by the user's policy")
        past = sh(client, f"curl -sS -m 20 --noproxy '*' http://127.0.0.1:{port}/")
        assert past.startswith("curl: (7)")
        assert client.close() == 0
    assert b"a proxy in the gate's stead" in client.stderr
    entries = home.audit()
    (start,) = (entry for entry in entries if entry["kind"] == "start")
    network = start["detail"]["network"]
    assert (network["mode"], network["via"]) == ("allowlist", "proxy")
    assert network["relay"]["seccomp"]
    verdicts = [(e["name"], e["verdict"]) for e in entries if e.get("method") == "connect"]
    assert verdicts == [(f"127.0.0.1:{port}", "allow"), (f"127.0.0.1:{port + 1}", "deny")]


def test_a_jail_without_a_network_needs_nobody_inside(home: Home, port: int) -> None:
    write(home, "{mode: none, via: proxy}")
    with running([*WORDS, "run", "fs", *SERVER], home.environ(), home.path) as client:
        client.open()
        assert sh(client, f"curl -sS -m 20 http://127.0.0.1:{port}/").startswith("curl: (7)")
        assert client.close() == 0


def test_doctor_says_so_and_what_works_instead(home: Home) -> None:
    def doctor(*options: str) -> str:
        words = [*WORDS, "doctor", *options]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=home.environ())
        return done.stdout

    said = " ".join(doctor().split())
    assert "cannot be built: the gate cannot be built" in said
    assert "A proxy in its stead, by network.via: proxy works: its socket handed out" in said
    assert "weaker: only programs that heed the proxy variables get out" in said
    found = json.loads(doctor("--json"))
    assert (found["gate"]["works"], found["proxy"]["works"]) == (False, True)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("{mode: none, via: proxy}", "BY NO GATE (network.via: proxy): what is tried is not seen"),
        ("{mode: allowlist, via: proxy, allow: [a.b]}", "BY A PROXY, NO GATE, which is weaker:"),
    ],
)
def test_show_says_it_loudly(home: Home, network: str, words: str) -> None:
    write(home, network)
    done = subprocess.run(
        [MCP_JAIL, "show", "fs"], capture_output=True, text=True, check=True, env=home.environ()
    )
    assert words in " ".join(done.stdout.split())
    assert "a proxy in the gate's stead" in done.stdout + done.stderr
