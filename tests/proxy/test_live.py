"""A look at a server without any client: all that it lists is seen, and nothing is approved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driver import Home, command, processes_with, started
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.approved.review import without_launch
from mcp_jail.core.protocol.mcp import Era
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.errors import JailBuildError
from mcp_jail.proxy import live
from mcp_jail.proxy.lister import Peer, peers_of
from mcp_jail.proxy.live import Look, look
from mcp_jail.proxy.prepare import prepare
from mcp_jail.store.history import verify_file
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import find_places

POLICY = "filesystem: {read_only: [~/projects]}\ntools: {default: allow}\n"
LEGACY, MODERN = Peer(Era.LEGACY, "2025-11-25"), Peer(Era.MODERN, "2026-07-28")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path)
    monkeypatch.delenv("MCP_JAIL_HOME")
    for name, value in made.environ().items():
        monkeypatch.setenv(name, value)
    made.write_policy(POLICY)
    return made


def looked(home: Home, server: str, *words: str, peers: tuple[Peer, ...] = (LEGACY,)) -> Look:
    words = command(server, *words)[1:]
    return look(prepare(name="fs", policy_file=None, command=words), peers)


def script(home: Home, text: str) -> Path:
    """A server of one's own, in a share; `echo` can be imported."""
    path = home.projects / "server.py"
    folder = str(Path(__file__).parent.parent / "servers")
    path.write_text(f"import sys\nsys.path.insert(0, {folder!r})\nimport echo\n{text}\n")
    return path


def looked_at(home: Home, text: str, peers: tuple[Peer, ...] = (LEGACY,)) -> Look:
    echo = command("echo.py")[-1]
    words = ("/usr/bin/python3", "-I", "-S", str(script(home, text)), echo)
    return look(prepare(name="fs", policy_file=None, command=words), peers)


@pytest.mark.parametrize("peer", [LEGACY, MODERN])
def test_all_that_is_listed_is_seen_page_by_page(home: Home, peer: Peer) -> None:
    found = looked(home, "echo.py", "--page", "2", peers=(peer,))
    assert found.is_open
    assert (found.broken, found.absent, found.notes, found.ended) == ((), (), (), "")
    assert {key.partition("/")[0] for key in found.seen.items} == {
        *("server", "tool", "prompt", "template", "resource")
    }
    assert len([key for key in found.seen.items if key.startswith("tool/")]) == 6
    assert ItemKind.TOOL in found.seen.kinds
    assert set(found.seen.peers) == {peer.era.value}


def test_what_is_seen_is_what_a_run_would_see(home: Home) -> None:
    home.write_policy(POLICY + "lock: {first: review}\n")
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            client.request(method)
        client.close()
    pending = lock_files(find_places(), "fs").read_pending()
    assert pending is not None
    found = looked(home, "echo.py")
    assert without_launch(pending).items == found.seen.items
    assert {*without_launch(pending).kinds} == {*found.seen.kinds}


def test_a_first_look_sees_each_era_that_the_server_speaks(home: Home) -> None:
    assert set(looked(home, "echo.py", peers=()).seen.peers) == {"legacy", "modern"}
    legacy_only = """
class Old(echo.Server):
    def _result(self, method, params):
        if method == "server/discover":
            raise echo.RpcError(-32601, "Method not found")
        return super()._result(method, {})
for request in echo.requests():
    echo.send(Old().answer(request))
"""
    found = looked_at(home, legacy_only, ())
    assert found.is_open
    assert set(found.seen.peers) == {"legacy"}


def test_a_server_is_told_the_capabilities_that_are_remembered(home: Home) -> None:
    text = """
import json
for request in echo.requests():
    if request["method"] == "initialize":
        said = json.dumps([request["params"]["capabilities"], request["params"]["protocolVersion"]])
        echo.INSTRUCTIONS = said
        server = echo.Server()
    echo.send(server.answer(request))
"""
    home.write_policy(POLICY + "sampling: allow\n")
    offers: dict[str, Any] = {
        "sampling": {},
        "roots": {},
        "elicitation": {},
        "experimental": {"x": {}},
    }
    peers = peers_of({"legacy": {"version": "2025-06-18", "capabilities": offers}})
    found = looked_at(home, text, peers)
    told = json.loads(found.seen.items["server/instructions"][0].value)
    assert told == [
        {"roots": {}, "sampling": {}, "elicitation": {}},
        "2025-06-18",
    ]  # the policy's part of them
    assert found.seen.peers["legacy"] == {"version": "2025-06-18", "capabilities": offers}


@pytest.mark.parametrize(
    "peers",
    [
        {},
        {"legacy": {}},
        {"legacy": {"version": 1, "capabilities": []}},
        {"later": {"version": "3000-01-01"}},
    ],
    ids=str,
)
def test_a_peer_that_makes_no_sense_is_read_all_the_same(peers: dict[str, Any]) -> None:
    assert all(peer == LEGACY for peer in peers_of(peers))


def test_a_kind_the_server_has_no_method_for_is_absent(home: Home) -> None:
    text = """
class Few(echo.Server):
    def _listed(self, method, params):
        if method != "tools/list":
            raise echo.RpcError(-32601, "Method not found")
        return super()._listed(method, params)
server = Few()
for request in echo.requests():
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert set(found.absent) == {ItemKind.PROMPT, ItemKind.TEMPLATE, ItemKind.RESOURCE}
    assert found.broken == ()
    assert ItemKind.PROMPT not in found.seen.kinds


@pytest.mark.parametrize(
    "answer",
    [
        'raise echo.RpcError(-32000, "not today")',
        'return {"tools": "none"}',
        'return {"tools": [], "nextCursor": "again"}',
        'return {"tools": [], "nextCursor": params.get("cursor", "") + "x"}',
        "sys.exit(3)",
        'return {"tools": [], "resultType": "input_required"}',
    ],
)
def test_a_listing_that_does_not_end_well_is_no_listing(home: Home, answer: str) -> None:
    text = f"""
class Bad(echo.Server):
    def _listed(self, method, params):
        if method == "tools/list":
            {answer}
        return super()._listed(method, params)
server = Bad()
for request in echo.requests():
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert ItemKind.TOOL in found.broken
    assert ItemKind.TOOL not in found.seen.kinds


def test_a_server_that_never_answers_is_given_up(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(live, "DISCOVER_SECONDS", 0.5)
    found = looked(home, "hang.py", "silent", peers=())
    assert not found.is_open
    assert found.seen.items == {}


def test_a_server_that_ends_at_once_tells_why(home: Home) -> None:
    found = looked_at(home, "sys.stderr.write('no \\x1b[31mkey\\n'); sys.exit(7)")
    assert not found.is_open
    assert found.ended == "exit status 7"
    assert found.said == ("no key",)


def test_names_that_no_client_is_shown_are_noted(home: Home) -> None:
    text = """
echo.TOOLS += [dict(echo.TOOLS[0], title="b"), dict(echo.TOOLS[1], name="ad\\u200bd")]
server = echo.Server()
for request in echo.requests():
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert len(found.seen.items["tool/echo"]) == 2  # what tells that it is none of them
    assert found.seen.left_out == ("tool/ad\u200bd",)
    assert len(found.notes) == 2
    assert all(note.isprintable() for note in found.notes)


def test_what_a_server_asks_while_it_is_looked_at_is_refused(home: Home) -> None:
    text = """
server = echo.Server()
for request in echo.requests():
    if request["method"] == "tools/list":
        for method in ("sampling/createMessage", "elicitation/create", "EVIL/do", "roots/list"):
            echo.send({"jsonrpc": "2.0", "id": method, "method": method, "params": {}})
    echo.send(server.answer(request))
"""
    home.write_policy(POLICY + "sampling: allow\n")
    found = looked_at(home, text)
    assert found.is_open
    assert found.broken == ()
    assert any("EVIL/do" in note for note in found.notes)


def test_a_server_that_floods_us_is_heard_to_the_end(home: Home) -> None:
    text = """
server = echo.Server()
for request in echo.requests():
    for number in range(3_000):
        echo.send({"jsonrpc": "2.0", "method": "notifications/EVIL", "params": {"n": number}})
        sys.stderr.write("x" * 200 + "\\n")
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert (found.is_open, found.broken) == (True, ())
    assert len(found.notes) == len(found.said) == 20


def test_a_look_is_in_the_audit_and_approves_nothing(home: Home) -> None:
    looked(home, "echo.py")
    start, end = home.audit()
    assert (start["kind"], start["reason"]) == (
        "start",
        "started to be looked at, without a client",
    )
    assert end["kind"] == "end"
    assert end["detail"]["confined"]["seccomp"] == "filter"
    assert verify_file(str(home.state / "fs.jsonl")).state is RunState.OK
    assert not (home.state / "locks").exists()
    assert not (home.state / "pending").exists()


def test_nothing_is_left_of_a_look(home: Home) -> None:
    marker = f"--marker={home.path}"
    looked(home, "echo.py", marker)
    assert processes_with(marker) == []
    looked(home, "forks.py", marker)
    assert processes_with(marker) == []


def test_the_walls_are_those_of_a_run(home: Home) -> None:
    text = f"""
import os
echo.INSTRUCTIONS = str([os.path.exists({str(home.secret)!r}), os.listdir("/sys/class/net")
    if os.path.isdir("/sys/class/net") else open("/proc/net/dev").read().count(":")])
server = echo.Server()
for request in echo.requests():
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert found.seen.items["server/instructions"][0].value == "[False, 1]"


def test_a_jail_that_cannot_be_built_is_not_looked_into(home: Home) -> None:
    words = command("echo.py")[1:]
    prepared = prepare(name="fs", policy_file=None, command=words)
    (home.projects).rename(home.path / "moved")
    home.projects.mkdir()
    with pytest.raises(JailBuildError):
        look(prepared, (LEGACY,))
    assert home.audit() == []


def test_ten_thousand_items_are_seen_and_no_more(home: Home) -> None:
    text = """
echo.TOOLS[:] = [dict(echo.TOOLS[0], name=f"t{number}") for number in range(12_000)]
server = echo.Server(page=1_000)
for request in echo.requests():
    echo.send(server.answer(request))
"""
    found = looked_at(home, text)
    assert len([key for key in found.seen.items if key.startswith("tool/")]) == 10_000
