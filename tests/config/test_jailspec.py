"""The jail a policy asks for."""

from __future__ import annotations

import pytest

from mcp_jail import config
from mcp_jail.config.jailspec import jail_spec
from mcp_jail.core.policy import Filesystem, Policy, Server
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import PolicyError

ENVIRON = {"GITHUB_TOKEN": "t", "LD_PRELOAD": "/evil.so", "HOME": "/elsewhere", "PATH": "/bin"}


def spec_of(text: str) -> JailSpec:
    policy = config.load(f"name: a\n{text}", "p.yaml").policy
    return jail_spec(policy, ("x", "~/y"), home="/home/me", environ=ENVIRON, client_cwd="/cwd")


@pytest.mark.parametrize("path", ["x", "~bob", "./x", "$HOME/x", "/a/${X}", ""])
def test_a_path_that_is_not_absolute_is_refused(path: str) -> None:
    for policy in (
        Policy(name="a", filesystem=Filesystem(read_only=(path,))),
        Policy(name="a", filesystem=Filesystem(read_write=(path,))),
        Policy(name="a", server=Server(cwd=path)),
    ):
        with pytest.raises(PolicyError, match="not absolute"):
            jail_spec(policy, ("x",), home="/home/me", environ={}, client_cwd="/")


def test_nothing_of_the_environment_is_passed_but_what_is_named() -> None:
    assert spec_of("").env == {}
    assert spec_of("env: {pass: [GITHUB_TOKEN, NOT_SET], set: {A: b}}").env == {
        "GITHUB_TOKEN": "t",
        "A": "b",
    }


def test_shares_carry_the_key_that_asked_for_them() -> None:
    spec = spec_of("filesystem: {read_only: [~/p, /srv], read_write: [~]}")
    assert spec.shares == (
        Share(path="/home/me/p", access=Access.READ_ONLY, why="filesystem.read_only"),
        Share(path="/srv", access=Access.READ_ONLY, why="filesystem.read_only"),
        Share(path="/home/me", access=Access.READ_WRITE, why="filesystem.read_write"),
    )


def test_the_command_is_kept_word_for_word() -> None:
    assert spec_of("server: {command: [other]}").command == ("x", "~/y")


def test_the_policys_directory_goes_before_the_clients() -> None:
    assert spec_of("").cwd == "/cwd"
    assert spec_of("server: {cwd: ~/p}").cwd == "/home/me/p"


def test_a_private_tmp_may_be_refused() -> None:
    assert spec_of("").private_tmp
    assert not spec_of("filesystem: {tmp: false}").private_tmp
