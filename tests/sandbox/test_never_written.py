"""What we write for nobody is what no server may write, and where credentials are."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_jail.sandbox.never_written import why_never_written
from mcp_jail.sandbox.protected import Ours

NEVER = (
    "/etc/x.json", "/usr/lib/x.json", "/proc/self/x.json", "/dev/shm/x.json", "/run/x.json",
    "HOME/.local/state/ours/locks/other.json", "HOME/.ssh/x.json", "HOME/.claude.json",
    "HOME/.claude/settings.json", "HOME/.cursor/mcp.json", "HOME/.config/autostart/x.json",
    "HOME/.local/bin/x.json", "HOME/.docker/config.json", "HOME/shop/.mcp.json",
    "HOME/shop/mcp.json", "HOME/shop/.vscode/mcp.json", "HOME/shop/.vscode/new.json",
    "HOME/shop/node_modules/a/package.json", "HOME/shop/.git/x.json",
)  # fmt: skip
MAY_BE = ("HOME/shop/mcp-jail.lock.json", "HOME/shop/ci/lock.json", "/srv/shop/lock.json")


def why(home: Path, path: str) -> str | None:
    ours = (Ours(path=str(home / ".local/state/ours"), what="mcp-jail's state"),)
    return why_never_written(path.replace("HOME", str(home)), ours, [str(home)])


@pytest.mark.parametrize("path", NEVER)
def test_what_the_host_acts_on_or_is_ours_is_never_written(tmp_path: Path, path: str) -> None:
    assert why(tmp_path, path) is not None


@pytest.mark.parametrize("path", MAY_BE)
def test_a_file_in_a_repository_may_be_written(tmp_path: Path, path: str) -> None:
    assert why(tmp_path, path) is None


def test_what_is_ours_is_known_where_a_link_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / ".local" / "state").mkdir(parents=True)
    (tmp_path / ".local" / "state" / "ours").symlink_to(tmp_path / "disk")
    assert why(tmp_path, f"{tmp_path}/disk/locks/other.json") is not None
