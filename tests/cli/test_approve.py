"""`mcp-jail approve`: exactly what was shown is approved, by a person or for one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver import ERAS, MCP_JAIL, started, wait_until
from listing import POLICY, Listing
from mcp_jail.core.approved.lock import Lock, drift, reject, write_lock
from mcp_jail.core.approved.review import review
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.store.history import verify_file
from persons import served
from pins import lock_of, tool
from terminal import Terminal, terminal

WITH_FILE = POLICY.replace(
    "{first: review}", "{first: review, file: ~/projects/mcp-jail.lock.json}"
)


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    return Listing(tmp_path)


@pytest.fixture
def seen(listing: Listing) -> Listing:
    """A server that a client has seen, so that all it lists waits."""
    listing.runs()
    return listing


@pytest.fixture
def drifted(seen: Listing) -> Listing:
    """One of which two tools say something else than was approved."""
    seen.approves()
    seen.says(tools=[tool("echo", "Echo evil."), tool("send", "Send evil.")])
    seen.runs()
    return seen


@contextmanager
def person(listing: Listing, *words: str) -> Iterator[Terminal]:
    """Somebody who is asked."""
    environ = listing.home.environ(TERM="dumb", COLUMNS="80")
    with terminal([MCP_JAIL, "approve", "fs", *words], environ, listing.home.path) as screen:
        yield screen


def waiting(listing: Listing) -> list[str]:
    """What is not approved of what was seen last."""
    pending = listing.files.read_pending()
    if pending is None:
        return []
    return [each.key for each in review(listing.files.read(), pending).drifts]


def verdicts(listing: Listing) -> list[tuple[str, str]]:
    return [
        (entry["verdict"], entry["name"])
        for entry in listing.home.audit()
        if entry["kind"] == "lock" and entry["verdict"] != "drift"
    ]


def test_a_person_approves_what_they_are_shown(seen: Listing) -> None:
    with person(seen) as screen:
        screen.wait_for("Approve what is shown? [y/N] ")
        assert "    | Give it back." in screen.shown
        assert seen.files.read() is None
        screen.type("y\n")
        assert screen.end() == 0
    assert waiting(seen) == []
    assert ("created", "fs") in verdicts(seen)
    assert ("approved", "tool/echo") in verdicts(seen)
    assert verify_file(str(seen.home.state / "fs.jsonl")).state is RunState.OK


@pytest.mark.parametrize("answer", ["n\n", "\n", "yess\n", "Y es\n", "\x04"])
def test_anything_but_yes_is_a_no(seen: Listing, answer: str) -> None:
    with person(seen) as screen:
        screen.wait_for("[y/N] ")
        screen.type(answer)
        assert screen.end() == 1
        assert "nothing is approved" in screen.shown
    assert seen.files.read() is None
    assert waiting(seen) != []


def test_an_interrupted_question_approves_nothing(seen: Listing) -> None:
    with person(seen) as screen:
        screen.wait_for("[y/N] ")
        screen.process.send_signal(2)
        assert screen.end() == 1
    assert seen.files.read() is None


@pytest.mark.parametrize(
    "swapped",
    [
        lock_of(tool("echo", "Evil."), tool("send", "Send it.")),
        lock_of(tool("echo", "Give it back."), tool("send", "Send it."), tool("evil")),
    ],
    ids=["another text", "one more"],
)
def test_what_is_swapped_between_showing_and_answer_is_not_approved(
    seen: Listing, swapped: Lock
) -> None:
    with person(seen) as screen:
        screen.wait_for("[y/N] ")
        seen.files.write_pending(swapped)
        screen.type("y\n")
        assert screen.end() == 3
        assert "changed while it was shown; nothing was done" in screen.shown
    assert seen.files.read() is None
    assert verdicts(seen) == []


def test_a_person_who_only_reads_is_not_at_a_terminal(seen: Listing) -> None:
    said = seen.done("approve", "fs", stdin="y\n")
    assert said.returncode == 2
    assert "approve asks a person, and this is no terminal" in said.stderr
    assert f"--yes --seen {seen.digest()}" in said.stderr
    assert seen.files.read() is None


def test_a_page_that_goes_elsewhere_was_not_read(seen: Listing) -> None:
    ours, theirs = os.openpty()
    with open(seen.home.path / "page", "w") as page:
        os.write(ours, b"y\n")
        done = subprocess.run(
            [MCP_JAIL, "approve", "fs"],
            stdin=theirs,
            stdout=page,
            stderr=subprocess.PIPE,
            env=seen.home.environ(),
            check=False,
        )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert seen.files.read() is None


def test_a_script_approves_what_somebody_read(seen: Listing) -> None:
    digest = seen.digest()
    assert re.fullmatch(r"[0-9a-f]{32,64}", digest)  # one word, as it is copied
    said = seen.done("approve", "fs", "--yes", "--seen", digest)
    assert said.returncode == 0, said.stderr
    assert waiting(seen) == []


def test_a_yes_without_a_digest_is_refused(seen: Listing) -> None:
    said = seen.done("approve", "fs", "--yes")
    assert said.returncode == 2
    assert "--seen DIGEST" in said.stderr
    assert seen.files.read() is None


@pytest.mark.parametrize("more", [1, 32])
def test_more_of_the_digest_than_is_shown_is_taken_too(seen: Listing, more: int) -> None:
    whole = json.loads(seen.done("diff", "fs", "--json").stdout)["digest"]
    shown = seen.digest()
    assert whole.startswith(shown)
    said = seen.done("approve", "fs", "--yes", "--seen", whole[: len(shown) + more])
    assert said.returncode == 0, said.stderr
    assert waiting(seen) == []


def test_fewer_than_128_bits_of_the_digest_are_refused_with_the_reason(seen: Listing) -> None:
    said = seen.done("approve", "fs", "--yes", "--seen", seen.digest()[:31])
    assert said.returncode == 2
    assert "at least 32 hex digits" in said.stderr
    assert "a server can find another catalogue" in " ".join(said.stderr.split())
    assert seen.files.read() is None


@pytest.mark.parametrize("digest", ["", "0", "0" * 31, "g" * 32, "0" * 65, "ABCDEF01" * 4])
def test_a_digest_that_is_none_is_refused(seen: Listing, digest: str) -> None:
    said = seen.done("approve", "fs", "--yes", "--seen", digest)
    assert said.returncode == 2
    assert seen.files.read() is None


def test_another_digest_than_that_of_what_is_shown_approves_nothing(seen: Listing) -> None:
    digest = seen.digest()
    seen.says(tools=[tool("echo", "Evil."), tool("send", "Send it.")])
    seen.runs()
    said = seen.done("approve", "fs", "--yes", "--seen", digest)
    assert said.returncode == 3
    assert f"what is shown is not {digest}" in said.stderr
    assert seen.files.read() is None


def test_the_digest_of_some_items_does_not_approve_the_others(drifted: Listing) -> None:
    digest = drifted.digest("echo")
    assert drifted.done("approve", "fs", "--yes", "--seen", digest).returncode == 3
    said = drifted.done("approve", "fs", "send", "--yes", "--seen", digest)
    assert said.returncode == 3
    assert waiting(drifted) == ["tool/echo", "tool/send"]
    said = drifted.done("approve", "fs", "echo", "--yes", "--seen", digest)
    assert said.returncode == 0
    assert waiting(drifted) == ["tool/send"]


def test_items_are_approved_alone(drifted: Listing) -> None:
    with person(drifted, "tool/send") as screen:
        screen.wait_for("[y/N] ")
        assert "tool/echo" not in screen.shown
        screen.type("y\n")
        assert screen.end() == 0
    assert waiting(drifted) == ["tool/echo"]


def test_what_is_rejected_stays_blocked_and_waits_no_more(drifted: Listing) -> None:
    with person(drifted, "--reject") as screen:
        screen.wait_for("Reject what is shown? [y/N] ")
        screen.type("y\n")
        assert screen.end() == 0
    assert waiting(drifted) == []
    assert verdicts(drifted)[-2:] == [("rejected", "tool/echo"), ("rejected", "tool/send")]
    with started(drifted.home, "run", "fs", *drifted.command) as client:
        client.open()
        assert client.request("tools/list")["result"]["tools"] == []
        client.close()
    assert b"not approved" not in client.stderr, "it was told, and answered"
    assert waiting(drifted) == []
    page = " ".join(drifted.done("diff", "fs").stdout.split())
    assert "nothing waits for you" in page
    assert "rejected tool/echo, tool/send; blocked, and nobody is asked until it changes" in page
    live = drifted.done("diff", "fs", "--live", "--exit-code")
    assert "nothing waits for you" in live.stdout
    assert live.returncode == 3, "what the server says is not what was approved"
    assert verify_file(str(drifted.home.state / "fs.jsonl")).state is RunState.OK


def test_what_was_rejected_is_asked_about_when_it_changes_and_can_be_approved(
    drifted: Listing,
) -> None:
    digest = drifted.digest()
    drifted.done("approve", "fs", "--reject", "--yes", "--seen", digest)
    drifted.says(tools=[tool("echo", "Echo worse."), tool("send", "Send evil.")])
    drifted.runs()
    assert waiting(drifted) == ["tool/echo"]
    page = drifted.done("diff", "fs").stdout
    assert "changed  tool/echo" in page
    assert "changed  tool/send" not in page
    drifted.approves("send")
    lock = drifted.files.read()
    assert lock is not None
    assert set(lock.rejected) == {"tool/echo"}
    assert lock.items["tool/send"][0].value == tool("send", "Send evil.")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("first", ["review", "trust"])
def test_an_approval_is_taken_back_while_a_client_looks_on(
    listing: Listing, era: str, first: str
) -> None:
    listing.home.write_policy(POLICY.replace("review", first))
    listing.runs(era=era)
    if first == "review":
        listing.approves()
    with started(listing.home, "run", "fs", *listing.command, era=era) as client:
        client.open()
        assert len(client.request("tools/list")["result"]["tools"]) == 2
        page = listing.done("approve", "fs", "echo", "--reject").stdout
        assert "unchanged tool/echo" in page
        digest = page.partition("What is shown: ")[2].split()[0]
        said = listing.done("approve", "fs", "echo", "--reject", "--yes", "--seen", digest)
        assert said.returncode == 0, said.stderr
        assert "rejected: 1 item, blocked until it changes" in said.stdout
        wait_until(lambda: "denied" in client.call("echo")["content"][0]["text"])
        names = [each["name"] for each in client.request("tools/list")["result"]["tools"]]
        assert names == ["send"]
        client.close()
    assert verdicts(listing)[-1] == ("rejected", "tool/echo")
    assert b"not approved: tool/echo" not in client.stderr
    with started(listing.home, "run", "fs", *listing.command, era=era) as client:
        client.open()
        names = [each["name"] for each in client.request("tools/list")["result"]["tools"]]
        assert names == ["send"]
        client.close()


def test_who_trusted_a_first_contact_and_then_approved_a_part_is_asked_about_the_rest(
    listing: Listing,
) -> None:
    listing.greets()
    listing.approves("echo")
    listing.home.write_policy(POLICY.replace("review", "trust"))
    with started(listing.home, "run", "fs", *listing.command) as client:
        client.open()
        names = [each["name"] for each in client.request("tools/list")["result"]["tools"]]
        assert names == ["echo"]
        client.close()
    assert "tool/send" in waiting(listing)


def test_a_lock_file_of_others_says_nothing_of_what_a_person_is_asked(listing: Listing) -> None:
    listing.home.write_policy(WITH_FILE)
    proposed = lock_of(tool("echo", "Give it back."))
    evil = tool("send", "Send it.")
    hidden = reject(proposed, "fs", drift(None, lock_of(evil)))
    (listing.home.projects / "mcp-jail.lock.json").write_bytes(write_lock(hidden))
    listing.runs()
    page = listing.done("diff", "fs", "--exit-code")
    assert "added    tool/send" in page.stdout
    assert page.returncode == 3


def test_one_that_is_rejected_does_not_take_the_others_along(drifted: Listing) -> None:
    digest = drifted.digest("echo")
    said = drifted.done("approve", "fs", "echo", "--reject", "--yes", "--seen", digest)
    assert said.returncode == 0, said.stderr
    assert waiting(drifted) == ["tool/send"]


def test_where_nothing_waits_the_server_is_looked_at(listing: Listing) -> None:
    with person(listing, *listing.command) as screen:
        screen.wait_for("[y/N] ")
        assert "by a look without a client" in screen.shown
        screen.type("y\n")
        assert screen.end() == 0
    lock = listing.files.read()
    assert lock is not None
    assert {"tool/echo", "tool/send", "launch/command"} <= set(lock.items)


def test_where_all_is_approved_nobody_is_asked(seen: Listing) -> None:
    seen.approves()
    said = seen.done("approve", "fs")
    assert said.returncode == 0
    assert "all is as it was approved" in said.stdout


def test_a_look_goes_before_what_the_last_run_saw_when_asked_for(drifted: Listing) -> None:
    drifted.says(tools=[tool("echo", "Now harmless."), tool("send", "Send it.")])
    page = drifted.done("approve", "fs", "--live").stdout
    assert "Now harmless." in page
    assert "evil" not in page


def test_a_tool_that_is_gone_stays_approved_until_it_is_named(seen: Listing) -> None:
    seen.approves()
    seen.says(tools=[tool("echo", "Give it back.")])
    said = seen.done("approve", "fs")
    assert said.returncode == 1
    assert "removed  tool/send" in said.stdout
    lock = seen.files.read()
    assert lock is not None
    assert "tool/send" in lock.items
    digest = seen.digest("send", "--live")
    said = seen.done("approve", "fs", "send", "--yes", "--seen", digest)
    assert said.returncode == 0, said.stderr
    lock = seen.files.read()
    assert lock is not None
    assert set(lock.items) >= {"tool/echo"}
    assert "tool/send" not in lock.items


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_waits_sees_what_is_approved(listing: Listing, era: str) -> None:
    with served(listing.home, "fs", *listing.command, era=era) as client:
        assert client.request("tools/list")["result"]["tools"] == []
        refused = client.call("echo")
        assert refused["isError"] is True
        wait_until(lambda: listing.files.read_pending() is not None)
        digest = listing.digest("echo")
        said = listing.done("approve", "fs", "echo", "--yes", "--seen", digest)
        assert said.returncode == 0, said.stderr
        wait_until(lambda: bool(client.request("tools/list")["result"]["tools"]))
        assert client.call("echo")["content"][0]["text"] == "echo was called"
        assert client.call("send")["isError"] is True
        client.close()


def test_an_approval_that_cannot_be_recorded_is_none(seen: Listing) -> None:
    digest = seen.digest()
    audit = seen.home.state / "fs.jsonl"
    audit.unlink()
    audit.symlink_to("/dev/null")
    said = seen.done("approve", "fs", "--yes", "--seen", digest)
    assert said.returncode == 5
    assert seen.files.read() is None


def test_what_somebody_else_can_write_approves_nothing(drifted: Listing) -> None:
    digest = drifted.digest()
    Path(drifted.files.lock).parent.chmod(0o777)
    said = drifted.done("approve", "fs", "--yes", "--seen", digest)
    assert said.returncode == 2
    assert "can be written by others" in said.stderr


def test_a_policy_whose_name_looks_like_a_file_of_ours_has_its_own(listing: Listing) -> None:
    listing.home.write_policy(POLICY, "fs.pending")
    listing.runs()
    listing.approves()
    said = listing.done("diff", "fs.pending", "--live", "--exit-code", *listing.command)
    assert said.returncode == 3
    assert listing.done("diff", "fs", "--live", "--exit-code").returncode == 0


def test_the_log_tells_who_was_approved_in_words(seen: Listing) -> None:
    seen.approves()
    log = seen.done("log", "fs", "-n", "50").stdout
    assert "start  fs a person answers what waits for approval" in log
    digest = seen.files.read()
    assert digest is not None
    now = digest.items["tool/echo"][0].digest[:12]
    assert f"lock   approved tool/echo added (now {now})" in log
    assert seen.done("log", "fs", "--verify").returncode == 0


# lock.file


def test_the_approved_lock_is_written_for_others(listing: Listing) -> None:
    listing.home.write_policy(WITH_FILE)
    digest = listing.digest("--live", *listing.command)
    words = ("approve", "fs", "--write-file", "--yes", "--seen", digest, *listing.command)
    said = listing.done(*words)
    assert said.returncode == 0, said.stderr
    path = listing.home.projects / "mcp-jail.lock.json"
    assert path.stat().st_mode & 0o777 == 0o644
    assert "tool/echo" in path.read_text()
    assert str(listing.home.path) not in path.read_text()


def test_what_is_approved_already_is_written_without_a_question(seen: Listing) -> None:
    seen.approves()
    seen.home.write_policy(WITH_FILE)
    said = seen.done("approve", "fs", "--write-file")
    assert said.returncode == 0, said.stderr
    assert (seen.home.projects / "mcp-jail.lock.json").exists()


def test_a_no_writes_nothing_for_others(seen: Listing) -> None:
    seen.home.write_policy(WITH_FILE)
    with person(seen, "--write-file") as screen:
        screen.wait_for("[y/N] ")
        screen.type("n\n")
        assert screen.end() == 1
    assert not (seen.home.projects / "mcp-jail.lock.json").exists()


@pytest.mark.parametrize("text", ["{}", "notes\n", "", '{"v": 2, "name": "fs"}'])
def test_a_file_that_is_no_lock_is_not_written_over(seen: Listing, text: str) -> None:
    seen.approves()
    path = seen.home.projects / "mcp-jail.lock.json"
    path.write_text(text)
    seen.home.write_policy(WITH_FILE)
    said = seen.done("approve", "fs", "--write-file")
    assert said.returncode == 2
    assert "cannot be read from" in said.stderr
    assert "only if it is one" in " ".join(said.stderr.split())
    assert path.read_text() == text


def test_a_link_that_comes_while_a_person_reads_is_not_followed(seen: Listing) -> None:
    folder, elsewhere = seen.home.projects / "sub", seen.home.projects / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    seen.home.write_policy(WITH_FILE.replace("projects/", "projects/sub/"))
    with person(seen, "--write-file") as screen:
        screen.wait_for("[y/N] ")
        folder.rename(seen.home.projects / "away")
        folder.symlink_to(elsewhere)
        screen.type("y\n")
        assert screen.end() == 3
        assert "was not written" in screen.shown
    assert [*elsewhere.iterdir()] == []


def test_a_policy_without_a_lock_file_has_none_to_write(seen: Listing) -> None:
    seen.approves()
    said = seen.done("approve", "fs", "--write-file")
    assert said.returncode == 2
    assert "names no lock.file" in said.stderr


def test_a_first_contact_is_told_how_far_it_is_as_proposed(listing: Listing) -> None:
    listing.home.write_policy(WITH_FILE)
    digest = listing.digest("--live", *listing.command)
    listing.done("approve", "fs", "--write-file", "--yes", "--seen", digest, *listing.command)
    os.unlink(listing.files.lock)
    listing.says(tools=[tool("echo", "Evil."), tool("send", "Send it.")])
    said = " ".join(listing.done("approve", "fs", *listing.command).stdout.split())
    assert "as lock.file proposes; not: tool/echo" in said


def test_a_first_trust_goes_as_far_as_the_lock_file(listing: Listing) -> None:
    listing.home.write_policy(WITH_FILE)
    digest = listing.digest("--live", *listing.command)
    listing.done("approve", "fs", "--write-file", "--yes", "--seen", digest, *listing.command)
    os.unlink(listing.files.lock)
    listing.home.write_policy(WITH_FILE.replace("review", "trust"))
    listing.says(tools=[tool("echo", "Evil."), tool("send", "Send it.")])
    for _ in range(2):
        with started(listing.home, "run", "fs", *listing.command) as client:
            client.open()
            listed = client.request("tools/list")["result"]["tools"]
            assert [each["name"] for each in listed] == ["send"]
            assert client.close() == 0
    assert waiting(listing) == ["tool/echo"]


def test_what_is_approved_without_being_shown_whole_is_told(seen: Listing) -> None:
    told = "1 text is not shown whole; --full shows all"
    seen.says(tools=[tool("echo", "x" * 9_000), tool("send", "Send it.")])
    seen.runs()
    with person(seen) as screen:
        screen.wait_for(f"Approve this ({told})? [y/N] ")
        screen.type("n\n")
        assert screen.end() == 1
    with person(seen, "--full") as screen:
        screen.wait_for("Approve what is shown? [y/N] ")
        screen.type("n\n")
        assert screen.end() == 1
    said = seen.done("approve", "fs", "--yes", "--seen", seen.digest())
    assert f"of what is approved now, {told}" in said.stdout


@pytest.mark.parametrize("era", ERAS)
def test_why_names_what_of_an_item_changed(seen: Listing, era: str) -> None:
    seen.approves()
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    changed = tool("echo", "Give it back.") | {"inputSchema": schema, "\x1b[8mtitle": "x"}
    seen.says(tools=[changed, tool("send", "Send it."), tool("new")])
    with started(seen.home, "run", "fs", *seen.command, era=era) as client:
        client.open()
        for name in ("echo", "new", "never"):
            client.call(name)
        client.close()
    page = seen.done("why", "fs").stdout
    assert "tool/echo has other words than you approved in: " in page
    assert "\\u{1b}[8mtitle, inputSchema.properties" in page
    assert "\x1b" not in page
    assert "tool/new was added since you approved" in page
    assert "tool/never" not in page
