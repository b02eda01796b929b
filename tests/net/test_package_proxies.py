"""A package is fetched by the proxy that a machine needs, and by no other way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from net.machine import PROXY_LOGIN
from net.publishing import NAME, Release
from net.registry import make_python_index
from net.test_upstream import PASSWORD, PROXIED
from net.user import User

FAR = "far.example.com"  # a name that only the proxy knows

BY_PROXY: dict[str, Any] = {"https_proxy": PROXIED}


def far(user: User) -> User:
    user.url = f"https://{FAR}/{user.folder.name}"
    return user


def asked_of_the_proxy(user: User, before: str) -> set[str]:
    lines = user.machine.log("proxied")[len(before) :].splitlines()
    return {line.split()[1] for line in lines if line.startswith("CONNECT ")}


@pytest.mark.usefixtures("npm_tree")
def test_npm_fetches_by_the_proxy(user: User) -> None:
    far(user).publish(v1_0_0=Release())
    before = user.machine.log("proxied")
    user.install(**BY_PROXY)
    assert asked_of_the_proxy(user, before) == {f"{FAR}:443"}
    audit = (user.home.state / "fs.jsonl").read_text()
    kept = [path.read_bytes() for path in user.packages.rglob("*") if path.is_file()]
    for secret in (PASSWORD, "s3cret", PROXY_LOGIN):
        assert secret not in audit
        assert not any(secret.encode() in each for each in kept)


@pytest.mark.usefixtures("npm_tree")
def test_a_registry_that_is_excepted_is_reached_without_it(user: User) -> None:
    user.publish(v1_0_0=Release())  # at a host that the proxy does not know
    before = user.machine.log("proxied")
    assert user.does("install", "fs", **BY_PROXY).returncode == 6
    given: dict[str, Any] = BY_PROXY | {"no_proxy": "localhost,.example.com"}
    after = user.machine.log("proxied")
    assert after != before
    user.install(**given)
    assert user.machine.log("proxied") == after


@pytest.mark.usefixtures("npm_tree")
def test_one_of_two_registries_may_be_excepted(user: User) -> None:
    near = user.url
    user.publish(v1_0_0=Release())
    (user.home.path / ".npmrc").write_text(f"@far:registry=https://{FAR}/nothing/\n")
    before = user.machine.log("proxied")
    given: dict[str, Any] = BY_PROXY | {"no_proxy": near.split("/")[2]}
    user.install(**given)
    assert user.machine.log("proxied") == before


@pytest.mark.usefixtures("npm_tree")
def test_a_proxy_that_refuses_is_told_without_its_password(user: User) -> None:
    far(user).publish(v1_0_0=Release())
    wrong: dict[str, Any] = {"https_proxy": PROXIED.replace("s3cret", "wr0ng")}
    done = user.does("install", "fs", **wrong)
    assert done.returncode == 6
    assert "answers 407" in done.stderr, done.stderr
    assert "wr0ng" not in done.stderr


def test_uv_fetches_by_the_proxy(user: User) -> None:
    user.folder.mkdir()
    make_python_index(user.folder, far(user).url)
    user.policy(command=("uvx", NAME))
    before = user.machine.log("proxied")
    path = f"{Path(sys.executable).parent}:{user.home.environ()['PATH']}"
    index: dict[str, Any] = BY_PROXY | {"UV_DEFAULT_INDEX": f"{user.url}/", "PATH": path}
    user.install(**index)
    assert asked_of_the_proxy(user, before) == {f"{FAR}:443"}
