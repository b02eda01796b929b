"""The lock of one run: what is read at the start, what is taken up while it runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driver import ERAS, Home, command, started, wait_until
from mcp_jail.core.approved.listed import Item, Page
from mcp_jail.core.approved.lock import ItemKind, Lock, approve
from mcp_jail.core.conversation.events import AwaitReview, LockChanged, TrustFirst
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.errors import LaunchMismatchError
from mcp_jail.proxy.locking import (
    LOOK_SECONDS,
    LockKeeping,
    called,
    launch_pin,
    new_catalogue,
    read_locked,
)
from mcp_jail.proxy.prepare import Prepared, prepare
from mcp_jail.store.history import verify_file
from mcp_jail.store.locks import LockError, LockFiles, lock_files, write_proposal
from mcp_jail.store.places import find_places
from pins import lock_of, tool

REVIEW = "tools: {default: allow}\nlock: {first: review}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("MCP_JAIL_HOME")
    return Home(tmp_path)


def prepared(home: Home, text: str = REVIEW, *words: str) -> Prepared:
    home.write_policy(text)
    return prepare(
        name="fs", policy_file=None, command=words or ("/usr/bin/true",), environ=home.environ()
    )


def files_of(home: Home) -> LockFiles:
    return lock_files(find_places(home.environ()), "fs")


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def keeping(home: Home) -> tuple[LockKeeping, Clock, list[str]]:
    clock, told = Clock(), list[str]()
    return LockKeeping(read_locked(prepared(home)), clock, told.append), clock, told


def test_a_damaged_lock_is_refused_before_anything_is_started(home: Home) -> None:
    files_of(home).change(lambda _: lock_of(tool("echo")))
    Path(files_of(home).lock).write_text("{")
    with pytest.raises(LockError):
        read_locked(prepared(home))


def test_a_policy_without_a_lock_reads_none(home: Home) -> None:
    files_of(home).change(lambda _: lock_of(tool("echo")))
    Path(files_of(home).lock).write_text("{")
    assert read_locked(prepared(home, "lock: {enabled: false}\n")).lock is None


def test_a_proposal_is_read_where_the_policy_names_it(home: Home) -> None:
    write_proposal(str(home.path / "lock.json"), lock_of(tool("echo")))
    locked = read_locked(prepared(home, "lock: {file: ~/lock.json}\n"))
    assert locked.proposal == lock_of(tool("echo"))
    assert locked.lock is None


def test_another_launch_than_the_approved_one_is_refused_and_left_to_be_looked_at(
    home: Home,
) -> None:
    first = prepared(home, REVIEW, "/usr/bin/true")
    seen = new_catalogue(first, read_locked(first)).seen
    files_of(home).change(lambda lock: approve(lock, seen))
    new_catalogue(first, read_locked(first))
    other = prepared(home, REVIEW, "/usr/bin/false")
    with pytest.raises(LaunchMismatchError) as caught:
        new_catalogue(other, read_locked(other))
    assert "mcp-jail diff fs" in caught.value.hint
    pending = files_of(home).read_pending()
    assert pending is not None
    assert pending.items["launch/command"] == (launch_pin(other),)


def test_what_was_approved_of_no_launch_counts_for_none(home: Home) -> None:
    files_of(home).change(lambda _: lock_of(tool("read_file")))
    first = prepared(home)
    listing = Page(
        ItemKind.TOOL,
        "legacy",
        (Item("read_file", tool("read_file")),),
        is_first=True,
        is_last=True,
    )
    assert new_catalogue(first, read_locked(first)).compare(listing) == ()


def test_a_refused_launch_is_in_the_audit(home: Home) -> None:
    home.write_policy("tools: {default: allow}\nlock: {first: trust}\n")
    for words, code in (((), 0), (("--log", "/dev/null"), 3)):
        with started(home, "run", "fs", *command("echo.py", *words)) as client:
            if not code:
                client.open()
            assert client.close() == code
    refused = home.audit()[-3:]
    assert [entry["kind"] for entry in refused] == ["start", "lock", "end"]
    assert refused[1]["name"] == "launch/command"
    assert "another server" in refused[2]["reason"]
    assert verify_file(str(home.state / "fs.jsonl")).state is RunState.OK


@pytest.mark.parametrize("era", ERAS)
def test_a_server_nobody_approved_gives_no_resource_and_an_approved_one_does(
    home: Home, era: str
) -> None:
    home.write_policy("resources: {default: allow}\nlock: {first: review}\n")
    words = ("run", "fs", *command("echo.py"))
    with started(home, *words, era=era) as client:
        client.open()
        refused = client.request("resources/read", uri="note://unlisted")
        assert "denied by the user's lock" in refused["error"]["message"]
        seen = files_of(home).read_pending()
        assert seen is not None
        files_of(home).change(lambda lock: approve(lock, seen))
        client.close()
    with started(home, *words, era=era) as client:
        client.open()
        assert client.request("resources/read", uri="note://unlisted")["result"]["contents"]
        client.close()
    calls = [each for each in home.audit() if each["kind"] == "call"]
    assert [(each["verdict"], each["method"]) for each in calls] == [
        ("deny", "resources/read"),
        ("allow", "resources/read"),
    ]


def test_a_policy_from_elsewhere_is_called_by_its_file(home: Home) -> None:
    assert called(prepared(home).judged) == "fs"


def test_what_waits_is_written_down_and_an_answer_is_taken_up(home: Home) -> None:
    keeper, clock, _ = keeping(home)
    assert keeper.seconds_left(clock.now) is None
    assert keeper.keep(AwaitReview(lock_of(tool("echo")))) is None
    assert files_of(home).read_pending() == lock_of(tool("echo"))
    assert keeper.seconds_left(clock.now) is not None
    assert keeper.look() is None
    files_of(home).change(lambda _: lock_of(tool("echo")))
    clock.now += LOOK_SECONDS
    assert keeper.look() == LockChanged(lock_of(tool("echo")))
    clock.now += 10
    assert keeper.look() is None


def test_a_lock_that_is_damaged_while_it_runs_approves_nothing_and_is_told_once(
    home: Home,
) -> None:
    files_of(home).change(lambda _: lock_of(tool("echo")))
    keeper, clock, told = keeping(home)
    Path(files_of(home).lock).write_text("{")
    for _ in range(3):
        clock.now += 10
        changed = keeper.look()
        assert changed in (LockChanged(None), None)
    assert len(told) == 1
    assert "nothing is approved until it is mended" in told[0]


def test_a_lock_that_is_taken_away_while_it_runs_approves_nothing(home: Home) -> None:
    files_of(home).change(lambda _: lock_of(tool("echo")))
    keeper, clock, _ = keeping(home)
    os.unlink(files_of(home).lock)
    clock.now += 10
    assert keeper.look() == LockChanged(None)


def test_a_first_contact_that_another_run_was_first_with_is_held_against_it(home: Home) -> None:
    keeper, _, _ = keeping(home)
    theirs = lock_of(tool("echo", "Theirs."))
    files_of(home).change(lambda _: theirs)
    assert keeper.keep(TrustFirst(lock_of(tool("echo", "Ours.")))) == LockChanged(theirs)


def test_a_first_contact_that_cannot_be_written_is_not_trusted(home: Home) -> None:
    keeper, _, told = keeping(home)
    home.state.mkdir(parents=True)
    (home.state / "locks").write_text("in the way")
    assert keeper.keep(TrustFirst(lock_of(tool("echo")))) == LockChanged(None)
    assert told


def tools(listing: dict[str, object]) -> set[str]:
    result = listing["result"]
    assert isinstance(result, dict)
    return {each["name"] for each in result["tools"]}


@pytest.mark.parametrize("era", ERAS)
def test_a_running_client_is_shown_what_was_approved_meanwhile(home: Home, era: str) -> None:
    home.write_policy(REVIEW)
    files = files_of(home)
    with started(home, "run", "fs", *command("echo.py"), era=era) as client:
        client.open()
        assert tools(client.request("tools/list")) == set()
        wait_until(lambda: ItemKind.TOOL in (files.read_pending() or Lock(name="fs")).kinds)
        seen = files.read_pending()
        assert seen is not None
        files.change(lambda lock: approve(lock, seen, frozenset({"tool/echo", "tool/add"})))
        wait_until(lambda: tools(client.request("tools/list")) == {"echo", "add"})
        assert client.call("add", a=1, b=2)["content"][0]["text"] == "3"
        assert client.call("write_file", path="/x", content="x")["isError"] is True
