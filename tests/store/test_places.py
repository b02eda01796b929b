"""Where everything lies, and what cannot move it."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from mcp_jail.errors import UsageError
from mcp_jail.store.places import checked_name, find_places, home_folder


def test_without_a_variable_all_lies_below_home(tmp_path: Path) -> None:
    places = find_places({"HOME": str(tmp_path)})
    home = str(tmp_path)
    assert places.policy("files") == f"{home}/.config/mcp-jail/policies/files.yaml"
    assert places.audit("files") == f"{home}/.local/state/mcp-jail/files.jsonl"
    assert places.lock("files") == f"{home}/.local/state/mcp-jail/locks/files.json"
    assert places.packages == f"{home}/.local/share/mcp-jail/packages"
    assert places.kept_home("files") == f"{home}/.local/share/mcp-jail/homes/files"
    assert places.system_policy("files") == "/etc/mcp-jail/policies/files.yaml"


def test_xdg_variables_change_nothing(tmp_path: Path) -> None:
    names = ["CONFIG_HOME", "STATE_HOME", "DATA_HOME", "RUNTIME_DIR", "CACHE_HOME"]
    moved = {f"XDG_{name}": "/elsewhere" for name in names}
    assert find_places({"HOME": str(tmp_path), **moved}) == find_places({"HOME": str(tmp_path)})


def test_one_variable_puts_all_under_one_folder(tmp_path: Path) -> None:
    places = find_places({"HOME": "/elsewhere", "MCP_JAIL_HOME": f"{tmp_path}/here/"})
    for path in (
        *(places.policies, places.state, places.locks, places.trust, places.packages),
        *(places.homes, places.runtime, places.state_key, places.run("r"), places.socket("r")),
    ):
        assert path.startswith(f"{tmp_path}/here/")


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(UsageError, match="absolute"):
        find_places({"MCP_JAIL_HOME": "here"})


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_without_a_usable_home_the_user_database_says_where(home: str | None) -> None:
    environ = {} if home is None else {"HOME": home}
    assert home_folder(environ) == pwd.getpwuid(os.geteuid()).pw_dir


def test_the_runtime_folder_is_the_sessions_if_that_is_private_and_home_is_ones_own() -> None:
    session = Path(f"/run/user/{os.geteuid()}")
    places = find_places({"HOME": pwd.getpwuid(os.geteuid()).pw_dir})
    if session.is_dir() and session.stat().st_mode & 0o777 == 0o700:
        assert places.runtime == f"{session}/mcp-jail"
    else:
        assert places.runtime == f"{places.state}/run"


def test_what_runs_under_another_home_is_seen_from_there_only(tmp_path: Path) -> None:
    places = find_places({"HOME": str(tmp_path)})
    assert places.runtime == f"{places.state}/run"
    assert places.runtimes == (places.runtime,)


@pytest.mark.parametrize(
    "name", ["", "..", ".hidden", "a/b", "../a", "A", "a\n", "a b", "-a", "é", "a" * 65, "a\0"]
)
def test_what_could_be_another_path_is_no_name(name: str) -> None:
    with pytest.raises(UsageError, match="not a policy name"):
        checked_name(name)


@pytest.mark.parametrize("name", ["a", "files", "a.b-c_d", "1", "a..b"])
def test_what_the_policy_format_allows_is_a_name(name: str) -> None:
    assert checked_name(name) == name
