"""What a first policy may share: no more than a start takes, and never credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.config.starter_wants import Offers, Standing
from mcp_jail.core.spec import Access
from mcp_jail.sandbox.offers import offers

READ, WRITE = Access.READ_ONLY, Access.READ_WRITE


@pytest.fixture
def offer(home: Path) -> Offers:
    return offers(("/bin/sh",), environ={"HOME": str(home), "PATH": "/usr/bin:/bin"})


def made(path: Path) -> str:
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def test_a_project_is_offered_to_read_and_to_write(home: Path, offer: Offers) -> None:
    for access in (READ, WRITE):
        found = offer(made(home / "projects"), access)
        assert found.standing is Standing.DIRECTORY
        assert found.refusal is None


def test_nothing_stands_where_nothing_is(home: Path, offer: Offers) -> None:
    assert offer(str(home / "nothing"), READ).standing is Standing.NOTHING


@pytest.mark.parametrize(
    "place", ["", "..", ".ssh", ".aws/sub", ".config", ".config/gh", ".claude"]
)
def test_a_home_what_holds_it_and_credentials_are_not(
    home: Path, offer: Offers, place: str
) -> None:
    path = made(home / place) if place != ".." else str(home.parent)
    assert offer(path, READ).refusal is not None


@pytest.mark.parametrize("name", [".npmrc", ".netrc", ".git-credentials"])
def test_a_file_of_credentials_is_not(home: Path, offer: Offers, name: str) -> None:
    (home / name).write_text("x")
    assert offer(str(home / name), READ).refusal is not None


def test_a_link_to_credentials_is_not(home: Path, offer: Offers) -> None:
    made(home / ".ssh")
    (home / "keys").symlink_to(home / ".ssh")
    assert offer(str(home / "keys"), READ).refusal is not None


def test_credentials_that_lie_elsewhere_by_a_link_are_not(home: Path, offer: Offers) -> None:
    elsewhere = made(home / "dotfiles" / "ssh")
    (home / ".ssh").symlink_to(elsewhere)
    assert offer(elsewhere, READ).refusal is not None


def test_what_a_client_acts_on_is_offered_to_read_only(home: Path, offer: Offers) -> None:
    project = home / "projects"
    made(project / ".vscode")
    (project / ".vscode" / "mcp.json").write_text("{}")
    assert offer(str(project), READ).refusal is None
    assert offer(str(project), WRITE).refusal is not None


def test_ours_is_never_offered_to_write(home: Path) -> None:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MCP_JAIL_HOME": str(home / "ours")}
    path = made(home / "ours" / "state")
    assert offers(("/bin/sh",), environ=environ)(path, WRITE).refusal is not None


def test_what_the_command_brings_is_said(home: Path) -> None:
    script = Path(made(home / "app")) / "server.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    offer = offers(("/bin/sh", str(script), str(home / "app")), environ=environ)
    assert offer(str(script), READ).is_brought
    assert offer("/usr/lib", READ).is_brought
    assert not offer(made(home / "data"), READ).is_brought


def test_a_command_that_is_not_there_yet_is_offered_the_same(home: Path) -> None:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    offer = offers(("no-such-server",), environ=environ)
    assert offer(made(home / "projects"), READ).refusal is None
