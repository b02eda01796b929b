"""An answer is carried out as it was shown, whole or not at all, whoever else writes or dies."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_jail.core.approved.lock import Lock, drift
from mcp_jail.core.approved.review import Review, review
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.errors import AuditError, ExitCode
from mcp_jail.store.approvals import Answer, ChangedMeanwhileError, carry_out
from mcp_jail.store.history import verify_file
from mcp_jail.store.locks import LockError, LockFiles, lock_files
from mcp_jail.store.places import find_places
from pins import lock_of, tool
from programs import output, start

OLD = lock_of(tool("echo"), tool("gone"))
SEEN = lock_of(tool("echo", "Does more."), tool("new"))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def files(folder: str) -> LockFiles:
    files = lock_files(find_places({"MCP_JAIL_HOME": folder}), "fs")
    files.change(lambda _: OLD)
    files.write_pending(SEEN)
    return files


@pytest.fixture
def audit(folder: str) -> str:
    return find_places({"MCP_JAIL_HOME": folder}).audit("fs")


def again(approved: Lock | None, pending: Lock | None) -> Review:
    return review(approved, pending or Lock(name="fs"))


def answered(files: LockFiles, audit: str, shown: Review, answer: Answer = Answer.APPROVED) -> Lock:
    return carry_out(answer, shown, again, files=files, audit=audit, name="fs")


def entries(audit: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(audit).read_text().splitlines()]


def test_what_was_shown_is_approved_and_waits_no_more(files: LockFiles, audit: str) -> None:
    lock = answered(files, audit, again(OLD, SEEN))
    assert lock == files.read()
    assert [each.key for each in drift(lock, SEEN)] == ["tool/gone"]
    assert files.read_pending() is None


def test_each_item_is_in_the_audit_in_a_chain_that_holds(files: LockFiles, audit: str) -> None:
    answered(files, audit, again(OLD, SEEN))
    told = [(each["kind"], each.get("verdict"), each.get("name")) for each in entries(audit)]
    assert told == [
        ("start", None, "fs"),
        ("lock", "approved", "tool/echo"),
        ("lock", "approved", "tool/new"),
        ("end", None, "fs"),
    ]
    detail = entries(audit)[1]["detail"]
    assert detail == {
        "approved": OLD.items["tool/echo"][0].digest,
        "seen": SEEN.items["tool/echo"][0].digest,
    }
    assert verify_file(audit).state is RunState.OK


def test_the_first_lock_is_told_as_made(files: LockFiles, audit: str) -> None:
    os.unlink(files.lock)
    answered(files, audit, again(None, SEEN))
    assert [each.get("verdict") for each in entries(audit)][1] == "created"


def test_what_is_rejected_waits_no_more_and_nothing_is_approved(
    files: LockFiles, audit: str
) -> None:
    lock = answered(files, audit, again(OLD, SEEN), Answer.REJECTED)
    assert lock == files.read()
    assert lock.items == OLD.items
    assert set(lock.rejected) == {"tool/echo", "tool/new"}
    assert files.read_pending() is None
    assert {each.get("verdict") for each in entries(audit)} == {None, "rejected"}


def test_a_no_before_any_yes_is_kept(files: LockFiles, audit: str) -> None:
    os.unlink(files.lock)
    lock = answered(files, audit, again(None, SEEN), Answer.REJECTED)
    assert lock.items == {}
    assert again(files.read(), SEEN).drifts == ()
    files.write_pending(lock_of(tool("echo", "Something else."), tool("new")))
    answered(files, audit, again(lock, files.read_pending()))
    assert [each.get("verdict") for each in entries(audit)][-3:-1] == ["created", "approved"]


@pytest.mark.parametrize("answer", Answer)
def test_what_else_waits_goes_on_waiting(files: LockFiles, audit: str, answer: Answer) -> None:
    def one(approved: Lock | None, pending: Lock | None) -> Review:
        return review(approved, pending or Lock(name="fs"), ["new"])

    carry_out(answer, one(OLD, SEEN), one, files=files, audit=audit, name="fs")
    pending = files.read_pending()
    assert pending is not None
    assert [each.key for each in again(files.read(), pending).drifts if each.seen] == ["tool/echo"]


@pytest.mark.parametrize(
    "swapped",
    [
        lock_of(tool("echo", "Does evil."), tool("new")),
        lock_of(tool("echo", "Does more."), tool("new"), tool("more")),
        lock_of(tool("echo", "Does more.")),
        None,
    ],
    ids=["a text", "one more", "one less", "nothing"],
)
@pytest.mark.parametrize("answer", Answer)
def test_an_answer_to_what_is_not_there_any_more_does_nothing(
    files: LockFiles, audit: str, swapped: Lock | None, answer: Answer
) -> None:
    shown = again(OLD, SEEN)
    if swapped is None:
        os.unlink(files.pending)
    else:
        files.write_pending(swapped)
    with pytest.raises(ChangedMeanwhileError) as caught:
        answered(files, audit, shown, answer)
    assert caught.value.exit_code is ExitCode.DRIFT
    assert files.read() == OLD
    assert files.read_pending() == swapped
    assert not os.path.exists(audit)


def test_an_answer_after_another_one_changed_the_lock_does_nothing(
    files: LockFiles, audit: str
) -> None:
    shown = again(OLD, SEEN)
    files.change(lambda _: lock_of(tool("echo", "Did something else."), tool("gone")))
    with pytest.raises(ChangedMeanwhileError):
        answered(files, audit, shown)
    assert not os.path.exists(audit)


@pytest.mark.parametrize("damaged", ["lock", "pending"])
def test_nothing_is_approved_by_a_damaged_file(files: LockFiles, audit: str, damaged: str) -> None:
    path = Path(getattr(files, damaged))
    path.write_text("{")
    with pytest.raises(LockError):
        answered(files, audit, again(OLD, SEEN))
    assert path.read_text() == "{"
    assert not os.path.exists(audit)


def test_what_cannot_be_recorded_is_not_approved(files: LockFiles, audit: str) -> None:
    os.symlink("/dev/null", audit)
    with pytest.raises(AuditError):
        answered(files, audit, again(OLD, SEEN))
    assert files.read() == OLD
    assert files.read_pending() == SEEN


# Approves with a kill at the nth thing that is done to a file, then with one more, until the
# answer gets through; before each, the two files are as at first. Tells what each kill left.
KILLED = """
import json, os, signal, sys
from mcp_jail.core.approved.review import review
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.store.approvals import Answer, carry_out
from mcp_jail.store.history import verify_file
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import find_places
from store.test_approvals import OLD, SEEN, again

places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
files, audit = lock_files(places, "fs"), places.audit("fs")
NEW = None


def approve(kill_at):
    done = 0

    def count(event, _arguments):
        nonlocal done
        if event == "open" or (event.startswith(("os.", "fcntl.")) and event != "os.kill"):
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1

    sys.addaudithook(count)
    carry_out(Answer.APPROVED, again(OLD, SEEN), again, files=files, audit=audit, name="fs")
    os._exit(0)


found = []
status = 1
while status:
    files.change(lambda _: OLD)
    files.write_pending(SEEN)
    child = os.fork()
    if child == 0:
        try:
            approve(len(found))
        finally:
            os._exit(9)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lock = files.read()
    pending = files.read_pending()
    found.append({
        "status": status,
        "lock": "old" if lock == OLD else "new" if set(lock.items) == {
            "tool/echo", "tool/gone", "tool/new"} else "damaged",
        "pending": "there" if pending == SEEN else "gone" if pending is None else "damaged",
        "audit": not os.path.exists(audit) or verify_file(audit).state is not RunState.BROKEN,
    })
print(json.dumps(found))
"""


def test_a_kill_at_any_step_leaves_the_old_lock_or_the_new_one(folder: str) -> None:
    found = json.loads(output(start(KILLED, folder)))
    assert found[-1] == {"status": 0, "lock": "new", "pending": "gone", "audit": True}
    assert all(each["status"] == -9 for each in found[:-1])
    assert all(each["audit"] for each in found)
    states = [(each["lock"], each["pending"]) for each in found]
    assert set(states) == {("old", "there"), ("new", "there"), ("new", "gone")}
    assert states == sorted(states, key=[*dict.fromkeys(states)].index), "it goes one way"


SEVERAL = """
import sys
from mcp_jail.core.approved.lock import Lock
from mcp_jail.core.approved.review import review
from mcp_jail.store.approvals import Answer, ChangedMeanwhileError, carry_out
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import find_places

places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
files, audit = lock_files(places, "fs"), places.audit("fs")
for name in sys.argv[2:]:
    def again(approved, pending):
        try:
            return review(approved, pending or Lock(name="fs"), [name])
        except LookupError:
            return review(approved, Lock(name="fs"))
    while True:
        try:
            shown = again(files.read(), files.read_pending())
            carry_out(Answer.APPROVED, shown, again, files=files, audit=audit, name="fs")
            break
        except ChangedMeanwhileError:
            continue
"""


def test_several_who_answer_at_once_lose_nothing(files: LockFiles, folder: str, audit: str) -> None:
    names = [f"tool{number}" for number in range(24)]
    files.write_pending(lock_of(tool("echo"), tool("gone"), *map(tool, names)))
    programs = [start(SEVERAL, folder, *names[at::4]) for at in range(4)]
    for program in programs:
        output(program)
    lock = files.read()
    assert lock is not None
    assert set(lock.items) == {"tool/echo", "tool/gone", *(f"tool/{name}" for name in names)}
    assert files.read_pending() is None
    assert verify_file(audit).state is RunState.OK
    approved = [each["name"] for each in entries(audit) if each.get("verdict") == "approved"]
    assert sorted(map(str, approved)) == sorted(f"tool/{name}" for name in names)
