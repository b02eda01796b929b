"""The control socket and those who abuse it; nothing on it stops anything."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_jail.asks import protocol
from mcp_jail.core.conversation.asks import Asks
from mcp_jail.core.conversation.events import Answered, AskPerson, FromPerson, NotAnswered
from mcp_jail.proxy import control as module
from mcp_jail.proxy.control import Control
from mcp_jail.proxy.watched import Watched
from mcp_jail.store.sockets import connect
from plays import Play


class Guard:
    """A session with a control socket, turned by hand."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "x.sock")
        self.fault: str | None = None
        self.play = Play(tools={"default": "ask"})
        self.events: list[FromPerson] = []
        self.control = Control(
            self.path,
            "x",
            self.play.talk.asks,
            status=lambda: {"name": "x", "denials": self.play.talk.tally.denials},
            fault_of=lambda _: self.fault,
            finds_secret=lambda _: False,
            clock=time.monotonic,
        )
        self._watched = Watched()

    def turn(self) -> None:
        """Wake up as long as there is something to do."""
        while True:
            self._watched.only(self.control.wanted())
            ready = self._watched.ready(20)
            if not ready:
                return
            for event in self.control.serve(ready):
                self.events.append(event)
                self.play.handle(event)

    def turn_once(self) -> None:
        """One wake-up."""
        self._watched.only(self.control.wanted())
        for event in self.control.serve(self._watched.ready(20)):
            self.events.append(event)
            self.play.handle(event)

    def says(self, connection: socket.socket, data: bytes) -> list[dict[str, Any]]:
        """Send something; the lines that come back."""
        connection.sendall(data)
        self.turn()
        return self.heard(connection)

    def heard(self, connection: socket.socket) -> list[dict[str, Any]]:
        """What has come; {} for the end."""
        connection.setblocking(False)
        found = b""
        try:
            while data := connection.recv(1 << 20):
                found += data
        except BlockingIOError:
            return [msgspec.json.decode(line) for line in found.splitlines()]
        except ConnectionResetError:
            pass
        return [*(msgspec.json.decode(line) for line in found.splitlines()), {}]

    def connected(self) -> socket.socket:
        return connect(self.path, timeout=30)


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    made = Guard(tmp_path)
    yield made
    made.control.close()


def request(op: str, **members: Any) -> bytes:
    return msgspec.json.encode({"v": 1, "id": 7, "op": op, **members}) + b"\n"


def test_what_waits_is_told_and_can_be_answered(guard: Guard) -> None:
    guard.play.calls("t", arguments={"a": 1})
    with guard.connected() as me:
        (reply,) = guard.says(me, request("asks"))
        (ask,) = reply["ok"]["asks"]
        assert (ask["server"], ask["name"], ask["arguments"]) == ("x", "t", '{"a":1}')
        shown = protocol.shown_digest(msgspec.convert(ask, protocol.AskView))
        answer = request("answer", ticket=ask["ticket"], verdict="allow", shown=shown)
        (reply,) = guard.says(me, answer)
        assert reply["ok"]["lasts"] == "once"
        assert guard.play.server_got[-1]["method"] == "tools/call"
        (reply,) = guard.says(me, answer)
        assert reply["error"]["code"] == "unknown"


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_an_answer_to_something_else_than_was_shown_is_none(guard: Guard, verdict: str) -> None:
    guard.play.calls("t", arguments={"path": "/evil"})
    with guard.connected() as me:
        (reply,) = guard.says(me, request("asks"))
        harmless = reply["ok"]["asks"][0] | {"arguments": '{"path":"/good"}'}
        shown = protocol.shown_digest(msgspec.convert(harmless, protocol.AskView))
        for digest in (shown, ""):
            answer = request("answer", ticket="TICK01", verdict=verdict, shown=digest)
            (reply,) = guard.says(me, answer)
            assert reply["error"]["code"] == "not-shown"
    assert guard.events == []
    assert guard.play.talk.asks.open


def test_requests_by_the_thousand_are_heard_one_at_a_time(guard: Guard) -> None:
    guard.play.calls("t", arguments={"text": "x" * 200_000})
    with guard.connected() as busy, guard.connected() as me:
        guard.turn()
        busy.setblocking(False)
        with suppress(BlockingIOError):
            while busy.send(request("ask", ticket="TICK01") * 100):
                pass
        me.sendall(request("status"))
        for _ in range(4):
            guard.turn_once()
        (reply,) = guard.heard(me)
        assert reply["ok"]["name"] == "x"
        assert busy.recv(1 << 24).count(b"\n") <= 4


def test_who_may_not_answer_is_told_and_the_session_too(guard: Guard) -> None:
    guard.play.calls("t")
    guard.fault = "nobody"
    with guard.connected() as me:
        (reply,) = guard.says(me, request("answer", ticket="TICK01", verdict="allow"))
        assert reply["error"]["code"] == "not-you"
        (reply,) = guard.says(me, request("revoke", ticket="TICK01"))
        assert reply["error"]["code"] == "not-you"
    assert [type(event) for event in guard.events] == [NotAnswered, NotAnswered]
    assert guard.play.talk.asks.open


def test_a_watcher_hears_of_each_ask_and_its_end(guard: Guard) -> None:
    with guard.connected() as me:
        assert guard.says(me, request("watch"))[0]["ok"] == {}
        for effect in guard.play.says("tools/call", "one", name="t"):
            if isinstance(effect, AskPerson):
                guard.control.show(effect)
        (line,) = guard.heard(me)
        assert line["event"]["ask"]["ticket"] == "TICK01"


ANSWER = b'{"v":1,"id":1,"op":"answer","ticket":"TICK01",'


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"x\n",
        b"{}\n",
        b"[]\n",
        b'{"v":2,"id":1,"op":"asks"}\n',
        b'{"v":1,"id":"1","op":"asks"}\n',
        b'{"v":1,"id":1,"op":"stop"}\n',
        b'{"v":1,"id":1,"op":"asks","more":1}\n',
        ANSWER + b'"verdict":"ask"}\n',
        ANSWER[:-1] + b"}\n",
        ANSWER + b'"verdict":"allow","lasts":"ever"}\n',
        ANSWER + b'"verdict":"allow","lasts":"time"}\n',
        ANSWER + b'"verdict":"allow","lasts":"time","seconds":1e9}\n',
        ANSWER + b'"verdict":"allow","lasts":"time","seconds":-1}\n',
        ANSWER + b'"verdict":"allow","seconds":5}\n',
        ANSWER + b'"verdict":"deny","verdict":"allow"}\n',
        ANSWER + b'"verdict":"deny","verdic\\u0074":"allow"}\n',
        b"\xff\xfe\n",
        b"{" * 60_000 + b"\n",
    ],
    ids=lambda line: ascii(line[:140]),
)
def test_what_is_no_request_does_nothing(guard: Guard, line: bytes) -> None:
    guard.play.calls("t")
    with guard.connected() as me:
        replies = guard.says(me, line)
        assert all("ok" not in reply for reply in replies)
    assert not [event for event in guard.events if isinstance(event, Answered)]
    assert guard.play.talk.asks.open


@pytest.mark.parametrize("tail", [b"", b"\n"])
def test_a_line_without_end_is_refused(guard: Guard, tail: bytes) -> None:
    with guard.connected() as me:
        me.setblocking(False)
        sent, data = 0, b"x" * (3 * protocol.REQUEST_LIMIT) + tail
        try:
            while sent < len(data):
                sent += me.send(data[sent : sent + 4096])
                guard.turn()
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < len(data)
    guard.turn()
    assert not guard.control.is_busy


def test_a_request_in_pieces_is_one_request(guard: Guard) -> None:
    with guard.connected() as me:
        whole = request("status")
        replies = [reply for byte in whole for reply in guard.says(me, bytes([byte]))]
        assert [reply["id"] for reply in replies] == [7]


def test_many_requests_in_one_piece_are_all_answered(guard: Guard) -> None:
    with guard.connected() as me:
        assert len(guard.says(me, request("status") * 50)) == 50


def test_the_oldest_of_too_many_connections_goes(guard: Guard) -> None:
    connections = []
    for _ in range(module.CONNECTIONS_LIMIT + 1):
        connections.append(guard.connected())
        guard.turn()
    assert guard.heard(connections[0]) == [{}]
    assert guard.says(connections[-1], request("status"))[0]["ok"]["name"] == "x"
    for connection in connections:
        connection.close()


def test_one_who_does_not_read_is_not_heard_further_and_holds_up_nobody(guard: Guard) -> None:
    guard.play.calls("t", arguments={"text": "x" * 200_000})
    with guard.connected() as deaf, guard.connected() as me:
        guard.turn()
        deaf.setblocking(False)
        with suppress(BlockingIOError):
            while deaf.send(request("ask", ticket="TICK01")):
                guard.turn()
        for _ in range(3):
            assert guard.says(me, request("status"))[0]["ok"]["name"] == "x"
            me.setblocking(True)


def test_a_watcher_who_does_not_read_is_hung_up_on(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PENDING_LIMIT", 1 << 20)
    with guard.connected() as me:
        guard.says(me, request("watch"))
        guard.play.calls("t", arguments={"text": "x" * 2_000})
        for _ in range(1_000):
            guard.control.show(AskPerson(guard.play.asks[0]))
        assert not guard.control.is_busy


def test_long_arguments_are_cut_in_the_list_and_told_so(guard: Guard) -> None:
    guard.play.calls("t", arguments={"text": "x" * 10_000})
    with guard.connected() as me:
        (reply,) = guard.says(me, request("asks"))
        (ask,) = reply["ok"]["asks"]
        assert len(ask["arguments"]) == protocol.SHORT_ARGUMENTS
        assert ask["size"] > 10_000
        (reply,) = guard.says(me, request("ask", ticket=ask["ticket"]))
        assert len(reply["ok"]["ask"]["arguments"]) == ask["size"]


def test_a_peer_that_hangs_up_leaves_nothing(guard: Guard) -> None:
    me = guard.connected()
    guard.turn()
    assert guard.control.is_busy
    me.close()
    guard.turn()
    assert not guard.control.is_busy


def test_the_control_of_no_asks_is_quiet(tmp_path: Path) -> None:
    quiet = Control(
        str(tmp_path / "q.sock"),
        "q",
        Asks(1),
        status=dict,
        fault_of=lambda _: None,
        finds_secret=lambda _: False,
        clock=time.monotonic,
    )
    assert not quiet.is_busy
    assert len(quiet.wanted()) == 1
    quiet.close()
