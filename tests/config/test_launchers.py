"""Commands that need the network at each start."""

from __future__ import annotations

import pytest

from mcp_jail.config.launchers import look_up_at_start


@pytest.mark.parametrize(
    ("command", "name", "cure"),
    [
        ("npx -y @scope/server ~/projects", "npx", "mcp-jail install fs"),
        ("/usr/bin/npx server", "npx", "mcp-jail install fs"),
        ("env npx server", "npx", "mcp-jail install fs"),
        ("/usr/bin/env -i A=1 npx server", "npx", "mcp-jail install fs"),
        ("npm exec server", "npm exec", "mcp-jail install fs"),
        ("uvx mcp-server-git", "uvx", "mcp-jail install fs"),
        ("uv tool run server", "uv tool run", "mcp-jail install fs"),
        ("pipx run server", "pipx run", "pipx install"),
        ("bunx server", "bunx", "npm install"),
        ("pnpm dlx server", "pnpm dlx", "npm install"),
        ("pnpm --silent dlx server", "pnpm dlx", "npm install"),
        ("yarn dlx server", "yarn dlx", "npm install"),
        ("docker run -i --rm mcp/server", "docker run", "install the server itself"),
    ],
)
def test_a_command_that_looks_its_package_up_is_told(command: str, name: str, cure: str) -> None:
    found = look_up_at_start(tuple(command.split()), "fs")
    assert found is not None
    assert found.message.startswith(f"'{name}' ")
    assert cure in found.hint


@pytest.mark.parametrize(
    "command",
    [
        "mcp-server-git npx",
        "node npx.js",
        "npx --no-install server",
        "uv run s",
        "docker ps",
        "env",
    ],
)
def test_a_command_that_is_here_is_not(command: str) -> None:
    assert look_up_at_start(tuple(command.split()), "fs") is None
