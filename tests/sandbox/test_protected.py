"""The lists of what is kept, and the questions about them."""

from __future__ import annotations

import pytest

from mcp_jail.sandbox import protected
from mcp_jail.sandbox.protected import lies_in, read_only_for_all, too_much


def test_a_name_that_only_begins_alike_does_not_lie_in_a_root() -> None:
    assert lies_in("/a/b", "/a")
    assert lies_in("/a", "/a")
    assert lies_in("/a", "/")
    assert not lies_in("/ab", "/a")
    assert not lies_in("/", "/a")


@pytest.mark.parametrize(
    "path", ["/run/user/1000", "/run/docker.sock", "/proc/1", "/var/lib/docker/x"]
)
def test_closed_trees_are_closed_all_the_way_down(path: str) -> None:
    assert too_much(path)


@pytest.mark.parametrize(
    "path", ["/run/media/u/stick", "/run/current-system/sw", "/srv/data", "/opt/x"]
)
def test_what_people_keep_data_in_is_open(path: str) -> None:
    assert too_much(path) is None


@pytest.mark.parametrize("path", ["/usr/lib", "/etc/x", "/nix/store/y", "/bin"])
def test_what_the_host_runs_is_read_only(path: str) -> None:
    assert read_only_for_all(path)


NAMES = (
    protected.CREDENTIAL_DIRECTORIES
    + protected.CREDENTIAL_FILES
    + protected.CLIENT_CONFIGS
    + protected.LOGIN_FILES
    + protected.SOCKET_DIRECTORIES
)


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_a_protected_name_lies_below_a_home(name: str) -> None:
    assert name == name.strip("/")
    assert ".." not in name.split("/")


@pytest.mark.parametrize(
    "name",
    [".ssh", ".aws", ".kube", ".docker", ".config/gh", ".config/gcloud", ".gnupg", ".mozilla"],
)
def test_the_credentials_that_everybody_has_are_known(name: str) -> None:
    assert name in protected.CREDENTIAL_DIRECTORIES


@pytest.mark.parametrize(
    "name", [".npmrc", ".pypirc", ".netrc", ".git-credentials", ".claude.json"]
)
def test_the_credential_files_that_everybody_has_are_known(name: str) -> None:
    assert name in protected.CREDENTIAL_FILES
