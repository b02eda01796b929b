"""What a tool chain brings passes the refusals of a policy's shares, unless the policy names it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driver import MCP_JAIL, Home, started
from mcp_jail.errors import ShareError
from mcp_jail.sandbox.protected import Ours
from sandbox.conftest import Planner
from sandbox.test_toolchain import LINES, a_server, link, private, program


def destinations(home: Path, make: Planner, *words: str, **more: object) -> set[str]:
    return {mount.destination for mount in make(command=words, **more).mounts}


@pytest.mark.parametrize("line", ["#!{file}", "#!/usr/bin/env {file}", LINES[-1]])
@pytest.mark.parametrize("name", ["private/bin/deploy", ".ssh/id_rsa"])
def test_a_server_whose_file_names_something_of_the_user_is_not_started(
    line: str, name: str, home: Path, make: Planner
) -> None:
    private(home)
    entry = a_server(home, line.format(file=home / name) + "\n")
    with pytest.raises(ShareError, match="a file of the server") as caught:
        make(command=(str(entry),))
    assert str(home / name) in caught.value.message
    assert "filesystem.read_only if you mean it" in caught.value.hint


def test_what_the_policy_names_itself_may_be_led_to(home: Path, make: Planner) -> None:
    folder = private(home)
    entry = a_server(home, f"#!{folder}/bin/deploy\n")
    assert str(folder) in destinations(home, make, str(entry), read=(folder,))


@pytest.mark.parametrize(
    "name",
    [".ssh", ".aws", ".config/gh", ".claude", ".config/Claude", ".netrc", ".npmrc", ".docker/run"],
)
@pytest.mark.parametrize("behind_a_link", [False, True])
def test_no_credential_is_shared_because_the_command_lies_there(
    name: str, behind_a_link: bool, home: Path, make: Planner
) -> None:
    place = home / name
    if behind_a_link:
        (home / "dotfiles/x").mkdir(parents=True)
        place = link(home / name, home / "dotfiles/x")
    server = place / "server"
    program(server)
    with pytest.raises(ShareError, match=r"credentials|a file of the server") as caught:
        make(command=(str(server),))
    assert "if you mean it" in caught.value.hint
    assert os.path.realpath(server) in destinations(
        home, make, str(server), read=(os.path.realpath(server),)
    )


def test_a_project_that_holds_a_place_of_credentials_is_not_shared_unnamed(
    home: Path, make: Planner
) -> None:
    (home / "dotfiles/ssh").mkdir(parents=True)
    (home / "dotfiles/.git").mkdir()
    (home / ".ssh").symlink_to("dotfiles/ssh")
    (home / "dotfiles/server.py").write_text("")
    with pytest.raises(ShareError, match="credentials"):
        make(command=("/bin/sh", str(home / "dotfiles/server.py")))


def test_a_place_of_ours_is_not_shared_because_the_command_lies_there(
    home: Path, make: Planner
) -> None:
    server = program(home / "state/server")
    (home / "state/package.json").write_text("{}")
    ours = Ours(path=str(home / "state"), what="our state", mask=True)
    with pytest.raises(ShareError, match="our state"):
        make(command=(str(server),), ours=(ours,))


def test_a_directory_for_settings_of_a_client_is_not_shared_unnamed(
    home: Path, make: Planner
) -> None:
    server = program(home / ".lmstudio/bin/server")
    (home / ".lmstudio/lib").mkdir()
    with pytest.raises(ShareError, match="settings of an MCP client"):
        make(command=(str(server),))


def show(own: Home, *words: str, env: dict[str, str], cwd: Path) -> dict[str, Any]:
    """What `show` says, as JSON; or what it complains of, under `refused`."""
    line = [str(MCP_JAIL), "show", "--json", *words]
    done = subprocess.run(line, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    shown: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"refused": done.stderr}
    return shown


def honest(own: Home, shims: Path, clone: Path) -> dict[str, str]:
    """A policy for `python3 ~/srv/server.py`, with pyenv in PATH, and a clone with a version."""
    server = program(own.path / "srv/server.py")
    server.write_bytes((Path(__file__).parent.parent / "servers/echo.py").read_bytes())
    program(shims / "python3")
    version = shims.parent / "versions/3.11.2"
    link(version / "bin/python3", "/usr/bin/python3")
    (version / "lib").mkdir()
    (shims.parent / "version").write_text("3.11.2\n")
    program(clone / "evil/bin/python3", f"#!/bin/sh\necho run > {own.projects}/mark\n")
    own.write_policy(
        "server: {command: [python3, -I, -S, ~/srv/server.py]}\n"
        "filesystem: {read_write: [~/projects/scratch]}\ntools: {default: allow}\n"
    )
    return own.environ(PATH=f"{shims}:/usr/bin:/bin")


@pytest.mark.parametrize("version", ["{clone}/evil", "../../../clone/evil", "../..", "evil"])
def test_a_clone_the_client_stands_in_does_not_choose_the_interpreter(
    version: str, tmp_path: Path
) -> None:
    own = Home(tmp_path)
    clone = own.path / "clone"
    environ = honest(own, own.path / ".pyenv/shims", clone)
    (clone / ".python-version").write_text(version.format(clone=clone))
    with started(own, "run", "fs", env=environ, cwd=clone) as client:
        assert client.open()["result"]["serverInfo"]
        assert client.close() == 0
    shown = show(own, "fs", env=environ, cwd=clone)
    assert shown["command"][0] == str(own.path / ".pyenv/versions/3.11.2/bin/python3")
    assert not any(str(clone) in mount["path"] for mount in shown["mounts"])


OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}
READS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    try:
        text = open({file!r}).read()
    except OSError as error:
        text = str(error.errno)
    about = {{"capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": text, "version": "1"}}}}
    result = {{"protocolVersion": "2025-11-25", **about}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
"""


@pytest.mark.parametrize("line", LINES)
def test_no_first_line_of_a_package_shows_its_server_a_key(line: str, tmp_path: Path) -> None:
    """In a real run: the server starts and sees no key, or it does not start at all."""
    own = Home(tmp_path)
    own.secret.chmod(0o700)
    first = line.format(file=own.secret, folder=own.secret.parent).replace(" node", " python3")
    entry = a_server(own.path, f"{first}\n{READS.format(file=str(own.secret))}")
    own.write_policy("filesystem: {read_only: [~/projects]}\ntools: {default: allow}\n")
    environ = own.environ(PATH=f"{entry.parent}:/usr/bin:/bin")
    shown = show(own, "fs", "--", "evil", env=environ, cwd=own.projects)
    assert not any("/.ssh" in mount["path"] for mount in shown.get("mounts", ()))
    with started(own, "run", "fs", "--", "evil", env=environ) as client:
        if "refused" in shown:
            assert client.close() != 0
            assert b"if you mean it" in client.stderr
            return
        client.send(id=1, method="initialize", params=OPENING)
        answer = client.read_line() or b""
    assert b"CANARY" not in answer
