"""`update` stays within what the command of a package asks for, and tells what cannot be had."""

from __future__ import annotations

import json
from typing import Any

import pytest

from net.publishing import NAME, Release
from net.test_package_updates import person, pinned
from net.user import User

pytestmark = pytest.mark.usefixtures("npm_tree")

NOBODY = "http://files.example.com:9"  # no server listens there


def asks(user: User, word: str) -> None:
    """A policy whose command asks for something."""
    user.policy(command=("npx", "-y", word))


def looked(user: User, *words: str) -> Any:
    return json.loads(user.does("update", "--json", "--yes", *words).stdout)


def test_a_range_is_not_left(user: User) -> None:
    user.publish(v1_0_0=Release())
    asks(user, f"{NAME}@^1")
    user.install()
    user.publish(v1_0_0=Release(), v1_2_0=Release(), v2_0_0=Release())
    (told,) = looked(user)
    assert (told["now"], told["newest"], told["switched"]) == ("1.0.0", "1.2.0", True)
    said = user.does("update").stdout
    assert "1.2.0 is the newest of '^1', which its command asks for" in said
    assert pinned(user) == "1.2.0"


def test_a_tag_is_followed_and_no_other(user: User) -> None:
    releases = {"v1_1_0": Release(), "v2_1_0_beta.1": Release()}
    user.publish({"latest": "1.1.0", "beta": "2.1.0-beta.1"}, **releases)
    asks(user, f"{NAME}@beta")
    assert user.install()["version"] == "2.1.0-beta.1"
    (told,) = looked(user)
    assert (told["newest"], told["switched"]) == ("2.1.0-beta.1", False)
    releases["v2_1_0_beta.2"] = Release()
    user.publish({"latest": "1.1.0", "beta": "2.1.0-beta.2"}, **releases)
    (told,) = looked(user)
    assert (told["newest"], told["switched"]) == ("2.1.0-beta.2", True)


def test_nothing_goes_down(user: User) -> None:
    user.publish(v2_0_0=Release())
    user.install()
    user.publish(v1_9_0=Release())
    (told,) = looked(user)
    assert (told["now"], told["newest"], told["switched"]) == ("2.0.0", "1.9.0", False)
    assert "stays at npm tiny-server 2.0.0; the newest is 1.9.0, which is older" in user.does(
        "update"
    ).stdout.replace("\n", "")
    assert pinned(user) == "2.0.0"


def test_what_a_client_s_command_asked_for_is_kept_with_the_package(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.home.write_policy("tools: {default: allow}\n")
    done = user.does("install", "fs", "--", "npx", "-y", f"{NAME}@~1.0.0")
    assert done.returncode == 0, done.stderr
    user.publish(v1_0_0=Release(), v1_0_1=Release(), v1_1_0=Release())
    for expected in (True, False):
        (told,) = looked(user)
        assert (told["newest"], told["switched"]) == ("1.0.1", expected)


def test_a_registry_that_is_down_is_told_as_that_and_stops_nobody_else(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    user.publish(v1_0_0=Release(), v1_0_1=Release())
    first = 'package: {npm: "@down/a", version: "1.0.0"}\n'
    user.home.write_policy(first, "a")
    down: Any = {"npm_config_@down:registry": NOBODY}
    done = user.does("update", "--json", **down)
    failed, found = json.loads(done.stdout)
    assert done.returncode == 6
    assert (found["name"], found["newest"], found["problem"]) == ("fs", "1.0.1", "")
    assert (failed["name"], failed["newest"]) == ("a", None)
    assert "could not be asked for" in failed["problem"]
    assert NOBODY in failed["problem"]
    said = user.does("update", "a", **down)
    assert said.returncode == 6
    assert "npm error code ECONN" in said.stderr
    assert "_logs" not in said.stderr
    missing = user.does("update", "a")
    assert missing.returncode == 6
    assert f"npm '@down/a@latest' is not found in {user.url}/" in missing.stderr


def test_what_waits_for_an_answer_is_not_pruned(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    user.publish(v1_0_0=Release(), v1_0_1=Release())
    with person(user, "update", "fs") as screen:
        screen.wait_for("[y/N]")
        done = user.does("prune", "--yes")
        assert "a running server uses it" in done.stdout
        screen.type("y\n")
        assert screen.end() == 0
    assert pinned(user) == "1.0.1"
    assert user.tree("1.0.1").exists()


def test_what_was_pinned_while_prune_waited_is_not_removed(user: User) -> None:
    user.publish(v1_0_0=Release())
    user.install()
    own = user.home.policies / "fs.yaml"
    text = own.read_text()
    own.write_text(text.replace("package:", "# package:"))
    with person(user, "prune") as screen:
        screen.wait_for("[y/N]")
        own.write_text(text)
        screen.type("y\n")
        screen.end()
    assert user.tree("1.0.0").exists()
