"""A file of variables that a clone may bring does not get between a client and mcp-jail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_jail.clients.health import What, look_at_clients
from mcp_jail.clients.plans import Group
from wrap.homes import CURSOR, ClientHome, of
from wrap.sampled import file_of

IN_PROJECT = (
    "${workspaceFolder}/.env",
    "${workspaceFolder:web}/.env",
    ".env",
    "./.env",
    "../x/.env",
    "~other/.env",
    "${userHome}/${workspaceFolderBasename}/.env",
    "${input:file}",
    "/srv/${workspaceFolderBasename}.env",
)
FIXED = ("/etc/pg.env", "~/pg.env", "${userHome}/pg.env", "${env:HOME}/pg.env")


def entry(file: object) -> str:
    return json.dumps({"command": "node", "args": ["/srv/x.js"], "envFile": file})


@pytest.mark.parametrize("file", IN_PROJECT)
def test_one_in_a_project_refuses_its_entry(home: ClientHome, file: str) -> None:
    plan = home.wrap(home.write(CURSOR, file_of(fs=entry(file), good='{"command": "x"}')))
    assert set(of(plan, Group.DONE)) == {"good"}
    refused = of(plan, Group.REFUSED)["fs"]
    assert "leads into a project" in refused.reason
    assert "env.secret" in refused.hint


@pytest.mark.parametrize("file", IN_PROJECT)
def test_doctor_finds_one_that_was_put_into_a_wrapped_entry(
    home: ClientHome, tmp_path: Path, file: str
) -> None:
    program = tmp_path / "mcp-jail"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = home.write(CURSOR, file_of(fs='{"command": "node", "args": ["/srv/x.js"]}'))
    home.wrap(path)
    values = json.loads(path.read_text())
    values["mcpServers"]["fs"] |= {"command": str(program), "envFile": file}
    path.write_text(json.dumps(values))
    (found,) = look_at_clients(home.places, home.circumstances().ground, str(program))
    assert (found.what, found.server, found.fails) == (What.FOREIGN, "fs", True)
    assert "name its variables under env" in found.cure


@pytest.mark.parametrize("file", [*FIXED, "", None])
def test_one_by_a_fixed_path_is_wrapped(home: ClientHome, file: str | None) -> None:
    plan = home.plan(home.write(CURSOR, file_of(fs=entry(file))))
    assert set(of(plan, Group.DONE)) == {"fs"}


@pytest.mark.parametrize("file", [["/a"], {"a": "b"}, 1])
def test_what_is_no_path_is_refused(home: ClientHome, file: object) -> None:
    plan = home.plan(home.write(CURSOR, file_of(fs=entry(file))))
    assert "is no text" in of(plan, Group.REFUSED)["fs"].reason
