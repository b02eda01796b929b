"""Record before act, at the loop: the pipes are real, the audit is one that looks and can fail."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from driver import wait_until
from imagined import Imagined
from mcp_jail.core.conversation.events import FromClient, FromServer
from mcp_jail.core.conversation.session import Session
from mcp_jail.core.policy import Policy
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules.decide import compile_rules
from mcp_jail.errors import AuditError
from mcp_jail.proxy.control import Control
from mcp_jail.proxy.ending import Cause, Ending
from mcp_jail.proxy.locking import Locked, LockKeeping
from mcp_jail.proxy.loop import Loop
from mcp_jail.proxy.persons import Watching
from mcp_jail.proxy.ports import NetReports
from mcp_jail.proxy.prepare import Judged, judge
from mcp_jail.proxy.reloading import PolicyKeeping
from mcp_jail.proxy.stderr import ErrorStream
from mcp_jail.store.locks import LockFiles

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{}}}\n'
RESULT = b'{"jsonrpc":"2.0","id":"n%d","result":{"content":[]}}\n'


class Pipes:
    """A server that is two pipes and an end; what the loop would launch."""

    def __init__(self) -> None:
        self.reads, self.stdin = os.pipe()
        self.stdout, self.writes = os.pipe()
        self.stderr, self._errors = os.pipe()
        self.pidfd, self._life = os.pipe()
        self.net: NetReports | None = None
        self._is_alive = True

    def close_stdin(self) -> None:
        os.close(self.stdin)
        self.terminate()

    def terminate(self) -> None:
        if self._is_alive:
            self._is_alive = False
            for fd in (self.writes, self._errors, self._life):
                os.close(fd)

    def kill(self) -> None:
        self.terminate()

    def wait(self) -> str:
        return "exit status 0"

    def fault(self) -> str | None:
        return None

    def forwarded(self) -> bytes:
        """What the server has been sent so far, taken out of its pipe."""
        found = b""
        while select.select([self.reads], [], [], 0)[0]:
            data = os.read(self.reads, 1 << 16)
            if not data:
                break
            found += data
        return found


class Audit:
    """Notes each write with what had been forwarded and told by then; fails for some kinds."""

    def __init__(self, server: Pipes, told: int, fails: Kind | None) -> None:
        self._server = server
        self._told = told
        self._fails = fails
        self._held: list[Kind] = []
        self.seen: list[tuple[list[Kind], bytes, bool]] = []

    is_full = False

    def hold(self, entries: Iterable[Entry]) -> None:
        self._held += [entry.kind for entry in entries]

    def append(self, entries: Iterable[Entry] = ()) -> None:
        kinds = self._held + [entry.kind for entry in entries]
        self._held = []
        is_told = bool(select.select([self._told], [], [], 0)[0])
        self.seen.append((kinds, self._server.forwarded(), is_told))
        if self._fails in kinds:
            raise AuditError("the disk is full")


class Play:
    """One loop in a thread, with a client's two pipes in the test's hands."""

    def __init__(self, fails: Kind | None, folder: str) -> None:
        self.server = Pipes()
        talk = session()
        self.control = Control(
            f"{folder}/t.sock",
            "t",
            talk.asks,
            status=dict,
            fault_of=lambda _: None,
            finds_secret=lambda _: False,
            clock=time.monotonic,
        )
        client_in, self.to_loop = os.pipe()
        self.from_loop, client_out = os.pipe()
        self.audit = Audit(self.server, self.from_loop, fails)
        self.ending: list[Ending] = []
        self._loop = Loop(
            talk,
            self.server,
            self.audit,
            ErrorStream("t", fd=os.open(os.devnull, os.O_WRONLY)),
            Watching(
                LockKeeping(
                    Locked(LockFiles("", ""), None, None, None), time.monotonic, lambda _: None
                ),
                PolicyKeeping(judged(folder), time.monotonic),
                self.control,
                talk.asks,
            ),
            client=(client_in, client_out),
            clock=time.monotonic,
        )

    def run(self) -> None:
        """The loop's whole life; signals only work in the main thread."""
        self.ending.append(self._loop.run())

    def answer(self) -> dict[str, Any]:
        """The next line the client is sent."""
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([self.from_loop], [], [], 30)[0]
            line += os.read(self.from_loop, 1)
        message: dict[str, Any] = msgspec.json.decode(line)
        return message


def judged(folder: str) -> Judged:
    """The policy of a home that is made for it."""
    policies = Path(folder, "policies")
    policies.mkdir(mode=0o700)
    (policies / "t.yaml").write_text("name: t\n")
    (policies / "t.yaml").chmod(0o600)
    return judge(name="t", policy_file=None, environ={"MCP_JAIL_HOME": folder, "HOME": folder})


def session() -> Session:
    numbers = iter(range(1000))
    keys = {"name": "t", "tools": {"default": "allow"}, "lock": {"enabled": False}}
    policy = msgspec.convert(keys, Policy)

    def describe(arguments: dict[str, Any]) -> tuple[Raw | None, str]:
        return None, "d"

    talk = Session(
        compile_rules(policy, {}, home="/h", cwd=None),
        Imagined({}),
        fresh_id=lambda: f"n{next(numbers)}",
        fresh_ticket=lambda: "TICKET",
        describe=describe,
    )
    talk.handle(FromClient(b'{"jsonrpc":"2.0","id":"open","method":"initialize"}'))
    talk.handle(FromServer(b'{"jsonrpc":"2.0","id":"n0","result":{}}'))
    return talk


@contextmanager
def playing(script: Any, fails: Kind | None = None) -> Iterator[Play]:
    """A script of the client and server in a thread, the loop in this one."""
    with TemporaryDirectory() as folder:
        play = Play(fails, folder)
    failed: list[BaseException] = []

    def act() -> None:
        try:
            script(play)
        except BaseException as error:  # noqa: BLE001  # told by the test, in its own thread
            failed.append(error)
        finally:
            os.close(play.to_loop)

    actor = threading.Thread(target=act)
    actor.start()
    play.run()
    actor.join()
    play.control.close()
    if failed:
        raise failed[0]
    yield play


def test_a_call_is_written_down_before_the_server_sees_a_byte_of_it() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, CALL % 1)
        assert select.select([play.server.reads], [], [], 30)[0]
        os.write(play.server.writes, RESULT % 1)
        assert play.answer()["id"] == 1

    with playing(script) as play:
        kinds, forwarded, _ = play.audit.seen[0]
        assert kinds == [Kind.CALL]
        assert forwarded == b""
        assert play.audit.seen[1][0] == [Kind.RESULT]


def test_a_batch_of_calls_is_one_write_before_any_of_them_is_forwarded() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, b"".join(CALL % number for number in range(1, 21)))
        assert select.select([play.server.reads], [], [], 30)[0]

    with playing(script) as play:
        assert play.audit.seen[0] == ([Kind.CALL] * 20, b"", False)


def test_a_results_entry_may_follow_but_does_not_hold_the_result_up() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, CALL % 1)
        assert select.select([play.server.reads], [], [], 30)[0]
        os.write(play.server.writes, RESULT % 1)
        assert select.select([play.from_loop], [], [], 30)[0]  # and left there

    with playing(script) as play:
        kinds, _, is_told = play.audit.seen[1]
        assert (kinds, is_told) == ([Kind.RESULT], True)


def test_a_results_entry_is_written_soon_though_nothing_else_happens() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, CALL % 1)
        assert select.select([play.server.reads], [], [], 30)[0]
        os.write(play.server.writes, RESULT % 1)
        assert play.answer()["id"] == 1
        wait_until(lambda: len(play.audit.seen) > 1)

    with playing(script) as play:
        assert [kinds for kinds, _, _ in play.audit.seen] == [[Kind.CALL], [Kind.RESULT]]


def test_a_result_that_waits_is_written_before_the_next_call_and_with_it_at_the_latest() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, CALL % 1)
        assert select.select([play.server.reads], [], [], 30)[0]
        os.write(play.server.writes, RESULT % 1)
        assert play.answer()["id"] == 1
        os.write(play.to_loop, CALL % 2)
        wait_until(lambda: b"n2" in play.server.forwarded())

    with playing(script) as play:
        written = [kind for kinds, _, _ in play.audit.seen for kind in kinds]
        assert written[:3] == [Kind.CALL, Kind.RESULT, Kind.CALL]


@pytest.mark.parametrize("count", [1, 20])
def test_a_call_that_cannot_be_written_down_is_not_forwarded_and_told(count: int) -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, b"".join(CALL % number for number in range(1, count + 1)))
        for number in range(1, count + 1):
            answer = play.answer()
            assert answer["id"] == number
            assert "audit" in answer["error"]["message"]
        os.write(play.to_loop, CALL % 99)
        assert "audit" in play.answer()["error"]["message"]

    with playing(script, Kind.CALL) as play:
        assert play.server.forwarded() == b""
        assert play.ending[0].cause is Cause.AUDIT_FAILED


def test_a_result_that_cannot_be_written_down_ends_the_calls_after_it() -> None:
    def script(play: Play) -> None:
        os.write(play.to_loop, CALL % 1)
        assert select.select([play.server.reads], [], [], 30)[0]
        os.write(play.server.writes, RESULT % 1)
        assert play.answer()["id"] == 1
        os.write(play.to_loop, CALL % 2)
        assert "audit" in play.answer()["error"]["message"]

    with playing(script, Kind.RESULT) as play:
        assert play.ending[0].cause is Cause.AUDIT_FAILED
