"""Commands are found as a new terminal of the user finds them, and no entry runs a shell."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from mcp_jail.sandbox import search_path as searching
from mcp_jail.sandbox.search_path import (
    Account,
    login_path,
    search_path,
    this_account,
    usual_places,
)

SHELLS = pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def account(home: Path, shell: str = "/bin/bash") -> Account:
    return Account("me", str(home), shell)


def found(home: Path, name: str = "tool", path: str = "/usr/bin:/bin") -> list[str]:
    return search_path(name, path, str(home), account(home)).split(":")


def test_a_command_on_the_clients_path_asks_nobody(home: Path) -> None:
    (home / ".bash_profile").write_text(f"touch {home}/asked\n")
    program(home / ".local/bin/env")
    assert found(home, "env") == ["/usr/bin", "/bin"]
    assert found(home, "/nowhere/tool") == ["/usr/bin", "/bin"]
    assert not (home / "asked").exists()


@pytest.mark.parametrize(
    "place", [".local/bin", ".volta/bin", ".asdf/shims", ".pyenv/shims", ".local/share/mise/shims"]
)
def test_where_tools_are_put_is_read_before_any_shell_is_asked(home: Path, place: str) -> None:
    (home / ".bash_profile").write_text(f"touch {home}/asked\n")
    program(home / place / "tool")
    assert str(home / place) in found(home)
    assert found(home)[:2] == ["/usr/bin", "/bin"]  # what the client has goes first
    assert not (home / "asked").exists()


@pytest.mark.parametrize(
    ("alias", "version"),
    [("22", "v22.10.0"), ("v20.1.0", "v20.1.0"), ("lts/jod", "v20.1.0"), ("node", "v24.0.0")],
)
def test_nvms_default_version_is_read(home: Path, alias: str, version: str) -> None:
    for each in ("v20.1.0", "v22.9.1", "v22.10.0", "v24.0.0"):
        program(home / ".nvm/versions/node" / each / "bin/tool")
    aliases = home / ".nvm/alias"
    (aliases / "lts").mkdir(parents=True)
    (aliases / "default").write_text(f"{alias}\n")
    (aliases / "lts/jod").write_text("v20.1.0\n")
    assert str(home / ".nvm/versions/node" / version / "bin") in found(home)


def test_no_alias_of_nvm_leads_elsewhere(home: Path) -> None:
    program(home / ".nvm/versions/node/v22.1.0/bin/tool")
    program(home / "evil/bin/tool")
    (home / ".nvm/alias").mkdir()
    for alias in ("../../evil", "v22.1.0/../../../../../evil", str(home / "evil")):
        (home / ".nvm/alias/default").write_text(alias)
        assert [place for place in usual_places(str(home)) if "evil" in place] == []


@SHELLS
def test_the_login_shell_says_what_a_new_terminal_has(home: Path, shell: str) -> None:
    program(home / "odd place/tool")
    line = f'echo welcome\nprintf "more"\nexport PATH="{home}/odd place:$PATH"\n'
    (home / ".profile").write_text(line)
    places = search_path("tool", "/usr/bin", str(home), account(home, shell)).split(":")
    assert f"{home}/odd place" in places
    assert places[0] == "/usr/bin"


def test_what_only_an_interactive_shell_sets_is_found(home: Path) -> None:
    (home / ".bash_profile").write_text(". ~/.bashrc\n")
    (home / ".bashrc").write_text('case $- in *i*) ;; *) return ;; esac\nPATH="/inter:$PATH"\n')
    assert "/inter" in login_path(account(home)).split(":")


def test_nothing_of_the_clients_environment_reaches_the_shell(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = home / "evil.sh"
    evil.write_text(f"touch {home}/ran\n")
    (home / ".profile").write_text("PATH=/seen-$LEAK:$PATH\n")
    monkeypatch.setenv("BASH_ENV", str(evil))
    monkeypatch.setenv("ENV", str(evil))
    monkeypatch.setenv("LEAK", "leaked")
    monkeypatch.setenv("SHELL", str(program(home / "evil")))
    assert login_path(account(home)).startswith("/seen-:")
    assert not (home / "ran").exists()


def test_another_home_than_the_accounts_has_no_shell_asked(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "cloned"
    other.mkdir()
    (other / ".bash_profile").write_text(f"touch {other}/ran\n")
    (other / ".profile").write_text(f"touch {other}/ran\n")
    search_path("tool", "/usr/bin", str(other), account(home))
    assert not (other / "ran").exists()


def test_the_account_is_the_databases() -> None:
    entry = pwd.getpwuid(os.getuid())
    assert this_account() == Account(entry.pw_name, entry.pw_dir, entry.pw_shell)


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false", "/nowhere/sh", "/etc/passwd"])
def test_an_account_without_a_shell_says_nothing(home: Path, shell: str) -> None:
    assert login_path(account(home, shell)) == ""


def test_a_shell_that_never_ends_is_given_up_and_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SHELL_PATIENCE", 0.5)
    pid = home / "pid"
    (home / ".bash_profile").write_text(f"echo $$ > {pid}\nexec sleep 1000\n")
    assert login_path(account(home)) == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_shell_that_prints_without_end_is_given_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SHELL_LIMIT", 1 << 16)
    (home / ".bash_profile").write_text("while true; do echo PATH=/evil; done\n")
    assert login_path(account(home)) == ""
