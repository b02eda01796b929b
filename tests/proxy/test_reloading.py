"""The policy file of a real run, changed while its server runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import ERAS, Client, Home, command, started, wait_until
from mcp_jail.asks.calling import call_all
from mcp_jail.store import runs
from mcp_jail.store.places import SYSTEM_POLICIES, find_places
from persons import served, ticket_of, waiting

POLICY = "filesystem: {read_only: [~/projects]}\ntools: {default: allow}\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


@pytest.fixture(params=ERAS)
def client(home: Home, request: pytest.FixtureRequest) -> Iterator[Client]:
    with started(home, "run", "fs", *command("echo.py"), era=request.param) as client:
        client.open()
        assert passes(client)
        yield client


def passes(client: Client) -> bool:
    return client.call("echo", text="x").get("isError") is not True


def changes(home: Home) -> list[dict[str, Any]]:
    return [entry for entry in home.audit() if entry["kind"] == "policy"]


def is_noticed(client: Client, home: Home, number: int = 1) -> dict[str, Any]:
    """Messages pass until the change was taken up or refused; its entry."""

    def look() -> bool:
        client.request("tools/list")
        return len(changes(home)) >= number

    wait_until(look)
    return changes(home)[-1]


def replace(home: Home, text: str) -> None:
    """As editors save: another file in its place."""
    draft = home.policies / ".draft"
    draft.write_text(text)
    draft.chmod(0o600)
    draft.rename(home.policies / "fs.yaml")


def test_a_rule_is_taken_up_without_a_restart(client: Client, home: Home) -> None:
    replace(home, f"name: fs\n{POLICY.replace('allow', 'deny')}lock: {{first: trust}}\n")
    assert is_noticed(client, home)["verdict"] == "changed"
    assert "denied by the user's policy" in client.call("echo", text="x")["content"][0]["text"]


def test_a_file_that_is_written_in_place_is_seen_too(client: Client, home: Home) -> None:
    home.write_policy(POLICY.replace("allow", "deny"))
    assert is_noticed(client, home)["verdict"] in {"changed", "refused"}
    wait_until(lambda: not passes(client))


@pytest.mark.parametrize(
    "text", ["", "name: fs\ntools: {default: alow}\n", "name: other\n", "\xff"]
)
def test_an_invalid_file_is_refused_and_what_held_holds(
    client: Client, home: Home, text: str
) -> None:
    replace(home, text)
    entry = is_noticed(client, home)
    assert entry["verdict"] == "refused"
    assert client.call("echo", text="x")["content"][0]["text"] == "x"
    client.wait_for_stderr("the one before holds still")


def test_a_file_that_is_gone_is_refused_and_taken_up_when_it_is_back(
    client: Client, home: Home
) -> None:
    (home.policies / "fs.yaml").unlink()
    assert is_noticed(client, home)["verdict"] == "refused"
    assert client.call("echo", text="x")["content"][0]["text"] == "x"
    home.write_policy(POLICY.replace("allow", "deny"))
    is_noticed(client, home, 2)
    wait_until(lambda: not passes(client))


def test_a_change_that_was_refused_and_taken_back_is_refused_no_more(
    client: Client, home: Home
) -> None:
    before = (home.policies / "fs.yaml").read_text()
    replace(home, "name: fs\ntools: {default: alow}\n")
    assert is_noticed(client, home)["verdict"] == "refused"
    assert refusals(home) != [""]
    replace(home, before)
    assert is_noticed(client, home, 2)["verdict"] == "restored"
    client.wait_for_stderr("the policy is again as it holds")
    assert refusals(home) == [""]


def refusals(home: Home) -> list[str]:
    """What `ps` says of the policies of what runs."""
    said, _ = call_all(find_places(home.environ()), "status")
    return [each.ok["policy_refused"] for each in said]


def test_an_idle_run_takes_a_change_up_too_and_tells_what_it_refuses(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        replace(home, "name: fs\ntools: {default: alow}\n")
        client.wait_for_stderr("the one before holds still")
        client.wait_for_stderr("fs.yaml:2:18)")
        replace(home, f"name: fs\n{POLICY.replace('allow', 'deny')}lock: {{first: trust}}\n")
        client.wait_for_stderr("holds from now on")
        assert client.read()["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_waits_for_a_person_goes_on_once_the_policy_allows_it(
    home: Home, era: str
) -> None:
    home.write_policy(POLICY.replace("allow", "ask"))
    with started(home, "run", "fs", *command("echo.py"), era=era) as client:
        client.open()
        id = client.ask("tools/call", name="echo", arguments={"text": "x"})
        client.wait_for_stderr("asks you about")
        replace(home, f"name: fs\n{POLICY}lock: {{first: trust}}\n")
        assert client.answer(id)["result"]["content"][0]["text"] == "x"
    assert [each["detail"]["by"] for each in home.audit() if each["kind"] == "answer"] == ["policy"]


@pytest.mark.parametrize("mode", [0o622, 0o606])
def test_a_file_that_others_may_write_is_refused(client: Client, home: Home, mode: int) -> None:
    replace(home, f"name: fs\n{POLICY}lock: {{first: trust}}\n# changed\n")
    os.chmod(home.policies / "fs.yaml", mode)
    assert is_noticed(client, home)["verdict"] in {"refused", "changed"}
    client.request("tools/list")


def test_what_the_jail_is_built_from_is_said_to_need_a_restart(client: Client, home: Home) -> None:
    more = POLICY.replace("read_only: [~/projects]", "read_only: [~/projects, ~/projects/scratch]")
    replace(home, f"name: fs\n{more}network: {{mode: host}}\nlock: {{first: trust}}\n")
    entry = is_noticed(client, home)
    assert sorted(entry["detail"]["restart"]) == ["filesystem", "network"]
    client.wait_for_stderr("will hold once the server is started anew")


def test_a_trusted_file_that_changes_must_be_trusted_again(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools: {default: allow}\nlock: {first: trust}\n")
    with started(home, "trust", str(cloned), "--yes") as trusting:
        assert trusting.wait() == 0
    words = ("run", "--policy", str(cloned), *command("echo.py"))
    with started(home, *words, env=home.environ()) as client:
        client.open()
        assert passes(client)
        (audit,) = list(home.state.glob("cloned-*.jsonl"))
        cloned.write_text(cloned.read_text() + "sampling: allow\n")

        def is_refused() -> bool:
            client.request("tools/list")
            return b'"verdict":"refused"' in audit.read_bytes()

        wait_until(is_refused)
        client.wait_for_stderr("has changed since it was trusted")
        assert passes(client)


def test_a_trusted_file_that_is_only_narrowed_is_taken_up_and_starts_nothing_until_trusted(
    home: Home,
) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools: {default: allow}\nlock: {first: trust}\n")
    assert trusts(home, cloned) == 0
    words = ("run", "--policy", str(cloned), *command("echo.py"))
    with started(home, *words) as client:
        client.open()
        assert passes(client)
        wider = cloned.read_text()
        draft = cloned.with_suffix(".new")
        draft.write_text(wider.replace("allow", "deny"))
        draft.replace(cloned)
        wait_until(lambda: not passes(client))
        client.wait_for_stderr("holds from now on")
        draft.write_text(wider.replace("allow", "ask"))  # narrower than what was trusted, not now
        draft.replace(cloned)

        def is_refused() -> bool:
            assert not passes(client)
            return b"has changed since it was trusted" in client.stderr

        wait_until(is_refused)
    with started(home, *words) as again:
        assert again.wait() == 2


def test_a_trusted_file_is_taken_up_once_it_is_trusted_again(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: cloned\ntools: {default: allow}\nlock: {first: trust}\n")
    assert trusts(home, cloned) == 0
    words = ("run", "--policy", str(cloned), *command("echo.py"))
    # Its client is a process of its own, so that this one may trust a policy meanwhile.
    with served(home, *words[1:]) as client:
        assert passes(client)
        cloned.write_text(cloned.read_text().replace("allow", "deny"))
        assert trusts(home, cloned) == 0
        wait_until(lambda: not passes(client))


def trusts(home: Home, path: Path) -> int:
    with started(home, "trust", str(path), "--yes") as trusting:
        return trusting.wait()


def test_a_policy_of_roots_that_is_gone_gives_no_way_to_the_users_own(home: Home) -> None:
    if os.geteuid() != 0:
        return  # only root has such policies
    folder = Path(SYSTEM_POLICIES)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    roots = folder / f"test-{os.getpid()}.yaml"
    roots.write_text(f"name: {roots.stem}\ntools: {{default: deny}}\nlock: {{first: trust}}\n")
    own = home.policies / roots.name
    own.write_text(roots.read_text().replace("deny", "allow"))
    own.chmod(0o600)
    try:
        with started(home, "run", roots.stem, *command("echo.py")) as client:
            client.open()
            assert not passes(client)
            roots.unlink()

            def is_told() -> bool:
                assert not passes(client)
                return b"the one before holds still" in client.stderr

            wait_until(is_told)
    finally:
        roots.unlink(missing_ok=True)
        if is_new:
            folder.rmdir()


def test_a_trusted_policy_is_not_shown_under_the_name_of_ones_own(home: Home) -> None:
    cloned = home.projects / "jail.yaml"
    cloned.write_text("name: fs\ntools: {default: ask}\nlock: {first: trust}\n")
    assert trusts(home, cloned) == 0
    with served(home, "--policy", str(cloned), *command("echo.py")) as client:
        client.ask("tools/call", name="echo", arguments={"text": "x"})
        ticket_of(home)
        (ask,) = waiting(home)
        assert ask["server"].startswith("fs-")
        (run,) = runs.running(find_places(home.environ()))
        assert run.name == ask["server"]
